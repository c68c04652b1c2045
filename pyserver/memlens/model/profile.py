"""The Profile model: stacks with values and, for some formats, their changes over time.

A *sample* is a stack with a value of each type; a file may have several samples of one stack (of different block
sizes, labels or threads). All columns of samples have a row for each sample.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from memlens.arrays import I64, U32, U64, Mask
from memlens.kernels.trace import timeline as kernel
from memlens.model.frames import Frames
from memlens.model.info import FileWarning, ProfileValue, ValueMeaning, ValueType
from memlens.texts import Text
from memlens.units import shortened

Column = npt.NDArray[Any]

LABEL_DTYPE = np.dtype(
    [("sample", "<u4"), ("key", "<u4"), ("text", "<u4"), ("number", "<i8"), ("unit", "<u4")]
)
"""A label of a sample, a text or a number. ``key``, ``text`` and ``unit`` are ids of strings, 0 for none."""

CHANGE_DTYPE = np.dtype(
    [
        ("sample", "<u4"),
        ("allocated_bytes", "<i8"),
        ("freed_bytes", "<i8"),
        ("allocated_count", "<u4"),
        ("freed_count", "<u4"),
    ]
)
"""What the stack of a sample allocated and freed within a bin of time."""

BLOCK_CHANGE_DTYPE = np.dtype([("sample", "<u4"), ("allocated_count", "<u4"), ("freed_count", "<u4")])
"""The same for a profile with ``sizes``: bytes are counts times the size of the sample's blocks."""

MOST_VALUE = 2**62
"""The absolute values of one type add up to less than this."""

_MOST_NAME = 200
"""The most characters of a value's name, unit or title."""

_MOST_TEXT = 2_000
"""The most characters of a label, a setting or a warning."""

LIVE_BYTES, LIVE_COUNT, RSS_BYTES, EXTRA_BYTES, TEMPORARY = (
    "live_bytes", "live_count", "rss_bytes", "heap_extra_bytes", "temporary",
)  # fmt: skip
"""Names of series that several formats have."""
AFTER_COLLECTIONS_BYTES = "heap_after_collections_bytes"
"""The series of what was live in a heap after each collection of garbage."""


class StackTree(NamedTuple):
    """Stacks as a prefix tree, for formats that have one, and whose stacks wouldn't fit into memory otherwise.

    Node 0 is the root, which has no frame. A parent's number is less than its child's, and each inlined frame is a
    node. A stack's number is that of its innermost node.
    """

    parents: U32
    frames: U32


class ProfileTimes(Struct):
    """A profile's changes over time, in bins between ``edges`` (one more than bins).

    ``time_us`` are the edges, ascending, in microseconds since the start (or in another ``unit``). Each of ``series``
    has a value at each edge; that of TEMPORARY counts within the bin that ends there. ``peaks`` is the largest
    "live_bytes" in the bin that ends at the edge, so that no peak is lost. The rows of ``changes`` in the bin that ends
    at edge ``e`` are ``change_offsets[e]`` to ``change_offsets[e + 1]``; those of edge 0 are what was live at the
    start. They are of CHANGE_DTYPE or BLOCK_CHANGE_DTYPE.

    If ``has_flow`` is False only sums are known, perhaps not at every edge: changes are then differences of what was
    live (an increase counts as allocated, a decrease as freed), and ``known`` is a mask of the edges at which they are
    known. ``has_short_lived`` is False if allocations that were made and freed within one bin are not recorded, so that
    all figures of what happened are lower bounds. ``has_frees`` is False if frees are not recorded, so that it is known
    what was allocated when, and not what was live.
    """

    time_us: I64
    series: dict[str, I64]
    peaks: I64
    change_offsets: U64
    changes: Column
    has_flow: bool = True
    unit: str = "microseconds"
    known: Mask | None = None
    has_short_lived: bool = True
    has_frees: bool = True


class Profile(Struct):
    """A whole profile in memory, ready to be archived.

    ``stacks`` has the stack of each sample: its number in ``frames`` or, if ``tree`` is given, its node there (the
    stacks of ``frames`` are empty then). ``values`` has a column for each of ``value_types``. ``sizes`` is the size of
    one block of each sample, 0 if unknown, for the histogram. ``labels`` refer to ``strings``.
    """

    kind: str
    frames: Frames
    value_types: list[ValueType]
    default_value: int
    stacks: U32
    values: list[I64]
    labels: Column = field(default_factory=lambda: np.empty(0, LABEL_DTYPE))
    strings: dict[int, str] = field(default_factory=dict)
    sizes: I64 | None = None
    times: ProfileTimes | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    warnings: list[FileWarning] = field(default_factory=list)
    tree: StackTree | None = None
    is_mixed: bool | None = None
    """Whether libraries and native code are collapsed at first; by default where stacks have them and own code."""

    def __post_init__(self) -> None:
        """Check the columns, and shorten the file's texts to lengths that can be shown.

        Raises ValueError if the columns are inconsistent, which is a bug in the reader and not damage to the file.
        """
        self._shorten()
        samples = len(self.stacks)
        stacks = len(self.frames.starts) - 1 if self.tree is None else len(self.tree.parents)
        whole = len(self.values) == len(self.value_types) > self.default_value >= 0
        whole = whole and all(len(column) == samples for column in self.values)
        whole = whole and (self.sizes is None or len(self.sizes) == samples)
        whole = whole and int(self.stacks.max(initial=0)) < max(stacks, 1)
        whole = whole and (not len(self.labels) or int(self.labels["sample"].max()) < samples)
        if self.tree is not None:
            parents, frames = self.tree
            whole = whole and len(parents) == len(frames) > 0
            whole = whole and bool((parents[1:] < np.arange(1, len(parents), dtype=np.uint32)).all())
            whole = whole and int(frames[1:].max(initial=0)) < max(len(self.frames.frames), 1)
        if not whole or not sums_fit(self.values):
            raise ValueError("the profile's columns are inconsistent")
        if self.times is not None:
            if self.sizes is None and self.times.changes.dtype == BLOCK_CHANGE_DTYPE:
                raise ValueError("changes without bytes require the sizes of blocks")
            _check_times(self.times, samples)

    def _shorten(self) -> None:
        self.value_types = [
            msgspec.structs.replace(
                kind,
                name=shortened(kind.name, _MOST_NAME),
                unit=shortened(kind.unit, _MOST_NAME),
                title=kind.title if kind.title.template else Text(shortened(kind.title.text, _MOST_NAME)),
            )
            for kind in self.value_types
        ]
        self.warnings = [
            each
            if len(each.message) <= _MOST_TEXT
            else FileWarning(each.code, Text(shortened(each.message, _MOST_TEXT)), each.device)
            for each in self.warnings
        ]
        self.settings = _shortened(self.settings)
        self.strings = {number: shortened(text, _MOST_TEXT) for number, text in self.strings.items()}

    def stack_tree(self) -> tuple[StackTree, U32]:
        """Return the prefix tree of the stacks, and the node of each sample."""
        if self.tree is not None:
            return self.tree, self.stacks
        nodes = np.empty(len(self.frames.starts) - 1, np.uint32)
        tree = kernel.build_tree(self.frames.starts, self.frames.sequence, nodes)
        return StackTree(*map(np.asarray, tree)), nodes[self.stacks]


def _shortened(value: Any) -> Any:
    match value:
        case str():
            return shortened(value, _MOST_TEXT)
        case dict():
            return {_shortened(key): _shortened(each) for key, each in value.items()}
        case list() | tuple():
            return [_shortened(each) for each in value]
    return value


def sums_fit(values: Sequence[I64]) -> bool:
    """Return whether the values of each type add up to less than :data:`MOST_VALUE`."""
    return all(float(np.abs(column.astype(np.float64)).sum()) < MOST_VALUE for column in values)


def companions(types: Sequence[ValueType]) -> list[int | None]:
    """Return, for each type that measures bytes, the type that counts the same allocations; None for the others."""

    def same(number: int, other: int) -> bool:
        one, two = types[number], types[other]
        if two.unit != "count" or one.unit == "count":
            return False
        if one.meaning != "other":
            return one.meaning == two.meaning
        return _stem(one.name) == _stem(two.name)

    return [
        next((other for other in range(len(types)) if same(number, other)), None)
        for number in range(len(types))
    ]


MEANINGS_OF: dict[str, tuple[ValueMeaning, ...]] = {
    "total": ("total", "live"),
    "peak": ("peak", "live", "end"),
    "end": ("end", "live"),
}
"""The meanings of values that serve as each figure of source lines, the best first."""


def value_with(types: Sequence[ValueType | ProfileValue], meaning: str, unit: str) -> int | None:
    """Return the number of the first value with a meaning and a unit."""
    return next(
        (number for number, each in enumerate(types) if (each.meaning, each.unit) == (meaning, unit)), None
    )


def value_for(types: Sequence[ValueType | ProfileValue], figure: str, unit: str) -> int | None:
    """Return the number of the value that serves as a figure of lines: "total", "peak" or "end", in bytes or count."""
    found = (value_with(types, meaning, unit) for meaning in MEANINGS_OF[figure])
    return next((number for number in found if number is not None), None)


def _stem(name: str) -> str:
    """Return the common part of "alloc_space" and "alloc_objects"."""
    return name.removesuffix("_space").removesuffix("_objects").removesuffix("_bytes").removesuffix("_count")


def _check_times(times: ProfileTimes, samples: int) -> None:
    edges = len(times.time_us)
    whole = edges > 0 and len(times.peaks) == edges and len(times.change_offsets) == edges + 1
    whole = whole and all(len(column) == edges for column in times.series.values())
    whole = whole and bool((np.diff(times.time_us) >= 0).all())
    whole = whole and bool((times.change_offsets[1:] >= times.change_offsets[:-1]).all())
    whole = whole and int(times.change_offsets[-1]) == len(times.changes)
    whole = whole and (not len(times.changes) or int(times.changes["sample"].max()) < samples)
    whole = whole and (times.known is None or len(times.known) == edges)
    if not whole:
        raise ValueError("the profile's times are inconsistent")
