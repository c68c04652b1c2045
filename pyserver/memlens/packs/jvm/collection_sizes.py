"""Sizes of Java's and Android's collections, and how much of their arrays they use, for many at once."""

from collections.abc import Iterable

import numpy as np

from memlens.arrays import Mask
from memlens.model.distinct import distinct
from memlens.model.graph import VALUE_KINDS, is_array
from memlens.packs.jvm.contents import (
    COUNTED,
    MOST_WITHIN,
    SLOTS,
    USED,
    Kind,
    count_of,
    fields_within,
    kind_of,
)  # fmt: skip
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.findings.graph.case import GraphCase
from memlens.views.heap.objects.contents import Collections, Usage
from memlens.views.heap.objects.fields import Numbers, field_reader, slots_of
from memlens.views.heap.objects.reference_kinds import kinds_where, named_by_text
from memlens.views.heap.objects.references import references_of_all
from memlens.views.heap.objects.types import instances_of

_UTIL, _CONCURRENT = "java.util.", "java.util.concurrent."
USUAL = frozenset(
    (
        *(f"{_UTIL}{name}" for name in
          ("ArrayList", "Vector", "Stack", "HashMap", "LinkedHashMap", "TreeMap", "LinkedList", "Hashtable",
           "Properties", "WeakHashMap", "IdentityHashMap", "PriorityQueue")),
        *(f"{_CONCURRENT}{name}" for name in ("ConcurrentHashMap", "LinkedBlockingDeque")),
        *(f"android.util.{name}" for name in ("ArrayMap", "ArraySet", "SparseArray")),
    )
)  # fmt: skip
"""Classes of collections that programs make themselves, and could make later or smaller."""

PRIMITIVE_ARRAYS = frozenset(
    f"{name}[]" for name in ["boolean", "byte", "char", "short", "int", "long", "float", "double"]
)


_NO_NUMBERS = np.zeros(0, np.int64)
_NONE = Collections(_NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS)
_FOLLOWED_OF_OBJECT = 8
"""Limit on references followed to count the contents of one kind of collection, as a multiple of the objects."""
_AT_ONCE = 1 << 20
"""Objects whose fields are read in one step."""


def sizes(case: GraphCase) -> tuple[Numbers, Numbers]:
    """Return all collections of the usual classes with known sizes, and the sizes."""
    names = case.snapshot.strings.texts(case.snapshot.types.name)
    found = _collections(case.snapshot, [kind for kind, name in enumerate(names) if name in USUAL])
    known = found.sizes >= 0
    return found.objects[known], found.sizes[known]


@kept
def all_collections(snapshot: Snapshot) -> Collections:
    """Return all collections whose contents are known, see ``contents.py``. Raises :class:`CancelledError`."""
    kinds = np.flatnonzero(np.diff(snapshot.types.instance_start.astype(np.int64)))
    return _collections(snapshot, kinds.tolist())


def _collections(snapshot: Snapshot, kinds: Iterable[int]) -> Collections:
    """The collections of some types."""
    reader = field_reader(snapshot)
    of_kinds: dict[Kind, list[Numbers]] = {}
    wrapped, within = [_NO_NUMBERS], [_NO_NUMBERS]
    for number in kinds:
        classes = reader.classes_above(number)
        kind, fields = kind_of(classes), fields_within(classes)
        if kind is None and not fields:
            continue
        members = instances_of(snapshot, number).astype(np.int64)
        for field in fields:
            targets = _referred(snapshot, members, field)
            wrapped.append(members[targets >= 0])
            within.append(targets[targets >= 0])
            members = members[targets < 0]
        if kind is not None:
            of_kinds.setdefault(kind, []).append(members)
    parts = [_of_kind(snapshot, kind, np.concatenate(members)) for kind, members in of_kinds.items()]
    own = _in_order([_NONE, *parts])
    return _in_order([own, _made_of(own, np.concatenate(wrapped), np.concatenate(within))])


def _in_order(parts: list[Collections]) -> Collections:
    joined = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    order = np.argsort(joined[0], kind="stable")
    return Collections(*(column[order] for column in joined))


def _made_of(own: Collections, wrapped: Numbers, within: Numbers) -> Collections:
    """Return collections that wrap another one and have its size; without those that wrap anything else."""
    order = np.argsort(wrapped)
    wrapped, within = wrapped[order], within[order]
    inner = within
    for _ in range(MOST_WITHIN - 2):
        at = np.searchsorted(wrapped, inner).clip(max=max(len(wrapped) - 1, 0))
        goes_on = wrapped[at] == inner
        if not goes_on.any():
            break
        inner = np.where(goes_on, within[at], inner)
    at = np.searchsorted(own.objects, inner)
    known = at < len(own.objects)
    known[known] = own.objects[at[known]] == inner[known]
    nothing = np.zeros(int(known.sum()), np.int64)
    return Collections(wrapped[known], own.sizes[at[known]], nothing, nothing)


def _of_kind(snapshot: Snapshot, kind: Kind, members: Numbers) -> Collections:
    slots, used = np.zeros(len(members), np.int64), np.zeros(len(members), np.int64)
    if kind.array:
        arrays = _referred(snapshot, members, kind.array)
        has = arrays >= 0
        has[has] = reference_arrays(snapshot)[snapshot.objects.type[arrays[has]]]
        slots[has], used[has] = usage_of_arrays(snapshot, arrays[has])
    sizes = np.full(len(members), -1, np.int64)
    if snapshot.fields is None:
        return Collections(members, sizes, slots, used)
    if kind.size in (SLOTS, USED):
        return Collections(members, slots if kind.size == SLOTS else used, slots, used)
    unsaid = np.ones(len(members), np.bool_)
    if kind.size != COUNTED:
        sizes, is_there = _values(snapshot, members, kind.size)
        unsaid = ~is_there
    if kind.more:
        unsaid |= _referred(snapshot, members, kind.more) >= 0
    reader, is_known = field_reader(snapshot), ~unsaid
    # collections may share their contents, however large
    last = reader.followed + _FOLLOWED_OF_OBJECT * len(snapshot.objects.type)
    for at in np.flatnonzero(unsaid).tolist():
        snapshot.go_on()
        if reader.followed > last:
            break
        sizes[at], is_known[at] = count_of(snapshot, int(members[at])), True
    sizes = np.maximum(sizes, 0).clip(max=len(snapshot.objects.type))
    return Collections(members, np.where(is_known, sizes, -1), slots, used)


def _referred(snapshot: Snapshot, members: Numbers, field: str) -> Numbers:
    """The target of a field of each object; -1 if it has no such field, or that is null."""
    reader, stored, is_text = field_reader(snapshot), snapshot.references, named_by_text(snapshot)
    found = np.full(len(members), -1, np.int64)
    for start in range(0, len(members), _AT_ONCE):
        at, of = references_of_all(snapshot, members[start : start + _AT_ONCE])
        named = is_text[stored.kind[at]]
        at, of = at[named], of[named]
        names = stored.name[at]
        texts = [name for name in distinct(names).tolist() if reader.name(name) == field]
        chosen = np.isin(names, texts)
        found[start + of[chosen]] = stored.target[at[chosen]]
    return found


def _values(snapshot: Snapshot, members: Numbers, field: str) -> tuple[Numbers, Mask]:
    """Return the integer in a field of each object, and a mask of the objects that have the field."""
    fields, found = snapshot.fields, np.full(len(members), -1, np.int64)
    is_there = np.zeros(len(members), np.bool_)
    if fields is None or not len(members):
        return found, is_there
    text = snapshot.strings.find(distinct(fields.name), field)
    widths = fields.start[members + 1].astype(np.int64) - fields.start[members].astype(np.int64)
    for place in range(int(widths.max()) if text >= 0 else 0):
        has = np.flatnonzero(widths > place)
        at = fields.start[members[has]].astype(np.int64) + place
        hit = fields.name[at] == text
        found[has[hit]] = _integers(fields.kind[at[hit]], fields.bits[at[hit]])
        is_there[has[hit]] = True
    return found, is_there


def _integers(kinds: Numbers, bits: Numbers) -> Numbers:
    wide = kinds == VALUE_KINDS.index("long")
    narrow = bits.astype(np.uint32).view(np.int32).astype(np.int64)
    return np.where(wide, bits.view(np.int64), narrow)


def reference_arrays(snapshot: Snapshot) -> Numbers:
    """Return a mask of the types that are arrays of references."""
    names = snapshot.strings.texts(snapshot.types.name)
    return np.array([is_array(name) and name not in PRIMITIVE_ARRAYS for name in names], np.bool_)


def all_reference_arrays(snapshot: Snapshot) -> Numbers:
    """All arrays of references, ascending."""
    return np.flatnonzero(reference_arrays(snapshot)[snapshot.objects.type])


def usage_of_arrays(snapshot: Snapshot, arrays: Numbers) -> Usage:
    """Return how many slots each array of references uses."""
    is_element = kinds_where(snapshot, lambda kind: kind.name == "element")
    # collections may share an array, however long it is
    asked, place = np.unique(arrays, return_inverse=True)
    at, of = references_of_all(snapshot, asked)
    used = np.bincount(of[is_element[snapshot.references.kind[at]]], minlength=len(asked))
    return Usage(slots_of(snapshot, arrays), used[place])
