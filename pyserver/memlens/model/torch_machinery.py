"""What PyTorch allocates for itself: gradients, temporaries of optimizers, workspaces of libraries, buffers of ranks.

The rows are data, ``torch_machinery.toml``, which says what they have.
"""

import functools
import tomllib
from collections.abc import Sequence
from importlib import resources

import msgspec
from msgspec import Struct


class Machinery(Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of allocations; ``functions`` are patterns of filters, any of which may match."""

    name: str
    functions: tuple[str, ...]
    fits: tuple[str, ...]
    near: tuple[str, ...]

    @property
    def term(self) -> str:
        """The filter term that finds them."""
        return f"machinery:={self.name}"


class _Table(Struct, forbid_unknown_fields=True):
    machinery: list[Machinery]


@functools.cache
def machinery() -> Sequence[Machinery]:
    """Return all kinds.

    Raises:
        msgspec.ValidationError: A row isn't as described above.
    """
    text = resources.files("memlens.model").joinpath("torch_machinery.toml").read_text("utf-8")
    return tuple(msgspec.convert(tomllib.loads(text), _Table).machinery)
