"""Binaries whose debug information stands for far more than its size: read within a bound that follows from it."""

import io
import math
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st
from tests.python.profile_reading import load
from tests.python.test_symbols import FOREVER, warnings_of

from memlens.formats.symbols import metered
from memlens.formats.symbols.dwarf import within
from memlens.formats.symbols.elf import Binary
from memlens.formats.symbols.line_programs import lines_of, program_at
from memlens.formats.symbols.metered import Information, LateError, Meter
from memlens.model.profile import Profile


def header(version: int, rest: bytes, code: bytes = b"") -> bytes:
    """A line program of 32 bits with no operands and opcodes that are all special but the first."""
    sizes = bytes((8, 0)) if version >= 5 else b""
    rest = bytes((1, 1, 1, 251, 14, 1)) + rest
    body = struct.pack("<H", version) + sizes + struct.pack("<I", len(rest)) + rest + code
    return struct.pack("<I", len(body)) + body


@pytest.mark.parametrize("code", [b"\x01" * (1 << 16), b"\x00\x02\x80\x00" * (1 << 14)])
def test_a_line_program_without_end_is_left_when_time_is_up(code: bytes) -> None:
    """The library's own list of its rows would take a hundred times its bytes, and can't be left."""
    program = program_at(header(4, b"\0\0", code), 0, lambda *_: b"", FOREVER, is_little=True)
    assert program.code == code
    tracemalloc.start()
    with pytest.raises(LateError):
        lines_of(program, [1], Meter(0, 0))
    assert len(lines_of(program, [1], FOREVER)) == 0
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.parametrize(
    "entries",
    [
        b"\0" + b"\xff" * 9 + b"\1",  # 2^64 folders of no fields
        b"\1\1\x19" + b"\xff" * 9 + b"\1",  # of a field without bytes
        b"\1\1\x08" + b"\xff" * 9 + b"\1a\0",
        b"\1\1\x09" + b"\1" + b"\xff" * 9 + b"\1",  # a name of 2^64 bytes
    ],
)
def test_a_line_program_with_endless_folders_is_damaged(entries: bytes) -> None:
    with pytest.raises((ValueError, IndexError)):
        program_at(header(5, entries), 0, lambda *_: b"", FOREVER, is_little=True)


@given(st.lists(st.integers(0, 40), unique=True), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40))))
def test_addresses_within_ranges(addresses: list[int], ranges: list[tuple[int, int]]) -> None:
    addresses.sort()
    assert within(addresses, ranges) == [
        each for each in addresses if any(start <= each < end for start, end in ranges)
    ]


class Section(NamedTuple):
    data: bytes
    kind: int = 1
    flags: int = 0
    name: int | None = None
    """Where in the table of names it has its own, if not in an entry of its own."""


def elf(sections: dict[str, Section | bytes], more_names: bytes = b"") -> bytes:
    """A program of 64 bits with these sections, and code at 0x1000."""
    whole = {name: each if isinstance(each, Section) else Section(each) for name, each in sections.items()}
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*whole, ".shstrtab")) + more_names
    whole[".shstrtab"] = Section(names)
    body, headers = bytearray(64 + 56), bytearray(64)
    for name, each in whole.items():
        at = names.index(b"\0" + name.encode() + b"\0") + 1 if each.name is None else len(names) + each.name
        size = len(each.data)
        headers += struct.pack("<2I4Q2I2Q", at, each.kind, each.flags, 0, len(body), size, 0, 0, 1, 0)
        body += each.data
    count = len(whole) + 1
    body[:64] = struct.pack(
        "<16s2HI3QI6H", b"\x7fELF\2\1\1", 2, 62, 1, 0x1000, 64, len(body), 0, 64, 56, 1, 64, count, count - 1
    )
    body[64:120] = struct.pack("<2I6Q", 1, 5, 0, 0x1000, 0x1000, 4096, 4096, 4096)
    return bytes(body + headers)


def unit(entries: bytes, version: int = 4) -> bytes:
    body = struct.pack("<HIB", version, 0, 8) + entries
    return struct.pack("<I", len(body)) + body


def abbreviation(code: int, tag: int, *attributes: tuple[int, int], children: bool = True) -> bytes:
    fields = b"".join(bytes((name, form)) for name, form in attributes)
    return bytes((code, tag, children)) + fields + b"\0\0"


LOW, HIGH, NAME, LINES, RANGES, SIBLING = 0x11, 0x12, 0x03, 0x10, 0x55, 0x01
ADDRESS, DATA8, PRESENT, STRP, OFFSET, REF4 = 0x01, 0x07, 0x19, 0x0E, 0x17, 0x13
TOP = abbreviation(1, 0x11, (LOW, ADDRESS), (HIGH, DATA8), (LINES, OFFSET))
TOP_ENTRY = b"\1" + struct.pack("<QQI", 0x1000, 0x1000, 0)
PLAIN = abbreviation(2, 0x34, children=False)


def many_attributes(size: int) -> dict[str, bytes]:
    """An entry of a byte has as many attributes without bytes as its abbreviation says."""
    wide = abbreviation(2, 0x34, *((NAME, PRESENT) for _ in range(size)), children=False)
    return {".debug_abbrev": TOP + wide + b"\0", ".debug_info": unit(TOP_ENTRY + b"\2" * size + b"\0")}


def a_long_name(size: int) -> dict[str, bytes]:
    named = abbreviation(2, 0x2E, (NAME, STRP), children=False)
    entries = TOP_ENTRY + b"\2\0\0\0\0" * size + b"\0"
    return {
        ".debug_abbrev": TOP + named + b"\0",
        ".debug_info": unit(entries),
        ".debug_str": b"a" * (size * 8) + b"\0",
    }


def a_long_list(size: int) -> dict[str, bytes]:
    ranged = abbreviation(2, 0x2E, (RANGES, OFFSET), children=False)
    entries = TOP_ENTRY + b"\2\0\0\0\0" * size + b"\0"
    ranges = b"".join(struct.pack("<QQ", at, at + 1) for at in range(1, size)) + bytes(16)
    return {".debug_abbrev": TOP + ranged + b"\0", ".debug_info": unit(entries), ".debug_ranges": ranges}


def siblings_that_lead_back(size: int) -> dict[str, bytes]:
    """Below an entry that doesn't say where the next one is, one says that it is the next of itself."""
    block = abbreviation(2, 0x13) + abbreviation(3, 0x13, (SIBLING, REF4))
    begin = 11 + len(TOP_ENTRY) + 1
    return {
        ".debug_abbrev": TOP + block + b"\0",
        ".debug_info": unit(TOP_ENTRY + b"\2\3" + struct.pack("<I", begin) + b"\0" * 4 * size),
    }


def entries_of_a_byte(size: int) -> dict[str, bytes]:
    return {
        ".debug_abbrev": TOP + PLAIN + b"\0",
        ".debug_info": unit(TOP_ENTRY + b"\2" * (64 * size) + b"\0"),
    }


def units_of_one_table(size: int) -> dict[str, bytes]:
    """Each unit's abbreviations begin a little later in one long table."""
    table = TOP + PLAIN * (2 * size) + b"\0"
    units = b"".join(
        struct.pack("<IHIB", 8, 4, len(TOP) + each * len(PLAIN), 8) + b"\2" for each in range(2 * size)
    )
    return {".debug_abbrev": table, ".debug_info": units}


def ranges_that_overlap(size: int) -> dict[str, bytes]:
    """Each set of address ranges is a header, and goes on through those after it to the end."""
    sets = struct.pack("<IHIBB", 8, 2, 0, 8, 0) * size
    return {**entries_of_a_byte(1), ".debug_aranges": sets + bytes(64)}


def profile_with(sections: dict[str, Any], folder: Path) -> Profile:
    """A profile of one address in a program with these sections."""
    (folder / "shop").write_bytes(elf({**sections, ".debug_line": header(4, b"\0\0")}))
    text = "heap profile: 1: 8 [1: 8] @ heap_v2/524288\n 1: 8 [1: 8] @ 0x1801\n\nMAPPED_LIBRARIES:\n"
    (folder / "a.heap").write_text(f"{text}1000-2000 r-xp 00000000 08:01 1 /x/shop\n")
    return load(folder / "a.heap", folder)


@pytest.mark.parametrize(
    ("shape", "is_left"),
    [
        (many_attributes, True), (a_long_name, True), (a_long_list, True), (siblings_that_lead_back, True),
        (entries_of_a_byte, False), (units_of_one_table, True), (ranges_that_overlap, True),
    ],
)  # fmt: skip
def test_debug_information_is_read_in_proportion_to_its_size(
    shape: Callable[[int], dict[str, bytes]], is_left: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metered, "_LEAST", 1 << 14)
    said = warnings_of(profile_with(shape(1000), tmp_path))
    assert ("The debug information of shop can't be read" in said) == is_left
    assert "Not found here" not in said


def test_entries_of_a_unit_are_not_all_kept() -> None:
    sections = {name.removeprefix(".debug_"): data for name, data in entries_of_a_byte(1000).items()}
    information = Information(ELFFile(io.BytesIO(elf({}))), sections, math.inf)
    top = next(information.iter_CUs()).get_top_DIE()
    assert sum(1 for _ in top.iter_children()) == 64 * 1000
    assert len(top.cu._dielist) <= len(sections["info"]) // 8 + 1


def test_a_section_that_expands_too_far_is_left(tmp_path: Path) -> None:
    plain = entries_of_a_byte(1)
    size = 8 << 20
    packed = struct.pack("<IIQQ", 1, 0, size, 1) + zlib.compress(plain[".debug_info"].ljust(size, b"\0"), 9)
    said = warnings_of(profile_with({**plain, ".debug_info": Section(packed, flags=0x800)}, tmp_path))
    assert len(packed) < 1 << 14
    assert "The debug information of shop can't be read" in said


def test_notes_and_names_of_sections_are_read_within_the_files_size(tmp_path: Path) -> None:
    def binary(sections: dict[str, Section | bytes], more_names: bytes = b"") -> Binary:
        return Binary(tmp_path, io.BytesIO(elf(sections, more_names)))

    note = Section(struct.pack("<3I", 4, 4, 3) + b"GNU\0abcd", 7)
    empty = Section(bytes(12 * 6000), 7)
    assert binary({"n0": empty, "n1": note}).build_id == "61626364"
    assert binary({**{f"n{each}": empty for each in range(20)}, "o": note}).build_id == ""
    long = b"a" * (1 << 20) + b"\0"
    assert binary({"x": b"1"}, long).elf.get_section_by_name("x") is not None
    with pytest.raises(ValueError, match="far more than its size"):
        binary({f"x{each}": Section(b"1", name=-len(long) + each) for each in range(20)}, long)._build_id()
