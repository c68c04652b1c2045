"""An MCP server on stdin and stdout: the tools for language models outside of VS Code.

It is written out here, and not taken from the ``mcp`` package, because that brings pydantic, starlette, uvicorn and
httpx, several times what Memlens ships for all platforms, for a web server that nobody runs. What stdio needs of the
protocol is this file: JSON-RPC 2.0, a message a line. Both of its eras are spoken: since 2026-07-28 each request names
its version in ``_meta``; before, a session began with ``initialize``.
https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
"""

import asyncio
import contextlib
import json
import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from memlens import limits
from memlens.json_text import escaped
from memlens.server import prompts
from memlens.server.process import begin_serving
from memlens.server.protocol.settings import Settings
from memlens.server.sessions.children import ProgressListener, abandon_all
from memlens.server.sessions.opened import end_verifying
from memlens.server.sessions.registry import Registry
from memlens.server.settings import Configuration
from memlens.server.tools.folders import Folders
from memlens.server.tools.permissions import OfFolders, started_in
from memlens.server.tools.roots import Roots
from memlens.server.tools.session import Session
from memlens.server.tools.table import INSTRUCTIONS, TOOLS
from memlens.sources.finder import Finder
from memlens.version import own_version

logger = logging.getLogger(__name__)

MODERN = ("2026-07-28",)
"""Versions that each request names."""
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions that ``initialize`` agrees on, the preferred one first."""

MOST_LINE_BYTES = 16 << 20
MOST_KEPT = 4
"""Files that stay open between calls; they are mapped, not loaded."""

_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS, _INTERNAL = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32603,
)
_UNSUPPORTED_VERSION = -32022

_OF_PROTOCOL = "io.modelcontextprotocol/"
_A_DAY_MS = 86_400_000


def _decoded(line: bytes) -> Any:
    """A message, with a question mark for half of a pair of surrogates, which UTF-8 can't have but JSON may.

    A model that is cut off within a character writes one, and its client waits for an answer. Raises
    msgspec.DecodeError, UnicodeDecodeError and RecursionError.
    """
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        try:
            text = json.dumps(json.loads(line), ensure_ascii=False)
        except ValueError:
            raise error from None
        return msgspec.json.decode(text.encode("utf-8", "replace"))


class McpError(Exception):
    """The error of a response."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


class _Request(NamedTuple):
    method: str
    params: dict[str, Any]
    is_modern: bool

    @property
    def meta(self) -> dict[str, Any]:
        found = self.params.get("_meta")
        return found if isinstance(found, dict) else {}


class McpServer:
    """Answers messages. For the event loop's thread only; ``write`` sends a message."""

    def __init__(self, session: Session, write: Callable[[Any], None], asked: Roots | None = None) -> None:
        """``asked`` takes the client's roots, if these decide what may be read."""
        self._roots = asked
        self._session = session
        self._write = write
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: dict[int | str, asyncio.Task[Any]] = {}
        """The tasks that answer requests, by request id."""

    def receive(self, line: bytes) -> None:
        """Take a message: answer a request in a task of its own, and a notification at once."""
        try:
            message = _decoded(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self.refuse(f"The message is not JSON: {error}")
            return
        task = asyncio.create_task(self._respond(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def refuse(self, reason: str) -> None:
        """Answer a message that can't be read, which has no id."""
        self._write({"jsonrpc": "2.0", "error": McpError(_PARSE_ERROR, reason).error})

    async def close(self) -> None:
        """End what is being answered, and close all files."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._session.close()

    async def _respond(self, message: Any) -> None:
        if isinstance(message, list) and message:
            # a batch, as version 2025-03-26 has it
            every = await asyncio.gather(*map(self._response, message))
            responses: Any = [each for each in every if each is not None]
        else:
            responses = await self._response(message)
        if responses:
            self._write(responses)

    async def _response(self, message: Any) -> dict[str, Any] | None:
        """The response to a request; None for a notification, and for a request that was cancelled."""
        number = message.get("id") if isinstance(message, dict) else None
        head: dict[str, Any] = {"jsonrpc": "2.0"} | ({"id": number} if _is_id(number) else {})
        try:
            asked = _request(message)
            if asked is None:
                if self._roots is not None:
                    self._roots.answered(message)
                return None
            if "id" not in message:
                self._notified(asked)
                return None
            return head | {"result": await self._cancellable(number, asked)}
        except asyncio.CancelledError:
            return None
        except McpError as error:
            return head | {"error": error.error}
        except Exception as error:
            logger.exception("a message could not be answered")
            return head | {"error": McpError(_INTERNAL, f"Internal error ({type(error).__name__})").error}

    async def _cancellable(self, number: Any, asked: _Request) -> dict[str, Any]:
        if not _is_id(number) or number in self._running:
            raise McpError(_INVALID_REQUEST, "The id of a request is a string or a number of its own")
        task = self._running[number] = asyncio.ensure_future(self._answer(asked))
        try:
            result: dict[str, Any] = await task
        except asyncio.CancelledError:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            raise
        finally:
            del self._running[number]
        return result

    def _notified(self, asked: _Request) -> None:
        number: Any = asked.params.get("requestId")
        if self._roots is not None and asked.method in (
            "notifications/initialized",
            "notifications/roots/list_changed",
        ):
            self._roots.ask(self._write)
        if asked.method == "notifications/cancelled" and _is_id(number) and number in self._running:
            self._running[number].cancel()

    async def _answer(self, asked: _Request) -> dict[str, Any]:
        match asked.method:
            case "initialize":
                wanted = asked.params.get("protocolVersion")
                if self._roots is not None:
                    self._roots.begin(asked.params.get("capabilities"))
                return {
                    "protocolVersion": wanted if wanted in LEGACY else LEGACY[0],
                    "capabilities": {"tools": {}, "prompts": {}},
                    "serverInfo": _own_name(),
                    "instructions": INSTRUCTIONS,
                }
            case "server/discover" if asked.is_modern:
                found = {
                    "supportedVersions": [*MODERN, *LEGACY],
                    "capabilities": {"tools": {}, "prompts": {}},
                    "instructions": INSTRUCTIONS,
                }
                return _modern(found | _kept_for_a_day(asked), asked)
            case "ping":
                return _modern({}, asked)
            case "tools/list":
                return _modern({"tools": definitions()} | _kept_for_a_day(asked), asked)
            case "tools/call":
                return _modern(await self._call(asked), asked)
            case "prompts/list":
                return _modern({"prompts": prompts.listed()} | _kept_for_a_day(asked), asked)
            case "prompts/get":
                found = prompts.prompt(asked.params.get("name"), asked.params.get("arguments"))
                if found is None:
                    raise McpError(_INVALID_PARAMS, "There is no prompt of that name")
                return _modern(found, asked)
            case _:
                raise McpError(_NO_METHOD, f"There is no method {asked.method}")

    async def _call(self, asked: _Request) -> dict[str, Any]:
        name = asked.params.get("name")
        if not isinstance(name, str) or name not in TOOLS:
            raise McpError(_INVALID_PARAMS, f"Unknown tool: {name}")
        if self._roots is not None:
            if asked.is_modern:
                needed = self._roots.of_call(asked.meta, asked.params.get("inputResponses"))
                if needed is not None:
                    return needed
            else:
                await self._roots.known()
        answer = await self._session.call(name, asked.params.get("arguments"), self._progress(asked))
        # as text alone: with structuredContent beside it, some clients would show a model all of it twice
        return {"content": [{"type": "text", "text": answer.text}], "isError": answer.is_error}

    def _progress(self, asked: _Request) -> ProgressListener:
        """Reports the progress of reading a file, if the request has a token. Progress never decreases."""
        token = asked.meta.get("progressToken")
        stages: list[str] = []
        last = 0.0

        def report(stage: str, fraction: float | None) -> None:
            nonlocal last
            if stage not in stages:
                stages.append(stage)
            progress = len(stages) + (fraction or 0.0)
            if progress > last:
                last = progress
                params = {"progressToken": token, "progress": progress, "message": stage}
                self._write({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

        return report if _is_id(token) else lambda _stage, _fraction: None


def _is_id(value: Any) -> bool:
    """Whether a value may be the id of a request, or a progress token."""
    return isinstance(value, int | str) and not isinstance(value, bool)


def _request(message: Any) -> _Request | None:
    """A request or notification; None for a response, as none is expected. Raises McpError."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise McpError(_INVALID_REQUEST, "The message is not of JSON-RPC 2.0")
    method, params = message.get("method"), message.get("params")
    if params is None:
        # left out, or null as some clients write it
        params = {}
    if method is None and ("result" in message or "error" in message):
        return None
    if not isinstance(method, str):
        raise McpError(_INVALID_REQUEST, "The message names no method")
    if not isinstance(params, dict):
        raise McpError(_INVALID_PARAMS, "The parameters are not an object")
    asked = _Request(method, params, is_modern=False)
    version = asked.meta.get(f"{_OF_PROTOCOL}protocolVersion")
    if version is None:
        if method == "server/discover":
            raise McpError(_INVALID_PARAMS, f"_meta lacks {_OF_PROTOCOL}protocolVersion")
        return asked
    if version not in MODERN:
        known = {"supported": [*MODERN, *LEGACY], "requested": version}
        raise McpError(_UNSUPPORTED_VERSION, "Unsupported protocol version", known)
    if not isinstance(asked.meta.get(f"{_OF_PROTOCOL}clientCapabilities"), dict):
        raise McpError(_INVALID_PARAMS, f"_meta lacks {_OF_PROTOCOL}clientCapabilities")
    return asked._replace(is_modern=True)


def _modern(result: dict[str, Any], asked: _Request) -> dict[str, Any]:
    if not asked.is_modern:
        return result
    return {"resultType": "complete", **result, "_meta": {f"{_OF_PROTOCOL}serverInfo": _own_name()}}


def _kept_for_a_day(asked: _Request) -> dict[str, Any]:
    return {"ttlMs": _A_DAY_MS, "cacheScope": "public"} if asked.is_modern else {}


def _own_name() -> dict[str, str]:
    return {"name": "memlens", "title": "Memlens", "version": own_version()}


def definitions() -> list[dict[str, Any]]:
    """The answer to ``tools/list``. None of the tools changes anything."""
    hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    return [
        {
            "name": name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.schema(),
            "annotations": {"title": tool.title, **hints},
        }
        for name, tool in TOOLS.items()
    ]


def main(
    libraries: Iterable[str],
    cache_folder: Path | None,
    cache_limit: int | None,
    roots: Sequence[Path] = (),
    *,
    values: bool = False,
    symbols: Sequence[Path] = (),
) -> int:
    """Serve MCP on stdin and stdout until stdin ends. Logs go to stderr.

    Only files in ``roots`` are read, else in the client's own, else in the working folder. ``values`` allows to send
    what objects contain. Binaries of native programs are looked for in ``symbols`` as well.
    """
    # nothing else ends the thread that reads stdin
    stdout = begin_serving("SIGINT")
    settings = Settings(
        libraries=list(libraries),
        cache_directory="" if cache_folder is None else str(cache_folder.absolute()),
        cache_limit_bytes=cache_limit or Settings().cache_limit_bytes,
        symbol_folders=[str(folder.absolute()) for folder in symbols],
    )
    try:
        permissions = OfFolders(Folders(list(map(str, roots))) if roots else started_in(), values=values)
        asked = None if roots else Roots(permissions)
        asyncio.run(_serve(settings, sys.stdin.buffer, stdout, permissions, asked))
    except BrokenPipeError:
        logger.info("the client is gone")
    finally:
        abandon_all()
        end_verifying()
    return 0


async def _serve(
    settings: Settings, stdin: BinaryIO, stdout: BinaryIO, permissions: OfFolders, asked: Roots | None
) -> None:
    configuration, finder = Configuration(), Finder()
    configuration.replace(settings)
    gone = asyncio.Event()

    def write(message: Any) -> None:
        try:
            stdout.write(escaped(msgspec.json.encode(message).decode()).encode() + b"\n")
            stdout.flush()
        except OSError:
            gone.set()

    registry = Registry(configuration, finder)
    configuration.only_folders = True
    registry.readable = lambda: permissions.folders.names
    server = McpServer(Session(registry, MOST_KEPT, permissions), write, asked)
    limits.freeze_objects_later()
    ended = asyncio.ensure_future(gone.wait())
    try:
        while not gone.is_set():
            reading = asyncio.ensure_future(asyncio.to_thread(_line, stdin))
            await asyncio.wait([reading, ended], return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                break
            line = reading.result()
            if not line:
                break
            if len(line) > MOST_LINE_BYTES:
                server.refuse(f"A message is longer than {MOST_LINE_BYTES:,} bytes")
            elif line.strip():
                server.receive(line)
    finally:
        ended.cancel()
        await server.close()


def _line(stdin: BinaryIO) -> bytes:
    """The next line, empty at the end. A line over the limit is cut, but stays over it."""
    line = stdin.readline(MOST_LINE_BYTES + 1)
    rest = line
    while len(rest) > MOST_LINE_BYTES and not rest.endswith(b"\n"):
        rest = stdin.readline(MOST_LINE_BYTES + 1)
    return line
