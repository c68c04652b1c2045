"""The Graph model: the objects of a heap dump and the references between them.

A reader in ``formats/`` returns a :class:`Graph`; everything derived from it (dominators, retained sizes, distances,
referrers, totals by type) is computed and stored by ``store/objects``, so a reader only returns what is in the file:

1. **Objects** are numbered from 0, usually in the order of the file; ``ids`` has the file's own ids or addresses. All
   columns of :class:`Objects` have an item for each object; an optional column is None if the file has nothing for it.
2. **Types** are numbered as well. A type is what objects are grouped by: a class with its package or module. Two
   classes of one name that different loaders loaded are two types. Class objects are ordinary objects.
3. **References** are sorted by source, and those of a source are in the order of the file (fields in the order of
   declaration, elements by index): object ``o`` has ``start[o]`` to ``start[o + 1]``. Drop references to null; also
   drop references to objects that the file doesn't contain, and count these in a warning. Several references between
   the same two objects, and from an object to itself, are allowed.
4. **Reference kinds** say how the references of a kind are named and whether they keep their target alive. Kinds have
   the format's own names ("property", "element", "field", "static field", "referent"). A reference that is shown but
   doesn't retain (a weak edge) has a kind with ``retains=False``;
   ``strength`` says how weak it is, so that questions can leave it out or follow it.
5. **Roots** are rows of ROOT_DTYPE, several for an object if the file has several. If the file's graph has a root
   object that refers to everything else, ``root`` is that object, and ``roots``
   only names the roots for people; otherwise ``root`` is None, and reachability begins at the objects of ``roots``,
   except for those of ``held_kinds``.
6. **Texts** are all names, in one buffer of bytes; columns refer to them by number, and number 0 is "none". A reader
   with many names fills the buffer in a kernel; one with a few uses ``Texts.of``. The names of objects may contain
   equal texts; the names of types and of fields in references must be interned, since their numbers are compared.
7. **Stacks** are those of the other models: ``frames`` and, for formats that have one, the prefix ``tree``. Stack 0 is
   empty, and means "unknown".
8. **Threads** have their frames, innermost first, and what the variables of each frame refer to. These are roots, or
   references of the thread's object, as well: this only says in which frame they are.
9. Whatever the file lacks, or is only estimated, has a ``FileWarning``, and if figures depend on it a field of
   :class:`Facts`.

Columns may be memory-mapped temporary files. They must be little-endian and contiguous, and have exactly the types
below.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from memlens.arrays import F32, U8, U32, U64
from memlens.model.frames import Frames
from memlens.model.info import FileWarning
from memlens.model.profile import Profile, StackTree
from memlens.model.texts import Texts

Column = npt.NDArray[Any]

NONE = 0xFFFFFFFF
"""In place of the number of an object or a frame: none."""

OWN_NODE = "node of the dump"
"""The kind of the types of nodes that a dump has for itself, to group its roots."""
MOST_OBJECTS = NONE - 2
"""Objects are numbered in 32 bits, with a number for "none" and one for the virtual root."""

EXAMINED_FROM = 200_000
"""From so many objects on findings are made apart from other answers; of fewer it takes a tenth of a second."""

MOST_BYTES = 2**62
"""Shallow sizes add up to less than this."""

_ROWS_AT_ONCE = 1 << 16

Strength = Literal["strong", "weak", "soft", "phantom", "finalizer", "ephemeron"]
"""How strongly a reference holds its target. "weak" to "finalizer" are those of managed runtimes; an "ephemeron" holds
it only while another object, the key of a weak map, is alive."""

RETAINING: tuple[Strength, ...] = ("soft",)
"""Strengths of references that retain besides strong ones: what is softly reachable isn't garbage. A virtual machine
clears soft references when memory runs short, as late as before it throws an OutOfMemoryError."""

Naming = Literal["text", "index", "none"]
"""What ``References.name`` is for a kind: the number of a text, an index into an array (NONE if unknown), or
nothing (0)."""


class ReferenceKind(NamedTuple):
    """A kind of reference. ``retains``: whether such references count for dominators and reachability."""

    name: str
    naming: Naming
    strength: Strength = "strong"
    retains: bool = True


ENTRY = "entry"
"""The kind of references from a dictionary to its values, which are named by what their keys contain: their names are
contents, as strings' texts are, and not names of the program."""

ROOT_DTYPE = np.dtype([("object", "<u4"), ("kind", "<u4"), ("detail", "<u4"), ("frame", "<u4")])
"""A root: ``kind`` is an index into ``Graph.root_kinds``; ``detail`` is a text (a thread's name, a module), 0 for none;
``frame`` is the number in ``frames.frames`` of the frame of which it is a local variable, NONE for no frame."""

PLACE_DTYPE = np.dtype([("object", "<u4"), ("frame", "<u4")])
"""Where an object or its class is defined: ``frame`` is a number in ``frames.frames``. At most one row per object,
sorted by object. Where an object was *allocated* is ``Objects.stack`` instead."""

SAMPLE_DTYPE = np.dtype([("time_us", "<u8"), ("last_id", "<u8"), ("allocated_bytes", "<u8")])
"""A time since the beginning of a recording, and the highest id of an object until then; both ascend. Of what was
allocated since the time before, ``allocated_bytes`` were alive then; 0 everywhere where the file doesn't say so."""

ARRAY_DTYPE = np.dtype(
    [("contents", "<u8"), ("offset", "<u8"), ("object", "<u4"), ("length", "<u4"), ("used", "<u4"),
     ("element_bytes", "u1"), ("is_text", "u1"), ("is_constant", "<u2"), ("head", "V32")]
)  # fmt: skip
"""An array of numbers with elements: a hash of them, where they are in the unpacked file, how many there are up to the
last that isn't zero, whether all are equal, and the first ones, big-endian. Sorted by object. Those that hold the
characters of a string have rows only if they are long, so that the string's text may be shortened, or if they have
others as well."""

THREAD_DTYPE = np.dtype(
    [("object", "<u4"), ("name", "<u4"), ("state", "<u4"), ("end", "<u4"), ("out_of_memory", "<u4")]
)
"""A thread: its object, NONE if it isn't in the file; its name and its state as texts, 0 for none; how many frames it
and the threads before it have; 1 if it ran out of memory."""

VARIABLE_DTYPE = np.dtype(
    [("thread", "<u4"), ("depth", "<u4"), ("object", "<u4"), ("name", "<u4"), ("kind", "<u4")]
)
"""What a thread's stack holds: ``depth`` is that of the frame, 0 for the innermost, NONE if the thread holds it in no
frame; ``name`` a text, 0 if it isn't known; ``kind`` an index into ``Graph.root_kinds``."""

NATIVE_DTYPE = np.dtype([("object", "<u4"), ("bytes", "<u8")])
"""Memory outside of the heap that an object owns, which is freed with it: a bitmap's pixels, a direct buffer's bytes.
Sorted by object, each at most once, and never of 0 bytes."""

MOST_NATIVE_BYTES = 1 << 48
"""A native size of more than an address space is a damaged one."""

PIXEL_LAYOUTS = (
    "rgba", "rgb_565", "alpha", "argb_int", "rgb_int", "bgr_int", "bgr", "abgr", "gray", "argb_premultiplied_int",
    "rgba_premultiplied", "encoded",
)  # fmt: skip
"""How the elements of an image's array are pixels. Those of the ``_int`` are big-endian ints, RGB_565 is little-endian,
an "encoded" image is a PNG, JPEG or WebP file."""

IMAGE_DTYPE = np.dtype(
    [("object", "<u4"), ("width", "<u4"), ("height", "<u4"), ("layout", "<u4"), ("elements", "<u4"),
     ("bytes", "<u8"), ("offset", "<u8")]
)  # fmt: skip
"""An object that is an image: its size in pixels, an index into PIXEL_LAYOUTS, the array with its elements (NONE: the
dump doesn't have them), and where these are in the unpacked file. Sorted by object. Nothing says that there are as many
elements as the size needs."""

UNREAD_DTYPE = np.dtype(
    [("object", "<u4"), ("name", "<u4"), ("function", "<u4"), ("frame", "<u4"), ("scope", "<u4")]
)
"""A variable that nothing can read any more: the context that has it, its name and that of the function which declares
it (texts, 0 for none), that function's frame (NONE if unknown), and a number that contexts of one scope share. Sorted
by object."""

VALUE_KINDS = ("boolean", "byte", "char", "short", "int", "long", "float", "double", "text")
"""Kinds of values of fields that aren't references. A "char" is a UTF-16 unit, a "text" the number of a text."""


class Objects(Struct):
    """Columns with an item for each object."""

    type: U32
    """A number of :class:`Types`."""
    shallow: U64
    """The object's own bytes."""
    ids: U64
    """The file's id or the address."""
    name: U32
    """A text: the name of the object itself (a function, a class, a module, a thread), or the text of a string; 0 for
    none."""
    stack: U32 | None = None
    """Where the object was allocated: a stack of ``frames``, or a node of ``tree``; 0 if unknown."""
    flags: U8 | None = None
    """Bits, see ``Graph.flags``."""
    space: U8 | None = None
    """An index into ``Graph.spaces``: the heap, generation or segment where the object is."""

    def __len__(self) -> int:
        return len(self.type)


class Types(Struct):
    """Columns with an item for each type."""

    name: U32
    """A text: the type's name as in source code, with its package (``shop.orders.Order``, ``byte[]``)."""
    kind: U8
    """An index into ``Graph.type_kinds``."""
    module: U32 | None = None
    """A text: the assembly, module, package or class loader, if that isn't part of the name; 0 for none."""
    object: U32 | None = None
    """The class object of the type, NONE if there is none."""
    multiplier: F32 | None = None
    """How many objects of the program each object in the file represents, in sampled dumps."""

    def __len__(self) -> int:
        return len(self.name)


class References(Struct):
    """References sorted by source; ``start`` has one more item than there are objects."""

    start: U64
    target: U32
    kind: U8
    """An index into ``Graph.reference_kinds``."""
    name: U32
    """As ``ReferenceKind.naming`` says."""

    def __len__(self) -> int:
        return len(self.target)


class Values(Struct):
    """Fields that aren't references, sorted by object; ``start`` has one more item than there are objects.

    The elements of arrays of numbers aren't included, see ARRAY_DTYPE.
    """

    start: U64
    name: U32
    """A text."""
    kind: U8
    """An index into VALUE_KINDS."""
    bits: U64
    """Two's complement, IEEE 754 (a float's in the lower half), or the number of a text."""


class Threads(Struct):
    """The threads of a dump, in the order of the file."""

    rows: Column = field(default_factory=lambda: np.empty(0, THREAD_DTYPE))
    frames: U32 = field(default_factory=lambda: np.empty(0, np.uint32))
    """The frames of all threads, those of each innermost first; numbers in ``frames.frames``, NONE if unknown."""
    variables: Column = field(default_factory=lambda: np.empty(0, VARIABLE_DTYPE))
    """By thread, then by depth."""


class Facts(Struct):
    """Properties of the whole file that affect what figures mean."""

    id_bytes: int = 8
    """The size of an id or a pointer."""
    count_multiplier: float = 1.0
    """How many objects of the program each object in the file represents on average, in sampled dumps."""
    size_multiplier: float = 1.0
    """The same for bytes."""
    capped: bool = False
    """Whether the recorder stopped at a limit of objects."""
    sizes_inferred: bool = False
    """Whether shallow sizes are computed by a rule and not in the file."""
    truncated: bool = False
    """Whether the file is truncated, so that only its beginning is here."""
    unreachable_attached: bool = False
    """Whether objects that no root reaches count as held by the root, as some tools have it. Otherwise they are
    separate: they retain nothing that is reachable, and their references don't affect its dominators."""


def no_frames() -> Frames:
    """Return the frames of a dump that has none: only stack 0, which is empty."""
    return Frames([], np.zeros(2, np.uint64), np.empty(0, np.uint32))


class Graph(Struct):
    """A whole heap dump in memory, ready to be archived."""

    kind: str
    """The format, by its name or its pack's word for it."""
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
    """Kinds of roots that references from another root hold, such as the objects on a thread's stack. Their rows are
    shown, but reachability doesn't begin at them, so that the thread retains these objects."""
    root: int | None = None
    flags: Sequence[str] = ()
    """Names of the bits of ``Objects.flags``, the lowest first: "detached", "pinned", "frozen"."""
    spaces: Sequence[str] = ()
    frames: Frames = field(default_factory=no_frames)
    tree: StackTree | None = None
    """The stacks as a prefix tree; those of ``frames`` are empty then."""
    allocated: Column | None = None
    """The bytes and the objects that each node of ``tree`` allocated while it was recorded, whether they are still
    there or not."""
    places: Column = field(default_factory=lambda: np.empty(0, PLACE_DTYPE))
    samples: Column = field(default_factory=lambda: np.empty(0, SAMPLE_DTYPE))
    """Rows of SAMPLE_DTYPE, for dumps in which ids show when objects were allocated."""
    values: Values | None = None
    arrays: Column = field(default_factory=lambda: np.empty(0, ARRAY_DTYPE))
    """Rows of ARRAY_DTYPE, where the file has the elements of arrays of numbers."""
    threads: Threads = field(default_factory=Threads)
    natives: Column = field(default_factory=lambda: np.empty(0, NATIVE_DTYPE))
    """Rows of NATIVE_DTYPE."""
    images: Column = field(default_factory=lambda: np.empty(0, IMAGE_DTYPE))
    """Rows of IMAGE_DTYPE."""
    unread: Column = field(default_factory=lambda: np.empty(0, UNREAD_DTYPE))
    """Rows of UNREAD_DTYPE, where the file says what functions read."""
    outside: Profile | None = None
    """Samples of memory outside of the heap, of a file that has them besides and no stacks of objects. Its frames are
    ``frames``."""
    facts: Facts = field(default_factory=Facts)
    settings: dict[str, Any] = field(default_factory=dict)
    warnings: list[FileWarning] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Raises ValueError if the columns are inconsistent: a bug in the reader, not damage to the file."""
        wrong = _inconsistent(self)
        if self.outside is not None and (
            self.objects.stack is not None or self.outside.frames is not self.frames
        ):
            wrong.append("outside")
        if wrong:
            raise ValueError(f"the graph's columns are inconsistent: {', '.join(wrong)}")


def _inconsistent(graph: Graph) -> list[str]:
    """Return the names of columns that aren't as described. If there are none, no index need be checked again."""
    objects, types, texts = graph.objects, graph.types, len(graph.texts)
    count, frames = len(objects), len(graph.frames.frames)
    stacks = len(graph.frames.starts) - 1 if graph.tree is None else len(graph.tree.parents)
    columns: list[tuple[str, Column | None, Any, int, int | None]] = [
        # name, column, type, number of items, exclusive upper bound of the numbers
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
        ("arrays.object", graph.arrays["object"], np.uint32, len(graph.arrays), count),
        ("natives.object", graph.natives["object"], np.uint32, len(graph.natives), count),
        ("natives.bytes", graph.natives["bytes"], np.uint64, len(graph.natives), MOST_BYTES),
        ("images.object", graph.images["object"], np.uint32, len(graph.images), count),
        ("images.layout", graph.images["layout"], np.uint32, len(graph.images), len(PIXEL_LAYOUTS)),
        ("unread.object", graph.unread["object"], np.uint32, len(graph.unread), count),
        ("unread.name", graph.unread["name"], np.uint32, len(graph.unread), texts),
        ("unread.function", graph.unread["function"], np.uint32, len(graph.unread), texts),
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
    wrong += _inconsistent_threads(graph, count, frames)
    if any(not 0 <= kind < len(graph.root_kinds) for kind in graph.held_kinds):
        wrong.append("held_kinds")
    if graph.root is not None and not 0 <= graph.root < count:
        wrong.append("root")
    if not 0 < count <= MOST_OBJECTS:
        wrong.append("the number of objects")
    sums = (("shallow", objects.shallow), ("native", graph.natives["bytes"]))
    wrong += [
        f"the sum of {name} sizes" for name, sizes in sums if float(sizes.sum(dtype=np.float64)) >= MOST_BYTES
    ]
    for name, numbers in (
        ("types.object", types.object),
        ("roots.frame", graph.roots["frame"]),
        ("images.elements", graph.images["elements"]),
        ("unread.frame", graph.unread["frame"]),
    ):
        below = frames if name in ("roots.frame", "unread.frame") else count
        if numbers is not None and not bool(((numbers < below) | (numbers == NONE)).all()):
            wrong.append(name)
    by_object = (
        ("places", graph.places),
        ("arrays", graph.arrays),
        ("natives", graph.natives),
        ("images", graph.images),
    )
    for name, rows in by_object:
        if len(rows) > 1 and not bool((np.diff(rows["object"].astype(np.int64)) > 0).all()):
            wrong.append(f"the order of {name}")
    if graph.allocated is not None and graph.allocated.shape != (2, stacks):
        wrong.append("allocated")
    return wrong + [
        f"the order of samples.{name}"
        for name in ("time_us", "last_id")
        if not bool((graph.samples[name][1:] >= graph.samples[name][:-1]).all())
    ]


def _inconsistent_threads(graph: Graph, objects: int, frames: int) -> list[str]:
    threads, texts = graph.threads, len(graph.texts)
    rows, variables = threads.rows, threads.variables
    ends = rows["end"].astype(np.int64)
    depths = np.diff(ends, prepend=0)
    named = [
        ("threads.rows", "object", rows["object"], objects, True),
        ("threads.rows", "name", rows["name"], texts, False),
        ("threads.rows", "state", rows["state"], texts, False),
        ("threads.frames", "number", threads.frames, frames, True),
        ("threads.variables", "thread", variables["thread"], len(rows), False),
        ("threads.variables", "object", variables["object"], objects, False),
        ("threads.variables", "name", variables["name"], texts, False),
        ("threads.variables", "kind", variables["kind"], len(graph.root_kinds), False),
    ]
    wrong = [
        f"{table}.{name}"
        for table, name, numbers, below, or_none in named
        if bool(((numbers >= below) & ~(or_none & (numbers == NONE))).any())
    ]
    if bool((depths < 0).any()) or (int(ends[-1]) if len(ends) else 0) != len(threads.frames):
        wrong.append("threads.rows.end")
    elif not wrong and len(variables):
        depth = variables["depth"].astype(np.int64)
        if bool(((depth >= depths[variables["thread"]]) & (depth != NONE)).any()):
            wrong.append("threads.variables.depth")
        keys = variables["thread"].astype(np.int64) << 32 | depth
        if bool((np.diff(keys) < 0).any()):
            wrong.append("the order of threads.variables")
    return wrong


def _fits(column: Column | None, kind: Any, items: int, below: int | None) -> bool:
    if column is None:
        return True
    if column.dtype != kind or len(column) != items:
        return False
    return below is None or not items or int(column.max()) < below


def _are_named(references: References, kinds: Sequence[ReferenceKind], texts: int) -> bool:
    """Return whether all references of kinds that are named by texts have valid numbers; checked in chunks."""
    by_text = np.array([kind.naming == "text" for kind in kinds])
    for start in range(0, len(references) if by_text.any() else 0, _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        # few numbers are as large as that, those of elements
        large = np.flatnonzero(references.name[part] >= texts)
        if bool(by_text[references.kind[part][large]].any()):
            return False
    return True


def _is_offsets(start: U64, count: int, items: int) -> bool:
    if start.dtype != np.uint64 or len(start) != count + 1 or int(start[0]) or int(start[-1]) != items:
        return False
    return bool((start[1:] >= start[:-1]).all())


def is_array(type_name: str) -> bool:
    """Whether the objects of a type are arrays, by its name, as ``int[]``."""
    return type_name.endswith("[]")
