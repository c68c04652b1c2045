"""The requests of the headline and of the list of findings."""

from collections.abc import Callable

from memlens.server.protocol.findings import FindingsParams, HeadlineParams
from memlens.server.wire import Questions
from memlens.store.snapshot import Snapshot
from memlens.views.findings import ahead
from memlens.views.findings.answers import FindingsAnswer, HeadlineAnswer


def _headline(snapshot: Snapshot, p: HeadlineParams) -> HeadlineAnswer:
    return ahead.headline(snapshot, p.device)


def _findings(snapshot: Snapshot, p: FindingsParams) -> FindingsAnswer:
    return ahead.findings(snapshot, p.device, p.limit)


def parts(snapshot: Snapshot, p: HeadlineParams | FindingsParams) -> list[Callable[[Snapshot], object]]:
    """The steps to run first, one at a time, so that other requests need not wait for all of them."""
    return list(ahead.parts(snapshot, p.device))


QUESTIONS: Questions = {
    "memlens/headline": _headline,
    "memlens/findings": _findings,
}
