"""Questions of a language model."""

from msgspec import Struct


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


class ToolTouchesParams(Struct, frozen=True):
    """Asks what a call would touch, to ask the user before. ``folders`` are those of the workspace, ``open`` the files
    that its views show.
    """

    name: str
    arguments: str
    folders: list[str]
    open: list[str]


class ToolTouchesResult(Struct, frozen=True):
    """The files that are neither open nor in the workspace, links followed; SQL, also of filters; whether contents are
    asked for. None of the files was looked for.
    """

    outside: list[str]
    queries: list[str]
    contents: bool
