"""The requests about heap dumps."""

import base64
from typing import Any

import numpy as np

from memlens.server.protocol.flame import FlameResult
from memlens.server.protocol.heap import (
    HeapCutParams,
    HeapDominatedParams,
    HeapDominatedResult,
    HeapFindingsParams,
    HeapGroupParams,
    HeapImageParams,
    HeapImagesParams,
    HeapLeastCutParams,
    HeapMergedPathsParams,
    HeapMomentsParams,
    HeapObjectParams,
    HeapObjectsParams,
    HeapOverviewParams,
    HeapPackagesParams,
    HeapPathsParams,
    HeapPictureParams,
    HeapReferencesParams,
    HeapReferencesResult,
    HeapRetainedParams,
    HeapStackParams,
    HeapThreadsParams,
    HeapThumbnailsParams,
    HeapThumbnailsResult,
    HeapTypeParams,
    HeapTypesParams,
    HeapVariablesParams,
)
from memlens.server.questions import LONG, Cost, question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.findings.component import ComponentAnswer, component_findings
from memlens.views.flame import graph as flame
from memlens.views.heap.dominators import flame as dominators
from memlens.views.heap.dominators.flame import GroupAnswer
from memlens.views.heap.dominators.trees import Form, in_paths, is_group_of_paths
from memlens.views.heap.filters import filters
from memlens.views.heap.images import gallery, pixels
from memlens.views.heap.images.gallery import GalleryAnswer
from memlens.views.heap.images.pixels import ImageAnswer
from memlens.views.heap.listing import lists as listing
from memlens.views.heap.listing import moments, overview, threads
from memlens.views.heap.listing import one_object as objects
from memlens.views.heap.listing.lists import HeapTypesAnswer, ObjectsAnswer, PackagesAnswer
from memlens.views.heap.listing.moments import MomentsAnswer
from memlens.views.heap.listing.one_object import ObjectAnswer
from memlens.views.heap.listing.overview import HeapOverviewAnswer
from memlens.views.heap.listing.threads import ThreadsAnswer, ThreadStackAnswer, VariablesAnswer
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


def _leaves_out(p: HeapPathsParams | HeapMergedPathsParams) -> bool:
    """Without some references, paths are looked for anew."""
    return bool(p.without)


def _is_of_paths(p: Any) -> bool:
    return is_group_of_paths(p.group)


def _whole_type(p: HeapRetainedParams) -> int | None:
    """The type all of whose instances are asked about."""
    return p.kind if p.group is None and not p.filter.strip() else None


def _is_known(snapshot: Snapshot, p: HeapRetainedParams) -> bool:
    kind = _whole_type(p)
    return kind is not None and together.is_known(snapshot, kind)


FILTERED = Cost(filter=_filter)


@question("memlens/heapOverview", name=phrase("the overview of the heap"))
def _overview(snapshot: Snapshot, _: HeapOverviewParams) -> HeapOverviewAnswer:
    return overview.overview(snapshot)


@question("memlens/heapTypes", name=phrase("the table of types"), cost=FILTERED)
def _types(snapshot: Snapshot, p: HeapTypesParams) -> HeapTypesAnswer:
    return listing.heap_types(
        snapshot, p.filter, p.order, p.package, p.by, p.offset, p.limit, reverse=p.reverse
    )


@question("memlens/heapPackages", name=phrase("the table of packages"), cost=FILTERED)
def _packages(snapshot: Snapshot, p: HeapPackagesParams) -> PackagesAnswer:
    return listing.heap_packages(snapshot, p.filter, p.order, p.by, p.offset, p.limit, reverse=p.reverse)


@question(
    "memlens/heapObjects",
    name=phrase("the list of objects"),
    cost=Cost(filter=_filter, needs_paths=lambda p: p.order == "total" or _is_of_paths(p)),
)
def _objects(snapshot: Snapshot, p: HeapObjectsParams) -> ObjectsAnswer:
    return listing.objects(snapshot, p.filter, p.kind, p.group, p.order, p.offset, p.limit, reverse=p.reverse)


@question("memlens/heapType", name=phrase("a type"))
def _type(snapshot: Snapshot, p: HeapTypeParams) -> InstancesAnswer:
    return types.instances(snapshot, p.kind, "retained", 0, 10)


@question("memlens/heapObject", name=phrase("an object"), cost=Cost(needs_paths=in_paths))
def _object(snapshot: Snapshot, p: HeapObjectParams) -> ObjectAnswer:
    return objects.describe(snapshot, p.object, 50, Form(p.by, p.tree))


@question("memlens/heapImage", name=phrase("an image"), cost=LONG)
def _image(snapshot: Snapshot, p: HeapImageParams) -> ImageAnswer:
    return pixels.image(snapshot, p.object)


@question("memlens/heapImages", name=phrase("the images"), cost=FILTERED)
def _images(snapshot: Snapshot, p: HeapImagesParams) -> GalleryAnswer:
    return gallery.gallery(snapshot, p.filter, p.order, p.offset, p.limit)


@question("memlens/heapThumbnails", name=phrase("the images"), cost=LONG)
def _thumbnails(snapshot: Snapshot, p: HeapThumbnailsParams) -> HeapThumbnailsResult:
    return HeapThumbnailsResult(pixels.thumbnails(snapshot, p.objects, p.side))


@question("memlens/heapReferences", name=phrase("the references of an object"))
def _references(snapshot: Snapshot, p: HeapReferencesParams) -> HeapReferencesResult:
    ask = {"outgoing": objects.references, "incoming": objects.referrers, "contents": objects.contents}[
        p.direction
    ]
    rows, total = ask(snapshot, p.object, p.offset, p.limit)
    return HeapReferencesResult(rows, p.offset, total)


@question(
    "memlens/heapDominated",
    name=phrase("the dominator tree"),
    cost=Cost(filter=_filter, needs_paths=in_paths),
)
def _dominated(snapshot: Snapshot, p: HeapDominatedParams) -> HeapDominatedResult:
    totals: list[int] | None = None
    if p.tree == "paths":
        rows, totals, total = shortest.below(snapshot, p.object, p.offset, p.limit)
    else:
        rows, total = objects.dominated(snapshot, p.object, p.offset, p.limit)
    chosen = filters.chosen(snapshot, p.filter)
    numbers = np.array([row.object for row in rows], np.int64)
    contained = None if chosen is None else chosen.among(snapshot, numbers).tolist()
    return HeapDominatedResult(rows, p.offset, total, contained, totals)


@question(
    "memlens/heapGroup",
    name=phrase("the dominator tree"),
    cost=Cost(filter=_filter, needs_paths=_is_of_paths),
)
def _group(snapshot: Snapshot, p: HeapGroupParams) -> GroupAnswer:
    return dominators.group(snapshot, p.group, p.filter)


@question(
    "memlens/heapPicture",
    name=phrase("the dominator tree"),
    cost=Cost(filter=lambda p: p.search, needs_paths=in_paths),
)
def _picture(snapshot: Snapshot, p: HeapPictureParams) -> FlameResult:
    tree = dominators.drawn_tree(snapshot, Form(p.by, p.tree))
    text = p.search.strip()
    marked = tree.marked(text, p.kind) if text or p.kind is not None else ""
    made = flame.picture(tree, p.x0, p.x1, p.first_depth, p.rows, p.width_px, marked)
    return FlameResult(base64.b64encode(made.geometry).decode("ascii"), made.names)


@question("memlens/heapPaths", name=phrase("the paths to an object"), cost=Cost(is_long=_leaves_out))
def _paths(snapshot: Snapshot, p: HeapPathsParams) -> PathsAnswer:
    return paths.paths(snapshot, p.object, p.most, p.through, tuple(p.without), soon=p.soon)


@question(
    "memlens/heapFindings",
    name=phrase("what objects retain"),
    cost=Cost(is_long=_always, needs_paths=_is_of_paths),
)
def _findings(snapshot: Snapshot, p: HeapFindingsParams) -> ComponentAnswer:
    if p.object is not None:
        check_object(snapshot, p.object)
        return component_findings(snapshot, np.array([p.object], np.int64))
    return component_findings(snapshot, listing.fitting(snapshot, "", p.kind, p.group))


@question(
    "memlens/heapMergedPaths",
    name=phrase("the paths to objects"),
    cost=Cost(is_long=_leaves_out, filter=_filter, needs_paths=_is_of_paths),
)
def _merged_paths(snapshot: Snapshot, p: HeapMergedPathsParams) -> PathNodesAnswer:
    return merged_paths.merged_paths(
        snapshot, p.kind, p.group, p.filter, p.node, p.offset, p.limit, p.through, tuple(p.without)
    )


@question(
    "memlens/heapRetained",
    name=phrase("what objects retain"),
    cost=Cost(is_long=_always, is_known=_is_known, needs_paths=_is_of_paths),
)
def _retained(snapshot: Snapshot, p: HeapRetainedParams) -> RetainedAnswer:
    kind = _whole_type(p)
    if kind is not None:
        return together.retained_by_type(snapshot, kind)
    return retained.retained_by(snapshot, listing.fitting(snapshot, p.filter, p.kind, p.group))


@question("memlens/heapCut", name=phrase("what a reference keeps alive"), cost=LONG)
def _cut(snapshot: Snapshot, p: HeapCutParams) -> CutAnswer:
    return cuts.cut(snapshot, p.source, p.target, tuple(p.without))


@question(
    "memlens/heapLeastCut",
    name=phrase("what holds objects"),
    cost=Cost(is_long=_always, needs_paths=_is_of_paths),
)
def _least_cut(snapshot: Snapshot, p: HeapLeastCutParams) -> LeastCutAnswer:
    if p.object is not None:
        check_object(snapshot, p.object)
        return least_cut(snapshot, np.array([p.object], np.int64))
    return least_cut(snapshot, listing.fitting(snapshot, p.filter, p.kind, p.group))


@question("memlens/heapMoments", name=phrase("when objects were allocated"), cost=LONG)
def _moments(snapshot: Snapshot, p: HeapMomentsParams) -> MomentsAnswer:
    return moments.moments(snapshot, p.filter)


@question("memlens/heapThreads", name=phrase("the table of threads"), cost=LONG)
def _threads(snapshot: Snapshot, p: HeapThreadsParams) -> ThreadsAnswer:
    return threads.threads(snapshot, p.filter, p.offset, p.limit)


@question("memlens/heapStack", name=phrase("the table of threads"), cost=LONG)
def _stack(snapshot: Snapshot, p: HeapStackParams) -> ThreadStackAnswer:
    return threads.stack(snapshot, p.thread, p.filter, p.offset, p.limit)


@question("memlens/heapVariables", name=phrase("the table of threads"), cost=FILTERED)
def _variables(snapshot: Snapshot, p: HeapVariablesParams) -> VariablesAnswer:
    return threads.variables(snapshot, p.thread, p.part, p.depth, p.filter, p.offset, p.limit)
