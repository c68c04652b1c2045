"""How many elements Java's and Android's collections have, and how much of their arrays they use; many at once."""

from typing import NamedTuple

import numpy as np

from memlens.model.distinct import distinct
from memlens.model.graph import VALUE_KINDS
from memlens.store.snapshot import Snapshot
from memlens.views.graph.fields import Numbers, slots_of
from memlens.views.graph.kinds import kinds_where
from memlens.views.graph.rows import references_of_all
from memlens.views.graph.types import instances_of

SIZES = {
    "java.util.ArrayList": "size",
    "java.util.Vector": "elementCount",
    "java.util.Stack": "elementCount",
    "java.util.HashMap": "size",
    "java.util.LinkedHashMap": "size",
    "java.util.TreeMap": "size",
    "java.util.LinkedList": "size",
    "java.util.Hashtable": "count",
    "java.util.Properties": "count",
    "java.util.WeakHashMap": "size",
    "java.util.IdentityHashMap": "size",
    "java.util.PriorityQueue": "size",
    "java.util.concurrent.ConcurrentHashMap": "baseCount",
    "java.util.concurrent.LinkedBlockingDeque": "count",
    "android.util.ArrayMap": "mSize",
    "android.util.ArraySet": "mSize",
    "android.util.SparseArray": "mSize",
}
"""Collections of Java's and Android's libraries, and the field that says how many elements one has."""

PRIMITIVE_ARRAYS = frozenset(
    f"{name}[]" for name in ["boolean", "byte", "char", "short", "int", "long", "float", "double"]
)


class Sized(NamedTuple):
    """Collections whose sizes are known."""

    objects: Numbers
    sizes: Numbers


class Usage(NamedTuple):
    """An item for each of some objects: how many slots their arrays have, and how many of these aren't null."""

    slots: Numbers
    used: Numbers


def sized(snapshot: Snapshot) -> Sized:
    """All collections of these types with their sizes."""
    return snapshot.keep("sizes of collections", lambda: _sized(snapshot))


def _sized(snapshot: Snapshot) -> Sized:
    fields = snapshot.fields
    parts: list[tuple[Numbers, Numbers]] = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    names = snapshot.strings.texts(snapshot.types.name)
    for name, field in SIZES.items() if fields is not None else ():
        kinds = [number for number, each in enumerate(names) if each == name]
        instances = [instances_of(snapshot, kind) for kind in kinds]
        members = np.concatenate(instances).astype(np.int64) if kinds else np.zeros(0, np.int64)
        text = snapshot.strings.find(distinct(fields.name), field) if fields and len(members) else -1
        if fields is None or text < 0:
            continue
        found = np.full(len(members), -1, np.int64)
        widths = fields.start[members + 1].astype(np.int64) - fields.start[members].astype(np.int64)
        for place in range(int(widths.max())):
            has = np.flatnonzero(widths > place)
            at = fields.start[members[has]].astype(np.int64) + place
            hit = fields.name[at] == text
            found[has[hit]] = _integers(fields.kind[at[hit]], fields.bits[at[hit]])
        parts.append((members[found >= 0], found[found >= 0]))
    return Sized(np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))


def _integers(kinds: Numbers, bits: Numbers) -> Numbers:
    wide = kinds == VALUE_KINDS.index("long")
    narrow = bits.astype(np.uint32).view(np.int32).astype(np.int64)
    return np.where(wide, bits.view(np.int64), narrow)


def reference_arrays(snapshot: Snapshot) -> Numbers:
    """Which types are arrays of references."""
    names = snapshot.strings.texts(snapshot.types.name)
    return np.array([name.endswith("[]") and name not in PRIMITIVE_ARRAYS for name in names], np.bool_)


def all_reference_arrays(snapshot: Snapshot) -> Numbers:
    """All arrays of references, ascending."""
    return np.flatnonzero(reference_arrays(snapshot)[snapshot.objects.type])


def usage_of_arrays(snapshot: Snapshot, arrays: Numbers) -> Usage:
    """What arrays of references use of themselves. Raises nothing for none."""
    is_element = kinds_where(snapshot, lambda kind: kind.name == "element")
    at, of = references_of_all(snapshot, arrays)
    used = np.bincount(of[is_element[snapshot.references.kind[at]]], minlength=len(arrays))
    return Usage(slots_of(snapshot, arrays), used)


def usage_of_collections(snapshot: Snapshot, collections: Numbers) -> Usage:
    """The same of the arrays that collections refer to themselves; 0 slots for those without any."""
    kinds, stored = reference_arrays(snapshot), snapshot.references
    at, of = references_of_all(snapshot, collections)
    targets = stored.target[at].astype(np.int64)
    own = kinds[snapshot.objects.type[targets]]
    arrays, owners = targets[own], of[own]
    each = usage_of_arrays(snapshot, arrays)
    sums = [
        np.bincount(owners, weights=column, minlength=len(collections)).astype(np.int64) for column in each
    ]
    return Usage(*sums)
