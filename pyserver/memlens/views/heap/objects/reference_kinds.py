"""Kinds of references, as lookup tables for kernels."""

import re
from collections.abc import Callable

import numpy as np

from memlens.arrays import U8, Mask
from memlens.kernels.graph.filtering import names_used
from memlens.model.graph import ENTRY, ReferenceKind, Strength
from memlens.packs import registry
from memlens.store.kept import kept
from memlens.store.objects.columns import ReferenceColumns
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.halves import in_halves

_STRINGS = frozenset(("String",))

_OWN, _OTHER = 1, 2
_OF_KIND = re.compile(r"(.+) \((internal)\)", re.DOTALL)


def string_types(snapshot: Snapshot) -> frozenset[str]:
    """Types of strings whose kind is another, without modules; the names of their objects are their texts."""
    return _STRINGS | registry.objects_of(snapshot.info.kind).texts.strings


def kinds_where(snapshot: Snapshot, test: Callable[[ReferenceKind], object]) -> Mask:
    """Return a mask, one item per byte value: whether references of that kind pass a test."""
    found = np.zeros(256, np.bool_)
    for number, kind in enumerate(snapshot.graph_names.reference_kinds):
        found[number] = bool(test(kind))
    return found


def named_kind(name: str) -> tuple[str, str | None]:
    """Split ``map (internal)`` into the name and kind of an engine's own reference; the kind is None for properties."""
    found = _OF_KIND.fullmatch(name)
    return (name, None) if found is None else (found[1], found[2])


def internal_name(name: str) -> str:
    """Return the name of an engine's own reference, marked so that it isn't mistaken for a property."""
    return f"{name} (internal)" if name else name


def engine_s_own(snapshot: Snapshot) -> Mask:
    """Return a mask of the kinds of references that are the engine's own, such as ``map``, to hidden classes."""
    return kinds_where(snapshot, lambda kind: kind.name == "internal")


@kept
def names_of_both(snapshot: Snapshot) -> Mask:
    """Return a mask of the strings that name both the engine's own references and others."""
    stored, own = snapshot.references, engine_s_own(snapshot)
    flags = own.astype(np.uint8) * _OWN + (named_by_text(snapshot) & ~own).astype(np.uint8) * _OTHER

    def used(first: int, last: int) -> U8:
        found = np.zeros(len(snapshot.strings.end), np.uint8)
        names_used(stored.unchecked(ReferenceColumns.name), stored.kind, flags, first, last, found)
        return found

    parts = in_halves(len(stored.kind), used) if own.any() else []
    both: U8 = np.bitwise_or.reduce([np.zeros(len(snapshot.strings.end), np.uint8), *parts])
    found: Mask = both == _OWN | _OTHER
    return found


def has_strength(snapshot: Snapshot, strength: Strength) -> bool:
    """Whether a heap dump's format has references of a strength."""
    return any(kind.strength == strength for kind in snapshot.graph_names.reference_kinds)


def named_by_text(snapshot: Snapshot) -> Mask:
    """Return a mask of the kinds of references that are named by strings, not numbers."""
    return kinds_where(snapshot, lambda kind: kind.naming == "text")


def named_by_code(snapshot: Snapshot) -> Mask:
    """Return a mask of the kinds of references named by code: by strings that aren't contents of keys."""
    return kinds_where(snapshot, lambda kind: kind.naming == "text" and kind.name != ENTRY)
