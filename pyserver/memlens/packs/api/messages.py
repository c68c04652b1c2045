"""What a pack may declare of what its programs say when memory runs out, and of what to record before the next time."""

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from memlens.packs.api.parts import NOTHING, Part
from memlens.texts import Text

if TYPE_CHECKING:
    from collections.abc import Callable

    from memlens.explain.answers import Explanation, NotMemory
    from memlens.explain.text import Log

    MessageReader = Callable[[Log, int], Explanation | NotMemory | None]


class Message(Struct, frozen=True, kw_only=True):
    """A kind of text that says why memory ran out, or where it is."""

    name: str
    """Unique: in JSON."""
    title: Text = NOTHING
    """In the list of what can be explained; empty for what only looks like a message about memory."""
    signs: tuple[str, ...]
    """Texts, at least one of which stands in each such message."""
    read: "Part[MessageReader]"
    """Reads the message that has a sign in a line, by its number from 0; None if there is none."""


class NextTime(Struct, frozen=True, kw_only=True):
    """What to record next time, as docs/it-already-died.md has it."""

    programs: re.Pattern[str]
    """The names that the kernel gives to processes of such programs, of which it keeps 15 characters."""
    section: str
    """The page's heading, after ``Next time:``."""
    recording: str
    """What to run, or the lines to add, which that section has."""
    leaves: Text
    """What is there afterwards, in a sentence."""
