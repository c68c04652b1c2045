"""``memlens/processes``, ``memlens/dump`` and ``memlens/record``: heap dumps and recordings of processes and pages."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec
from pygls.lsp.server import LanguageServer

from memlens.dumping.programs import listed, recordings_of
from memlens.dumping.runtimes import kinds
from memlens.packs.api import RecordingKind
from memlens.server.language import spoken
from memlens.server.protocol.dumping import (
    DumpParams,
    DumpResult,
    PageRow,
    ProcessesParams,
    ProcessesResult,
    ProcessRow,
    RecordingRow,
    RecordParams,
    StopRecordingParams,
    StopRecordingResult,
)
from memlens.server.protocol.snapshots import ProgressParams
from memlens.server.sessions.children import dump, record
from memlens.server.wire import answer
from memlens.units import plain

if TYPE_CHECKING:
    from memlens.dumping.options import PageType


def register(server: LanguageServer) -> None:
    """Register the requests."""
    recording: dict[str, asyncio.Event] = {}

    def rows(ways: Iterable[RecordingKind]) -> list[RecordingRow]:
        return [
            RecordingRow(spoken(each.title), spoken(each.detail), each.ending, each.sampling) for each in ways
        ]

    async def processes(_params: ProcessesParams) -> ProcessesResult:
        found = await asyncio.to_thread(listed)
        return ProcessesResult(
            [
                ProcessRow(
                    each.pid,
                    kinds()[each.runtime.kind].title,
                    plain(each.name),
                    plain(each.command),
                    each.resident_bytes,
                    kinds()[each.runtime.kind].ending,
                    rows(recordings_of(each)),
                )
                for each in found.processes
                if each.runtime is not None
            ],
            [
                PageRow(
                    each.target,
                    cast("PageType", each.type),
                    plain(each.name),
                    plain(each.url),
                    each.browser,
                    each.ending,
                    rows(recordings_of(each)),
                )
                for each in found.pages
            ],
        )

    def notified(view: str) -> Callable[[str, float | None], None]:
        def on_progress(stage: str, fraction: float | None) -> None:
            progress = ProgressParams(view, stage, fraction)
            server.protocol.notify("memlens/progress", msgspec.to_builtins(progress))

        return on_progress

    async def dumped(params: DumpParams) -> DumpResult:
        await dump(params.program, Path(params.out), notified(params.view))
        return DumpResult()

    async def recorded(params: RecordParams) -> DumpResult:
        stop = recording[params.view] = asyncio.Event()
        try:
            await record(
                params.program, Path(params.out), notified(params.view),
                sampling=params.sampling, seconds=params.seconds, stop=stop,
            )  # fmt: skip
        finally:
            del recording[params.view]
        return DumpResult()

    async def stopped(params: StopRecordingParams) -> StopRecordingResult:
        # otherwise it has ended meanwhile
        if params.view in recording:
            recording[params.view].set()
        return StopRecordingResult()

    answer(server, "memlens/processes", processes)
    answer(server, "memlens/dump", dumped)
    answer(server, "memlens/record", recorded)
    answer(server, "memlens/stopRecording", stopped)
