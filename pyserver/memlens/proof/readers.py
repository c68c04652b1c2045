"""Which reader a file has."""

import struct
from pathlib import Path

from memlens.errors import BadRequestError
from memlens.proof.hprof import HprofReader
from memlens.proof.items import Keeps, Reader
from memlens.proof.pyheap import PyHeapReader
from memlens.proof.python import PythonReader
from memlens.proof.ruby import RubyReader
from memlens.proof.stream import Stream
from memlens.proof.v8 import V8Reader
from memlens.texts import phrase

_PYHEAP = struct.pack(">Q", 123_000_321)


def reader_of(path: Path, keeps: Keeps) -> Reader:
    """The reader of a heap dump, by its first bytes. Raises :class:`BadRequestError` for another file."""
    with Stream.of(path) as stream:
        head = stream.peek(4096)
    if head.startswith(b"JAVA PROFILE"):
        return HprofReader(path, keeps)
    if head.startswith(b"\x89MLHEAP\n"):
        return PythonReader(path, keeps)
    if head.startswith(_PYHEAP):
        return PyHeapReader(path, keeps)
    words = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    first_line = words.partition(b"\n")[0]
    if (
        words.startswith(b"{")
        and (b'"type":"' in first_line or b'"type": "' in first_line)
        and b'"meta"' not in words
    ):
        return RubyReader(path, keeps)
    if words.startswith(b"{"):
        return V8Reader(path, keeps)
    raise BadRequestError(
        phrase("{file} is not a heap dump that can be verified", file=path.name),
        advice=phrase("Heap dumps of Java, Android, V8, Ruby, Python and PyHeap can be."),
    )
