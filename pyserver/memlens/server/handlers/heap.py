"""The requests about heap dumps."""

import base64
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from memlens.model.graph import Strength
from memlens.server.protocol.base import Count, Filter, Page, Pixels, Text
from memlens.server.protocol.flame import FlameResult
from memlens.server.protocol.heap import (
    HeapDominatedResult,
    HeapReferencesResult,
    HeapThumbnailsResult,
    Without,
)
from memlens.server.questions import LONG, Cost, question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.findings.component import ComponentAnswer, component_findings
from memlens.views.flame import graph as flame
from memlens.views.heap.dominators import flame as dominators
from memlens.views.heap.dominators.flame import GroupAnswer
from memlens.views.heap.dominators.trees import Form, Grouping, HeapTree, in_paths, is_group_of_paths
from memlens.views.heap.filters import filters
from memlens.views.heap.images import gallery, pixels
from memlens.views.heap.images.gallery import GalleryAnswer, GalleryOrder
from memlens.views.heap.images.pixels import ImageAnswer
from memlens.views.heap.listing import lists as listing
from memlens.views.heap.listing import moments, overview, threads
from memlens.views.heap.listing import one_object as objects
from memlens.views.heap.listing.lists import (
    GroupedBy,
    HeapOrder,
    HeapTypesAnswer,
    ObjectOrder,
    ObjectsAnswer,
    PackagesAnswer,
)
from memlens.views.heap.listing.moments import MomentsAnswer
from memlens.views.heap.listing.one_object import ObjectAnswer
from memlens.views.heap.listing.overview import HeapOverviewAnswer
from memlens.views.heap.listing.threads import StackPart, ThreadsAnswer, ThreadStackAnswer, VariablesAnswer
from memlens.views.heap.objects import types
from memlens.views.heap.objects.rows import check_object
from memlens.views.heap.objects.types import InstancesAnswer
from memlens.views.heap.paths import merged as merged_paths
from memlens.views.heap.paths import to_object as paths
from memlens.views.heap.paths.least_cut import LeastCutAnswer, least_cut
from memlens.views.heap.paths.merged import PathNodesAnswer
from memlens.views.heap.paths.to_object import PathsAnswer
from memlens.views.heap.reachable import shortest_paths as shortest
from memlens.views.heap.retained import by_objects as retained
from memlens.views.heap.retained import by_type as together
from memlens.views.heap.retained import cuts
from memlens.views.heap.retained.by_objects import RetainedAnswer
from memlens.views.heap.retained.cuts import CutAnswer


def _always(_params: object) -> bool:
    return True


def _filter(p: Any) -> str:
    return str(p.filter)


def _leaves_out(p: Any) -> bool:
    """Without some references, paths are looked for anew."""
    return bool(p.without)


def _is_of_paths(p: Any) -> bool:
    return is_group_of_paths(p.group)


def _whole_type(kind: int | None, group: int | None, filter_text: str) -> int | None:
    """The type all of whose instances are asked about."""
    return kind if group is None and not filter_text.strip() else None


def _is_known(snapshot: Snapshot, p: Any) -> bool:
    kind = _whole_type(p.kind, p.group, p.filter)
    return kind is not None and together.is_known(snapshot, kind)


FILTERED = Cost(filter=_filter)


@question("memlens/heapOverview", name=phrase("the overview of the heap"))
def _overview(snapshot: Snapshot) -> HeapOverviewAnswer:
    """The overview of a heap dump."""
    return overview.overview(snapshot)


@question("memlens/heapTypes", name=phrase("the table of types"), cost=FILTERED)
def _types(
    snapshot: Snapshot,
    *,
    filter_: Filter,
    order: HeapOrder,
    reverse: bool,
    by: GroupedBy,
    package: Text | None,
    offset: Count,
    limit: Page,
) -> HeapTypesAnswer:
    """The types with objects that fit a filter; those of one package or kind where ``package`` names it."""
    return listing.heap_types(snapshot, filter_, order, package, by, offset, limit, reverse=reverse)


@question("memlens/heapPackages", name=phrase("the table of packages"), cost=FILTERED)
def _packages(
    snapshot: Snapshot,
    *,
    filter_: Filter,
    order: HeapOrder,
    reverse: bool,
    by: GroupedBy,
    offset: Count,
    limit: Page,
) -> PackagesAnswer:
    """The packages or kinds of the types with objects that fit a filter."""
    return listing.heap_packages(snapshot, filter_, order, by, offset, limit, reverse=reverse)


@question(
    "memlens/heapObjects",
    name=phrase("the list of objects"),
    cost=Cost(filter=_filter, needs_paths=lambda p: p.order == "total" or _is_of_paths(p)),
)
def _objects(
    snapshot: Snapshot,
    *,
    filter_: Filter,
    kind: Count | None,
    group: Count | None,
    order: ObjectOrder,
    reverse: bool,
    offset: Count,
    limit: Page,
) -> ObjectsAnswer:
    """The objects that fit a filter; of the type ``kind`` and in the ``group`` of the compact tree that are given."""
    return listing.objects(snapshot, filter_, kind, group, order, offset, limit, reverse=reverse)


@question("memlens/heapType", name=phrase("a type"))
def _type(snapshot: Snapshot, *, kind: Count) -> InstancesAnswer:
    """A type by its number, and the largest of its instances."""
    return types.instances(snapshot, kind, "retained", 0, 10)


@question("memlens/heapObject", name=phrase("an object"), cost=Cost(needs_paths=in_paths))
def _object(
    snapshot: Snapshot, *, object_: Count, by: Grouping, tree: HeapTree = "dominators"
) -> ObjectAnswer:
    """An object by its number; the answer has its group of the ``tree`` grouped ``by``."""
    return objects.describe(snapshot, object_, 50, Form(by, tree))


@question("memlens/heapImage", name=phrase("an image"), cost=LONG)
def _image(snapshot: Snapshot, *, object_: Count) -> ImageAnswer:
    """An object that is an image, as a picture."""
    return pixels.image(snapshot, object_)


@question("memlens/heapImages", name=phrase("the images"), cost=FILTERED)
def _images(
    snapshot: Snapshot, *, filter_: Filter, order: GalleryOrder, offset: Count, limit: Page
) -> GalleryAnswer:
    """The images that fit a filter, those with the same pixels as one."""
    return gallery.gallery(snapshot, filter_, order, offset, limit)


@question("memlens/heapThumbnails", name=phrase("the images"), cost=LONG)
def _thumbnails(
    snapshot: Snapshot,
    *,
    objects: Annotated[list[Count], Meta(min_length=1, max_length=32)],
    side: Annotated[int, Meta(ge=16, le=512)],
) -> HeapThumbnailsResult:
    """Some objects that are images, as pictures that are ``side`` pixels wide and high at most."""
    return HeapThumbnailsResult(pixels.thumbnails(snapshot, objects, side))


@question("memlens/heapReferences", name=phrase("the references of an object"))
def _references(
    snapshot: Snapshot,
    *,
    object_: Count,
    direction: Literal["outgoing", "incoming", "contents"],
    offset: Count,
    limit: Page,
) -> HeapReferencesResult:
    """More of what an object refers to, of what refers to it, or of what it contains as a collection."""
    ask = {"outgoing": objects.references, "incoming": objects.referrers, "contents": objects.contents}[
        direction
    ]
    rows, total = ask(snapshot, object_, offset, limit)
    return HeapReferencesResult(rows, offset, total)


@question(
    "memlens/heapDominated",
    name=phrase("the dominator tree"),
    cost=Cost(filter=_filter, needs_paths=in_paths),
)
def _dominated(
    snapshot: Snapshot,
    *,
    object_: Count | None,
    filter_: Filter,
    offset: Count,
    limit: Page,
    tree: HeapTree = "dominators",
) -> HeapDominatedResult:
    """What is below an object in a tree, the largest first; None for what is below none."""
    totals: list[int] | None = None
    if tree == "paths":
        rows, totals, total = shortest.below(snapshot, object_, offset, limit)
    else:
        rows, total = objects.dominated(snapshot, object_, offset, limit)
    chosen = filters.chosen(snapshot, filter_)
    numbers = np.array([row.object for row in rows], np.int64)
    contained = None if chosen is None else chosen.among(snapshot, numbers).tolist()
    return HeapDominatedResult(rows, offset, total, contained, totals)


@question(
    "memlens/heapGroup",
    name=phrase("the dominator tree"),
    cost=Cost(filter=_filter, needs_paths=_is_of_paths),
)
def _group(snapshot: Snapshot, *, group: Count, filter_: Filter) -> GroupAnswer:
    """A group of a tree by its number; ``group`` is the same wherever else it is asked about.

    A number has the tree and the node in it: that of node ``n`` of the trees of dominators by type, package and module
    is ``n``, ``2**32 + n`` and ``2 * 2**32 + n``; those of the trees of shortest paths follow, from ``3 * 2**32``.
    Node 0 is the root.
    """
    return dominators.group(snapshot, group, filter_)


@question(
    "memlens/heapPicture",
    name=phrase("the dominator tree"),
    cost=Cost(filter=lambda p: p.search, needs_paths=in_paths),
)
def _picture(
    snapshot: Snapshot,
    *,
    x0: float,
    x1: float,
    width_px: Pixels,
    first_depth: Annotated[int, Meta(ge=0, le=1_000_000)],
    rows: Annotated[int, Meta(ge=1, le=4096)],
    search: Text,
    by: Grouping,
    kind: Count | None,
    tree: HeapTree = "dominators",
) -> FlameResult:
    """A part of a tree by type, package or module, as ``memlens/flame`` has it; ``search`` is a filter.

    Marked are the groups with objects that fit it, and are of the type ``kind`` where that is given.
    """
    drawn = dominators.drawn_tree(snapshot, Form(by, tree))
    text = search.strip()
    marked = drawn.marked(text, kind) if text or kind is not None else ""
    made = flame.picture(drawn, x0, x1, first_depth, rows, width_px, marked)
    return FlameResult(base64.b64encode(made.geometry).decode("ascii"), made.names)


@question("memlens/heapPaths", name=phrase("the paths to an object"), cost=Cost(is_long=_leaves_out))
def _paths(
    snapshot: Snapshot,
    *,
    object_: Count,
    through: list[Strength],
    without: Without,
    most: Annotated[int, Meta(ge=1, le=20)],
    soon: bool,
) -> PathsAnswer:
    """Why an object is alive; ``through`` are the strengths of references that are followed besides strong ones.

    If the answer is to come ``soon``, further paths than the shortest are only looked for nearby.
    """
    return paths.paths(snapshot, object_, most, through, tuple(without), soon=soon)


@question(
    "memlens/heapFindings",
    name=phrase("what objects retain"),
    cost=Cost(is_long=_always, needs_paths=_is_of_paths),
)
def _findings(
    snapshot: Snapshot, *, object_: Count | None, kind: Count | None, group: Count | None
) -> ComponentAnswer:
    """The waste in what an object, or all objects of a type or a group, retain."""
    if object_ is not None:
        check_object(snapshot, object_)
        return component_findings(snapshot, np.array([object_], np.int64))
    return component_findings(snapshot, listing.fitting(snapshot, "", kind, group))


@question(
    "memlens/heapMergedPaths",
    name=phrase("the paths to objects"),
    cost=Cost(is_long=_leaves_out, filter=_filter, needs_paths=_is_of_paths),
)
def _merged_paths(
    snapshot: Snapshot,
    *,
    kind: Count | None,
    group: Count | None,
    through: list[Strength],
    without: Without,
    filter_: Filter,
    node: Count,
    offset: Count,
    limit: Page,
) -> PathNodesAnswer:
    """Why the objects of a type or a group are alive: the children of a node of their merged paths.

    ``through`` are the strengths of references that are followed besides strong ones.
    """
    return merged_paths.merged_paths(
        snapshot, kind, group, filter_, node, offset, limit, through, tuple(without)
    )


@question(
    "memlens/heapRetained",
    name=phrase("what objects retain"),
    cost=Cost(is_long=_always, is_known=_is_known, needs_paths=_is_of_paths),
)
def _retained(
    snapshot: Snapshot, *, kind: Count | None, group: Count | None, filter_: Filter
) -> RetainedAnswer:
    """What the objects of a type or a group that fit a filter retain together."""
    whole = _whole_type(kind, group, filter_)
    if whole is not None:
        return together.retained_by_type(snapshot, whole)
    return retained.retained_by(snapshot, listing.fitting(snapshot, filter_, kind, group))


@question("memlens/heapCut", name=phrase("what a reference keeps alive"), cost=LONG)
def _cut(snapshot: Snapshot, *, source: Count, target: Count, without: Without) -> CutAnswer:
    """What would be freed without the references from one object to another, besides those of ``without``."""
    return cuts.cut(snapshot, source, target, tuple(without))


@question(
    "memlens/heapLeastCut",
    name=phrase("what holds objects"),
    cost=Cost(is_long=_always, needs_paths=_is_of_paths),
)
def _least_cut(
    snapshot: Snapshot, *, object_: Count | None, kind: Count | None, group: Count | None, filter_: Filter
) -> LeastCutAnswer:
    """Which references hold an object, or those of a type or group that fit a filter, and must go together."""
    if object_ is not None:
        check_object(snapshot, object_)
        return least_cut(snapshot, np.array([object_], np.int64))
    return least_cut(snapshot, listing.fitting(snapshot, filter_, kind, group))


@question("memlens/heapMoments", name=phrase("when objects were allocated"), cost=LONG)
def _moments(snapshot: Snapshot, *, filter_: Filter) -> MomentsAnswer:
    """When a recording's objects were allocated; a filter says which of them are distinguished."""
    return moments.moments(snapshot, filter_)


@question("memlens/heapThreads", name=phrase("the table of threads"), cost=LONG)
def _threads(snapshot: Snapshot, *, filter_: Filter, offset: Count, limit: Page) -> ThreadsAnswer:
    """The threads, those first that retain most; with a filter those that hold objects which fit it."""
    return threads.threads(snapshot, filter_, offset, limit)


@question("memlens/heapStack", name=phrase("the table of threads"), cost=LONG)
def _stack(
    snapshot: Snapshot, *, thread: Count, filter_: Filter, offset: Count, limit: Page
) -> ThreadStackAnswer:
    """What a thread has: its object, its thread locals, and the frames of its stack."""
    return threads.stack(snapshot, thread, filter_, offset, limit)


@question("memlens/heapVariables", name=phrase("the table of threads"), cost=FILTERED)
def _variables(
    snapshot: Snapshot,
    *,
    thread: Count,
    part: StackPart,
    depth: Count | None,
    filter_: Filter,
    offset: Count,
    limit: Page,
) -> VariablesAnswer:
    """The variables of a part of what a thread has; ``depth`` is that of a frame."""
    return threads.variables(snapshot, thread, part, depth, filter_, offset, limit)
