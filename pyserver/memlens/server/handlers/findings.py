"""The requests of the headline and of the list of findings."""

from pygls.lsp.server import LanguageServer

from memlens.server.protocol.findings import (
    FindingsParams,
    FindingsState,
    FindingsStateParams,
    HeadlineParams,
)
from memlens.server.sessions.registry import Registry
from memlens.server.wire import Questions, answer
from memlens.store.snapshot import Snapshot
from memlens.views.findings import ahead
from memlens.views.findings.answers import FindingsAnswer, HeadlineAnswer


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


def register(server: LanguageServer, registry: Registry) -> None:
    """Register the question how far findings are."""

    async def state(params: FindingsStateParams) -> FindingsState:
        return FindingsState(registry.get(params.snapshot).examination.fraction)

    answer(server, "memlens/findingsState", state)
