"""``memlens/source`` and ``memlens/remember``: from a frame's path to a file here."""

import asyncio
from pathlib import Path

from pygls.lsp.server import LanguageServer

from memlens.server.protocol import Done, RememberParams, SourceParams, SourceResult
from memlens.server.registry import FileError
from memlens.server.settings import Configuration
from memlens.server.sources import Sources
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

    answer(server, "memlens/source", source)
    answer(server, "memlens/remember", remember)
