"""What answers about findings are made of, made first, so that whoever asks something else meanwhile need not wait."""

from collections.abc import Callable

from memlens.server.sessions.opened import OpenSnapshot
from memlens.store.models import heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.views.examining import is_large
from memlens.views.findings import ahead
from memlens.views.findings.answers import SnapshotFinding


async def prepare(opened: OpenSnapshot, device: int | None) -> bool:
    """Compute what the headline and the findings need; return whether the rest takes long as well."""

    async def left() -> list[Callable[[Snapshot], object]]:
        """The steps to run first, one at a time, so that other requests need not wait for all of them."""
        return list(await opened.ask(lambda snapshot: ahead.parts(snapshot, device)))

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


async def findings_of(opened: OpenSnapshot) -> list[SnapshotFinding]:
    """All findings about the device that a snapshot shows first."""
    takes_long = await prepare(opened, None)
    chosen = opened.ask_aside if takes_long else opened.ask
    return await chosen(lambda snapshot: ahead.findings(snapshot, None, ahead.MOST_FINDINGS).findings)
