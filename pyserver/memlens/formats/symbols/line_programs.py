"""Line programs of DWARF 2 to 5: which file and line each address is from.

Source: the standard, https://dwarfstd.org (section 6.2 of version 5). The library's own lists of rows, files and
folders take a hundred bytes for each of the file's, and some of a file's counts would make them endless.
"""

import posixpath
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from elftools.dwarf.constants import DW_LNE, DW_LNS

from memlens.formats.symbols.metered import Meter

_BYTES_OF_A_READ = 4
_BYTES_A_LOOK = 4096
_PATH, _FOLDER = 1, 2
"""What a field of an entry is: DW_LNCT_path, DW_LNCT_directory_index."""
_STRING, _BLOCK, _UDATA, _DATA16 = 0x08, 0x09, 0x0F, 0x1E
_SIZED = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8}
"""The bytes of DW_FORM_data1 and so on."""
OF_STRINGS, OF_LINES, OF_SUPPLEMENT = (0x0E,), (0x1F,), (0x1D, 0x1F21)
"""Forms of offsets: into .debug_str, into .debug_line_str, into the strings of a file that dwz made."""

Order = Literal["little", "big"]
Texts = Callable[[int, int], bytes | None]
"""The text at an offset, by the form that has it."""


class Program(NamedTuple):
    """A unit's line program. ``files`` are names with the numbers of their folders."""

    version: int
    is_little: bool
    shortest: int
    slots: int
    line_base: int
    line_range: int
    first_special: int
    operands: bytes
    folders: list[bytes]
    files: list[tuple[bytes, int]]
    code: bytes

    def path(self, number: int | None, base: str) -> str:
        """Return a file's path by its number, empty if there is none; ``base`` is the unit's folder."""
        # version 5 counts from 0, and its first folder is the unit's
        first = 0 if self.version >= 5 else 1
        if number is None or not 0 <= number - first < len(self.files):
            return ""
        name, chosen = self.files[number - first]
        at = chosen - first
        folder = self.folders[at] if 0 <= at < len(self.folders) else b""
        path = posixpath.join(base, *(part.decode("utf-8", "replace") for part in (folder, name)))
        return posixpath.normpath(path)


class _Cursor:
    def __init__(self, data: bytes, at: int, *, is_little: bool) -> None:
        self.data, self.at = data, at
        self._order: Order = "little" if is_little else "big"

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise ValueError("the line program ends within its header")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), self._order)

    def uleb128(self) -> int:
        value, self.at = _uleb128(self.data, self.at)
        return value

    def text(self) -> bytes:
        end = self.data.index(b"\0", self.at)
        start, self.at = self.at, end + 1
        return self.data[start:end]


def program_at(data: bytes, offset: int, texts: Texts, meter: Meter, *, is_little: bool) -> Program:
    """Read the header of a line program in ``.debug_line``; its code is left as it is.

    Raises ValueError or IndexError if it is damaged, and what ``meter`` raises.
    """
    cursor = _Cursor(data, offset, is_little=is_little)
    length, wide = cursor.number(4), 4
    if length == 0xFFFFFFFF:
        length, wide = cursor.number(8), 8
    end = min(cursor.at + length, len(data))
    version = cursor.number(2)
    if not 2 <= version <= 5:
        raise ValueError(f"version {version} of line programs")
    if version >= 5:
        cursor.take(2)  # the sizes of an address and of a segment's number
    length = cursor.number(wide)
    begin = cursor.at + length
    shortest, slots = cursor.number(1), cursor.number(1) if version >= 4 else 1
    cursor.take(1)
    line_base, line_range, first_special = cursor.number(1), cursor.number(1), cursor.number(1)
    operands = cursor.take(max(first_special - 1, 0))
    folders: list[bytes] = []
    files: list[tuple[bytes, int]] = []
    if version >= 5:
        folders = [name for name, _ in _entries(cursor, wide, texts, meter)]
        files = list(_entries(cursor, wide, texts, meter))
    else:
        while name := cursor.text():
            meter.take()
            folders.append(name)
        while name := cursor.text():
            meter.take()
            files.append((name, cursor.uleb128()))
            cursor.uleb128()
            cursor.uleb128()
    meter.take(max(0, end - begin) // _BYTES_OF_A_READ)
    return Program(
        version,
        is_little,
        shortest,
        max(slots, 1),
        line_base - 256 if line_base > 127 else line_base,
        line_range,
        first_special,
        operands,
        folders,
        files,
        data[begin:end],
    )


def _entries(cursor: _Cursor, wide: int, texts: Texts, meter: Meter) -> Iterator[tuple[bytes, int]]:
    """Yield names and numbers of folders, of files or folders of version 5."""
    formats = [(cursor.uleb128(), cursor.uleb128()) for _ in range(cursor.number(1))]
    count = cursor.uleb128()
    if count and not formats:
        raise ValueError("entries of a line program without a format")
    for _ in range(count):
        name, folder = b"", 0
        for kind, form in formats:
            meter.take()
            value = _field(cursor, form, wide, texts)
            if kind == _PATH and isinstance(value, bytes):
                name = value
            elif kind == _FOLDER and isinstance(value, int):
                folder = value
        yield name, folder


def _field(cursor: _Cursor, form: int, wide: int, texts: Texts) -> bytes | int:
    """Read a field, which has a byte at least. Raises ValueError for a form that compilers don't use here."""
    if form == _STRING:
        return cursor.text()
    if form in (*OF_STRINGS, *OF_LINES, *OF_SUPPLEMENT):
        return texts(form, cursor.number(wide)) or b""
    if form == _UDATA:
        return cursor.uleb128()
    if form in _SIZED:
        return cursor.number(_SIZED[form])
    if form == _DATA16:
        return cursor.take(16)
    if form == _BLOCK:
        return cursor.take(cursor.uleb128())
    raise ValueError(f"form {form} in a line program")


class Row(NamedTuple):
    """From ``address`` on code is from this file and line; ``is_end`` for the first address after a sequence."""

    address: int
    file: int
    line: int
    is_end: bool


def lines_of(program: Program, addresses: Sequence[int], meter: Meter) -> dict[int, tuple[int, int]]:
    """Return the file's number and the line of each of the addresses, which are sorted."""
    found: dict[int, tuple[int, int]] = {}
    inside: dict[int, tuple[int, int]] = {}
    last: Row | None = None
    is_code = True
    for row in rows_of(program, meter):
        if last is None:
            # sequences of code that the linker removed begin at 0
            is_code = row.address > 0
        elif row.address > last.address:
            for address in addresses[
                bisect_left(addresses, last.address) : bisect_left(addresses, row.address)
            ]:
                inside[address] = last.file, last.line
        elif row.address < last.address:
            is_code = False
        last = row
        if row.is_end:
            found = inside | found if is_code else found
            inside, last = {}, None
    return found


def rows_of(program: Program, meter: Meter) -> Iterator[Row]:
    """Yield the rows one by one, looking at the meter's time.

    Files that the program itself defines, as no compiler's has, have no names.
    """
    shortest, slots, line_base, line_range = (
        program.shortest,
        program.slots,
        program.line_base,
        program.line_range,
    )
    first_special, operands, code = program.first_special, program.operands, program.code
    order: Order = "little" if program.is_little else "big"
    at, (address, slot, file, line), looked = 0, (0, 0, 1, 1), 0
    while at < len(code):
        looked = _looked(meter, at, looked)
        opcode = code[at]
        at += 1
        if opcode >= first_special or opcode == DW_LNS.const_add_pc:
            further = (255 if opcode < first_special else opcode) - first_special
            address += shortest * ((slot + further // line_range) // slots)
            slot = (slot + further // line_range) % slots
            if opcode >= first_special:
                line += line_base + further % line_range
                yield Row(address, file, line, False)
        elif opcode == 0:
            length, at = _uleb128(code, at)
            kind, operand = code[at], code[at + 1 : at + length]
            at += max(length, 1)
            if kind == DW_LNE.end_sequence:
                yield Row(address, file, line, True)
                address, slot, file, line = 0, 0, 1, 1
            elif kind == DW_LNE.set_address:
                address, slot = int.from_bytes(operand[:8], order), 0
        elif opcode == DW_LNS.copy:
            yield Row(address, file, line, False)
        elif opcode == DW_LNS.fixed_advance_pc:
            address, slot = address + int.from_bytes(code[at : at + 2], order), 0
            at += 2
        else:
            value, at = _last_operand(code, at, operands[opcode - 1], is_signed=opcode == DW_LNS.advance_line)
            if opcode == DW_LNS.advance_pc:
                address += shortest * ((slot + value) // slots)
                slot = (slot + value) % slots
            elif opcode == DW_LNS.advance_line:
                line += value
            elif opcode == DW_LNS.set_file:
                file = value


def _looked(meter: Meter, at: int, looked: int) -> int:
    """Look at the time at most once in some thousand bytes; return when to do so again."""
    if at < looked:
        return looked
    meter.look()
    return at + _BYTES_A_LOOK


def _last_operand(code: bytes, at: int, count: int, *, is_signed: bool) -> tuple[int, int]:
    """Return the last of an instruction's operands, 0 if it has none, and the offset after them."""
    value = bits = 0
    for _ in range(count):
        value, after = _uleb128(code, at)
        bits, at = 7 * (after - at), after
    return value - (1 << bits) if is_signed and bits and value >> (bits - 1) else value, at


def _uleb128(code: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and the offset after it; IndexError where the bytes end in it."""
    value = shift = 0
    while True:
        byte = code[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 or shift > 63:
            return value, at
        shift += 7
