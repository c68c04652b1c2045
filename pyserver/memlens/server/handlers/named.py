"""Snapshots that a setting names, for editors without views; hovers and code lenses show their figures."""

import asyncio
import logging

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from memlens.errors import MemlensError
from memlens.server.sessions.registry import Registry
from memlens.server.settings import Configuration

VIEW = "named-by-setting"
"""The name of the view that these snapshots have in the registry."""

logger = logging.getLogger(__name__)


def register(server: LanguageServer, configuration: Configuration, registry: Registry) -> None:
    """Open the files that ``snapshots`` names, and close those that it no longer names."""
    tasks: dict[str, asyncio.Task[None]] = {}
    opened: dict[str, str] = {}
    connected = False

    async def open_named(path: str) -> None:
        try:
            opened[path] = (await registry.open(path, VIEW, lambda _stage, _fraction: None)).name
        except (MemlensError, OSError) as error:
            logger.warning("%s: %s", path, error)
            params = types.ShowMessageParams(types.MessageType.Error, f"Memlens: {path}: {error}")
            server.window_show_message(params)

    async def close_named(path: str) -> None:
        task = tasks.pop(path)
        task.cancel()
        await asyncio.wait([task])
        if name := opened.pop(path, None):
            await registry.close(name, VIEW)

    def follow() -> None:
        if not connected:
            return
        found = (configuration.expand(each) for each in configuration.settings.snapshots)
        wanted = {str(path) for path in found if path is not None}
        for name in wanted - tasks.keys():
            tasks[name] = asyncio.create_task(open_named(name))
        for name in tasks.keys() - wanted:
            closing.add(task := asyncio.create_task(close_named(name)))
            task.add_done_callback(closing.discard)

    closing: set[asyncio.Task[None]] = set()

    @server.feature(types.INITIALIZED)
    def initialized(_params: types.InitializedParams) -> None:
        nonlocal connected
        connected = True
        follow()

    configuration.listeners.append(follow)
