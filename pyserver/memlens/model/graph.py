"""The Graph model: objects and the references between them, as heap dumps have them.

A reader in ``formats/`` returns a :class:`Graph`; everything derived from it (dominators, retained sizes, distances,
referrers, totals by type) is computed and stored by ``store/objects``, so a reader only hands over what is in the file:

1. **Objects** are numbered 0, 1, 2 … in the order of the file (any order will do; ``ids`` has the file's own id or
   address). All columns of :class:`Objects` have an item per object, optional ones are None if the file doesn't have
   that at all.
2. **Types** are numbered as well. A type is what people group by: a class with its package or module. Two classes of
   one name that different loaders loaded are two types. Class objects are ordinary objects.
3. **References** stand in the order of their sources, and for one source in the order of the file (fields in the order
   of declaration, elements by index): those of object ``o`` are ``start[o]`` to ``start[o + 1]``. Drop references to
   null. References to objects that the file doesn't contain are dropped too, and counted in a notice. Several
   references between the same two objects, and from an object to itself, are fine.
4. **Reference kinds** say how the references of a kind are named and whether they keep their target alive. The
   kinds are the format's own words ("property", "element", "field", "static field", "referent"). A reference that is
   shown but doesn't retain (``java.lang.ref.Reference.referent``, V8's weak edges) has a kind with ``retains=False``;
   ``strength`` says which kind of weakness it is, so that questions can leave it out or follow it.
5. **Roots** are rows of ROOT_DTYPE, several for one object if the file says so. If the file's graph has a root object
   of its own from which everything hangs (V8's node 0, PerfView's root node), ``root`` is that object, and ``roots``
   serves to name what people call roots; otherwise ``root`` is None, and reachability begins at the objects of
   ``roots``, except for those of ``held_kinds``.
6. **Texts** are all names, in one arena of bytes; columns refer to them by number, and number 0 is "none". A reader
   with many names fills the arena in a kernel; one with a few uses ``Texts.of``. Equal texts may occur more than once
   for objects' names; names of types and of reference kinds' fields should be distinct (intern them), since numbers
   are compared.
7. **Stacks** are those of the other models: ``frames`` and, for formats that have one, the prefix ``tree``. Stack 0 is
   empty: "not known".
8. What the file can't say, or what is a guess, is a ``Notice``, and where figures need it a field of :class:`Facts`.

Columns may be memory-mapped temporary files. They must be little-endian and contiguous, of exactly the types below.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.model.frames import Frames
from memlens.model.info import Notice
from memlens.model.profile import StackTree
from memlens.model.texts import Texts

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
Column = npt.NDArray[Any]

NONE = 0xFFFFFFFF
"""No object, no frame: the number that none of them has."""

MOST_OBJECTS = NONE - 2
"""Objects are numbered in 32 bits, with a number for "none" and one for the virtual root."""

MOST_BYTES = 2**62
"""Shallow sizes add up to less than this."""

_STRETCH_ROWS = 1 << 16

Strength = Literal["strong", "weak", "soft", "phantom", "finalizer", "ephemeron"]
"""What a reference does to its target: "weak" to "finalizer" as Java's classes of references; "ephemeron" is held only
while another object (the key of a weak map) is alive."""

Naming = Literal["text", "index", "none"]
"""What ``References.name`` is for a kind: the number of a text, an index in an array (NONE where it
isn't known), or nothing (0)."""


class ReferenceKind(NamedTuple):
    """A kind of references. ``retains`` is whether such a reference counts for dominators and reachability."""

    name: str
    naming: Naming
    strength: Strength = "strong"
    retains: bool = True


ROOT_DTYPE = np.dtype([("object", "<u4"), ("kind", "<u4"), ("detail", "<u4"), ("frame", "<u4")])
"""A root: ``kind`` is an index of ``Graph.root_kinds``, ``detail`` a text (a thread's name, a module; 0 for none),
``frame`` the number in ``frames.frames`` of the frame whose local it is, NONE if there is none."""

PLACE_DTYPE = np.dtype([("object", "<u4"), ("frame", "<u4")])
"""Where an object or its class is defined: ``frame`` is a number in ``frames.frames``. At most one row per object,
sorted by object. Where an object was *allocated* is ``Objects.stack`` instead."""

SAMPLE_DTYPE = np.dtype([("time_us", "<u8"), ("last_id", "<u8")])
"""A moment of a recording, since its beginning, and the highest id of an object until then; both ascend."""

VALUE_KINDS = ("boolean", "byte", "char", "short", "int", "long", "float", "double", "text")
"""Kinds of values of fields that aren't references. A "char" is a UTF-16 unit, a "text" the number of a text."""


@dataclass(slots=True)
class Objects:
    """An item per object."""

    type: U32
    """A number of :class:`Types`."""
    shallow: U64
    """The object's own bytes."""
    ids: U64
    """The file's id or the address."""
    name: U32
    """A text: what the object itself is called (a function's name, a module's, a thread's), for strings their text,
    for classes the class's name; 0 for none."""
    stack: U32 | None = None
    """Where the object was allocated: a number of ``frames``, or a node of ``tree``; 0 if not known."""
    flags: U8 | None = None
    """Bits, see ``Graph.flags``."""
    space: U8 | None = None
    """An index of ``Graph.spaces``: the heap, generation or segment where the object is."""

    def __len__(self) -> int:
        return len(self.type)


@dataclass(slots=True)
class Types:
    """An item per type."""

    name: U32
    """A text: the type's name as people write it, with its package (``java.util.HashMap$Node``, ``byte[]``)."""
    kind: U8
    """An index of ``Graph.type_kinds``."""
    module: U32 | None = None
    """A text: the assembly, module, package or class loader, where it isn't part of the name; 0 for none."""
    object: U32 | None = None
    """The class object of the type, NONE if there is none."""
    multiplier: npt.NDArray[np.float32] | None = None
    """How many objects of the program one object of the file stands for, in sampled dumps."""

    def __len__(self) -> int:
        return len(self.name)


@dataclass(slots=True)
class References:
    """References in the order of their sources; ``start`` has an item more than there are objects."""

    start: U64
    target: U32
    kind: U8
    """An index of ``Graph.reference_kinds``."""
    name: U32
    """What ``ReferenceKind.naming`` says."""

    def __len__(self) -> int:
        return len(self.target)


@dataclass(slots=True)
class Values:
    """Fields that aren't references, in the order of their objects; ``start`` has an item more than there are objects.

    The elements of arrays of numbers don't belong here.
    """

    start: U64
    name: U32
    """A text."""
    kind: U8
    """An index of VALUE_KINDS."""
    bits: U64
    """Two's complement, IEEE 754 (a float's in the lower half), or the number of a text."""


@dataclass(slots=True)
class Facts:
    """What is true of the whole file, where it changes how figures are to be read."""

    id_bytes: int = 8
    """The size of an id or a pointer."""
    count_multiplier: float = 1.0
    """How many objects of the program one of the file stands for on average, in sampled dumps."""
    size_multiplier: float = 1.0
    """The same for bytes."""
    capped: bool = False
    """Whether the recorder stopped at a limit of objects."""
    sizes_inferred: bool = False
    """Whether shallow sizes are computed by a rule and not in the file."""
    truncated: bool = False
    """Whether the file is truncated, and this is what comes before."""
    unreachable_attached: bool = False
    """Whether objects that no root reaches count as held by the root, as DevTools has it for V8. Otherwise they are
    apart: they retain nothing that is reachable, and their references don't change its dominators."""


def no_frames() -> Frames:
    """Frames of a dump without any: stack 0 alone."""
    return Frames([], np.zeros(2, np.uint64), np.empty(0, np.uint32))


@dataclass(slots=True)
class Graph:
    """A whole heap dump in memory, ready to be archived."""

    kind: str
    """The format, as ``v8``, ``hprof`` or ``gcdump``."""
    objects: Objects
    types: Types
    references: References
    reference_kinds: Sequence[ReferenceKind]
    roots: Column
    """Rows of ROOT_DTYPE."""
    texts: Texts
    type_kinds: Sequence[str] = ("class",)
    root_kinds: Sequence[str] = ("root",)
    held_kinds: Sequence[int] = ()
    """Kinds of roots that another root holds, as a thread the objects of its stack: the references say so. Their rows
    say what these objects are, but reachability doesn't begin at them, so that the thread retains them."""
    root: int | None = None
    flags: Sequence[str] = ()
    """Names of the bits of ``Objects.flags``, the lowest first: "detached", "pinned", "frozen"."""
    spaces: Sequence[str] = ()
    frames: Frames = field(default_factory=no_frames)
    tree: StackTree | None = None
    """The stacks as a prefix tree; those of ``frames`` are empty then."""
    places: Column = field(default_factory=lambda: np.empty(0, PLACE_DTYPE))
    samples: Column = field(default_factory=lambda: np.empty(0, SAMPLE_DTYPE))
    """Rows of SAMPLE_DTYPE, where ids say when objects were allocated."""
    values: Values | None = None
    facts: Facts = field(default_factory=Facts)
    settings: dict[str, Any] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Raises ValueError if the columns are inconsistent: a bug in the reader, and not damage to the file."""
        wrong = _inconsistent(self)
        if wrong:
            raise ValueError(f"the graph's columns are inconsistent: {', '.join(wrong)}")


def _inconsistent(graph: Graph) -> list[str]:
    """The names of columns that are not as described, so that nothing after this has to check an index."""
    objects, types, texts = graph.objects, graph.types, len(graph.texts)
    count, frames = len(objects), len(graph.frames.frames)
    stacks = len(graph.frames.starts) - 1 if graph.tree is None else len(graph.tree.parents)
    columns: list[tuple[str, Column | None, Any, int, int | None]] = [
        # name, column, type, items, what its numbers are below
        ("objects.type", objects.type, np.uint32, count, len(types)),
        ("objects.shallow", objects.shallow, np.uint64, count, None),
        ("objects.ids", objects.ids, np.uint64, count, None),
        ("objects.name", objects.name, np.uint32, count, texts),
        ("objects.stack", objects.stack, np.uint32, count, stacks),
        ("objects.flags", objects.flags, np.uint8, count, 1 << len(graph.flags)),
        ("objects.space", objects.space, np.uint8, count, len(graph.spaces)),
        ("types.name", types.name, np.uint32, len(types), texts),
        ("types.kind", types.kind, np.uint8, len(types), len(graph.type_kinds)),
        ("types.module", types.module, np.uint32, len(types), texts),
        ("types.multiplier", types.multiplier, np.float32, len(types), None),
    ]  # fmt: skip
    references, values = graph.references, graph.values
    kinds = len(graph.reference_kinds)
    columns += [
        ("references.target", references.target, np.uint32, len(references), count),
        ("references.kind", references.kind, np.uint8, len(references), kinds),
        ("references.name", references.name, np.uint32, len(references), None),
        ("roots.object", graph.roots["object"], np.uint32, len(graph.roots), count),
        ("roots.kind", graph.roots["kind"], np.uint32, len(graph.roots), len(graph.root_kinds)),
        ("roots.detail", graph.roots["detail"], np.uint32, len(graph.roots), texts),
        ("places.object", graph.places["object"], np.uint32, len(graph.places), count),
        ("places.frame", graph.places["frame"], np.uint32, len(graph.places), frames),
    ]
    if values is not None:
        columns += [
            ("values.name", values.name, np.uint32, len(values.bits), texts),
            ("values.kind", values.kind, np.uint8, len(values.bits), len(VALUE_KINDS)),
            ("values.bits", values.bits, np.uint64, len(values.bits), None),
        ]
    wrong = [name for name, column, kind, items, below in columns if not _fits(column, kind, items, below)]
    starts = [("references.start", references.start, len(references))]
    if values is not None:
        starts.append(("values.start", values.start, len(values.bits)))
    wrong += [name for name, start, items in starts if not _is_offsets(start, count, items)]
    if not wrong and not _are_named(references, graph.reference_kinds, texts):
        wrong.append("references.name")
    if any(not 0 <= kind < len(graph.root_kinds) for kind in graph.held_kinds):
        wrong.append("held_kinds")
    if graph.root is not None and not 0 <= graph.root < count:
        wrong.append("root")
    if not 0 < count <= MOST_OBJECTS:
        wrong.append("the number of objects")
    elif float(objects.shallow.sum(dtype=np.float64)) >= MOST_BYTES:
        wrong.append("the sum of shallow sizes")
    for name, numbers in (("types.object", types.object), ("roots.frame", graph.roots["frame"])):
        below = count if name == "types.object" else frames
        if numbers is not None and not bool(((numbers < below) | (numbers == NONE)).all()):
            wrong.append(name)
    if len(graph.places) > 1 and not bool((np.diff(graph.places["object"].astype(np.int64)) > 0).all()):
        wrong.append("the order of places")
    return wrong + [
        f"the order of samples.{name}"
        for name in ("time_us", "last_id")
        if not bool((graph.samples[name][1:] >= graph.samples[name][:-1]).all())
    ]


def _fits(column: Column | None, kind: Any, items: int, below: int | None) -> bool:
    if column is None:
        return True
    if column.dtype != kind or len(column) != items:
        return False
    return below is None or not items or int(column.max()) < below


def _are_named(references: References, kinds: Sequence[ReferenceKind], texts: int) -> bool:
    """Whether references whose kind is named by a text have the number of one; a stretch of them at a time."""
    by_text = np.array([kind.naming == "text" for kind in kinds])
    for start in range(0, len(references), _STRETCH_ROWS):
        part = slice(start, start + _STRETCH_ROWS)
        if bool((by_text[references.kind[part]] & (references.name[part] >= texts)).any()):
            return False
    return True


def _is_offsets(start: U64, count: int, items: int) -> bool:
    if start.dtype != np.uint64 or len(start) != count + 1 or int(start[0]) or int(start[-1]) != items:
        return False
    return bool((start[1:] >= start[:-1]).all())
