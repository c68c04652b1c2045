"""The columns of a heap dump: its objects, references and types, and what is computed from them.

NEVER in place of an object's number means "none".
"""

import numpy as np
import numpy.typing as npt

from memlens.model.graph import (
    ARRAY_DTYPE,
    IMAGE_DTYPE,
    PLACE_DTYPE,
    ROOT_DTYPE,
    SAMPLE_DTYPE,
    THREAD_DTYPE,
    UNREAD_DTYPE,
    VARIABLE_DTYPE,
)  # fmt: skip
from memlens.store.columns import Array, Columns, Declared, Stored, StoredIfAny, StoredTable
from memlens.store.manifest import InconsistentError

REACHED_DTYPE = np.dtype([("object", "<u4"), ("dominator", "<u4"), ("retained", "<u8")])
"""An object's dominator and retained size if unreachable objects hold nothing.

The dominator is NEVER for an object that has a distance from the entries, but that the graph's own root doesn't reach.
"""

OWNED_DTYPE = np.dtype([("object", "<u4"), ("native", "<u8"), ("retained", "<u8")])
"""Memory outside of the heap: an object's own, and that of all that it dominates, including its own."""


THREAD_FRAME_DTYPE = np.dtype([("frame", "<u4")])
"""A frame of a thread's stack; NEVER if it isn't known."""


class ObjectColumns(Columns):
    """An item for each object."""

    prefix = "object_"
    type = Stored(np.uint32, "objects", below="types")
    shallow = Stored(np.uint64, "objects")
    retained = Stored(np.uint64, "objects")
    """Bytes of everything that it dominates, including itself."""
    id = Stored(np.uint64, "objects")
    name = Stored(np.uint32, "objects", below="strings")
    dominator = Stored(np.uint32, "objects", below="objects", or_never=True)
    """NEVER for a root, and for objects that only several roots together hold."""
    distance = Stored(np.uint32, "objects")
    """The smallest number of references from a root; NEVER for unreachable objects."""
    group = Stored(np.uint32, "objects", below="compact nodes")
    """The node of the compact tree that it is in."""
    stack = StoredIfAny(np.uint32, "objects", below="stacks")
    """Where it was allocated; None if the file doesn't say so for any object."""
    flags = StoredIfAny(np.uint8, "objects")
    space = StoredIfAny(np.uint8, "objects")
    dominated_start = Stored(np.uint32, "holders", into="objects")
    """Where in ``dominated`` each object's own begin, and after these the objects that no object dominates."""
    dominated = Stored(np.uint32, "objects", below="objects")
    """Objects by their dominators; among those of one dominator the largest retained size first."""
    reached = StoredTable(REACHED_DTYPE, file="reached")
    """By object. Where unreachable objects hold others, which rarely makes a difference: these are the objects for
    which it does.
    """
    roots = StoredTable(ROOT_DTYPE, file="roots")
    places = StoredTable(PLACE_DTYPE, file="places")
    """By object."""
    arrays = StoredTable(ARRAY_DTYPE, file="arrays")
    """By object; empty if the file doesn't have the elements of arrays of numbers."""
    owned = StoredTable(OWNED_DTYPE, file="owned")
    """By object: those that retain memory outside of the heap, which are few. Empty if the dump has none."""
    images = StoredTable(IMAGE_DTYPE, file="images")
    """By object."""
    unread = StoredTable(UNREAD_DTYPE, file="unread")
    """By object: variables that no function can read any more. Empty if the file doesn't say what functions read."""
    moments = StoredTable(SAMPLE_DTYPE, file="moments")
    """A recording's samples: time and highest id; empty if ids don't show when objects were allocated."""


class ReferenceColumns(Columns):
    """References by their sources, and the same references by their targets."""

    prefix = "reference_"
    start = Stored(np.uint64, "object ends", into="references")
    target = Stored(np.uint32, "references", below="objects")
    kind = Stored(np.uint8, "references")
    """An index of the manifest's kinds of references, which says what ``name`` is."""
    name = Stored(np.uint32, "references")
    referrer_start = Stored(np.uint64, "object ends", into="references")
    referrer = Stored(np.uint32, "references", below="objects")
    """The sources of the references to each object, ascending; a source is repeated for each of its references."""
    referrer_kind = Stored(np.uint8, "references")
    """The kinds of these references, so that paths can be followed backwards without a search."""


class FieldColumns(Columns):
    """Fields that aren't references, by their objects; only in archives of dumps that have any."""

    prefix = "field_"
    start = Stored(np.uint64, "object ends", into="field values")
    name = Stored(np.uint32, "field values", below="strings")
    kind = Stored(np.uint8, "field values")
    bits = Stored(np.uint64, "field values")


class ThreadColumns(Columns):
    """Threads, their frames and their variables, of any number; see :class:`memlens.model.graph.Threads`."""

    prefix = "thread_"
    rows = StoredTable(THREAD_DTYPE)
    frames = StoredTable(THREAD_FRAME_DTYPE)
    variables = StoredTable(VARIABLE_DTYPE)


class TypeColumns(Columns):
    """One item per type."""

    prefix = "type_"
    name = Stored(np.uint32, "types", below="strings")
    kind = Stored(np.uint8, "types")
    module = StoredIfAny(np.uint32, "types", below="strings")
    object = StoredIfAny(np.uint32, "types", below="objects", or_never=True)
    """The object that is the class itself."""
    multiplier = StoredIfAny(np.float32, "types")
    """How many objects of the program one object of the file represents, in sampled dumps."""
    shallow = Stored(np.uint64, "types")
    retained = Stored(np.uint64, "types")
    """The retained bytes of instances that no other instance dominates."""
    unreachable = Stored(np.uint32, "types")
    """Instances that no root reaches."""
    unreachable_shallow = Stored(np.uint64, "types")
    native = StoredIfAny(np.uint64, "types")
    """Memory outside of the heap that instances own; None if the dump has none."""
    native_retained = StoredIfAny(np.uint64, "types")
    """What of it instances retain that no other instance dominates."""
    instance_start = Stored(np.uint32, "type ends", into="objects")
    instance = Stored(np.uint32, "objects", below="objects")
    """Objects by their types; among those of one type the largest retained size first."""


class CompactColumns(Columns):
    """An item for each node of the dominator tree grouped by type at each level, level after level.

    Node 0 is the root. A node's children are adjacent, the largest retained size first; but if the root isn't an
    object, its last child is the node of the objects that no root reaches, if there are any.
    """

    prefix = "compact_"
    type = Stored(np.uint32, "compact nodes", below="types", or_never=True)
    """NEVER for a root that isn't an object, and for the node of unreachable objects."""
    parent = Stored(np.uint32, "compact nodes", below="itself", first=1)
    objects = Stored(np.uint32, "compact nodes")
    shallow = Stored(np.uint64, "compact nodes")
    retained = Stored(np.uint64, "compact nodes")
    first = Stored(np.uint32, "compact nodes")
    """The first child."""
    last = Stored(np.uint32, "compact nodes")
    """The one after the last child; 0 where there is none."""

    def check_with_others(self, column: Declared, found: Array) -> None:
        """Check that each node but the root is the child of one node with a lower number: every walk down ends."""
        if column.name not in ("first", "last"):
            return
        first = found if column.name == "first" else self.unchecked(CompactColumns.first)
        last = found if column.name == "last" else self.unchecked(CompactColumns.last)
        if not are_children_of_one(first, last):
            raise InconsistentError("Nodes of the compact tree are children of none or of several")


def are_children_of_one(first: npt.NDArray[np.integer], last: npt.NDArray[np.integer]) -> bool:
    """Whether each node but the first is a child of exactly one with a lower number.

    ``first`` has the first child of each node, ``last`` the one after its last child; both are 0 where there is none.
    """
    parents = np.flatnonzero(last)
    begins, ends = first[parents], last[parents]
    fits = bool((first[last == 0] == 0).all() and (begins > parents).all() and (begins < ends).all())
    if not len(parents):
        return fits and len(last) <= 1
    return (
        fits and bool((begins[1:] == ends[:-1]).all()) and int(begins[0]) == 1 and int(ends[-1]) == len(last)
    )
