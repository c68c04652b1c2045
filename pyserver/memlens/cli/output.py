"""Printing. Text from files never reaches a terminal with control characters."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from memlens.errors import BadRequestError
from memlens.store.files.disk import partial_file, room_in
from memlens.texts import Text, phrase
from memlens.units import plain


def say(text: object, *, error: bool = False) -> None:
    """Print one line, to stderr if it is an error; control and formatting characters are replaced."""
    print(plain(str(text)), file=sys.stderr if error else sys.stdout)


def write_or_say(target: Path | None, text: str) -> None:
    """Write text to a file and print its path; without a file print the text, line by line."""
    if target is not None:
        write_file(target, text.encode())
        return
    for line in text.removesuffix("\n").split("\n"):
        say(line)


def write_file(target: Path, data: bytes) -> None:
    """Write a file completely or not at all, and print its path."""
    with writing(target) as file:
        file.write(data)
    say(target)


@contextlib.contextmanager
def writing(target: Path) -> Iterator[BinaryIO]:
    """A file beside ``target`` to write to, which takes its place if the block succeeds, and else is removed."""
    if not target.parent.is_dir():
        raise BadRequestError(
            phrase(
                "{file} can't be written: there is no folder {folder}",
                file=target.name,
                folder=target.parent,
            )
        )
    partial = partial_file(target, os.getpid())
    with room_in(target.parent, target.name, advice=phrase("Make room on it, or write the file elsewhere.")):
        try:
            with partial.open("wb") as file:
                yield file
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)


def json_line(value: Any) -> None:
    """Write an answer to stdout as one line of JSON, with texts in English."""
    message_line(in_english(value))


def message_line(value: Any) -> None:
    """Write a line of JSON for the process of Memlens that reads this one's, which may translate its texts."""
    sys.stdout.buffer.write(escaped(msgspec.json.encode(value).decode()).encode() + b"\n")
    sys.stdout.buffer.flush()


def in_english(value: Any) -> Any:
    """Return an answer as data for scripts: its texts are their English ones."""
    match value:
        case Text():
            return value.as_data()
        case msgspec.Struct():
            config = value.__struct_config__
            if config.array_like:
                return [in_english(getattr(value, name)) for name in value.__struct_fields__]
            tag = {} if config.tag_field is None else {config.tag_field: config.tag}
            names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
            return tag | {shown: in_english(getattr(value, name)) for shown, name in names}
        case list() | tuple():
            return [in_english(each) for each in value]
        case dict():
            return {key: in_english(each) for key, each in value.items()}
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
