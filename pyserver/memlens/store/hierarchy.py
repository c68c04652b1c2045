"""The class hierarchy of a heap dump, where the dump has one.

Most dumps that say so have a reference from each class to the one above it, of the kind SUPER_CLASS; others have one to
a tuple, the ``lineage`` that their pack declares.
"""

from collections.abc import Iterator

import numpy as np

from memlens.arrays import I64, U32, Mask
from memlens.errors import CancelledError
from memlens.model.distinct import distinct
from memlens.model.graph import NONE
from memlens.model.spans import spans
from memlens.packs import registry
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase

SUPER_CLASS = "super class"
_ATTRIBUTE, _ITEM = "attribute", "item"


class Hierarchy:
    """The classes of a dump's types, and all that these extend, by the numbers of class objects."""

    def __init__(self, above: dict[int, list[int]]) -> None:
        self._above = above
        """What each class extends: the nearest first, of some only that one."""
        self._below: dict[int, list[int]] | None = None

    @property
    def is_known(self) -> bool:
        """Whether any class extends another."""
        return any(self._above.values())

    @property
    def classes(self) -> list[int]:
        """All class objects."""
        return list(self._above)

    def __contains__(self, number: int) -> bool:
        return number in self._above

    def nearest(self, number: int) -> int | None:
        """The class that a class extends; None where there is none. Of several it is the first."""
        return next(iter(self._above.get(number, ())), None)

    def above(self, number: int) -> Iterator[int]:
        """All superclasses of a class, the nearest first. Damaged classes may extend themselves."""
        seen, level = {number}, [number]
        while level:
            further: list[int] = []
            for each in level:
                for up in self._above.get(each, ()):
                    if up not in seen:
                        seen.add(up)
                        further.append(up)
                        yield up
            level = further

    def below(self, numbers: list[int]) -> dict[int, int]:
        """Some classes and all their subclasses, each with the least number of steps that it is below one of them."""
        if self._below is None:
            self._below = {}
            for each, ups in self._above.items():
                for up in ups:
                    self._below.setdefault(up, []).append(each)
        found, level, steps = dict.fromkeys(numbers, 0), list(numbers), 0
        while level:
            steps += 1
            further: list[int] = []
            for each in level:
                for down in self._below.get(each, ()):
                    if down not in found:
                        found[down] = steps
                        further.append(down)
            level = further
        return found


@kept
def hierarchy_of(snapshot: Snapshot) -> Hierarchy:
    """The classes of a snapshot's types. Raises :class:`CancelledError` when the snapshot's work is stopped."""
    kinds = snapshot.graph_names.reference_kinds
    lineage = registry.objects_of(snapshot.info.kind).classes.lineage
    is_super, is_attribute, is_item = np.zeros((3, 256), np.bool_)
    for number, kind in enumerate(kinds):
        is_super[number] = kind.name == SUPER_CLASS
        is_attribute[number] = lineage is not None and kind.name == _ATTRIBUTE
        is_item[number] = kind.name == _ITEM
    own = snapshot.types.object
    above: dict[int, list[int]] = {}
    if own is None or not (is_super.any() or is_attribute.any()):
        return Hierarchy(above)
    stored = snapshot.references
    classes = distinct(own[own != NONE]).astype(np.int64)
    names = _Named(snapshot)
    while len(classes):
        if not snapshot.work.report(0.0):
            raise CancelledError(phrase("The request was cancelled"))
        above |= {number: [] for number in classes.tolist()}
        rows, holder = _references(snapshot, classes)
        of_kind = stored.kind[rows]
        chosen = is_super[of_kind]
        pairs = [(holder[chosen], stored.target[rows[chosen]])]
        attributes = np.flatnonzero(is_attribute[of_kind])
        attributes = attributes[names.are(stored.name[rows[attributes]], lineage or "")]
        if len(attributes):
            tuples, of = stored.target[rows[attributes]].astype(np.int64), holder[attributes]
            items, place = _references(snapshot, np.arange(len(tuples)), tuples)
            chosen = is_item[stored.kind[items]]
            pairs.append((of[place[chosen]], stored.target[items[chosen]]))
        for numbers, targets in pairs:
            for number, target in zip(numbers.tolist(), targets.tolist(), strict=True):
                ups = above[number]
                if target != number and target not in ups[-1:]:
                    ups.append(target)
        further = {up for number in classes.tolist() for up in above[number]}
        classes = np.array(sorted(further - above.keys()), np.int64)
    return Hierarchy(above)


def _references(snapshot: Snapshot, keys: I64, of: I64 | None = None) -> tuple[I64, I64]:
    """The numbers of the references of some objects, and the key of the object that has each: itself, if not given."""
    start, numbers = snapshot.references.start, keys if of is None else of
    begin = start[numbers].astype(np.int64)
    counts = start[numbers + 1].astype(np.int64) - begin
    return spans(begin, counts), np.repeat(keys, counts)


class _Named:
    """Compares the names of references with a text, each name once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._strings = snapshot.strings
        self._known: dict[int, bool] = {}

    def are(self, names: U32, text: str) -> Mask:
        """A mask, one item per number: the texts that are equal to that one."""
        distinct, of = np.unique(names, return_inverse=True)
        for name in distinct.tolist():
            if name not in self._known:
                self._known[name] = self._strings.head(name, len(text) + 1) == text
        found: Mask = np.array([self._known[name] for name in distinct.tolist()], np.bool_)[of]
        return found
