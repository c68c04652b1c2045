"""How a heap dump is taken, and what its runtime says that it took."""

from collections.abc import Mapping
from typing import NamedTuple


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


class Cost(NamedTuple):
    """What a dump took, as its runtime says."""

    figures: Mapping[str, object]
    """In JSON."""
    sentence: str
