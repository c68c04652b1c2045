"""The folders that an MCP client says its user works in, in both eras of the protocol.

Before 2026-07-28 the server asks once the session has begun, and again when they have changed; since then each call
that lacks them is answered with the question for them.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from memlens.server.tools.folders import Folders
from memlens.server.tools.permissions import OfFolders
from memlens.server.tools.touching import local

_NAME = "memlens-roots"
_MOST_SECONDS = 10.0
"""Then a client that says that it has roots, but doesn't name them, has none."""
_MOST = 100


class Roots:
    """Puts the client's roots in place of the folder that the server was started in, if it has any."""

    def __init__(self, permissions: OfFolders) -> None:
        self._permissions = permissions
        self._own = permissions.folders
        self._has = False
        self._known: asyncio.Future[None] | None = None

    def begin(self, capabilities: Any) -> None:
        """Note what a client declares at the start of a session."""
        self._has = isinstance(capabilities, dict) and isinstance(capabilities.get("roots"), dict)

    def ask(self, write: Callable[[Any], None]) -> None:
        """Ask for the roots, if the client has some; calls wait for them."""
        if self._has:
            if self._known is None or self._known.done():
                self._known = asyncio.get_running_loop().create_future()
            write({"jsonrpc": "2.0", "id": _NAME, "method": "roots/list"})

    def answered(self, message: dict[str, Any]) -> None:
        """Take a response; an error means that there are none."""
        if message.get("id") == _NAME and self._known is not None:
            self._take(message.get("result"))
            if not self._known.done():
                self._known.set_result(None)

    async def known(self) -> None:
        """Wait until the client has answered."""
        if self._known is not None and not self._known.done():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_MOST_SECONDS):
                    await asyncio.shield(self._known)

    def of_call(self, meta: dict[str, Any], responses: Any) -> dict[str, Any] | None:
        """The answer to a call without roots, where its client has some; None if the call can be answered."""
        self.begin(meta.get("io.modelcontextprotocol/clientCapabilities"))
        if not self._has:
            self._permissions.folders = self._own
            return None
        if not isinstance(responses, dict) or _NAME not in responses:
            return {"resultType": "input_required", "inputRequests": {_NAME: {"method": "roots/list"}}}
        self._take(responses[_NAME])
        return None

    def _take(self, result: Any) -> None:
        found = result.get("roots") if isinstance(result, dict) else None
        uris = (
            [each.get("uri") for each in found[:_MOST] if isinstance(each, dict)]
            if isinstance(found, list)
            else []
        )
        # a root that isn't a file's is no folder of this machine
        folders = [local(uri) for uri in uris if isinstance(uri, str) and uri.startswith("file:///")]
        self._permissions.folders = Folders(folders) if folders else self._own
