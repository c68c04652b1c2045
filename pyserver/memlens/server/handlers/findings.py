"""Requests for the headline and the list of findings."""

from typing import Annotated

from msgspec import Meta
from pygls.lsp.server import LanguageServer

from memlens.server.protocol.findings import FindingsState, FindingsStateParams
from memlens.server.questions import OF_FINDINGS, question
from memlens.server.sessions.registry import Registry
from memlens.server.wire import answer
from memlens.store.snapshot import Snapshot
from memlens.views.findings import ahead
from memlens.views.findings.answers import FindingsAnswer, HeadlineAnswer


@question("memlens/headline", cost=OF_FINDINGS)
def _headline(snapshot: Snapshot, *, device: int | None = None) -> HeadlineAnswer:
    """The headline of a trace is about one device; None means the one to show first. Profiles have none."""
    return ahead.headline(snapshot, device)


@question("memlens/findings", cost=OF_FINDINGS)
def _findings(
    snapshot: Snapshot, *, device: int | None = None, limit: Annotated[int, Meta(ge=1, le=100)] = 20
) -> FindingsAnswer:
    """At most ``limit`` findings, the most important first; those of a trace are about one device, as the headline."""
    return ahead.findings(snapshot, device, limit)


def register(server: LanguageServer, registry: Registry) -> None:
    """Register the request for the progress of findings."""

    async def state(params: FindingsStateParams) -> FindingsState:
        return FindingsState(registry.get(params.snapshot).examination.fraction)

    answer(server, "memlens/findingsState", state, of_view=True)
