"""Printing. Text from files never reaches a terminal with control characters."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from memlens.errors import BadRequestError
from memlens.json_text import escaped, in_english
from memlens.store.files.disk import partial_file, room_in
from memlens.texts import phrase
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
def writing(target: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """A file beside ``target`` to write to, which takes its place if the block succeeds, and else is removed.

    A ``private`` one can be read by its owner alone.
    """
    check_target(target)
    partial = partial_file(target, os.getpid())
    with room_in(
        target.parent, target.name, advice=phrase("Free some space on it, or write the file elsewhere.")
    ):
        try:
            # one of that name is left over, or somebody else's who waits for what is written to it
            partial.unlink(missing_ok=True)
            mode = 0o600 if private else 0o666
            with open(partial, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
                yield file
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)


def check_target(target: Path) -> None:
    """Raise :class:`BadRequestError` where no file can be written, or a folder or a device be replaced."""
    if not target.parent.is_dir():
        why = phrase("there is no folder {folder}", folder=target.parent)
    elif target.exists() and not target.is_file():
        why = phrase("it is not a regular file")
    else:
        return
    raise BadRequestError(
        phrase("{file} can't be written: {why}", file=target.name or target, why=why),
        advice=phrase("Choose another file."),
    )


def json_line(value: Any) -> None:
    """Write an answer to stdout as one line of JSON, with texts in English."""
    message_line(in_english(value))


def message_line(value: Any) -> None:
    """Write a line of JSON for the process of Memlens that reads this one's, which may translate its texts."""
    sys.stdout.buffer.write(escaped(msgspec.json.encode(value).decode()).encode() + b"\n")
    sys.stdout.buffer.flush()
