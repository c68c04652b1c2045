"""Kinds of references, as tables that kernels look them up in."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from memlens.model.graph import ReferenceKind, Strength
from memlens.store.snapshot import Snapshot


def kinds_where(snapshot: Snapshot, test: Callable[[ReferenceKind], object]) -> npt.NDArray[np.bool_]:
    """An item for each number of a byte: whether references of that kind pass a test."""
    found = np.zeros(256, np.bool_)
    for number, kind in enumerate(snapshot.graph_names.reference_kinds):
        found[number] = bool(test(kind))
    return found


def has_strength(snapshot: Snapshot, strength: Strength) -> bool:
    """Whether a heap dump's format has references of a strength."""
    return any(kind.strength == strength for kind in snapshot.graph_names.reference_kinds)


def named_by_text(snapshot: Snapshot) -> npt.NDArray[np.bool_]:
    """Whether references of each kind have texts as names."""
    return kinds_where(snapshot, lambda kind: kind.naming == "text")
