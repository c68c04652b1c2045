"""Escaped text for editors: nothing from a snapshot can become markup, a link or a command."""

import json
import re
from urllib.parse import quote

import msgspec

from memlens.server.language import spoken
from memlens.server.protocol.editor import GoToArguments
from memlens.server.protocol.fleet import OpenRankArguments
from memlens.server.protocol.sources import ShowLineArguments
from memlens.texts import phrase, plural
from memlens.units import format_bytes, plain_name

SHOW_LINE_COMMAND = "memlens.showLine"
GO_TO_COMMAND = "memlens.goToLine"
OPEN_RANK_COMMAND = "memlens.openRank"


def escaped(name: str) -> str:
    """A name from a snapshot as Markdown that shows exactly that name."""
    text = plain_name(name).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Any ASCII punctuation may be escaped with a backslash (CommonMark 2.4); entities are not split.
    return re.sub(r"&(?:amp|lt|gt);|[!-/:-@\[-`{-~]", lambda m: m[0] if len(m[0]) > 1 else f"\\{m[0]}", text)


def size(count_bytes: int) -> str:
    """A size for people, followed by the exact one: ``1.25 GiB (1,342,177,280 bytes)``."""
    exact = spoken(phrase(plural(count_bytes, "{n} byte", "{n} bytes"), n=count_bytes))
    return exact if abs(count_bytes) < 1024 else f"{format_bytes(count_bytes)} ({exact})"


def command_link(label: str, arguments: ShowLineArguments) -> str:
    """A Markdown link that shows a line's allocations. ``label`` is our own text."""
    return _link(label, SHOW_LINE_COMMAND, arguments)


def go_to_link(label: str, path: str, line: int) -> str:
    """A Markdown link to a line of a local file. ``label`` is our own text."""
    return _link(label, GO_TO_COMMAND, GoToArguments(path, line))


def open_rank_link(label: str, path: str, snapshot: int) -> str:
    """A Markdown link that opens a snapshot of a fleet. ``label`` is escaped."""
    return _link(label, OPEN_RANK_COMMAND, OpenRankArguments(path, snapshot))


def _link(label: str, command: str, arguments: msgspec.Struct) -> str:
    encoded = quote(json.dumps([msgspec.to_builtins(arguments)]), safe="")
    return f"[{label}](command:{command}?{encoded})"
