"""The requests of a view about its snapshot, answered in the snapshot's thread."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from pygls.lsp.server import LanguageServer

from memlens.server.handlers import (
    bookmarks,
    exports,
    filters,
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
)
from memlens.server.sessions.registry import Registry
from memlens.server.wire import Questions, answer
from memlens.store.models import heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.views.graph import shortest

R = TypeVar("R", bound=msgspec.Struct)

QUESTIONS: Questions = {
    **timeline.QUESTIONS,
    **filters.QUESTIONS,
    **flame.QUESTIONS,
    **reserved.QUESTIONS,
    **oom.QUESTIONS,
    **groups.QUESTIONS,
    **steps.QUESTIONS,
    **memory_map.QUESTIONS,
    **profile.QUESTIONS,
    **findings.QUESTIONS,
    **heap.QUESTIONS,
    **exports.QUESTIONS,
    **bookmarks.QUESTIONS,
}


def register(server: LanguageServer, registry: Registry) -> None:
    """Register QUESTIONS, each of which is answered in its snapshot's thread, or beside it where that takes long."""

    def question(method: str, ask: Callable[[Snapshot, Any], R]) -> None:
        async def handler(params: Any) -> R:
            opened = registry.get(params.snapshot)
            is_heap_dump = heap_dump_of(opened.info) is not None
            takes_long = (
                is_heap_dump
                and heap.takes_long(method, params)
                and not await opened.ask(lambda snapshot: heap.is_known(snapshot, params))
            )
            if (
                is_heap_dump
                and heap.may_need_paths(params)
                and await opened.ask(lambda snapshot: heap.needs_paths(snapshot, params))
            ):
                await opened.ask_aside(shortest.prepare)
                takes_long = not await opened.ask(shortest.take) or takes_long
            if method in findings.NEED_FINDINGS:
                takes_long = await findings.prepare(opened, params)
            chosen = opened.ask_aside if takes_long else opened.ask
            return await chosen(lambda snapshot: ask(snapshot, params))

        answer(server, method, handler)

    for method, ask in QUESTIONS.items():
        question(method, ask)
    findings.register(server, registry)
