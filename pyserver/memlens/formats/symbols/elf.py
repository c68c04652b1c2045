"""An ELF file as symbolization needs it: its build id, segments, symbols and debug information."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.formats.symbols.metered import Information
from memlens.formats.symbols.sections import debug_sections, elf_of

if TYPE_CHECKING:
    from memlens.arrays import I64, U64

_MAGIC = b"\x7fELF"
_FUNCTIONS = (2, 10)
"""The types of symbols that are code: STT_FUNC, STT_GNU_IFUNC."""
_MOST_PARTS = 4096
"""The most sections or segments; linked binaries have a few dozen."""
_MOST_SYMBOLS_BYTES = 1 << 30
_MOST_NAME = 16_384
_MOST_NOTES_BYTES = 1 << 20
_BUILD_ID = 3
"""The type of a note: NT_GNU_BUILD_ID."""
_PAGE = 4096


class Segment(NamedTuple):
    """A part of the file that is mapped into memory."""

    offset: int
    address: int
    file_bytes: int
    memory_bytes: int
    is_code: bool


def _pages(address: int, count: int) -> int:
    """Return how many bytes the pages of a segment have."""
    return -(-(address + count) // _PAGE) * _PAGE - address // _PAGE * _PAGE


class Binary:
    """An open ELF file."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        """Read the headers. Raises any exception of the library if the file is damaged, ValueError if it isn't ELF."""
        self.path, self.file = path, file
        if file.read(4) != _MAGIC:
            raise ValueError("not an ELF file")
        file.seek(0)
        self.elf = elf_of(file)
        if max(self.elf.num_sections(), self.elf.num_segments()) > _MOST_PARTS:
            raise ValueError("too many sections or segments")
        self.segments = [
            Segment(
                part["p_offset"],
                part["p_vaddr"],
                part["p_filesz"],
                part["p_memsz"],
                bool(part["p_flags"] & 1),
            )
            for part in self.elf.iter_segments("PT_LOAD")
        ]
        self.build_id = self._build_id()
        self._symbols: tuple[U64, U64, I64, bytes] | None = None

    def _build_id(self) -> str:
        left = _MOST_NOTES_BYTES
        parts = [(part["sh_offset"], part["sh_size"]) for part in self.elf.iter_sections("SHT_NOTE")]
        parts += [(part["p_offset"], part["p_filesz"]) for part in self.elf.iter_segments("PT_NOTE")]
        head = struct.Struct("<3I" if self.elf.little_endian else ">3I")
        for offset, size in parts:
            self.file.seek(offset)
            data, at = self.file.read(min(size, left)), 0
            left -= len(data)
            while at + head.size <= len(data):
                name_bytes, bytes_, kind = head.unpack_from(data, at)
                name_at, at = at + head.size, at + head.size + -(-name_bytes // 4) * 4
                if kind == _BUILD_ID and data[name_at : name_at + name_bytes] == b"GNU\0":
                    return data[at : at + bytes_].hex() if bytes_ <= len(data) - at else ""
                at += -(-bytes_ // 4) * 4
        return ""

    @property
    def base(self) -> int:
        """The address of the first segment as linked, which prelink moves."""
        return min((each.address for each in self.segments), default=0)

    def has_layout_of(self, other: "Binary") -> bool:
        """Return whether the segments are those of another file, perhaps moved as a whole."""
        mine, others = (
            [(part.address - each.base, part.memory_bytes, part.is_code) for part in each.segments]
            for each in (self, other)
        )
        return mine == others

    @property
    def is_debug_file(self) -> bool:
        """Return whether the file has debug information alone: segments without their bytes and places."""
        code = [part for part in self.segments if part.is_code]
        return bool(code) and not any(part.file_bytes for part in code)

    def address_of(self, offset: int, size: int, distance: int) -> int | None:
        """Return the linked address of a place, ``distance`` after the begin of ``size`` bytes mapped from ``offset``.

        None if the file has no code there.
        """
        if self.is_debug_file:
            # what was mapped is known by its size alone
            for part in self.segments:
                if part.is_code and _pages(part.address, part.memory_bytes) == size:
                    return part.address // _PAGE * _PAGE + distance
            return None
        offset += distance
        for part in self.segments:
            if part.is_code and part.offset <= offset < part.offset + part.file_bytes:
                return part.address + offset - part.offset
        return None

    def address_in_program(self, address: int, base: int) -> int | None:
        """Return the linked address of a place in a process that runs this program, loaded at ``base`` if it can be.

        None if this isn't a program, or has no code there.
        """
        if self.elf["e_type"] != "ET_EXEC":
            if not any(self.elf.iter_segments("PT_INTERP")):
                return None
            address += self.base - base
        is_code = any(
            part.is_code and part.address <= address < part.address + part.memory_bytes
            for part in self.segments
        )
        return address if is_code else None

    def has_mapping(self, offset: int, size: int) -> bool:
        """Return whether a process could have mapped ``size`` bytes of code from ``offset`` of this file.

        A file of another build nearly always has code of another size.
        """
        for part in self.segments:
            is_there = self.is_debug_file or part.offset // _PAGE * _PAGE == offset
            if part.is_code and is_there and _pages(part.address, part.memory_bytes) == size:
                return True
        return False

    def debug_link(self) -> tuple[str, int]:
        """Return the name and the checksum of the debug file; empty and 0 if none is named."""
        section = self.elf.get_section_by_name(".gnu_debuglink")
        if section is None or not 8 <= section.data_size <= 4096:
            return "", 0
        data = section.data()
        name = data.partition(b"\0")[0]
        (crc,) = struct.unpack("<I" if self.elf.little_endian else ">I", data[-4:])
        return name.decode("utf-8", "replace"), crc

    def has_lines(self) -> bool:
        """Return whether the file has debug information with lines."""
        return self.elf.has_section(".debug_line") or self.elf.has_section(".zdebug_line")

    def debug_information(self, until: float) -> Information | None:
        """Return the debug information, to be read until a time of time.monotonic(); None if there is none.

        Raises ValueError if it can't be unpacked.
        """
        sections = debug_sections(self.elf)
        return Information(self.elf, sections, until) if "info" in sections else None

    def symbol(self, address: int) -> str:
        """Return the mangled name of the function at an address, empty if unknown."""
        if self._symbols is None:
            self._symbols = self._read_symbols()
        starts, sizes, names, texts = self._symbols
        at = int(np.searchsorted(starts, np.uint64(address), "right")) - 1
        if at < 0:
            return ""
        size = int(sizes[at])
        # code that is written by hand often has no size
        if size and address >= int(starts[at]) + size:
            return ""
        if not size and not self._in_same_segment(int(starts[at]), address):
            return ""
        start = int(names[at])
        end = texts.find(b"\0", start, start + _MOST_NAME)
        return texts[start:end].decode("utf-8", "replace") if end > 0 else ""

    def _in_same_segment(self, one: int, other: int) -> bool:
        return any(part.address <= one and other < part.address + part.memory_bytes for part in self.segments)

    def _read_symbols(self) -> Any:
        empty = np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.int64), b""
        parts = list(self._symbol_tables())
        if not parts:
            return empty
        texts = b"".join(text for _, text in parts)
        starts, sizes, names, before = [], [], [], 0
        for table, text in parts:
            code = (
                np.isin(table["info"] & 15, _FUNCTIONS)
                & (table["section"] != 0)
                & (table["name"] < len(text))
            )
            starts.append(table["value"][code].astype(np.uint64))
            sizes.append(table["size"][code].astype(np.uint64))
            names.append(table["name"][code].astype(np.int64) + before)
            before += len(text)
        start, size, name = np.concatenate(starts), np.concatenate(sizes), np.concatenate(names)
        order = np.lexsort((size, start))
        return start[order], size[order], name[order], texts

    def _symbol_tables(self) -> Iterator[tuple[npt.NDArray[Any], bytes]]:
        end = "<" if self.elf.little_endian else ">"
        wide = [
            ("name", "u4"),
            ("info", "u1"),
            ("other", "u1"),
            ("section", "u2"),
            ("value", "u8"),
            ("size", "u8"),
        ]
        narrow = [
            ("name", "u4"),
            ("value", "u4"),
            ("size", "u4"),
            ("info", "u1"),
            ("other", "u1"),
            ("section", "u2"),
        ]
        fields = wide if self.elf.elfclass == 64 else narrow
        row = np.dtype([(name, end + kind) for name, kind in fields])
        for name in (".symtab", ".dynsym"):
            section = self.elf.get_section_by_name(name)
            if section is None or section.header["sh_type"] not in ("SHT_SYMTAB", "SHT_DYNSYM"):
                continue
            strings = self.elf.get_section(section.header["sh_link"])
            # neither is ever compressed, and only a hostile file has them without their bytes
            if any(each.compressed or each["sh_type"] == "SHT_NOBITS" for each in (section, strings)):
                continue
            if max(section.data_size, strings.data_size) > _MOST_SYMBOLS_BYTES:
                continue
            data = section.data()
            yield np.frombuffer(data[: len(data) // row.itemsize * row.itemsize], row), strings.data()
