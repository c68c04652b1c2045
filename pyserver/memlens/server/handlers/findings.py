"""The requests of the headline and of the list of findings, and of what is made of these."""

from collections.abc import Callable

from pygls.lsp.server import LanguageServer

from memlens.server.protocol.exports import FindingMarkdownParams, ReportParams
from memlens.server.protocol.findings import (
    FindingsParams,
    FindingsState,
    FindingsStateParams,
    HeadlineParams,
)
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.sessions.registry import Registry
from memlens.server.wire import Questions, answer
from memlens.store.models import heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.views.examining import is_large
from memlens.views.findings import ahead
from memlens.views.findings.answers import FindingsAnswer, HeadlineAnswer

Params = HeadlineParams | FindingsParams | FindingMarkdownParams | ReportParams


def _headline(snapshot: Snapshot, p: HeadlineParams) -> HeadlineAnswer:
    return ahead.headline(snapshot, p.device)


def _findings(snapshot: Snapshot, p: FindingsParams) -> FindingsAnswer:
    return ahead.findings(snapshot, p.device, p.limit)


QUESTIONS: Questions = {
    "memlens/headline": _headline,
    "memlens/findings": _findings,
}

NEED_FINDINGS = frozenset((*QUESTIONS, "memlens/findingMarkdown", "memlens/report"))
"""The requests whose answers are made of findings."""


async def prepare(opened: OpenSnapshot, params: Params) -> bool:
    """Make what the answer to such a request is made of; return whether the rest takes long as well."""

    async def left() -> list[Callable[[Snapshot], object]]:
        """The steps to run first, one at a time, so that other requests need not wait for all of them."""
        return list(await opened.ask(lambda snapshot: ahead.parts(snapshot, params.device)))

    steps = await left()
    if steps and is_large(opened.info):
        await opened.examination.done()
        # there are some still where the archive can't be written
        steps = await left()
    # those of a heap dump visit all objects and references
    takes_long = heap_dump_of(opened.info) is not None and bool(steps)
    for step in steps:
        await (opened.ask_aside if takes_long else opened.ask)(step)
    return takes_long


def register(server: LanguageServer, registry: Registry) -> None:
    """Register the question how far findings are."""

    async def state(params: FindingsStateParams) -> FindingsState:
        return FindingsState(registry.get(params.snapshot).examination.fraction)

    answer(server, "memlens/findingsState", state)
