"""Explain a message about memory that ran out: who ended the process, what was full, and what to record next time.

It reads text: an out-of-memory error, lines of the kernel, a runtime's last words or report, the status of a pod, or
files of /proc. See [It already died](it-already-died.md).
"""

import argparse
import sys
from collections import deque
from pathlib import Path
from typing import BinaryIO

from memlens.cli.columns import say_paragraph
from memlens.cli.options import STDIN, add_json
from memlens.cli.output import json_line, say
from memlens.errors import FileError, reason
from memlens.explain.answers import Explanation
from memlens.explain.explanation import MOST_BYTES, explain
from memlens.explain.report import facts, lines_of, notes_of, page_of
from memlens.texts import Text, as_text, phrase

EXAMPLES = ("memlens explain tests/fixtures/messages/kernel-group.txt",)
_BLOCK = 1 << 20


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("text", metavar="FILE", help="a text file, or - for stdin")
    add_json(command)


def run(options: argparse.Namespace) -> int:
    name = phrase("The text") if options.text == STDIN else as_text(options.text)
    data, is_cut = _read(options.text)
    found = explain(data.decode("utf-8", "replace"), name)
    notes = notes_of(found)
    if is_cut:
        cut = phrase("Only the last {n} bytes were read; lines are counted from there.", n=len(data))
        notes = [cut, *notes]
    if options.json:
        json_line({"explanations": found.explanations, "left_out": found.left_out, "notes": notes})
        return 0
    for number, each in enumerate(found.explanations):
        if number:
            say("")
        _say(each)
    for note in notes:
        say_paragraph(f"note: {note}")
    return 0


def _read(file: str) -> tuple[bytes, bool]:
    """The text, or its end if it is too long."""
    try:
        if file == STDIN:
            return _end_of(sys.stdin.buffer)
        with Path(file).open("rb") as opened:
            return _end_of(opened)
    except OSError as error:
        raise FileError(phrase("{file} can't be read: {why}", file=file, why=reason(error))) from error


def _end_of(stream: BinaryIO) -> tuple[bytes, bool]:
    blocks = deque[bytes]()
    size = total = 0
    while block := stream.read(_BLOCK):
        blocks.append(block)
        size += len(block)
        total += len(block)
        while size - len(blocks[0]) >= MOST_BYTES:
            size -= len(blocks.popleft())
    return b"".join(blocks)[-MOST_BYTES:], total > MOST_BYTES


def _say(found: Explanation) -> None:
    say_paragraph(f"{found.title}.")
    say_paragraph(f"  {lines_of(found)}")
    say("")
    rows = list(facts(found))
    width = max(len(str(label)) for label, _ in rows)
    for label, value in rows:
        say_paragraph(f"  {label!s:<{width}}  {value}")
    _say_list(phrase("What it means"), found.conclusions)
    _say_list(phrase("Limits and settings"), found.settings)
    for each in found.next_time:
        say("")
        say(phrase("Next time: {section}", section=each.section))
        for line in each.recording.splitlines():
            say(f"    {line}")
        say_paragraph(f"  {each.leaves}")
        say_paragraph(f"  {page_of(as_text(each.section))}")


def _say_list(title: Text, sentences: list[Text]) -> None:
    if sentences:
        say("")
        say(title)
        for each in sentences:
            say_paragraph(f"  - {each}")
