"""Calls of tools by language models in the editor. A snapshot that a view shows answers from its session."""

import os
from typing import Any

import msgspec
from pygls.lsp.server import LanguageServer

from memlens.errors import BadRequestError
from memlens.server.protocol.tools import ToolParams, ToolResult, ToolTouchesParams, ToolTouchesResult
from memlens.server.sessions.registry import Registry
from memlens.server.tools.folders import Folders
from memlens.server.tools.session import Session, checked
from memlens.server.tools.table import TOOLS
from memlens.server.tools.touching import touched
from memlens.server.wire import answer
from memlens.texts import phrase


def register(server: LanguageServer, registry: Registry) -> None:
    """Register the requests of ``protocol/tools.py``."""
    session = Session(registry)

    async def call(params: ToolParams) -> ToolResult:
        arguments = _arguments(params.name, params.arguments)
        return ToolResult(*await session.call(params.name, arguments, lambda _stage, _fraction: None))

    answer(server, "memlens/tool", call)
    answer(server, "memlens/toolTouches", _touches)


def _arguments(name: str, text: str) -> Any:
    if name not in TOOLS:
        raise BadRequestError(phrase("There is no tool {name}", name=name))
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRequestError(phrase("The arguments of {tool} are not JSON", tool=name)) from error


async def _touches(params: ToolTouchesParams) -> ToolTouchesResult:
    """What a call would touch. Raises :class:`BadRequestError` for a call that would be refused."""
    folders = Folders(params.folders)
    shown = {os.path.normcase(path) for path in params.open}

    def real(path: str) -> str | None:
        # an open file may have been looked up by its view
        return os.path.realpath(path) if os.path.normcase(path) in shown else folders.real(path)

    found = touched(checked(params.name, _arguments(params.name, params.arguments)), folders.whole, real)
    outside = [
        path for path in found.files if os.path.normcase(path) not in shown and folders.real(path) is None
    ]
    return ToolTouchesResult(outside, found.queries, found.contents)
