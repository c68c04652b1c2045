"""Heap dumps of Python by Memlens itself, read plainly, record by record."""

import re
import struct
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from memlens.arrays import F64
from memlens.errors import MemlensError
from memlens.kernels.readers import tagged_records as records
from memlens.proof.items import LEAST_NUMBER, Item, Keeps, Reason, is_long
from memlens.proof.stream import Stream
from memlens.texts import phrase

_MAGIC = b"\x89MLHEAP\n"
_START = len(_MAGIC) + 8
_SIZES = {b"F": 12, b"T": 16, b"O": 36, b"L": 12, b"A": 20, b"G": 20, b"N": 8, b"E": 8}
_GROUPS = {b"S": 1, b"K": 4, b"r": 8, b"e": 8, b"i": 8, b"d": 8, b"n": 12}
_WITH_TEXTS = {*_SIZES, b"S", b"n"}
_WIDTHS = np.array([_SIZES.get(bytes([tag]), -_GROUPS.get(bytes([tag]), 0)) for tag in range(256)], np.int32)
"""The bytes of a record, by tag; if negative, those of an item, preceded by the number of items."""
_END = ord("E")
_KINDS = {b"O": records.NOT_ZERO, b"S": records.COUNTED}
_TEXT_AT = 24
"""The offset of an object's text in its record."""
_LEAST_RECORD = 5
"""The bytes of the shortest record."""
_MOST_SEEN = 1 << 16
"""Lists of attributes that are remembered: the objects of a type have the same."""
_CONTENTS = {b"str", b"bytes"}
_NUMBERS = {b"int", b"float", b"complex"}
_TIME = {b"python", b"process_id", b"seconds"}
_NOTES = _TIME | {
    b"program", b"allocations_traced", b"collected", b"peak_bytes", b"unread", b"unread_example", b"removed",
}  # fmt: skip
_ROOTS = {b"module", b"builtins", b"thread", b"local", b"exception", b"unknown"}
_VARIABLE = re.compile(r"(?:[^\W\d]\w*|\.\d+)(?: \(|$)")
"""The name of a variable, also of an argument that the language makes; the one of a thread may follow."""

_NAMES: dict[bytes, tuple[tuple[int, Reason], ...]] = {
    b"F": ((0, "files"), (4, "functions")), b"L": ((8, "variables"),), b"A": ((8, "threads"),),
}  # fmt: skip
"""The offsets of name numbers in records."""

_DETAILS: dict[bytes, Reason] = {
    b"module": "modules", b"builtins": "modules", b"thread": "threads", b"local": "variables", b"exception": "types",
}  # fmt: skip
_DICT = b"__dict__"
RUNTIMES_THREAD = re.compile(
    r"|MainThread|(?:Thread|thread|Dummy|Timer|Pool)-\d+(?: \(.*\))?|asyncio_\d+|QueueFeederThread"
    r"|ThreadPoolExecutor-\d+_\d+|ExecutorManagerThread|pydevd\..*"
)
"""Names of threads that the runtime gives, or the redactor."""


def recognises(head: bytes) -> bool:
    """Whether a file with these first bytes is such a dump."""
    return head.startswith(_MAGIC)


class PythonReader:
    """Reads one dump; its texts' uses and the addresses of dictionaries of attributes are in memory."""

    def __init__(self, path: Path, keeps: Keeps) -> None:
        self._path, self._keeps = path, keeps
        self._texts: list[bytes] = [b""]
        self._text_count = 0
        self._names: dict[int, Reason] = {}
        self._contents: dict[int, str] = {}
        self._types: dict[int, bytes] = {}
        self._surplus: list[Item] = []
        self._strings, self._texts_of = array("Q"), array("I")
        self._dictionaries: set[int] = set()
        self._seen: dict[bytes, list[int]] = {}
        self._next_depth = 0
        self._survey()

    def names(self) -> Iterator[Item]:
        """The texts that name something."""
        self._take_strings()
        for number, reason in self._names.items():
            yield Item("name", reason, self._text(number), number)

    def listed(self) -> Iterator[tuple[Reason, Iterable[str]]]:
        """The same of a copy, whose strings have no other text than the keys of attributes have."""
        for text in self._texts_of:
            self._named(text, "attributes")
        for number, reason in self._names.items():
            yield reason, (self._text(number),)

    def contents(self, numbers: F64 | None) -> Iterator[Item]:
        """Texts of strings, bytes and numbers, and what the format doesn't have."""
        self._take_strings()
        yield from self._surplus
        for number, place in self._contents.items():
            text = self._text(number)
            if not text or (number in self._names and place.startswith("name of ")):
                continue
            is_number = place.removeprefix("text of ") in ("int", "float", "complex")
            if is_number and not is_long(text):
                continue
            if (
                is_number
                and numbers is not None
                and np.isfinite(_value(text))
                and _value(text) not in numbers
            ):
                continue
            yield Item("number" if is_number else "text", place, text, number)
        for number in range(1, len(self._texts)):
            if number not in self._names and number not in self._contents and self._texts[number]:
                yield Item("text", "text that names nothing", self._text(number), number)

    def _text(self, number: int) -> str:
        return self._texts[number].decode("utf-8", "replace") if number < len(self._texts) else ""

    def _named(self, number: int, reason: Reason) -> None:
        text = self._text(number)
        if reason == "attributes" and text and not text.isidentifier():
            self._contents[number] = "name of an attribute"
        elif reason == "variables" and text and not _VARIABLE.match(text):
            self._contents[number] = "name of a variable"
        elif reason == "threads" and not self._keeps.threads and not RUNTIMES_THREAD.fullmatch(text):
            self._contents[number] = "name of a thread"
        elif number:
            self._names.setdefault(number, reason)

    def _survey(self) -> None:
        # most objects have no text, in a copy
        for tag, body, at in self._records(_WITH_TEXTS, with_text=True):
            match tag:
                case b"O":
                    self._object(body)
                case b"S":
                    self._texts += [b""] * (at - len(self._texts))
                    self._texts.append(body)
                case b"T":
                    self._type(body)
                case b"n":
                    self._attributes(body)
                case b"G":
                    self._root(body)
                case b"N":
                    self._note(*struct.unpack("<II", body))
                case b"?":
                    self._surplus.append(Item("unknown", "bytes after the end", body, at))
                case _:
                    self._record(tag, body)
        self._texts += [b""] * (self._text_count + 1 - len(self._texts))

    def _take_strings(self) -> None:
        """Tell keys of attributes from other strings."""
        keys = self._keys() if len(self._strings) else set[int]()
        for own, text in zip(self._strings, self._texts_of, strict=True):
            if own in keys:
                self._named(text, "attributes")
            else:
                self._contents[text] = "text of str"
        self._strings, self._texts_of = array("Q"), array("I")

    def _attributes(self, body: bytes) -> None:
        """Note the names of an object's attributes, and where the dictionary of others is."""
        count = len(body) // 12
        names = body[8 * count :]
        places = self._seen.get(names)
        if places is None:
            numbers = np.frombuffer(names, "<u4").tolist()
            for number in numbers:
                self._named(number, "attributes")
            places = [
                place for place, number in enumerate(numbers) if self._texts[number : number + 1] == [_DICT]
            ]
            if len(self._seen) < _MOST_SEEN:
                self._seen[names] = places
        for place in places:
            self._dictionaries.add(int.from_bytes(body[8 * place : 8 * place + 8], "little"))

    def _record(self, tag: bytes, body: bytes) -> None:
        if tag == b"A":
            (depth,) = struct.unpack_from("<I", body, 12)
            if depth > max(self._next_depth, LEAST_NUMBER):
                self._surplus.append(Item("number", "depth of a frame", str(depth), 0))
            self._next_depth = depth + 1
        for place, reason in _NAMES.get(tag, ()):
            self._named(struct.unpack_from("<I", body, place)[0], reason)

    def _root(self, body: bytes) -> None:
        _, root, detail, _ = struct.unpack("<QIII", body)
        if self._texts[root : root + 1] and self._texts[root] in _ROOTS:
            self._named(root, "roots")
            self._named(detail, _DETAILS.get(self._texts[root], "roots"))

    def _type(self, body: bytes) -> None:
        own, name, module = struct.unpack("<QII", body)
        self._types[own] = self._texts[name] if name < len(self._texts) else b""
        if self._texts[module : module + 1] != [b"builtins"]:
            self._types[own] = b"." + self._types[own]
        self._named(name, "types")
        self._named(module, "modules")

    def _object(self, body: bytes) -> None:
        own, of_type, _, text, _, _ = struct.unpack("<QQQIII", body)
        kind = self._types.get(of_type, b"?")
        if kind not in _CONTENTS | _NUMBERS | {b"?"}:
            self._named(text, "functions")
        elif kind == b"str":
            # it may be the key of an attribute
            self._strings.append(own)
            self._texts_of.append(text)
        elif not (self._keeps.numbers and kind in _NUMBERS):
            self._contents[text] = f"text of {kind.decode()}"

    def _note(self, key: int, value: int) -> None:
        name = self._texts[key] if key < len(self._texts) else b""
        if name not in _NOTES:
            return
        self._named(key, "other")
        if name in _TIME and not self._keeps.time:
            self._contents[value] = f"note {name.decode()}"
        else:
            self._named(value, "program" if name == b"program" else "other")

    def _keys(self) -> set[int]:
        """The addresses of keys of dictionaries of attributes."""
        keys, is_chosen = set[int](), False
        for tag, body, _ in self._records({b"O", b"d"}):
            if tag == b"O":
                is_chosen = int.from_bytes(body[:8], "little") in self._dictionaries
            elif tag == b"d" and is_chosen:
                keys |= set(np.frombuffer(body, "<u8")[::2].tolist())
        return keys

    def _records(self, wanted: set[bytes], *, with_text: bool = False) -> Iterator[tuple[bytes, bytes, int]]:
        """The records with ``wanted`` tags, with the byte after each tag, and what isn't a record as b"?".

        ``with_text`` leaves out objects that have none, and empty texts; a text has its number in place of the byte.
        Afterwards ``_text_count`` says how many texts there are.
        """
        kinds = np.zeros(256, np.uint8)
        for tag in wanted:
            kinds[tag[0]] = _KINDS.get(tag, records.WANTED) if with_text else records.WANTED
        tags = [bytes([tag]) for tag in range(256)]
        with Stream.of(self._path) as stream:
            if stream.read(_START)[: len(_MAGIC)] != _MAGIC:
                raise MemlensError(phrase("The file is not a heap dump of Python"))
            base, data, is_over, texts = stream.offset, b"", False, 0
            room = np.empty(0, np.uint64)
            while piece := b"" if is_over else stream.some(1 << 20):
                # a piece at a time, since there are millions of records
                data += piece
                if len(room) < 3 * (len(data) // _LEAST_RECORD + 1):
                    room = np.empty(3 * (len(data) // _LEAST_RECORD + 1), np.uint64)
                count, at, is_over, texts = records.find(data, _WIDTHS, kinds, _END, room, texts, _TEXT_AT)
                for tag, start, end in room[: 3 * count].reshape(-1, 3).tolist():
                    if tag < len(tags):
                        yield tags[tag], data[start:end], base + start
                    else:
                        yield b"S", data[start:end], tag - len(tags)
                data, base = data[at:], base + at
            self._text_count = texts
            if rest := data[: 1 << 16] or stream.read(1 << 16):
                yield b"?", rest, base


def _value(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
