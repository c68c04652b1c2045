"""Searches a file for texts and numbers that must not be in it, in any encoding, also within compressed bytes."""

import base64
import io
import json
import re
import struct
import urllib.parse
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import zstandard
from msgspec import Struct

from memlens.proof.stream import chunks_of

_LEAST_HEX = 4
_LEAST_BASE64 = 6
_LEAST_UNPACKED = 4
_READ_BYTES = 1 << 20
_MOST_NESTED_BYTES = 64 << 20
_MOST_NESTED = 10_000
_MOST_DEPTH = 2
_OVERLAP = 1 << 16
_GZIP, _ZSTD, _ZIP = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
_PACKED = re.compile(rb"\x1f\x8b\x08|\x28\xb5\x2f\xfd|PK\x03\x04|\x78[\x01\x5e\x9c\xda]")
_ORDERS: tuple[Literal["big", "little"], ...] = ("big", "little")
_DIGITS = re.compile(r"[\d ._-]*\d[\d ._-]*")


class Hit(Struct, frozen=True):
    """A forbidden line in a file: how it is written there, and at which byte."""

    line: str
    form: str
    at: int
    within: str
    """The compressed bytes that it is in, as "gzip at byte 7"; empty for the file itself, unpacked."""


class _Form(Struct, frozen=True):
    line: str
    name: str
    data: bytes
    is_number: bool = False
    """Found only where no digit is beside it."""


def forms_of(line: str) -> list[_Form]:
    """How a file may hold a line, each of its forms once."""
    found: dict[bytes, _Form] = {}
    is_digits = line.isascii() and line.isdigit()
    for name, data in _encoded(line):
        found.setdefault(data, _Form(line, name, data, is_digits))
    for name, data in (*_escaped(line), *_in_digits(line)):
        found.setdefault(data, _Form(line, name, data))
    for codes in ([*line.encode()], _units(line)):
        for between in (",", ", ", " ", ",\n") if len(codes) > 1 else ():
            data = between.join(map(str, codes)).encode()
            found.setdefault(data, _Form(line, "numbers of its characters", data, is_number=True))
    for name, data, is_number in _of_number(line):
        found.setdefault(data, _Form(line, name, data, is_number))
    return [form for data, form in found.items() if data]


def _encoded(line: str) -> Iterator[tuple[str, bytes]]:
    for name in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "latin-1", "cp1252"):
        try:
            yield name, line.encode(name)
        except UnicodeEncodeError:
            continue


def _escaped(line: str) -> Iterator[tuple[str, bytes]]:
    for quoted in (json.dumps(line), json.dumps(line, ensure_ascii=False)):
        yield "JSON", quoted[1:-1].encode()
    for form in ("04x", "04X"):
        yield "JSON in escapes", "".join(f"\\u{unit:{form}}" for unit in _units(line)).encode()
    yield "percent-encoding", urllib.parse.quote(line, safe="").encode()


def _in_digits(line: str) -> Iterator[tuple[str, bytes]]:
    """In hexadecimal and in base64."""
    for encoding in ("utf-8", "utf-16-le"):
        data = line.encode(encoding)
        if len(data) >= _LEAST_HEX:
            for text in (data.hex(), data.hex().upper(), data.hex(" ")):
                yield f"hexadecimal of {encoding}", text.encode()
        for start in range(3) if len(data) >= _LEAST_BASE64 else ():
            for encode in (base64.b64encode, base64.urlsafe_b64encode):
                yield f"base64 of {encoding}", _inner_base64(encode(bytes(start) + data), start, len(data))


def _inner_base64(encoded: bytes, start: int, size: int) -> bytes:
    """The characters that are the same whatever stands before and after."""
    first = -(-start * 8 // 6)
    last = (start + size) * 8 // 6
    return encoded[first:last]


def _units(line: str) -> list[int]:
    data = line.encode("utf-16-le", "surrogatepass")
    return list(struct.unpack(f"<{len(data) // 2}H", data))


def _of_number(line: str) -> Iterator[tuple[str, bytes, bool]]:
    """A number as digits without separators, and in binary."""
    if not _DIGITS.fullmatch(line.strip().removeprefix("-")):
        return
    digits = re.sub(r"[ _-]", "", line.strip().removeprefix("-"))
    sign = -1 if line.strip().startswith("-") else 1
    if digits.count(".") <= 1 and "." in digits:
        numbers: list[float] = [sign * float(digits)]
    elif digits.isdigit():
        yield "digits", digits.encode(), True
        yield "digits in utf-16-be", digits.encode("utf-16-be"), True
        yield "digits in utf-16-le", digits.encode("utf-16-le"), True
        number = sign * int(digits)
        for size, least in ((4, 1000), (8, 1000)):
            if abs(number) >= least and -(1 << 8 * size - 1) <= number < 1 << 8 * size:
                for order in _ORDERS:
                    data = number.to_bytes(size, order, signed=number < 0)
                    yield f"{size}-byte number, {order}-endian", data, False
        numbers = [float(number)]
    else:
        return
    for value in numbers:
        for form, name in (("d", "double"), ("f", "float")):
            try:
                for mark, order in ((">", "big"), ("<", "little")):
                    data = struct.pack(mark + form, value)
                    if form == "d" or struct.unpack(mark + form, data)[0] == value:
                        yield f"{name}, {order}-endian", data, False
            except OverflowError:
                continue


class Search:
    """Searches for lines; an empty one, and white space around one, doesn't count."""

    def __init__(self, lines: list[str]) -> None:
        self._forms = [
            form for line in dict.fromkeys(filter(None, map(str.strip, lines))) for form in forms_of(line)
        ]
        self._longest = max((len(form.data) for form in self._forms), default=1)
        self._nested = 0

    def file(self, path: Path) -> list[Hit]:
        """Each form in which a line is found, once. Raises OSError and DamagedContainerError."""
        found: dict[bytes, Hit] = {}
        self._nested = 0
        with path.open("rb") as file:
            self._search(chunks_of(path, file), "", 0, found)
            # what a compressed file has beside its contents, such as a name
            file.seek(0)
            self._search(iter(lambda: file.read(_READ_BYTES), b""), "", _MOST_DEPTH, found)
        return sorted(found.values(), key=lambda hit: (hit.line, hit.at))

    def _search(self, chunks: Iterator[bytes], within: str, depth: int, found: dict[bytes, Hit]) -> None:
        kept, base = b"", 0
        chunk = next(chunks, b"")
        while chunk:
            following = next(chunks, b"")
            data = kept + chunk
            for form in self._forms:
                if form.data not in found and (at := _find(data, form)) >= 0:
                    found[form.data] = Hit(form.line, form.name, base + at, within)
            if depth < _MOST_DEPTH:
                self._unpack(data, base, within, depth, found)
            keep = min(len(data), max(self._longest + 1, _OVERLAP if following else 0))
            kept, base = data[len(data) - keep :], base + len(data) - keep
            chunk = following

    def _unpack(self, data: bytes, base: int, within: str, depth: int, found: dict[bytes, Hit]) -> None:
        """Search what begins like compressed bytes, of which as many are unpacked as are at hand."""
        for each in _PACKED.finditer(data):
            if self._nested >= _MOST_NESTED:
                return
            self._nested += 1
            plain = _unpacked(memoryview(data)[each.start() :], each[0])
            if len(plain) < _LEAST_UNPACKED:
                continue
            name = f"compressed bytes at byte {base + each.start():,}" + (f" in {within}" if within else "")
            self._search(iter([plain]), name, depth + 1, found)


def _find(data: bytes, form: _Form) -> int:
    at = data.find(form.data)
    if not form.is_number:
        return at
    while at >= 0:
        before, after = data[at - 1 : at] if at else b"", data[at + len(form.data) : at + len(form.data) + 1]
        if not before.isdigit() and not after.isdigit():
            return at
        at = data.find(form.data, at + 1)
    return -1


def _unpacked(data: memoryview, magic: bytes) -> bytes:
    """As much as can be unpacked of what begins there; nothing if it isn't compressed."""
    try:
        if magic == _ZSTD:
            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)) as plain:
                return plain.read(_MOST_NESTED_BYTES)
        if magic == _ZIP:
            name, extra = struct.unpack_from("<HH", data, 26)
            return zlib.decompressobj(-15).decompress(data[30 + name + extra :], _MOST_NESTED_BYTES)
        return zlib.decompressobj(31 if magic == _GZIP else 15).decompress(data, _MOST_NESTED_BYTES)
    except (zlib.error, zstandard.ZstdError, struct.error):
        return b""
