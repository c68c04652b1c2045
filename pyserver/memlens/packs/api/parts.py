"""Code of a pack, which is imported when it is first asked for."""

from importlib import import_module
from typing import Generic, TypeVar, cast

from msgspec import Struct

from memlens.texts import Text

T = TypeVar("T")
NOTHING = Text("")


class Part(Struct, Generic[T], frozen=True):
    """Code of a pack or of a higher layer that is imported on first use: a module, or ``module:name``."""

    place: str

    def load(self) -> T:
        """Import it. Raises ImportError and AttributeError for a place that isn't there."""
        module, _, name = self.place.partition(":")
        loaded = import_module(module)
        return cast("T", getattr(loaded, name) if name else loaded)
