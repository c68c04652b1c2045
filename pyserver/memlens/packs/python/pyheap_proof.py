"""PyHeap's dumps of Python, read plainly."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from memlens.arrays import F64
from memlens.errors import MemlensError
from memlens.packs.python.proof import RUNTIMES_THREAD
from memlens.proof.items import Item, Keeps
from memlens.proof.stream import EndsError, Stream
from memlens.texts import phrase

_MAGIC = struct.pack(">QI", 123_000_321, 1)
_CONTAINERS = ("dict", "list", "set", "tuple")
_WITH_TEXTS, _REMOVED = 1, 1 << 62
_REDIRECTED = 1 << 61
_COUNT = ((1 << 48) - 1) << 8
"""The bits that a dump with the flag before has a number in."""


def recognises(head: bytes) -> bool:
    """Whether a file with these first bytes is such a dump, of whatever version."""
    return head.startswith(_MAGIC[:8])


class PyHeapReader:
    """Reads one dump; an object at a time is in memory."""

    def __init__(self, path: Path, keeps: Keeps) -> None:
        self._path, self._keeps = path, keeps

    def names(self) -> Iterator[Item]:
        """Names of threads, files, functions, variables, attributes and types."""
        return (each for each in self._items() if each.kind == "name")

    def contents(self, numbers: F64 | None) -> Iterator[Item]:  # noqa: ARG002 - texts hold them
        """The representations of objects, and what the format doesn't have."""
        return (each for each in self._items() if each.kind != "name")

    def _items(self) -> Iterator[Item]:
        with Stream.of(self._path) as stream:
            if stream.read(len(_MAGIC)) != _MAGIC:
                raise MemlensError(phrase("The file is not a heap dump by PyHeap"))
            try:
                yield from self._whole(stream)
            except EndsError:
                return

    def _whole(self, stream: Stream) -> Iterator[Item]:
        created = _text(stream)
        if created and not self._keeps.time:
            yield Item("text", "time of the dump", created, len(_MAGIC))
        flags = _number(stream, "Q")
        if flags & ~(_WITH_TEXTS | _REMOVED | (_REDIRECTED | _COUNT if flags & _REDIRECTED else 0)):
            yield Item("unknown", "flags", flags.to_bytes(8), stream.offset - 8)
        containers, dicts = set[int](), set[int]()
        for _ in range(_number(stream, "I")):
            name, own = _text(stream), _number(stream, "Q")
            if name in _CONTAINERS:
                containers.add(own)
            if name == "dict":
                dicts.add(own)
            yield Item("name", "types", name, stream.offset)
        yield from self._threads(stream)
        for _ in range(_number(stream, "I")):
            yield _named("attributes", _text(stream), stream.offset)
        yield from self._objects(stream, containers, dicts, with_texts=bool(flags & _WITH_TEXTS))
        for _ in range(_number(stream, "I")):
            stream.exactly(8)
            yield Item("name", "types", _text(stream), stream.offset)
        at = stream.offset
        if rest := stream.read(1 << 16).removeprefix(_MAGIC[:8]):
            yield Item("unknown", "bytes after the end", rest, at)

    def _objects(
        self, stream: Stream, containers: set[int], dicts: set[int], *, with_texts: bool
    ) -> Iterator[Item]:
        common = set[int]()
        for _ in range(_number(stream, "I")):
            common.add(_number(stream, "Q"))
            yield from self._attributes(stream)
        for _ in range(_number(stream, "I")):
            _, kind, _ = struct.unpack(">QQI", stream.exactly(20))
            if kind in containers:
                stream.exactly(8 * _number(stream, "I") * (2 if kind in dicts else 1))
            at, data = stream.offset, stream.exactly(8 * _number(stream, "I"))
            referents = [data[each : each + 8] for each in range(0, len(data), 8)]
            if not self._keeps.shared and len({*referents}) < len(referents):
                yield Item("unknown", "reference that is there twice", data, at)
            if kind not in common:
                yield from self._attributes(stream)
            if with_texts and kind not in containers and (text := _text(stream)):
                yield Item("text", "representation of an object", text, stream.offset)

    def _threads(self, stream: Stream) -> Iterator[Item]:
        for _ in range(_number(stream, "I")):
            name = _text(stream)
            if self._keeps.threads or RUNTIMES_THREAD.fullmatch(name):
                yield Item("name", "threads", name, stream.offset)
            else:
                yield Item("text", "name of a thread", name, stream.offset)
            stream.exactly(2)
            for _ in range(_number(stream, "I")):
                yield Item("name", "files", _text(stream), stream.offset)
                stream.exactly(4)
                yield Item("name", "functions", _text(stream), stream.offset)
                for _ in range(_number(stream, "I")):
                    yield _named("variables", _text(stream), stream.offset)
                    stream.exactly(8)

    def _attributes(self, stream: Stream) -> Iterator[Item]:
        for _ in range(_number(stream, "I")):
            length = _number(stream, "h")
            if length > 0:
                name = stream.exactly(length).decode("utf-8", "replace")
                yield _named("attributes", name, stream.offset)
            stream.exactly(8)


def _named(reason: Literal["attributes", "variables"], name: str, at: int) -> Item:
    """A name, or a content in its place. The language calls an argument of its own ``.0``."""
    if name.removeprefix(".").isdecimal() or name.isidentifier():
        return Item("name", reason, name, at)
    return Item("text", f"name in place of {reason}", name, at)


def _number(stream: Stream, form: str) -> int:
    layout = struct.Struct(">" + form)
    return int(layout.unpack(stream.exactly(layout.size))[0])


def _text(stream: Stream) -> str:
    return stream.exactly(_number(stream, "H")).decode("utf-8", "replace")
