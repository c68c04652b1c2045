"""The columns of a heap dump: its objects, references and types, and what follows from them.

Numbers of objects that stand for "none" are NEVER.
"""

import numpy as np

from memlens.model.graph import PLACE_DTYPE, ROOT_DTYPE, SAMPLE_DTYPE
from memlens.store.columns import Columns, Stored, StoredIfAny, StoredTable

REACHED_DTYPE = np.dtype([("object", "<u4"), ("dominator", "<u4"), ("retained", "<u8")])
"""What an object's dominator is and what it retains where objects that no root reaches hold nothing.

The dominator is NEVER for an object that has a distance from the entries, but that the graph's own root doesn't reach.
"""


class ObjectColumns(Columns):
    """An item an object."""

    prefix = "object_"
    type = Stored(np.uint32, "objects", below="types")
    shallow = Stored(np.uint64, "objects")
    retained = Stored(np.uint64, "objects")
    """Bytes of all that it dominates, itself included."""
    id = Stored(np.uint64, "objects")
    name = Stored(np.uint32, "objects", below="strings")
    dominator = Stored(np.uint32, "objects", below="objects", or_never=True)
    """NEVER for a root, and for what only several roots together hold."""
    distance = Stored(np.uint32, "objects")
    """The least number of references from a root; NEVER for what no root reaches."""
    group = Stored(np.uint32, "objects", below="compact nodes")
    """The node of the compact tree that it is in."""
    stack = StoredIfAny(np.uint32, "objects", below="stacks")
    """Where it was allocated; None where the file doesn't say that of any object."""
    flags = StoredIfAny(np.uint8, "objects")
    space = StoredIfAny(np.uint8, "objects")
    dominated_start = Stored(np.uint32, "holders", into="objects")
    """Where in ``dominated`` those begin that each object dominates, and after these the ones that no object does."""
    dominated = Stored(np.uint32, "objects", below="objects")
    """Objects by their dominators, and of each the one first that retains most."""
    reached = StoredTable(REACHED_DTYPE, file="reached")
    """By object. Only V8's dumps count what unreachable objects hold, and there it rarely makes a difference: these are
    the objects for which it does."""
    roots = StoredTable(ROOT_DTYPE, file="roots")
    places = StoredTable(PLACE_DTYPE, file="places")
    """By object."""
    moments = StoredTable(SAMPLE_DTYPE, file="moments")
    """When a recording looked, and the highest id until then; empty where ids don't say when objects were allocated."""


class ReferenceColumns(Columns):
    """References by their sources, and the same turned around."""

    prefix = "reference_"
    start = Stored(np.uint64, "object ends", into="references")
    target = Stored(np.uint32, "references", below="objects")
    kind = Stored(np.uint8, "references")
    """An index of the manifest's kinds of references, which says what ``name`` is."""
    name = Stored(np.uint32, "references")
    referrer_start = Stored(np.uint64, "object ends", into="references")
    referrer = Stored(np.uint32, "references", below="objects")
    """The sources of the references to each object, ascending; one stands as often as it refers to it."""
    referrer_kind = Stored(np.uint8, "references")
    """The kinds of these references, so that paths can be followed backwards without looking for them."""


class FieldColumns(Columns):
    """Fields that aren't references, by their objects; in archives of dumps that have any."""

    prefix = "field_"
    start = Stored(np.uint64, "object ends", into="field values")
    name = Stored(np.uint32, "field values", below="strings")
    kind = Stored(np.uint8, "field values")
    bits = Stored(np.uint64, "field values")


class TypeColumns(Columns):
    """An item a type."""

    prefix = "type_"
    name = Stored(np.uint32, "types", below="strings")
    kind = Stored(np.uint8, "types")
    module = StoredIfAny(np.uint32, "types", below="strings")
    object = StoredIfAny(np.uint32, "types", below="objects", or_never=True)
    """The object that is the class itself."""
    multiplier = StoredIfAny(np.float32, "types")
    """How many objects of the program one of the file stands for, in sampled dumps."""
    shallow = Stored(np.uint64, "types")
    retained = Stored(np.uint64, "types")
    """What instances retain that no other instance dominates."""
    instance_start = Stored(np.uint32, "type ends", into="objects")
    instance = Stored(np.uint32, "objects", below="objects")
    """Objects by their types, and of each type the one first that retains most."""


class CompactColumns(Columns):
    """An item a node of the dominator tree grouped by type at each level, level after level.

    Node 0 is the root. A node's children are together, the one that retains most first; but where the root isn't an
    object, its last child is the node that the objects are below that no root reaches, if there are any.
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
