"""Kinds of references, as tables that kernels look them up in."""

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from memlens.model.graph import ReferenceKind
from memlens.store.snapshot import Snapshot


def kinds_where(snapshot: Snapshot, test: Callable[[ReferenceKind], object]) -> npt.NDArray[np.bool_]:
    """An item for each number of a byte: whether references of that kind pass a test."""
    found = np.zeros(256, np.bool_)
    for number, kind in enumerate(snapshot.graph_names.reference_kinds):
        found[number] = bool(test(kind))
    return found


_OF_KIND = re.compile(r"(.+) \((internal)\)", re.DOTALL)


def named_kind(name: str) -> tuple[str, str | None]:
    """A reference's name and its kind, where ``map (internal)`` says that it isn't a property: else None."""
    found = _OF_KIND.fullmatch(name)
    return (name, None) if found is None else (found[1], found[2])


def engine_s_own(snapshot: Snapshot) -> npt.NDArray[np.bool_]:
    """Whether references of each kind are V8's own, as those from objects to their hidden classes, named ``map``."""
    return kinds_where(snapshot, lambda kind: kind.name == "internal")


def named_by_text(snapshot: Snapshot) -> npt.NDArray[np.bool_]:
    """Whether references of each kind have texts as names."""
    return kinds_where(snapshot, lambda kind: kind.naming == "text")
