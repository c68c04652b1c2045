"""A client of Node.js's inspector: WebSockets with the messages of the Chrome DevTools Protocol."""

import contextlib
import http.client
import time
from collections.abc import Iterator
from typing import Any

import msgspec
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection, connect

_OPENING_S = 2.0
_CLOSING_S = 2.0
_LISTED_BYTES = 1 << 20

Address = tuple[str, int]


class InspectorError(Exception):
    """The inspector is closed, or answers otherwise than it should."""


class _Target(msgspec.Struct):
    id: str
    type: str = ""


class _Event(msgspec.Struct):
    """What events say that are of interest here."""

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


class Inspector:
    """A session with one program."""

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
        """Return the next message, or None if none comes in that time."""
        try:
            return _decode(self._connection.recv(timeout_s))
        except TimeoutError:
            return None
        except (ConnectionClosed, msgspec.MsgspecError) as error:
            raise InspectorError("the connection was closed") from error

    def value(self, expression: str, timeout_s: float) -> object:
        """Evaluate an expression in the program; None if there is no answer in time."""
        number, deadline = (
            self.send("Runtime.evaluate", expression=expression, returnByValue=True),
            time.monotonic(),
        )
        deadline += timeout_s
        while (left := deadline - time.monotonic()) > 0:
            message = self.receive(left)
            if message is not None and message.id == number:
                return message.result["result"].get("value") if isinstance(message.result, dict) else None
        return None


@contextlib.contextmanager
def session(address: Address) -> Iterator[Inspector | None]:
    """A session with the program whose inspector listens at an address; None if none does."""
    target = _target(address)
    if target is None:
        yield None
        return
    host, port = address
    shown = f"[{host}]" if ":" in host else host
    with contextlib.ExitStack() as stack:
        try:
            opened = stack.enter_context(
                connect(
                    f"ws://{shown}:{port}/{target}",
                    # directly and as it is: Node.js neither compresses nor answers pings
                    proxy=None,
                    compression=None,
                    ping_interval=None,
                    max_size=None,
                    open_timeout=_OPENING_S,
                    close_timeout=_CLOSING_S,
                )
            )
        except (OSError, WebSocketException):
            yield None
            return
        yield Inspector(opened)


def _target(address: Address) -> str | None:
    """The inspector's own list of what can be inspected has one program."""
    client = http.client.HTTPConnection(*address, timeout=_OPENING_S)
    try:
        client.request("GET", "/json/list")
        targets = msgspec.json.decode(client.getresponse().read(_LISTED_BYTES), type=list[_Target])
    except (OSError, http.client.HTTPException, msgspec.MsgspecError):
        return None
    finally:
        client.close()
    return next((target.id for target in targets if target.type == "node"), None)
