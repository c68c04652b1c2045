"""The requests of a view about its snapshot: the questions that are declared, and where each is answered."""

from typing import Any

import msgspec
from pygls.lsp.server import LanguageServer

from memlens.server.handlers import (
    bookmarks,
    exports,
    findings,
    flame,
    groups,
    heap,
    memory_map,
    oom,
    profile,
    reserved,
    steps,
    timeline,
    what_if,
)
from memlens.server.handlers import filters as of_filters
from memlens.server.questions import QUESTIONS, Question
from memlens.server.sessions.findings import prepare
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.sessions.registry import Registry
from memlens.server.wire import Request, answer
from memlens.store.models import heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.views.heap.filters import filters
from memlens.views.heap.reachable import shortest_paths as shortest

MODULES = (
    bookmarks, exports, of_filters, findings, flame, groups, heap, memory_map, oom, profile, reserved, steps, timeline,
    what_if,
)  # fmt: skip
"""Those that declare questions."""


def register(server: LanguageServer, registry: Registry) -> None:
    """Register all questions: each is answered in its snapshot's thread, or beside it where that takes long."""

    def answer_one(method: str, asked: Question) -> None:
        async def handler(params: Any) -> msgspec.Struct:
            opened = registry.get(params.snapshot)
            takes_long = await _takes_long(opened, asked, params)
            chosen = opened.ask_aside if takes_long else opened.ask
            return await chosen(lambda snapshot: asked.ask(snapshot, params))

        request = Request(asked.params, asked.result, asked.name, of_view=True)
        answer(server, method, handler, request)

    for method, asked in QUESTIONS.items():
        answer_one(method, asked)
    findings.register(server, registry)


async def _takes_long(opened: OpenSnapshot, asked: Question, params: Any) -> bool:
    """Compute what the question needs first; return True if it should run beside the snapshot's thread."""
    cost = asked.cost
    if cost.needs_findings:
        return await prepare(opened, params.device)
    if heap_dump_of(opened.info) is None:
        return False
    takes_long = cost.is_long(params) or filters.takes_long(cost.filter(params))
    is_known = cost.is_known
    if takes_long and is_known is not None:
        takes_long = not await opened.ask(lambda snapshot: is_known(snapshot, params))

    def lacks_paths(snapshot: Snapshot) -> bool:
        return not shortest.is_ready(snapshot) and cost.shows_paths(snapshot)

    if cost.needs_paths(params) and await opened.ask(lacks_paths):
        await opened.ask_aside(shortest.prepare)
        takes_long = not await opened.ask(shortest.take) or takes_long
    return takes_long
