"""Answers as JSON for scripts and programs: texts in English, and nothing that a terminal or a reader can't see."""

from collections.abc import Callable
from typing import Any

import msgspec

from memlens.texts import Text


def in_english(value: Any, shown: Callable[[Any], Any] = lambda value: value) -> Any:
    """Return an answer as data for scripts: its texts are their English ones.

    ``shown`` may return something else in place of any part of it.
    """
    match value := shown(value):
        case Text():
            return value.as_data()
        case msgspec.Struct():
            config = value.__struct_config__
            if config.array_like:
                return [in_english(getattr(value, name), shown) for name in value.__struct_fields__]
            tag = {} if config.tag_field is None else {config.tag_field: config.tag}
            names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
            return tag | {key: in_english(getattr(value, name), shown) for key, name in names}
        case list() | tuple():
            return [in_english(each, shown) for each in value]
        case dict():
            return {key: in_english(each, shown) for key, each in value.items()}
        case _:
            return value


def escaped(json_text: str) -> str:
    """Escape all control and formatting characters in one line of JSON.

    JSON itself requires that only for U+0000 to U+001F (RFC 8259, section 7).
    """
    if json_text.isprintable():
        return json_text
    return "".join(char if char.isprintable() else _escape(char) for char in json_text)


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
