"""A snapshot's pictures and report as texts to save, and a heap dump without its values."""

from typing import Literal

from msgspec import Struct

from memlens.server.protocol.base import Count
from memlens.views.answers import Axis
from memlens.views.flame.calltree import FlameOptions
from memlens.views.flame.graph import FlameValue
from memlens.views.heap.dominators.trees import Grouping, HeapTree
from memlens.views.selection.sets import AllocationSet
from memlens.views.trace.picture.areas import GroupedBy


class TimelineSvgParams(Struct, frozen=True):
    """A part of a trace's picture: the timeline or the memory map by group, or reserved memory.

    Without ``y0`` and ``y1`` a timeline is as high as what it shows; the others are always whole.
    """

    snapshot: str
    device: int
    axis: Axis
    x0: float
    x1: float
    areas: GroupedBy
    theme: Literal["light", "dark"]
    filter: str = ""
    y0: float | None = None
    y1: float | None = None
    picture: Literal["stacked", "map", "reserved"] = "stacked"


class FlameSvgParams(Struct, frozen=True):
    """A part of a flame graph, ``[x0, x1]`` in shares of the whole. ``title`` is shown above it."""

    snapshot: str
    of: AllocationSet
    value: FlameValue
    options: FlameOptions
    x0: float
    x1: float
    title: str
    theme: Literal["light", "dark"]


class HeapSvgParams(Struct, frozen=True):
    """A part of a tree of a heap dump, ``[x0, x1]`` in shares of the whole."""

    snapshot: str
    form: Literal["icicle", "sunburst"]
    by: Grouping
    x0: float
    x1: float
    theme: Literal["light", "dark"]
    tree: HeapTree = "dominators"


class SvgResult(Struct, frozen=True):
    """A picture as an SVG document."""

    svg: str


class ReportParams(Struct, frozen=True):
    """A report of a trace is about one device; None means the one to show first.

    Only with ``values`` it quotes the texts of strings of a heap dump.
    """

    snapshot: str
    form: Literal["html", "markdown"]
    device: int | None = None
    values: bool = False


class FindingMarkdownParams(Struct, frozen=True):
    """One of the findings by its place in ``memlens/findings``, from 0."""

    snapshot: str
    number: Count
    device: int | None = None


class ReportResult(Struct, frozen=True):
    """A report as one page of HTML, or as Markdown; or one finding as Markdown."""

    text: str


class RedactParams(Struct, frozen=True):
    """Write the heap dump at ``path`` without its values to ``out``, which is replaced if it exists.

    With a file for the ``mapping`` that leads back, which heap dumps have, classes of the program and what belongs
    to them get other names; empty if they stay.
    Cancelling this request removes what was written. Progress comes as ``memlens/progress`` notifications with that
    ``view``.
    """

    path: str
    out: str
    mapping: str
    view: str


class RedactResult(Struct, frozen=True):
    """``note`` says where the dump breaks off; empty for a whole one.

    ``mapping`` is the file that leads back to the names; empty where they stay. ``staying`` are lines about the texts
    that stay in the copy, for the user to look at before it is sent.
    """

    note: str
    mapping: str
    staying: str


class SaveParams(Struct, frozen=True):
    """Write what a view has made to the file ``path``, which the user has chosen, and confirmed if it exists.

    It is refused for ``source``, the file of the view, for archives and for snapshots, and appears whole or not at all.
    """

    source: str
    path: str
    text: str
    form: Literal["utf8", "base64"]
