"""Difference flame graphs of two open snapshots, made of the answers of both threads and kept for a while."""

import asyncio
import base64
from collections.abc import Callable
from typing import Literal, TypeVar

from memlens.export.pictures.flame import flame as flame_picture
from memlens.server.protocol.compare import (
    CompareFlameChildrenParams,
    CompareFlameNodeParams,
    CompareFlameParams,
    CompareFlameResult,
    CompareFlameSearchParams,
    CompareFlameSvgParams,
    OfComparedTree,
)
from memlens.server.protocol.exports import SvgResult
from memlens.server.sessions.comparisons import Comparisons, Shared, before_and_after
from memlens.server.sessions.registry import Registry
from memlens.views.compare.difference import Joined, join, tree_of
from memlens.views.compare.sides import side_of
from memlens.views.flame import graph as flame
from memlens.views.flame import tables as flame_tables
from memlens.views.flame.calltree import CallTree
from memlens.views.flame.tables import FlameChildrenAnswer, FlameNodeAnswer, FlameSearchAnswer, FlameSides

T = TypeVar("T")
Asked = CompareFlameParams | CompareFlameSvgParams | OfComparedTree


class Differences:
    """For the event loop's thread only."""

    def __init__(self, registry: Registry, comparisons: Comparisons) -> None:
        self._registry = registry
        self._comparisons = comparisons
        self._shared = Shared(registry)

    async def flame(self, p: CompareFlameParams) -> CompareFlameResult:
        """The boxes of a viewport. Raises NotOpenError, BadRequestError."""

        def made(tree: CallTree) -> CompareFlameResult:
            picture = flame.picture(tree, p.x0, p.x1, p.first_depth, p.rows, p.width_px, p.search)
            geometry = base64.b64encode(picture.geometry).decode("ascii")
            return CompareFlameResult(
                geometry, picture.names, flame_tables.whole(tree) or FlameSides(0, 0, 0, 0)
            )

        return await self._ask(p, lambda tree, _: made(tree))

    async def svg(self, p: CompareFlameSvgParams) -> SvgResult:
        """A part of the graph as a picture to save."""

        def made(tree: CallTree) -> SvgResult:
            return SvgResult(flame_picture(tree, p.title, p.x0, p.x1, scale=p.tree.scale).document(p.theme))

        return await self._ask(p, lambda tree, _: made(tree))

    async def node(self, p: CompareFlameNodeParams) -> FlameNodeAnswer:
        """A node's details; its stacks are those of the view's own snapshot."""
        return await self._ask(
            p,
            lambda tree, joined: flame_tables.details_of(tree, joined.stacks, p.node, p.tree.attribution),
        )

    async def children(self, p: CompareFlameChildrenParams) -> FlameChildrenAnswer:
        """A page of a node's children."""
        return await self._ask(
            p,
            lambda tree, _: flame_tables.children(tree, p.node, p.offset, p.limit, p.tree.attribution),
        )

    async def search(self, p: CompareFlameSearchParams) -> FlameSearchAnswer:
        """The nodes in which a text is found."""
        return await self._ask(p, lambda tree, _: flame_tables.search(tree, p.text, p.tree.attribution))

    async def _ask(self, p: Asked, question: Callable[[CallTree, Joined], T]) -> T:
        """Ask the tree a question; one at a time, because trees cache what they found."""
        asked = p.tree
        mine, other = self._registry.get(p.snapshot), self._registry.get(p.other)
        (first, first_of), (second, second_of) = before_and_after(mine, other, asked)
        own: Literal["before", "after"] = "after" if asked.other_first else "before"
        names, sets = (first.name, second.name), (first_of, second_of, own)

        async def make_joined() -> Joined:
            before, after, pairing = await asyncio.gather(
                first.ask(lambda snapshot: side_of(snapshot, first_of)),
                second.ask(lambda snapshot: side_of(snapshot, second_of)),
                self._comparisons.pairing(first, second),
            )
            return await asyncio.to_thread(join, before, after, pairing, own)

        joined: Joined = await self._shared.get(names, sets, make_joined)

        async def make_tree() -> CallTree:
            def make() -> CallTree:
                with joined.lock:
                    return tree_of(joined, asked.options, asked.scale, asked.width)

            return await asyncio.to_thread(make)

        shown = (*sets, asked.options, asked.scale, asked.width)
        tree: CallTree = await self._shared.get(names, shown, make_tree)

        def answered() -> T:
            with joined.lock:
                return question(tree, joined)

        return await asyncio.to_thread(answered)
