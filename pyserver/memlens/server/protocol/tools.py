"""Questions of a language model."""

from msgspec import Struct

from memlens.server.protocol.base import Requests


class ToolParams(Struct, frozen=True):
    """A call of the tool ``name``, one of the manifest's. ``arguments`` is JSON, as the model wrote it.

    Cancelling this request ends the work.
    """

    name: str
    arguments: str


class ToolResult(Struct, frozen=True):
    """``text`` is what the model gets: JSON, or if ``is_error`` a sentence that says what went wrong."""

    text: str
    is_error: bool


REQUESTS: Requests = {"memlens/tool": (ToolParams, ToolResult)}
