"""Heap dumps of Python by Memlens itself, read plainly, record by record."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from memlens.errors import MemlensError
from memlens.proof.items import Item, Keeps, Reason, is_long
from memlens.proof.stream import EndsError, Stream
from memlens.texts import phrase

_MAGIC = b"\x89MLHEAP\n"
_START = len(_MAGIC) + 8
_SIZES = {b"F": 12, b"T": 16, b"O": 36, b"L": 12, b"A": 20, b"G": 20, b"N": 8, b"E": 8}
_GROUPS = b"Kreidn"
_CONTENTS = {b"str", b"bytes"}
_NUMBERS = {b"int", b"float", b"complex"}
_TIME = {b"python", b"process_id", b"seconds"}
_NOTES = _TIME | {
    b"program", b"allocations_traced", b"collected", b"peak_bytes", b"unread", b"unread_example", b"removed",
}  # fmt: skip
_ROOTS = {b"module", b"builtins", b"thread", b"local", b"exception", b"unknown"}
_NAMES: dict[bytes, tuple[tuple[int, Reason], ...]] = {
    b"F": ((0, "files"), (4, "functions")), b"L": ((8, "variables"),), b"A": ((8, "threads"),),
}  # fmt: skip
"""Where records have the numbers of their names."""

_DETAILS: dict[bytes, Reason] = {
    b"module": "modules", b"builtins": "modules", b"thread": "threads", b"local": "variables", b"exception": "types",
}  # fmt: skip
_DICT = b"__dict__"
RUNTIMES_THREAD = re.compile(
    r"|MainThread|(?:Thread|thread|Dummy|Timer|Pool)-\d+(?: \(.*\))?|asyncio_\d+|QueueFeederThread"
    r"|ThreadPoolExecutor-\d+_\d+|ExecutorManagerThread|pydevd\..*"
)
"""Names of threads that the runtime gives, or the redactor."""


class PythonReader:
    """Reads one dump; its texts' uses and the addresses of dictionaries of attributes are in memory."""

    def __init__(self, path: Path, keeps: Keeps) -> None:
        self._path, self._keeps = path, keeps
        self._texts: list[bytes] = [b""]
        self._names: dict[int, Reason] = {}
        self._contents: dict[int, str] = {}
        self._types: dict[int, bytes] = {}
        self._surplus: list[Item] = []
        self._survey()

    def names(self) -> Iterator[Item]:
        """The texts that name something."""
        for number, reason in self._names.items():
            yield Item("name", reason, self._text(number), number)

    def contents(self, numbers: npt.NDArray[np.float64] | None) -> Iterator[Item]:
        """Texts of strings, bytes and numbers, and what the format doesn't have."""
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
        elif reason == "threads" and not self._keeps.threads and not RUNTIMES_THREAD.fullmatch(text):
            self._contents[number] = "name of a thread"
        elif number:
            self._names.setdefault(number, reason)

    def _survey(self) -> None:
        keys = self._keys()
        for tag, body, at in self._records(keep_texts=True):
            match tag:
                case b"O":
                    self._object(body, keys)
                case b"T":
                    self._type(body)
                case b"n":
                    count = len(body) // 12
                    for name in np.frombuffer(body, "<u4", count, 8 * count).tolist():
                        self._named(name, "attributes")
                case b"G":
                    _, root, detail, _ = struct.unpack("<QIII", body)
                    if self._texts[root : root + 1] and self._texts[root] in _ROOTS:
                        self._named(root, "roots")
                        self._named(detail, _DETAILS.get(self._texts[root], "roots"))
                case b"N":
                    self._note(*struct.unpack("<II", body))
                case b"?":
                    self._surplus.append(Item("unknown", "bytes after the end", body, at))
                case _:
                    for place, reason in _NAMES.get(tag, ()):
                        self._named(struct.unpack_from("<I", body, place)[0], reason)

    def _type(self, body: bytes) -> None:
        own, name, module = struct.unpack("<QII", body)
        self._types[own] = self._texts[name] if name < len(self._texts) else b""
        if self._texts[module : module + 1] != [b"builtins"]:
            self._types[own] = b"." + self._types[own]
        self._named(name, "types")
        self._named(module, "modules")

    def _object(self, body: bytes, keys: set[int]) -> None:
        own, of_type, _, text, _, _ = struct.unpack("<QQQIII", body)
        kind = self._types.get(of_type, b"?")
        if not text or kind not in _CONTENTS | _NUMBERS | {b"?"}:
            self._named(text, "functions")
        elif own in keys and kind == b"str":
            self._named(text, "attributes")
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
        found, keys, own = set[int](), set[int](), 0
        names_of_dict = set[int]()
        number = 0
        for tag, body, _ in self._records():
            if tag == b"S":
                number += 1
                if body == _DICT:
                    names_of_dict.add(number)
            elif tag == b"n":
                count = len(body) // 12
                names = np.frombuffer(body, "<u4", count, 8 * count)
                for place, name in enumerate(names.tolist()):
                    if name in names_of_dict:
                        found.add(int.from_bytes(body[8 * place : 8 * place + 8], "little"))
        for tag, body, _ in self._records():
            if tag == b"O":
                own = struct.unpack_from("<Q", body)[0]
            elif tag == b"d" and own in found:
                keys |= set(np.frombuffer(body, "<u8")[::2].tolist())
        return keys

    def _records(self, *, keep_texts: bool = False) -> Iterator[tuple[bytes, bytes, int]]:
        with Stream.of(self._path) as stream:
            if stream.read(_START)[: len(_MAGIC)] != _MAGIC:
                raise MemlensError(phrase("The file is not a heap dump of Python"))
            try:
                while tag := stream.read(1):
                    at = stream.offset
                    if tag == b"S":
                        body = stream.exactly(int.from_bytes(stream.exactly(4), "little"))
                        if keep_texts:
                            self._texts.append(body)
                    elif tag in _GROUPS:
                        count = int.from_bytes(stream.exactly(4), "little")
                        body = stream.exactly(count * {b"K": 4, b"n": 12}.get(tag, 8))
                    elif tag in _SIZES:
                        body = stream.exactly(_SIZES[tag])
                    else:
                        yield b"?", tag + stream.read(1 << 16), at
                        return
                    yield tag, body, at
                    if tag == b"E" and (rest := stream.read(1 << 16)):
                        yield b"?", rest, at
                        return
            except EndsError:
                yield b"?", stream.read(1 << 16), stream.offset


def _value(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
