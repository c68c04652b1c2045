"""Searches a file for texts and numbers that must not be in it, in any encoding, also within compressed bytes."""

import base64
import io
import re
import struct
import unicodedata
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

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
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|"
    rb'\\["\\/bfnrt]'
)
_PERCENT = re.compile(rb"%[0-9a-fA-F]{2}")
_BLANK = b" \t\r\n\v\f:"
_BLANKS = re.compile(b"[%b]+" % _BLANK)
_SHORT_ESCAPES = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_MOST_ROUNDS = 2
"""How many times texts may be escaped, like JSON within a JSON string."""
_LONGEST_ESCAPE = 6
_PACKED = re.compile(rb"\x1f\x8b\x08|\x28\xb5\x2f\xfd|PK\x03\x04|\x78[\x01\x5e\x9c\xda]")
_ORDERS: tuple[Literal["big", "little"], ...] = ("big", "little")
_DIGITS = re.compile(r"[\d ._-]*\d[\d ._-]*")


class Hit(Struct, frozen=True):
    """A forbidden line in a file, with its form there and its byte offset."""

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
    """Matches only without adjacent digits."""
    is_spaced: bool = False
    """Matches regardless of blanks, line ends and colons within it."""


def forms_of(line: str) -> list[_Form]:
    """The distinct forms in which a file may hold a line."""
    found: dict[bytes, _Form] = {}
    is_digits = line.isascii() and line.isdigit()
    for text in (line, *(unicodedata.normalize(form, line) for form in ("NFC", "NFD"))):
        for name, data in _encoded(text):
            found.setdefault(data, _Form(line, name, data, is_digits))
    for name, data in _in_digits(line):
        found.setdefault(data, _Form(line, name, data, is_spaced=True))
    signed = [code - 256 if code > 127 else code for code in line.encode()]
    for codes in ([*line.encode()], signed, _units(line)) if len(line) > 1 else ():
        for between in (",", " "):
            data = between.join(map(str, codes)).encode()
            found.setdefault(data, _Form(line, "numbers of its characters", data, True, between == ","))
    for name, data, is_number in _of_number(line):
        found.setdefault(data, _Form(line, name, data, is_number))
    return [form for data, form in found.items() if data]


def _encoded(line: str) -> Iterator[tuple[str, bytes]]:
    for name in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "latin-1", "cp1252"):
        try:
            yield name, line.encode(name)
        except UnicodeEncodeError:
            continue
    # as in some dumps: a character beyond the first 65,536 as two surrogates
    yield "modified utf-8", b"".join(chr(unit).encode("utf-8", "surrogatepass") for unit in _units(line))


def _in_digits(line: str) -> Iterator[tuple[str, bytes]]:
    """In hexadecimal and in base64."""
    for encoding in ("utf-8", "utf-16-le"):
        data = line.encode(encoding)
        if len(data) >= _LEAST_HEX:
            for text in (data.hex(), data.hex().upper(), ",".join(f"{each:#04x}" for each in data)):
                yield f"hexadecimal of {encoding}", text.encode()
        for start in range(3) if len(data) >= _LEAST_BASE64 else ():
            for encode in (base64.b64encode, base64.urlsafe_b64encode):
                yield f"base64 of {encoding}", _inner_base64(encode(bytes(start) + data), start, len(data))


def _inner_base64(encoded: bytes, start: int, size: int) -> bytes:
    """The characters that don't depend on the surrounding bytes."""
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


class _View(NamedTuple):
    """A part of the file, as it is or without escapes."""

    name: str
    data: bytes
    escapes: re.Pattern[bytes] | None = None
    """What was replaced in ``of``."""
    of: "_View | None" = None

    def origin(self, at: int) -> int:
        """The position of one of its bytes in the part of the file."""
        if self.escapes is None or self.of is None:
            return at
        shorter = 0
        for each in self.escapes.finditer(self.of.data):
            if each.start() - shorter >= at:
                break
            shorter += len(each[0]) - len(_meant(each))
        return self.of.origin(at + shorter)


def _views(data: bytes) -> Iterator[_View]:
    """The texts in a part of a file: as they stand there, and without JSON's, Python's and URLs' escapes."""
    view = _View("", data)
    yield view
    for _ in range(_MOST_ROUNDS):
        for name, mark, escapes in (("in escapes", b"\\", _ESCAPE), ("in percent-encoding", b"%", _PERCENT)):
            if mark in view.data and (plain := escapes.sub(_meant, view.data)) != view.data:
                view = _View(name, plain, escapes, view)
                yield view


def _meant(escape: re.Match[bytes]) -> bytes:
    """The meaning of an escape, or of a blank."""
    text = escape[0]
    match text[:2]:
        case b"\\u":
            units = b"".join(int(each, 16).to_bytes(2, "little") for each in text.split(b"\\u")[1:])
            return units.decode("utf-16-le", "surrogatepass").encode("utf-8", "surrogatepass")
        case b"\\x":
            return bytes.fromhex(text[2:].decode("ascii")).decode("latin-1").encode()
    match text[:1]:
        case b"\\":
            return _SHORT_ESCAPES.get(text[1:], text[1:])
        case b"%":
            return bytes.fromhex(text[1:].decode("ascii"))
    return b""


class Search:
    """Searches for lines, ignoring empty ones and surrounding white space."""

    def __init__(self, lines: list[str]) -> None:
        self._forms = [
            form for line in dict.fromkeys(filter(None, map(str.strip, lines))) for form in forms_of(line)
        ]
        longest = max((len(form.data) for form in self._forms), default=1)
        self._longest = _LONGEST_ESCAPE * longest
        self._nested = 0
        self.is_whole = True
        """Whether all compressed bytes of the last file were searched: there may be too many, or too large ones."""

    def file(self, path: Path) -> list[Hit]:
        """Each form in which a line is found, once. Raises OSError and DamagedContainerError."""
        found: dict[bytes, Hit] = {}
        self._nested, self.is_whole = 0, True
        with path.open("rb") as file:
            self._search(chunks_of(path, file), "", 0, found)
            # metadata of a compressed file, such as a name
            file.seek(0)
            self._search(iter(lambda: file.read(_READ_BYTES), b""), "", _MOST_DEPTH, found)
        return sorted(found.values(), key=lambda hit: (hit.line, hit.at))

    def _search(self, chunks: Iterator[bytes], within: str, depth: int, found: dict[bytes, Hit]) -> None:
        kept, base = b"", 0
        chunk = next(chunks, b"")
        while chunk:
            following = next(chunks, b"")
            data = kept + chunk
            for view in _views(data):
                self._look(view, base, within, found)
            if depth < _MOST_DEPTH:
                self._unpack(data, base, within, depth, found, is_last=not following)
            keep = min(len(data), max(self._longest + 1, _OVERLAP if following else 0))
            kept, base = data[len(data) - keep :], base + len(data) - keep
            chunk = following

    def _look(self, view: _View, base: int, within: str, found: dict[bytes, Hit]) -> None:
        spaced = _View(view.name, view.data.translate(None, _BLANK), _BLANKS, view)
        for form in self._forms:
            if form.data in found:
                continue
            where = spaced if form.is_spaced else view
            if (at := _find(where.data, form)) >= 0:
                name = f"{form.name} {view.name}".rstrip()
                found[form.data] = Hit(form.line, name, base + where.origin(at), within)

    def _unpack(
        self, data: bytes, base: int, within: str, depth: int, found: dict[bytes, Hit], *, is_last: bool
    ) -> None:
        """Search what begins like compressed bytes, unpacking as many as are at hand."""
        for each in _PACKED.finditer(data):
            plain, is_whole = _unpacked(memoryview(data)[each.start() :], each[0])
            if len(plain) < _LEAST_UNPACKED:
                continue
            self._nested += 1
            # streams that begin near the end of these bytes are unpacked again with the next ones
            self.is_whole &= is_whole or (not is_last and each.start() >= len(data) - _OVERLAP)
            if self._nested > _MOST_NESTED:
                self.is_whole = False
                return
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


def _unpacked(data: memoryview, magic: bytes) -> tuple[bytes, bool]:
    """The bytes that can be unpacked there, and whether they are complete; nothing if they aren't compressed."""
    try:
        if magic == _ZSTD:
            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)) as unpacked:
                plain = unpacked.read(_MOST_NESTED_BYTES)
                return plain, len(plain) < _MOST_NESTED_BYTES
        skipped, window = 0, 31 if magic == _GZIP else 15
        if magic == _ZIP:
            name, extra = struct.unpack_from("<HH", data, 26)
            skipped, window = 30 + name + extra, -15
        inflated = zlib.decompressobj(window)
        return inflated.decompress(data[skipped:], _MOST_NESTED_BYTES), inflated.eof
    except (zlib.error, zstandard.ZstdError, struct.error):
        return b"", True
