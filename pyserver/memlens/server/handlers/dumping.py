"""``memlens/processes`` and ``memlens/dump``: heap dumps of running processes."""

import asyncio
from pathlib import Path

import msgspec
from pygls.lsp.server import LanguageServer

from memlens.dumping.processes import dumpable
from memlens.dumping.runtimes import ENDINGS, NAMES
from memlens.server.protocol.dumping import (
    DumpParams,
    DumpResult,
    ProcessesParams,
    ProcessesResult,
    ProcessRow,
)
from memlens.server.protocol.snapshots import ProgressParams
from memlens.server.sessions.children import dump
from memlens.server.wire import answer
from memlens.units import plain


def register(server: LanguageServer) -> None:
    """Register the requests."""

    async def processes(_params: ProcessesParams) -> ProcessesResult:
        found = await asyncio.to_thread(dumpable)
        return ProcessesResult(
            [
                ProcessRow(
                    each.pid,
                    NAMES[each.runtime.kind],
                    plain(each.name),
                    plain(each.command),
                    each.resident_bytes,
                    ENDINGS[each.runtime.kind],
                )
                for each in found
                if each.runtime is not None
            ]
        )

    async def dumped(params: DumpParams) -> DumpResult:
        def on_progress(stage: str, fraction: float | None) -> None:
            progress = ProgressParams(params.view, stage, fraction)
            server.protocol.notify("memlens/progress", msgspec.to_builtins(progress))

        await dump(params.pid, Path(params.out), on_progress)
        return DumpResult()

    answer(server, "memlens/processes", processes)
    answer(server, "memlens/dump", dumped)
