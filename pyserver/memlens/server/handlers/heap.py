"""The requests about heap dumps."""

import base64

import numpy as np

from memlens.server.protocol.bookmarks import BookmarksParams
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
from memlens.server.wire import Questions
from memlens.store import bookmarks as kept
from memlens.store.snapshot import Snapshot
from memlens.views.findings.component import ComponentAnswer, component_findings
from memlens.views.flame import graph as flame
from memlens.views.graph import (
    cuts,
    dominators,
    filters,
    gallery,
    listing,
    merged_paths,
    moments,
    objects,
    overview,
    paths,
    pixels,
    retained,
    shortest,
    threads,
    together,
    types,
)
from memlens.views.graph.cuts import CutAnswer
from memlens.views.graph.dominators import GroupAnswer
from memlens.views.graph.gallery import GalleryAnswer
from memlens.views.graph.groupings import FIRST_OF_PATHS, Form
from memlens.views.graph.least_cut import LeastCutAnswer, least_cut
from memlens.views.graph.listing import HeapTypesAnswer, ObjectsAnswer, PackagesAnswer
from memlens.views.graph.merged_paths import PathNodesAnswer
from memlens.views.graph.moments import MomentsAnswer
from memlens.views.graph.objects import ObjectAnswer
from memlens.views.graph.overview import HeapOverviewAnswer
from memlens.views.graph.paths import PathsAnswer
from memlens.views.graph.pixels import ImageAnswer
from memlens.views.graph.retained import RetainedAnswer
from memlens.views.graph.rows import check_object
from memlens.views.graph.threads import ThreadsAnswer, ThreadStackAnswer, VariablesAnswer
from memlens.views.graph.types import InstancesAnswer


def _overview(snapshot: Snapshot, _: HeapOverviewParams) -> HeapOverviewAnswer:
    return overview.overview(snapshot)


def _types(snapshot: Snapshot, p: HeapTypesParams) -> HeapTypesAnswer:
    return listing.heap_types(
        snapshot, p.filter, p.order, p.package, p.by, p.offset, p.limit, reverse=p.reverse
    )


def _packages(snapshot: Snapshot, p: HeapPackagesParams) -> PackagesAnswer:
    return listing.heap_packages(snapshot, p.filter, p.order, p.by, p.offset, p.limit, reverse=p.reverse)


def _objects(snapshot: Snapshot, p: HeapObjectsParams) -> ObjectsAnswer:
    return listing.objects(snapshot, p.filter, p.kind, p.group, p.order, p.offset, p.limit, reverse=p.reverse)


def _type(snapshot: Snapshot, p: HeapTypeParams) -> InstancesAnswer:
    return types.instances(snapshot, p.kind, "retained", 0, 10)


def _object(snapshot: Snapshot, p: HeapObjectParams) -> ObjectAnswer:
    return objects.describe(snapshot, p.object, 50, Form(p.by, p.tree))


def _image(snapshot: Snapshot, p: HeapImageParams) -> ImageAnswer:
    return pixels.image(snapshot, p.object)


def _images(snapshot: Snapshot, p: HeapImagesParams) -> GalleryAnswer:
    return gallery.gallery(snapshot, p.filter, p.order, p.offset, p.limit)


def _thumbnails(snapshot: Snapshot, p: HeapThumbnailsParams) -> HeapThumbnailsResult:
    return HeapThumbnailsResult(pixels.thumbnails(snapshot, p.objects, p.side))


def _references(snapshot: Snapshot, p: HeapReferencesParams) -> HeapReferencesResult:
    ask = {"outgoing": objects.references, "incoming": objects.referrers, "contents": objects.contents}[
        p.direction
    ]
    rows, total = ask(snapshot, p.object, p.offset, p.limit)
    return HeapReferencesResult(rows, p.offset, total)


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


def _group(snapshot: Snapshot, p: HeapGroupParams) -> GroupAnswer:
    return dominators.group(snapshot, p.group, p.filter)


def _picture(snapshot: Snapshot, p: HeapPictureParams) -> FlameResult:
    tree = dominators.drawn_tree(snapshot, Form(p.by, p.tree))
    text = p.search.strip()
    marked = tree.marked(text, p.kind) if text or p.kind is not None else ""
    made = flame.picture(tree, p.x0, p.x1, p.first_depth, p.rows, p.width_px, marked)
    return FlameResult(base64.b64encode(made.geometry).decode("ascii"), made.names)


def _paths(snapshot: Snapshot, p: HeapPathsParams) -> PathsAnswer:
    return paths.paths(snapshot, p.object, p.most, p.through, tuple(p.without), soon=p.soon)


def _findings(snapshot: Snapshot, p: HeapFindingsParams) -> ComponentAnswer:
    if p.object is not None:
        check_object(snapshot, p.object)
        return component_findings(snapshot, np.array([p.object], np.int64))
    return component_findings(snapshot, listing.fitting(snapshot, "", p.kind, p.group))


def _merged_paths(snapshot: Snapshot, p: HeapMergedPathsParams) -> PathNodesAnswer:
    return merged_paths.merged_paths(
        snapshot, p.kind, p.group, p.filter, p.node, p.offset, p.limit, p.through, tuple(p.without)
    )


def _retained(snapshot: Snapshot, p: HeapRetainedParams) -> RetainedAnswer:
    kind = _whole_type(p)
    if kind is not None:
        return together.retained_by_type(snapshot, kind)
    return retained.retained_by(snapshot, listing.fitting(snapshot, p.filter, p.kind, p.group))


def _whole_type(p: HeapRetainedParams) -> int | None:
    """The type all of whose instances are asked about."""
    return p.kind if p.group is None and not p.filter.strip() else None


def _cut(snapshot: Snapshot, p: HeapCutParams) -> CutAnswer:
    return cuts.cut(snapshot, p.source, p.target, tuple(p.without))


def _least_cut(snapshot: Snapshot, p: HeapLeastCutParams) -> LeastCutAnswer:
    if p.object is not None:
        check_object(snapshot, p.object)
        return least_cut(snapshot, np.array([p.object], np.int64))
    return least_cut(snapshot, listing.fitting(snapshot, p.filter, p.kind, p.group))


def _moments(snapshot: Snapshot, p: HeapMomentsParams) -> MomentsAnswer:
    return moments.moments(snapshot, p.filter)


def _threads(snapshot: Snapshot, p: HeapThreadsParams) -> ThreadsAnswer:
    return threads.threads(snapshot, p.filter, p.offset, p.limit)


def _stack(snapshot: Snapshot, p: HeapStackParams) -> ThreadStackAnswer:
    return threads.stack(snapshot, p.thread, p.filter, p.offset, p.limit)


def _variables(snapshot: Snapshot, p: HeapVariablesParams) -> VariablesAnswer:
    return threads.variables(snapshot, p.thread, p.part, p.depth, p.filter, p.offset, p.limit)


QUESTIONS: Questions = {
    "memlens/heapOverview": _overview,
    "memlens/heapTypes": _types,
    "memlens/heapPackages": _packages,
    "memlens/heapObjects": _objects,
    "memlens/heapType": _type,
    "memlens/heapObject": _object,
    "memlens/heapImage": _image,
    "memlens/heapImages": _images,
    "memlens/heapThumbnails": _thumbnails,
    "memlens/heapReferences": _references,
    "memlens/heapDominated": _dominated,
    "memlens/heapGroup": _group,
    "memlens/heapPicture": _picture,
    "memlens/heapPaths": _paths,
    "memlens/heapFindings": _findings,
    "memlens/heapMergedPaths": _merged_paths,
    "memlens/heapRetained": _retained,
    "memlens/heapCut": _cut,
    "memlens/heapLeastCut": _least_cut,
    "memlens/heapMoments": _moments,
    "memlens/heapThreads": _threads,
    "memlens/heapStack": _stack,
    "memlens/heapVariables": _variables,
}


_LONG = frozenset(
    f"memlens/heap{name}"
    for name in (
        "Retained",
        "Findings",
        "Cut",
        "LeastCut",
        "Moments",
        "Threads",
        "Stack",
        "Image",
        "Thumbnails",
    )
)


def takes_long(method: str, params: object) -> bool:
    """Whether a request may visit much of the graph, or read the file, so that no other should wait for its answer."""
    if method in _LONG or getattr(params, "without", None):
        return True
    texts = [getattr(params, name, "") for name in ("filter", "search")]
    return any("finding:" in text.casefold() for text in texts)


def may_need_paths(params: object) -> bool:
    """Whether a request may be about the tree of shortest paths."""
    if getattr(params, "tree", None) == "paths" or getattr(params, "order", None) == "total":
        return True
    return (
        _is_of_paths(params)
        or _is_of_paths(getattr(params, "place", None))
        or isinstance(params, BookmarksParams)
    )


def needs_paths(snapshot: Snapshot, params: object) -> bool:
    """Whether such a request has to wait for that tree."""
    if shortest.is_ready(snapshot):
        return False
    return not isinstance(params, BookmarksParams) or any(
        _is_of_paths(each.place) for each in kept.bookmarks(snapshot)
    )


def _is_of_paths(asked: object) -> bool:
    group = getattr(asked, "group", None)
    return group is not None and group >= FIRST_OF_PATHS


def is_known(snapshot: Snapshot, params: object) -> bool:
    """Whether the answer to such a question was worked out before."""
    kind = _whole_type(params) if isinstance(params, HeapRetainedParams) else None
    return kind is not None and together.is_known(snapshot, kind)
