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
from memlens.sources.edits import ChangedLine


def register(server: LanguageServer, configuration: Configuration, sources: Sources) -> None:
    """Answer where a frame's file is, and take over what the user chose."""

    async def source(params: SourceParams) -> SourceResult:
        found = await sources.resolve(params.file)
        path = found.paths[0] if len(found.paths) == 1 else None
        line, changed = params.line, None
        if path is not None and params.snapshot and line:
            here, changed = await sources.place(params.snapshot, params.file, line, path)
            if here == 0 and changed is None:
                changed = ChangedLine("That line has been deleted since the run", [])
            line = here or line
        return SourceResult(path, line, found.how, found.paths, found.looked_for, changed)

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
