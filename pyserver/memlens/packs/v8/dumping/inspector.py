"""A client of V8's inspector, in Node.js and in browsers: WebSockets with messages of the Chrome DevTools Protocol.

Answers aren't trusted: another program than the expected one may listen at the port.
"""

import contextlib
import http.client
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection, connect

_OPENING_S = 2.0
_CLOSING_S = 2.0
_SENDING_S = 5.0
"""How long a send may block. Requests are short: a peer that doesn't read one in this time is no inspector."""
_LISTED_S = 5.0
"""How long the whole list of targets may take."""
_LISTED_BYTES = 16 << 20
"""Addresses of pages, and of their icons, may be data themselves."""
_MOST_MESSAGE_BYTES = 512 << 20
"""Chrome sends a megabyte of a heap snapshot at a time, but a sampling in one message."""

_GONE = frozenset(("Inspector.detached", "Inspector.targetCrashed"))

Address = tuple[str, int]
"""A host, by name or number, and a port."""


class InspectorError(Exception):
    """The inspector is closed, or what it inspected is gone."""


class UnreadableError(InspectorError):
    """The inspector's answer isn't what the protocol says."""


class Target(msgspec.Struct):
    """Something that can be inspected."""

    id: str
    type: str = ""
    title: str = ""
    url: str = ""
    webSocketDebuggerUrl: str = ""  # noqa: N815 - the key of the protocol

    @property
    def path(self) -> str:
        """The URL of its session, at the requested address, whatever host the answer names."""
        try:
            return urlsplit(self.webSocketDebuggerUrl).path
        except ValueError:
            return ""


class _Event(msgspec.Struct):
    """The parameters of the events that are used here."""

    chunk: str = ""
    done: int = 0
    total: int = 0
    statsUpdate: list[int] = []  # noqa: N815 - the key of the protocol


class Message(msgspec.Struct):
    """An answer, which has the ``id`` of its request, or an event."""

    id: int = 0
    method: str = ""
    params: _Event = msgspec.field(default_factory=_Event)
    result: Any = None
    error: Any = None


_decode = msgspec.json.Decoder(Message).decode
_decode_targets = msgspec.json.Decoder(list[Target]).decode


class Inspector:
    """A session with one target."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._last = 0

    def send(self, method: str, **params: object) -> int:
        """Send a request, and return its number."""
        self._last += 1
        request = {"id": self._last, "method": method, "params": params}
        try:
            self._connection.send(msgspec.json.encode(request), text=True)
        except ConnectionClosed as error:
            raise InspectorError("the connection was closed") from error
        return self._last

    def receive(self, timeout_s: float) -> Message | None:
        """Return the next message, or None after a timeout."""
        try:
            message = _decode(self._connection.recv(timeout_s))
        except TimeoutError:
            return None
        except ConnectionClosed as error:
            raise InspectorError("the connection was closed") from error
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise UnreadableError("a message can't be read") from error
        if message.method in _GONE:
            raise InspectorError(message.method)
        return message

    def answer(self, timeout_s: float, method: str, **params: object) -> Message | None:
        """Return the answer to a request; None after a timeout."""
        number, deadline = self.send(method, **params), time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            message = self.receive(left)
            if message is not None and message.id == number:
                return message
        return None

    def value(self, expression: str, timeout_s: float) -> object:
        """Evaluate an expression in the program; None after a timeout."""
        match self.answer(timeout_s, "Runtime.evaluate", expression=expression, returnByValue=True):
            case Message(result={"result": {"value": value}}):
                return value
        return None


def written(address: Address) -> str:
    """An address in the form used in URLs."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@contextlib.contextmanager
def session(address: Address, path: str) -> Iterator[Inspector | None]:
    """Open a session at an address and path; None if nothing answers."""
    with contextlib.ExitStack() as stack:
        try:
            # with a socket of our own, which is never redirected to another address
            own = stack.enter_context(socket.create_connection(address, _OPENING_S))
            own.settimeout(None)
            _limit_sends(own, _SENDING_S)
            opened = stack.enter_context(
                connect(
                    f"ws://{written(address)}/{quote(path.lstrip('/'))}",
                    sock=own,
                    # directly and as it is: V8 neither compresses nor answers pings
                    proxy=None,
                    compression=None,
                    ping_interval=None,
                    max_size=_MOST_MESSAGE_BYTES,
                    open_timeout=_OPENING_S,
                    close_timeout=_CLOSING_S,
                )
            )
        except (OSError, ValueError, WebSocketException):
            yield None
            return
        yield Inspector(opened)


def _limit_sends(connection: socket.socket, seconds: float) -> None:
    """Let sends time out: while one blocks, nothing else can be sent and the connection can't be closed."""
    whole, rest = divmod(round(seconds * 1e6), 1_000_000)
    limit = (
        struct.pack("@I", round(seconds * 1e3))
        if sys.platform == "win32"
        else struct.pack("@ll", whole, rest)
    )
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)


def targets(address: Address) -> list[Target] | None:
    """The targets that the inspector at an address lists; None if no inspector answers."""
    client = http.client.HTTPConnection(*address, timeout=_OPENING_S)
    try:
        client.connect()
        own = client.sock
        # a timeout per read isn't enough: the peer may send single bytes
        clock = threading.Timer(_LISTED_S, _hang_up, (own,))
        clock.daemon = True
        clock.start()
        try:
            client.request("GET", "/json/list")
            response = client.getresponse()
            if response.status != http.client.OK:
                return None
            return _decode_targets(response.read(_LISTED_BYTES))
        finally:
            clock.cancel()
    except (OSError, ValueError, http.client.HTTPException, msgspec.MsgspecError, RecursionError):
        return None
    finally:
        client.close()


def _hang_up(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
