"""How a heap dump is taken or allocations are recorded, and what a runtime says that it took."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

PageType = Literal["page", "iframe", "webview", "worker", "shared_worker", "service_worker"]
"""What in a browser has a heap of its own."""


class Options(NamedTuple):
    """How a dump is taken."""

    texts: bool = True
    """With the text of strings and numbers, which only some runtimes can leave out."""
    live: bool = True
    """Only the reachable heap; otherwise with garbage, which only some runtimes can write."""
    timeout_s: float = 60.0
    """How long to wait for the process to answer, of some runtimes to have written."""
    force: bool = False
    """Overwrite the file."""


class Recording(NamedTuple):
    """How allocations are recorded."""

    sampling: bool = False
    """Only estimates by stack, which costs little; otherwise every object, with the time at which it was allocated."""
    timeout_s: float = 60.0
    """How long to wait for the process to answer."""
    force: bool = False
    """Overwrite the file."""


class Cost(NamedTuple):
    """What a dump took, as its runtime says."""

    figures: Mapping[str, object]
    """In JSON."""
    sentence: str
