"""The texts of profiles: of JSON, pickles and lines."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from memlens.proof.items import MOST_TEXT_BYTES, Item, Keeps
from memlens.proof.json_stream import unquoted
from memlens.proof.stream import Stream

_STRING = re.compile(rb'"((?:[^"\\]|\\.)*+)("|\\?\Z)', re.DOTALL)
"""A text, or the beginning of one that ends later."""
_TEXT_OPCODE = re.compile(rb"X(..\0\0)|\x8c(.)", re.DOTALL)
_FIGURE = re.compile(rb"\s*+[\w#-]*+[:=]?+ ?+[\d.,:@ -]*+")
"""A line of text without a name."""

_PIECE_BYTES = 1 << 20
_LONGEST_LINE_BYTES = 1 << 24


class ProfileReader:
    """Reads one profile; a piece at a time is in memory."""

    def __init__(self, path: Path, keeps: Keeps) -> None:  # noqa: ARG002 - as every reader
        self._path = path

    def names(self) -> Iterator[Item]:
        """All texts."""
        with Stream.of(self._path) as stream:
            head = stream.peek(64)
            if head[:1] == b"\x80":
                texts = _of_pickle(stream)
            elif head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
                texts = _of_json(stream)
            else:
                texts = _of_lines(stream)
            for text, at in texts:
                yield Item("name", "texts", text, at)

    def contents(self, numbers: npt.NDArray[np.float64] | None) -> Iterator[Item]:  # noqa: ARG002
        """Nothing: a profile has only figures and texts of code."""
        return iter(())


def _of_json(stream: Stream) -> Iterator[tuple[str, int]]:
    while data := stream.peek(_PIECE_BYTES):
        at = 0
        for found in _STRING.finditer(data):
            if found[2] != b'"':
                break
            at = found.end()
            yield unquoted(found[1]), stream.offset + found.start()
        stream.read(at or len(data))
        if len(data) < _PIECE_BYTES:
            return


def _of_pickle(stream: Stream) -> Iterator[tuple[str, int]]:
    """Bytes that look like an opcode for a text with its length."""
    while data := stream.peek(_PIECE_BYTES):
        is_last = len(data) < _PIECE_BYTES
        end, at = len(data) if is_last else len(data) - MOST_TEXT_BYTES, 0
        while (found := _TEXT_OPCODE.search(data, at)) and found.start() < end:
            size = int.from_bytes(found[1] or found[2], "little")
            text = data[found.end() : found.end() + size]
            at = found.start() + 1
            if size and len(text) == size and (words := _printable(text)):
                yield words, stream.offset + found.start()
                at = found.end() + size
        stream.read(len(data) if is_last else max(at, end))


def _printable(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() else ""


def _of_lines(stream: Stream) -> Iterator[tuple[str, int]]:
    rest, at = b"", 0
    while piece := stream.some(_PIECE_BYTES):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if not _FIGURE.fullmatch(line):
                yield line.decode("utf-8", "replace").strip(), at
            at += len(line) + 1
        if len(rest) > _LONGEST_LINE_BYTES:
            yield rest.decode("utf-8", "replace"), at
            at, rest = at + len(rest), b""
    if rest:
        yield rest.decode("utf-8", "replace").strip(), at
