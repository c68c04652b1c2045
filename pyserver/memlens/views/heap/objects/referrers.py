"""References to the objects of a type, by the type and field of the referrers."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from memlens.arrays import Mask
from memlens.model.distinct import distinct
from memlens.model.spans import spans
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.reference_kinds import named_by_code
from memlens.views.heap.objects.references import references_of_all
from memlens.views.heap.objects.rows import Numbers
from memlens.views.heap.objects.types import instances_of

_OBJECTS_AT_ONCE = 1 << 18
_LONGEST_PLACE = 20
"""The longest number, in characters."""


class Referring(NamedTuple):
    """References of one kind and name from the objects of one type; those named by numbers are together."""

    type: int
    kind: int
    name: int
    """The number of its string, -1 for none."""
    references: int
    referrers: Numbers
    objects: Numbers


def referring_to_types(snapshot: Snapshot, kinds: Sequence[int]) -> Iterator[Referring]:
    """Return the references to the objects of some types, those to the most objects first.

    Raises :class:`CancelledError` when the snapshot's work is stopped.
    """
    members = [instances_of(snapshot, kind) for kind in kinds]
    source, reference = _references_to(
        snapshot, np.concatenate(members) if members else np.zeros(0, np.uint32)
    )
    stored = snapshot.references
    kind, target = stored.kind[reference], stored.target[reference]
    names = np.where(named_by_code(snapshot)[kind], stored.name[reference].astype(np.int64), -1)
    names[_is_place(snapshot, names)] = -1
    of_type = snapshot.objects.type[source]
    order = np.lexsort((names, kind, of_type))
    columns = [column[order] for column in (of_type, kind, names)]
    differs = np.zeros(len(order), np.bool_)
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    parts = np.split(order, np.flatnonzero(differs)) if len(order) else []
    groups = []
    for part in parts:
        first = part[0]
        groups.append(
            Referring(
                int(of_type[first]), int(kind[first]), int(names[first]), len(part),
                distinct(source[part]), distinct(target[part]),
            )
        )  # fmt: skip
    groups.sort(key=lambda group: (-len(group.objects), -group.references))
    yield from groups


def _is_place(snapshot: Snapshot, names: Numbers) -> Mask:
    """Return a mask of the names that are numbers only, such as those of table slots."""
    different = distinct(names)
    found = np.zeros(len(different), np.bool_)
    for place, name in enumerate(different.tolist()):
        if not place % _OBJECTS_AT_ONCE:
            snapshot.go_on()
        found[place] = name >= 0 and snapshot.strings.head(name, _LONGEST_PLACE).isdecimal()
    is_place: Mask = found[np.searchsorted(different, names)]
    return is_place


def _references_to(snapshot: Snapshot, members: Numbers) -> tuple[Numbers, Numbers]:
    """Return the sources and the numbers of all references to some objects."""
    stored = snapshot.references
    is_member = np.zeros(len(snapshot.objects.type), np.bool_)
    is_member[members] = True
    is_source = np.zeros(len(snapshot.objects.type), np.bool_)
    for first in range(0, len(members), _OBJECTS_AT_ONCE):
        snapshot.go_on()
        part = members[first : first + _OBJECTS_AT_ONCE].astype(np.int64)
        starts = stored.referrer_start[part].astype(np.int64)
        counts = stored.referrer_start[part + 1].astype(np.int64) - starts
        is_source[stored.referrer[spans(starts, counts)]] = True
    sources, found = np.flatnonzero(is_source), [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for first in range(0, len(sources), _OBJECTS_AT_ONCE):
        snapshot.go_on()
        part = sources[first : first + _OBJECTS_AT_ONCE]
        at, of = references_of_all(snapshot, part)
        chosen = is_member[stored.target[at]]
        found.append((part[of[chosen]], at[chosen]))
    source, reference = (np.concatenate(column) for column in zip(*found, strict=True))
    return source, reference
