"""Comparisons of two snapshots. The host adds ``snapshot`` and ``other``: a view asks only about its own pair."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from memlens.model.attribution import Attribution
from memlens.server.protocol.base import Count, Filter, Page, Pixels, Text
from memlens.server.protocol.flame import FlamePart
from memlens.views.compare.alignment import Alignment
from memlens.views.compare.difference import DifferenceScale, DifferenceWidth
from memlens.views.compare.heap_paths import GrownPath
from memlens.views.compare.heaps import ComparedOrder, GrowingHolder, HeapMatch, HeapSide
from memlens.views.compare.rows import CompareOrder, Measure
from memlens.views.compare.sides import CompareBy
from memlens.views.flame.calltree import FlameOptions
from memlens.views.flame.tables import FlameSides
from memlens.views.naming.frame_names import FlameName
from memlens.views.selection.sets import AllocationSet
from memlens.views.sql.pages import MOST_ROWS, SqlSort
from memlens.views.trace.how_large import Capacity, Size


class CompareParams(Struct, frozen=True, kw_only=True):
    """A table of differences between ``of`` in ``snapshot`` and ``other_of`` in ``other`` (perhaps the same one).

    ``other_first`` says which of them is "before". ``search`` are words that a row's file, line or function contains.
    By ``attribution`` stacks are charged to rows.
    """

    snapshot: str
    other: str
    of: AllocationSet
    other_of: AllocationSet
    other_first: bool
    by: CompareBy
    measure: Measure
    attribution: Attribution = "mine"
    search: str = ""
    order: CompareOrder = "difference"
    reverse: bool = False
    offset: Count = 0
    limit: Page = 200


class CompareHeadlineParams(Struct, frozen=True, kw_only=True):
    """What became more and what less from one set to the other, in a few sentences; see :class:`CompareParams`."""

    snapshot: str
    other: str
    of: AllocationSet
    other_of: AllocationSet
    other_first: bool


class CompareSqlParams(Struct, frozen=True, kw_only=True):
    """Rows ``offset … offset + limit`` of a query about both snapshots, beside each other.

    ``key`` are the columns that say which rows belong together; empty for those that aren't numbers. Numbers of objects
    and the like are those of ``snapshot``. ``other_first`` says which of them is "before". Errors are those of
    ``memlens/sql``.
    """

    snapshot: str
    other: str
    other_first: bool
    query: str
    key: list[Text]
    offset: Count = 0
    limit: Annotated[int, Meta(ge=1, le=MOST_ROWS)] = 1_000
    sort: SqlSort | None = None


class CompareStacksParams(Struct, frozen=True, kw_only=True):
    """The stacks of ``snapshot`` in a row of a comparison, to highlight them."""

    snapshot: str
    other: str
    of: AllocationSet
    other_of: AllocationSet
    other_first: bool
    by: CompareBy
    measure: Measure
    attribution: Attribution = "mine"
    row: Count


class CompareStacksResult(Struct, frozen=True):
    """Numbers of stacks of ``snapshot``."""

    stacks: list[int]


class ComparedDevices(Struct, frozen=True, kw_only=True):
    """A device of each snapshot, on one axis by ``alignment``. ``filter`` narrows both."""

    snapshot: str
    other: str
    device: int
    other_device: int
    alignment: Alignment
    filter: str = ""


class CompareSizesParams(Struct, frozen=True, kw_only=True):
    """A device of each trace, and the size of its batch, sequence or model."""

    snapshot: str
    other: str
    device: int
    other_device: int
    size: Size
    other_size: Size
    capacity_bytes: Capacity | None
    """What can be reserved; None for what the larger trace says."""


class CompareCurvesParams(ComparedDevices, frozen=True, kw_only=True):
    """What was live on two devices in columns over ``[x0, x1]`` of their axis; by default over the extent of both."""

    x0: float | None = None
    x1: float | None = None
    columns: Pixels


class CompareMomentsParams(ComparedDevices, frozen=True, kw_only=True):
    """Which moments of ``other_device`` correspond to some of ``device``."""

    moments: Annotated[list[int], Meta(max_length=1000)]


class CompareMomentsResult(Struct, frozen=True):
    """A moment for each requested one; ``inferred_steps`` if they were found by steps without annotations.

    ``live_bytes`` and ``other_live_bytes`` are what was live at the requested moments and at the corresponding ones,
    None if the other run has not begun or is over.
    """

    moments: list[int]
    live_bytes: list[int]
    other_live_bytes: list[int | None]
    inferred_steps: bool


class ComparedTree(Struct, frozen=True, kw_only=True):
    """Which call tree of two sets: ``of`` in ``snapshot`` and ``other_of`` in ``other``.

    ``scale`` and ``width`` say what the width of boxes means; see :mod:`memlens.views.compare.difference`.
    ``attribution`` decides the own values of boxes.
    """

    of: AllocationSet
    other_of: AllocationSet
    other_first: bool
    options: FlameOptions
    scale: DifferenceScale = "absolute"
    width: DifferenceWidth = "both"
    attribution: Attribution = "mine"


class OfComparedTree(Struct, frozen=True, kw_only=True):
    """The parameters of all requests about a difference flame graph."""

    snapshot: str
    other: str
    tree: ComparedTree


class CompareFlameParams(FlamePart, frozen=True, kw_only=True):
    """A part of a difference flame graph; see ``memlens/flame``."""

    snapshot: str
    other: str
    tree: ComparedTree


class CompareFlameSvgParams(OfComparedTree, frozen=True, kw_only=True):
    """A part of a difference flame graph as a picture to save; see ``memlens/flameSvg``."""

    x0: float
    x1: float
    title: str
    theme: Literal["light", "dark"]


class CompareFlameResult(Struct, frozen=True):
    """Like :class:`FlameResult`, with the totals of each side."""

    geometry: str
    names: list[FlameName]
    whole: FlameSides


class CompareFlameNodeParams(OfComparedTree, frozen=True, kw_only=True):
    """A box of a difference flame graph."""

    node: Count


class CompareFlameChildrenParams(OfComparedTree, frozen=True, kw_only=True):
    """A page of a node's children; node 0 is the root."""

    node: Count
    offset: Count
    limit: Page


class CompareFlameSearchParams(OfComparedTree, frozen=True, kw_only=True):
    """What matches a text."""

    text: Text


class OfComparedHeaps(Struct, frozen=True, kw_only=True):
    """Two heap dumps, of the objects that match ``filter``. ``other_first``: ``other`` is "before"."""

    snapshot: str
    other: str
    other_first: bool
    filter: Filter


class CompareHeapsParams(OfComparedHeaps, frozen=True, kw_only=True):
    """The totals of two heap dumps, what holds new objects, and where their dominator trees differ."""


class CompareHeapHeadlineParams(OfComparedHeaps, frozen=True, kw_only=True):
    """Two heap dumps in a few sentences: how much more, what is new, and who holds it."""


class CompareHeapsResult(Struct, frozen=True):
    """Like :class:`memlens.views.compare.heaps.HeapComparison`, without the types."""

    matched: HeapMatch
    before: HeapSide
    after: HeapSide
    types_total: int
    holders: list[GrowingHolder]
    paths: list[GrownPath]
    knows_native: bool
    """Whether one of the dumps knows of memory outside of the heap."""


class CompareHeapTypesParams(OfComparedHeaps, frozen=True, kw_only=True):
    """The types of both whose names contain all words of ``search``, the largest difference first."""

    search: Text
    order: ComparedOrder
    reverse: bool
    offset: Count
    limit: Page


class CompareHeapObjectsParams(OfComparedHeaps, frozen=True, kw_only=True):
    """The objects of a type that only ``snapshot`` has; all of them if ids aren't stable."""

    type: Annotated[str, Meta(max_length=65_536)]
    offset: Count
    limit: Page


class CompareHeapFindingsParams(Struct, frozen=True, kw_only=True):
    """The findings of two heap dumps, beside each other. ``other_first``: ``other`` is "before".

    Those of a large dump may take seconds the first time, as for ``memlens/findings``.
    """

    snapshot: str
    other: str
    other_first: bool


class HeapSeriesParams(Struct, frozen=True, kw_only=True):
    """Several heap dumps in the order of ``dumps``, which the host adds; ``snapshot`` is one of them."""

    snapshot: str
    dumps: Annotated[list[str], Meta(min_length=2, max_length=64)]
    filter: Filter
    search: Text
    limit: Page


class SeriesSqlParams(Struct, frozen=True, kw_only=True):
    """Rows ``offset … offset + limit`` of a query about several heap dumps, beside each other.

    ``dumps`` are as those of ``memlens/heapSeries``, ``key`` is as that of ``memlens/compareSql``.
    """

    snapshot: str
    dumps: Annotated[list[str], Meta(min_length=2, max_length=64)]
    query: str
    key: list[Text]
    offset: Count = 0
    limit: Annotated[int, Meta(ge=1, le=MOST_ROWS)] = 1_000
    sort: SqlSort | None = None
