"""A plain reading of Ruby's heap dumps: one JSON object per line."""

import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from memlens.arrays import F64
from memlens.errors import MemlensError
from memlens.proof.items import Item, Keeps, Reason, is_long, number_of
from memlens.proof.stream import Stream
from memlens.texts import phrase

_MOST_LINE_BYTES = 256 << 20
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_:. -]{0,40}")
_ADDRESSES = {"address", "class", "superclass", "default", "shape_id", "parent_id", "shared_class"}
_PLACES = {
    "address": "address of an object", "class": "address in class", "superclass": "address in superclass",
    "default": "address in default", "references": "address in references",
}  # fmt: skip
_OUTLINE = ("type", "root", "memsize", "length", "bytesize", "line")
_COUNTS = {
    "memsize", "slot_size", "length", "size", "ivars", "bytesize", "capacity", "generation", "line", "num_fields",
    "shape_id", "depth", "id", "parent_id", "references_count", "edge_name_id", "age", "variation_count",
    "max_variations", "subclasses", "memory",
}  # fmt: skip
_WORDS = {"type", "root", "imemo_type", "shape_type", "data_type", "coderange"}
_NAMES: dict[str, Reason] = {
    "name": "types", "real_class_name": "types", "struct": "types", "file": "files", "method": "methods",
    "encoding": "encodings", "mid": "methods", "called_id": "methods", "edge_name": "attributes",
}  # fmt: skip
_MARK = "removed by Memlens: "
_RUN = 32
"""How many consecutive, sufficiently different objects are compared for their order."""
_LEAST_DIFFERENT = 8
_LEAST_ADDRESS = 6
_MOST_ADDRESSES = 10_000
"""Of a copy, in each place."""
_NAMED_TYPES = {"CLASS", "MODULE", "ICLASS", "IMEMO", "DATA", "SHAPE"}


def recognises(words: bytes) -> bool:
    """Whether a file with these first bytes is a dump, by its first line."""
    line = words.partition(b"\n")[0]
    return (
        words.startswith(b"{")
        and re.search(rb'"type": ?"', line) is not None
        and re.search(rb'"(address|root)": ?"', line) is not None
    )


class DumpReader:
    """Reads one dump; a line at a time is in memory."""

    def __init__(self, path: Path, keeps: Keeps) -> None:
        self._path, self._keeps = path, keeps

    def names(self) -> Iterator[Item]:
        """Names of classes, methods, files and encodings."""
        return (each for each in self._items() if each.kind == "name")

    def contents(self, numbers: F64 | None) -> Iterator[Item]:
        """Texts, numbers, keys unknown to the format, addresses, and the order of objects."""
        for each in self._items():
            if each.kind == "number" and numbers is not None and float(each.value) not in numbers:
                continue
            if each.kind != "name":
                yield each
        if not self._keeps.shared:
            yield from self._places(is_copy=numbers is None)

    def _places(self, *, is_copy: bool) -> Iterator[Item]:
        """Addresses, and what objects in a row are without these.

        Of a copy the first addresses in each place, and each row; of its original the addresses that objects have, and
        the row after any object.
        """
        counts = dict.fromkeys(_PLACES if is_copy else ("address",), 0)
        kept, count = deque[bytes](maxlen=_RUN), 0
        for row, at in self._rows():
            for key in counts:
                if is_copy and counts[key] > _MOST_ADDRESSES:
                    continue
                found = row.get(key)
                for each in found if isinstance(found, list) else (found,):
                    if isinstance(each, str) and len(each) >= _LEAST_ADDRESS:
                        counts[key] += 1
                        yield Item("text", _PLACES[key], each, at)
            if str(row.get("root")).startswith(_MARK):
                continue
            count += 1
            kept.append(_outline(row))
            if count >= _RUN and not (is_copy and count % _RUN) and len({*kept}) >= _LEAST_DIFFERENT:
                yield Item("array", "order of objects", b"".join(kept), at)

    def _rows(self) -> Iterator[tuple[dict[str, Any], int]]:
        for line, at in _lines(self._path):
            try:
                row = msgspec.json.decode(line.decode("utf-8", "replace"))
            except msgspec.DecodeError:
                continue
            if isinstance(row, dict):
                yield row, at

    def _items(self) -> Iterator[Item]:
        for line, at in _lines(self._path):
            try:
                row = msgspec.json.decode(line.decode("utf-8", "replace"))
            except msgspec.DecodeError:
                yield Item("unknown", "line that isn't JSON", line, at)
                continue
            if isinstance(row, dict):
                yield from self._row(row, at)
            else:
                yield from _content("line without an object", row, at)

    def _row(self, row: dict[str, Any], at: int) -> Iterator[Item]:
        kind = row.get("type")
        for key, value in row.items():
            if value is None or isinstance(value, bool) or _is_number(key, value):
                continue
            if isinstance(value, str):
                if value:
                    yield _text(key, value, kind, at)
            elif key == "references" and isinstance(value, list):
                for each in value:
                    if not isinstance(each, str) or not _ADDRESS.fullmatch(each):
                        yield from _content("reference", each, at)
            elif key == "flags" and isinstance(value, dict):
                for name, flag in value.items():
                    if not isinstance(flag, bool):
                        yield from _content(f"flag {name}", flag, at)
            else:
                yield from _content(f"key {key}", value, at)


_MOST_DIGITS = 12
"""Of sizes, lines and counts. Numbers of cards and accounts have more."""


def _outline(row: dict[str, Any]) -> bytes:
    """A digest of the parts of an object that a copy keeps unchanged."""
    parts = [row.get(key) for key in _OUTLINE]
    parts.append(len(row.get("references") or ()))
    return crc32(repr(parts).encode()).to_bytes(4, "big")


def _is_number(key: str, value: object) -> bool:
    """Whether a value is an address or number as its key requires, or the mark of a copy."""
    if isinstance(value, str):
        is_mark = key == "root" and value.startswith(_MARK)
        return is_mark or (key in _ADDRESSES and _ADDRESS.fullmatch(value) is not None)
    return key in _COUNTS and isinstance(value, int) and abs(value) < 10**_MOST_DIGITS


def _text(key: str, value: str, kind: object, at: int) -> Item:
    """Classify a text by its key: a name, or content."""
    if key == "value" or (key == "name" and kind not in _NAMED_TYPES):
        return Item("text", f"{key} of a {kind}", value, at)
    if key in _NAMES and (key != "encoding" or _WORD.fullmatch(value)):
        return Item("name", _NAMES[key], value, at)
    if key in _WORDS and _WORD.fullmatch(value):
        return Item("name", "roots" if key == "root" else "engine", value, at)
    return Item("text", f"key {key}", value, at)


def _content(place: str, value: object, at: int) -> Iterator[Item]:
    """The contents of a value of any form."""
    if isinstance(value, str):
        if value and not value.startswith(_MARK):
            yield Item("text", place, value, at)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield Item("text", place, str(key), at)
            yield from _content(place, each, at)
    elif isinstance(value, list):
        codes = [each for each in value if isinstance(each, int) and 0 < each < 0x11_0000]
        if len(codes) == len(value) > 3:
            yield Item("text", place, "".join(map(chr, codes)), at)
        for each in value:
            yield from _content(place, each, at)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = number_of(value)
        if is_long(number):
            yield Item("number", place, number, at)


def _lines(path: Path) -> Iterator[tuple[bytes, int]]:
    """Each line with its offset."""
    with Stream.of(path) as stream:
        rest, at = b"", 0
        while piece := stream.some(1 << 20):
            parts = (rest + piece).split(b"\n")
            rest = parts.pop()
            if len(rest) > _MOST_LINE_BYTES:
                raise MemlensError(phrase("A line is too long for a heap dump of Ruby"), offset=at)
            for line in parts:
                if line.strip():
                    yield line, at
                at += len(line) + 1
        if rest.strip():
            yield rest, at
