"""What a text says of memory that ran out."""

from msgspec import Struct

from memlens.server.protocol.base import Line


class ExplainParams(Struct, frozen=True):
    """A text; errors call it by its ``name``."""

    text: str
    name: str


class ExplainedMessage(Struct, frozen=True):
    """A message of the text, at the line where it begins; ``markdown`` is all that it says."""

    line: Line
    title: str
    markdown: str


class ExplainResult(Struct, frozen=True):
    """The messages in their order, and notes in Markdown."""

    messages: list[ExplainedMessage]
    notes: list[str]
