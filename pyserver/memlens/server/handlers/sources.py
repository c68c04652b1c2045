"""From a frame's path to a file here, and from a line here to what snapshots say about it."""

import asyncio
from pathlib import Path

import msgspec
from pygls.lsp.server import LanguageServer

from memlens.server.protocol.base import Done
from memlens.server.protocol.sources import (
    LineTargetsParams,
    LineTargetsResult,
    RememberParams,
    SourceParams,
    SourceResult,
    SourcesChangedParams,
)
from memlens.server.sessions.registry import FileError
from memlens.server.settings import Configuration
from memlens.server.sources import Sources, show_line
from memlens.server.wire import answer


def register(server: LanguageServer, configuration: Configuration, sources: Sources) -> None:
    """Answer where a frame's file is, and take over what the user chose."""

    async def source(params: SourceParams) -> SourceResult:
        return await sources.located(params.snapshot, params.file, params.line)

    async def remember(params: RememberParams) -> Done:
        path = Path(params.path)
        if not path.is_absolute() or not await asyncio.to_thread(path.is_file):
            raise FileError(f"{params.path} can't be the source of {params.file}")
        configuration.remember(params.file, params.path)
        return Done()

    async def line_targets(params: LineTargetsParams) -> LineTargetsResult:
        placed = await sources.rows_at(params.document, params.line)
        # A line may stand in two functions (a lambda's, say); it is shown as one.
        return LineTargetsResult(list(dict.fromkeys(show_line(each.bound, each.row) for each in placed)))

    def sources_changed() -> None:
        server.protocol.notify("memlens/sourcesChanged", msgspec.to_builtins(SourcesChangedParams()))

    sources.indexes.listeners.append(sources_changed)
    answer(server, "memlens/source", source)
    answer(server, "memlens/lineTargets", line_targets)
    answer(server, "memlens/remember", remember)
