"""The requests of the headline and of the list of findings."""

from pygls.lsp.server import LanguageServer

from memlens.server.protocol.findings import (
    FindingsParams,
    FindingsState,
    FindingsStateParams,
    HeadlineParams,
)
from memlens.server.questions import OF_FINDINGS, question
from memlens.server.sessions.registry import Registry
from memlens.server.wire import answer
from memlens.store.snapshot import Snapshot
from memlens.views.findings import ahead
from memlens.views.findings.answers import FindingsAnswer, HeadlineAnswer


@question("memlens/headline", cost=OF_FINDINGS)
def _headline(snapshot: Snapshot, p: HeadlineParams) -> HeadlineAnswer:
    return ahead.headline(snapshot, p.device)


@question("memlens/findings", cost=OF_FINDINGS)
def _findings(snapshot: Snapshot, p: FindingsParams) -> FindingsAnswer:
    return ahead.findings(snapshot, p.device, p.limit)


def register(server: LanguageServer, registry: Registry) -> None:
    """Register the question how far findings are."""

    async def state(params: FindingsStateParams) -> FindingsState:
        return FindingsState(registry.get(params.snapshot).examination.fraction)

    answer(server, "memlens/findingsState", state, of_view=True)
