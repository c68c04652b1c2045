"""Heap dumps: types, objects, what they hold and what holds them."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from memlens.model.graph import Strength
from memlens.server.protocol.base import Count, Text
from memlens.server.protocol.flame import FlamePart
from memlens.views.heap.dominators.trees import Grouping, HeapTree
from memlens.views.heap.images.gallery import GalleryOrder
from memlens.views.heap.images.pixels import Thumbnail
from memlens.views.heap.listing.lists import GroupedBy, HeapOrder, ObjectOrder
from memlens.views.heap.listing.threads import StackPart
from memlens.views.heap.objects.rows import ObjectRow, ReferenceRow
from memlens.views.heap.retained.left_out import LeavesOut

Page = Annotated[int, Meta(ge=1, le=1000)]
Filter = Annotated[str, Meta(max_length=4096)]
Without = Annotated[list[LeavesOut], Meta(max_length=100)]
"""References that are left out, to see what else keeps something alive."""


class HeapOverviewParams(Struct, frozen=True):
    """The overview of a heap dump."""

    snapshot: str


class HeapTypesParams(Struct, frozen=True):
    """The types with objects that fit a filter; those of one package or kind where ``package`` names it."""

    snapshot: str
    filter: Filter
    order: HeapOrder
    reverse: bool
    by: GroupedBy
    package: Text | None
    offset: Count
    limit: Page


class HeapPackagesParams(Struct, frozen=True):
    """The packages or kinds of the types with objects that fit a filter."""

    snapshot: str
    filter: Filter
    order: HeapOrder
    reverse: bool
    by: GroupedBy
    offset: Count
    limit: Page


class HeapObjectsParams(Struct, frozen=True, kw_only=True):
    """The objects that fit a filter; of the type ``kind`` and in the ``group`` of the compact tree that are given."""

    snapshot: str
    filter: Filter
    kind: Count | None
    group: Count | None
    order: ObjectOrder
    reverse: bool
    offset: Count
    limit: Page


class HeapTypeParams(Struct, frozen=True):
    """A type by its number, and the largest of its instances."""

    snapshot: str
    kind: Count


class HeapObjectParams(Struct, frozen=True):
    """An object by its number; the answer has its group of the ``tree`` grouped ``by``."""

    snapshot: str
    object: Count
    by: Grouping
    tree: HeapTree = "dominators"


class HeapImageParams(Struct, frozen=True):
    """An object that is an image, as a picture."""

    snapshot: str
    object: Count


class HeapImagesParams(Struct, frozen=True):
    """The images that fit a filter, those with the same pixels as one."""

    snapshot: str
    filter: Filter
    order: GalleryOrder
    offset: Count
    limit: Page


class HeapThumbnailsParams(Struct, frozen=True):
    """Some objects that are images, as pictures that are ``side`` pixels wide and high at most."""

    snapshot: str
    objects: Annotated[list[Count], Meta(min_length=1, max_length=32)]
    side: Annotated[int, Meta(ge=16, le=512)]


class HeapThumbnailsResult(Struct, frozen=True):
    """Those of one at least of the objects: where they are large, the others are to be asked for again."""

    rows: list[Thumbnail]


class HeapReferencesParams(Struct, frozen=True):
    """More of what an object refers to, of what refers to it, or of what it contains as a collection."""

    snapshot: str
    object: Count
    direction: Literal["outgoing", "incoming", "contents"]
    offset: Count
    limit: Page


class HeapReferencesResult(Struct, frozen=True):
    """References ``offset`` and on of ``total``."""

    rows: list[ReferenceRow]
    offset: int
    total: int


class HeapDominatedParams(Struct, frozen=True):
    """What is below an object in a tree, the largest first; None for what is below none."""

    snapshot: str
    object: Count | None
    filter: Filter
    offset: Count
    limit: Page
    tree: HeapTree = "dominators"


class HeapDominatedResult(Struct, frozen=True):
    """Objects ``offset`` and on of ``total``; ``contained`` says which fit the filter, None without one.

    ``total_bytes`` are those of each and of everything below it; None for dominators, where that is what it retains.
    """

    rows: list[ObjectRow]
    offset: int
    total: int
    contained: list[bool] | None
    total_bytes: list[int] | None


class HeapGroupParams(Struct, frozen=True):
    """A group of a tree by its number; ``group`` is the same wherever else it is asked about.

    A number has the tree and the node in it: that of node ``n`` of the trees of dominators by type, package and module
    is ``n``, ``2**32 + n`` and ``2 * 2**32 + n``; those of the trees of shortest paths follow, from ``3 * 2**32``.
    Node 0 is the root.
    """

    snapshot: str
    group: Count
    filter: Filter


class HeapPictureParams(FlamePart, frozen=True, kw_only=True):
    """A part of a tree by type, package or module, as ``memlens/flame`` has it; ``search`` is a filter.

    Marked are the groups with objects that fit it, and are of the type ``kind`` where that is given.
    """

    snapshot: str
    by: Grouping
    kind: Count | None
    tree: HeapTree = "dominators"


class HeapPathsParams(Struct, frozen=True):
    """Why an object is alive; ``through`` are the strengths of references that are followed besides strong ones.

    If the answer is to come ``soon``, further paths than the shortest are only looked for nearby.
    """

    snapshot: str
    object: Count
    through: list[Strength]
    without: Without
    most: Annotated[int, Meta(ge=1, le=20)]
    soon: bool


class HeapFindingsParams(Struct, frozen=True):
    """What is wasted in what an object retains, or all objects of a type or a group."""

    snapshot: str
    object: Count | None
    kind: Count | None
    group: Count | None


class HeapMergedPathsParams(Struct, frozen=True, kw_only=True):
    """Why the objects of a type or a group are alive: the children of a node of their merged paths.

    ``through`` are the strengths of references that are followed besides strong ones.
    """

    snapshot: str
    kind: Count | None
    group: Count | None
    through: list[Strength]
    without: Without
    filter: Filter
    node: Count
    offset: Count
    limit: Page


class HeapRetainedParams(Struct, frozen=True, kw_only=True):
    """What the objects of a type or a group that fit a filter retain together."""

    snapshot: str
    kind: Count | None
    group: Count | None
    filter: Filter


class HeapCutParams(Struct, frozen=True, kw_only=True):
    """What would be freed without the references from one object to another, besides those of ``without``."""

    snapshot: str
    source: Count
    target: Count
    without: Without


class HeapLeastCutParams(Struct, frozen=True, kw_only=True):
    """Which references hold an object, or those of a type or group that fit a filter, and must go together."""

    snapshot: str
    object: Count | None
    kind: Count | None
    group: Count | None
    filter: Filter


class HeapMomentsParams(Struct, frozen=True):
    """When a recording's objects were allocated; a filter says which of them are distinguished."""

    snapshot: str
    filter: Filter


class HeapThreadsParams(Struct, frozen=True):
    """The threads, those first that retain most; with a filter those that hold objects which fit it."""

    snapshot: str
    filter: Filter
    offset: Count
    limit: Page


class HeapStackParams(Struct, frozen=True):
    """What a thread has: its object, its thread locals, and the frames of its stack."""

    snapshot: str
    thread: Count
    filter: Filter
    offset: Count
    limit: Page


class HeapVariablesParams(Struct, frozen=True, kw_only=True):
    """The variables of a part of what a thread has; ``depth`` is that of a frame."""

    snapshot: str
    thread: Count
    part: StackPart
    depth: Count | None
    filter: Filter
    offset: Count
    limit: Page
