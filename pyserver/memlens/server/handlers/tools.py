"""Calls of tools by language models in the editor. A snapshot that a view shows answers from its session."""

import msgspec
from pygls.lsp.server import LanguageServer

from memlens.errors import BadRequestError
from memlens.server.protocol.tools import ToolParams, ToolResult
from memlens.server.sessions.registry import Registry
from memlens.server.tools.session import Session
from memlens.server.tools.table import TOOLS
from memlens.server.wire import answer
from memlens.texts import phrase


def register(server: LanguageServer, registry: Registry) -> None:
    """Register the request of ``protocol/tools.py``."""
    session = Session(registry)

    async def call(params: ToolParams) -> ToolResult:
        if params.name not in TOOLS:
            raise BadRequestError(phrase("There is no tool {name}", name=params.name))
        try:
            arguments = msgspec.json.decode(params.arguments)
        except (msgspec.DecodeError, RecursionError) as error:
            raise BadRequestError(phrase("The arguments of {tool} are not JSON", tool=params.name)) from error
        return ToolResult(*await session.call(params.name, arguments, lambda _stage, _fraction: None))

    answer(server, "memlens/tool", call)
