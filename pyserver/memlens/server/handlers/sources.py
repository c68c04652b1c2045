"""From a frame's path to a file here, and from a line here to what snapshots say about it."""

import asyncio
from pathlib import Path

from pygls.lsp.server import LanguageServer

from memlens.server.protocol.base import Done
from memlens.server.protocol.sources import (
    LineTargetsParams,
    LineTargetsResult,
    RememberParams,
    SourceParams,
    SourceResult,
)
from memlens.server.registry import FileError
from memlens.server.settings import Configuration
from memlens.server.sources import Sources, show_line
from memlens.server.wire import answer


def register(server: LanguageServer, configuration: Configuration, sources: Sources) -> None:
    """Answer where a frame's file is, and take over what the user chose."""

    async def source(params: SourceParams) -> SourceResult:
        found = await sources.resolve(params.file)
        return SourceResult(
            path=found.paths[0] if len(found.paths) == 1 else None,
            line=params.line,
            how=found.how,
            candidates=found.paths,
            looked_for=found.looked_for,
        )

    async def remember(params: RememberParams) -> Done:
        path = Path(params.path)
        if not path.is_absolute() or not await asyncio.to_thread(path.is_file):
            raise FileError(f"{params.path} is no file that could stand for {params.file}")
        configuration.remember(params.file, params.path)
        return Done()

    async def line_targets(params: LineTargetsParams) -> LineTargetsResult:
        rows = await sources.rows_at(params.path, params.line)
        # A line may stand in two functions (a lambda's, say); it is shown as one.
        return LineTargetsResult(list(dict.fromkeys(show_line(bound, row) for bound, row in rows)))

    answer(server, "memlens/source", source)
    answer(server, "memlens/lineTargets", line_targets)
    answer(server, "memlens/remember", remember)
