"""What LSP's messages need of pygls' private parts.

No other file touches these; pygls is pinned to the version that they are of, and ``tests/python/test_pygls.py`` fails
when another version has changed them.
"""

import asyncio
import contextlib
import logging
import re
import sys
from collections import deque
from concurrent.futures import Executor
from threading import Event
from typing import Any, BinaryIO

import msgspec
from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.exceptions import FeatureRequestError, JsonRpcException, JsonRpcInvalidParams
from pygls.io_ import StdoutWriter, run_async
from pygls.lsp.server import LanguageServer
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    LanguageServerProtocol,
)

logger = logging.getLogger(__name__)

# The client never sends whole documents: a hover needs only a path and a line.
_UNWANTED = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
)


def quieten_pygls() -> None:
    """Let pygls log neither whole messages, including geometry, as it does at INFO, nor errors that were answered."""
    level = max(logging.getLogger().level, logging.WARNING)
    for name in ("pygls", "pygls.protocol", "pygls.protocol.json_rpc"):
        logging.getLogger(name).setLevel(level)
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_without_answered_errors)


def _without_answered_errors(record: logging.LogRecord) -> bool:
    """Drop errors that were sent as answers: the client shows them to the user, and a traceback wouldn't help."""
    answered = record.exc_info and isinstance(record.exc_info[1], JsonRpcException)
    return not answered and not str(record.msg).startswith("Unable to deserialize message")


def make_converter() -> Any:
    """Make lsprotocol's converter, which leaves the bodies of our own messages as dicts.

    pygls' default converts them into named tuples, which lose keys that aren't identifiers, such as paths.
    """
    converter = get_converter()
    for message in (JsonRPCRequestMessage, JsonRPCNotification):
        converter.register_structure_hook(message, lambda data, cls: cls(**{"params": None, **data}))
    converter.register_structure_hook(
        JsonRPCResponseMessage, lambda data, cls: cls(**{"result": None, **data})
    )
    return converter


class Protocol(LanguageServerProtocol):
    """LSP without document synchronisation that also answers malformed requests, which pygls ignores."""

    def __init__(self, server: LanguageServer, converter: Any) -> None:
        super().__init__(server, converter)
        for method in _UNWANTED:
            self.fm.builtin_features.pop(method, None)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Make a message of decoded JSON; called for every object in it, innermost first."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" not in data or "method" not in data:
                raise
            invalid = JsonRpcInvalidParams(f"{data['method']}: the parameters do not fit: {error.__cause__}")
            self._send_response(data["id"], error=invalid.to_response_error())
            # The caller expects an answer, except to methods that begin with $/.
            return JsonRPCNotification(method="$/malformed", jsonrpc="2.0", params=None)

    def _send_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        """Write the bytes that :func:`answer` encoded.

        pygls would copy the result object by object three times in the event loop's thread, while others wait.
        """
        if error is not None or not isinstance(result, msgspec.Raw) or self.writer is None:
            super()._send_response(msg_id, result, error)
            return
        self._result_types.pop(msg_id, None)
        body = msgspec.json.encode({"id": msg_id, "jsonrpc": self.VERSION, "result": result})
        try:
            # start_io's writer is synchronous; pygls' others would be awaited
            self.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        except BrokenPipeError:
            logger.info("the answer to %s is no longer wanted", msg_id)


class MessageReader:
    """Messages from a stream, each read completely in a thread.

    pygls' reader switches to the thread and back for each line of a header, which takes longer than most answers.
    """

    _LENGTH = re.compile(rb"Content-Length: (\d+)\r\n")

    def __init__(self, stream: BinaryIO, threads: Executor) -> None:
        self._stream = stream
        self._threads = threads
        self._header = deque[bytes]()
        self._body = b""

    async def readline(self) -> bytes:
        """The next line of a header; empty at the end of the stream."""
        if not self._header:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._read)
        return self._header.popleft()

    async def readexactly(self, n: int) -> bytes:
        """The body of the message whose header was read; shorter if the stream ended within it."""
        return self._body[:n]

    def _read(self) -> None:
        length = 0
        while line := self._stream.readline():
            self._header.append(line)
            match = self._LENGTH.fullmatch(line)
            if match:
                length = int(match[1])
            if length and not line.strip():
                self._body = self._stream.read(length)
                return
        self._header.append(line)


class Server(LanguageServer):
    """A language server that only logs its own errors, without popups for what the user didn't ask for."""

    def start_io(self, stdin: BinaryIO | None = None, stdout: BinaryIO | None = None) -> None:
        """Serve a client over two streams until it ends the server or disconnects."""
        self._stop_event = Event()
        # separate threads, so that no other work delays a cancellation
        reader = MessageReader(stdin or sys.stdin.buffer, self.thread_pool)
        self.protocol.set_writer(StdoutWriter(stdout or sys.stdout.buffer))
        served = run_async(self._stop_event, reader, self.protocol, logger, self.report_server_error)
        try:
            with contextlib.suppress(KeyboardInterrupt, SystemExit):
                asyncio.run(served)
        except BrokenPipeError:
            logger.info("the client is gone")
        finally:
            self.shutdown()

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log what pygls can't answer as the error of a request."""
        if source is not FeatureRequestError:
            logger.error("%s: %s", source.__name__, error)
