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
    """Register QUESTIONS, each of which is answered in its snapshot's thread."""

    def question(method: str, ask: Callable[[Snapshot, Any], R]) -> None:
        async def handler(params: Any) -> R:
            opened = registry.get(params.snapshot)
            is_heap_dump = heap_dump_of(opened.info) is not None
            takes_long = (
                is_heap_dump
                and heap.takes_long(method, params)
                and not await opened.ask(lambda snapshot: heap.is_known(snapshot, params))
            )
            if method in findings.QUESTIONS:
                parts = await opened.ask(lambda snapshot: findings.parts(snapshot, params))
                # those of a heap dump visit all objects and references
                takes_long = is_heap_dump and bool(parts)
                for part in parts:
                    await (opened.ask_aside if takes_long else opened.ask)(part)
            chosen = opened.ask_aside if takes_long else opened.ask
            return await chosen(lambda snapshot: ask(snapshot, params))

        answer(server, method, handler)

    for method, ask in QUESTIONS.items():
        question(method, ask)
