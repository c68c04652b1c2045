"""From a frame's path to a local file, and from a local line to the figures of snapshots."""

import asyncio
from pathlib import Path

import msgspec
from pygls.lsp.server import LanguageServer

from memlens.errors import FileError
from memlens.server.placed_lines import PlacedLines
from memlens.server.protocol.base import Done
from memlens.server.protocol.sources import (
    LineTargetsParams,
    LineTargetsResult,
    RememberParams,
    SourceParams,
    SourceResult,
    SourcesChangedParams,
)
from memlens.server.settings import Configuration
from memlens.server.sources import Sources, show_line
from memlens.server.wire import answer
from memlens.texts import phrase


def register(
    server: LanguageServer, configuration: Configuration, sources: Sources, lines: PlacedLines
) -> None:
    """Register the request for a frame's file, and that which remembers the user's choice."""

    async def source(params: SourceParams) -> SourceResult:
        return await sources.located(params.snapshot, params.file, params.line)

    async def remember(params: RememberParams) -> Done:
        path = Path(params.path)
        if not path.is_absolute() or not await asyncio.to_thread(path.is_file):
            raise FileError(
                phrase("{path} can't be the source of {file}", path=params.path, file=params.file)
            )
        configuration.remember(params.file, params.path)
        return Done()

    async def line_targets(params: LineTargetsParams) -> LineTargetsResult:
        placed = await lines.stacks_at(params.document, params.line)
        # A line may be in two functions (a lambda, for instance); it is shown as one.
        return LineTargetsResult(list(dict.fromkeys(show_line(each.bound, each.row) for each in placed)))

    def sources_changed() -> None:
        server.protocol.notify("memlens/sourcesChanged", msgspec.to_builtins(SourcesChangedParams()))

    sources.indexes.listeners.append(sources_changed)
    answer(server, "memlens/source", source)
    answer(server, "memlens/lineTargets", line_targets)
    answer(server, "memlens/remember", remember)
