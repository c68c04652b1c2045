"""Debug information that a binary's own leaves in other files.

- Split DWARF: of each unit the binary has a skeleton, with its lines and addresses; functions are in ``.dwo`` files or,
  packed, in a ``.dwp`` beside the binary. Source: https://dwarfstd.org, version 5, 3.1.2, 3.1.3, 7.3.2 and 7.3.5;
  for version 4, https://gcc.gnu.org/wiki/DebugFission and DebugFissionDWP.
- dwz moves what several binaries share into a file that ``.gnu_debugaltlink`` names.
"""

import contextlib
import logging
import posixpath
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from elftools.common.exceptions import DWARFError
from elftools.dwarf.die import AttributeValue
from elftools.elf.elffile import ELFFile

from memlens.formats.symbols.elf import Binary
from memlens.formats.symbols.metered import Information
from memlens.formats.symbols.places import Places, opened
from memlens.formats.symbols.sections import debug_sections, elf_of

logger = logging.getLogger(__name__)

_MOST_SECTIONS = 1 << 16
_MOST_ROWS = 1 << 20
_MOST_INDEX_BYTES = 1 << 28
_OF_INDEX = {1: "info", 3: "abbrev", 4: "line", 6: "str_offsets"}
"""What the columns of a package's index are, by the numbers that versions 4 and 5 share."""
_OF_INDEX_5 = {**_OF_INDEX, 5: "loclists", 8: "rnglists"}
_FORMS_OF_4 = ("DW_FORM_GNU_str_index", "DW_FORM_GNU_addr_index")
RANGES_BASE = "base of ranges"
"""The attribute that split units of version 4 have of their skeleton, in which it means nothing."""
_INHERITED = {
    "DW_AT_addr_base": "DW_AT_addr_base",
    "DW_AT_GNU_addr_base": "DW_AT_addr_base",
    "DW_AT_GNU_ranges_base": RANGES_BASE,
    "DW_AT_low_pc": "DW_AT_low_pc",
}
"""Attributes of a skeleton that its unit's entries rely on, and what they are called there."""
Found = TypeVar("Found")


class _Split(NamedTuple):
    """A file with split units: its header, and its sections."""

    elf: ELFFile
    sections: dict[str, bytes]
    units: dict[int, dict[str, tuple[int, int]]] | None
    """In a package: where each unit's parts are, by the unit's id; offset and size, by section."""


class LinkedFiles:
    """The files that the debug information of one binary refers to, found when they are needed."""

    def __init__(self, binary: Binary, places: Places, rejected: list[Path], until: float) -> None:
        """Places that have nothing, or something else, are added to ``rejected``; nothing is read after ``until``."""
        self._until = until
        self._binary, self._places, self._rejected = binary, places, rejected
        self._package: _Split | None = None
        self._has_looked = False
        self.missing: dict[str, int] = {}
        """Paths of files that aren't here."""

    # ---- dwz ----

    def supplement(self) -> Any:
        """Return the library's DWARFInfo of the file that dwz made; None if the binary names none, or it isn't here."""
        section = self._binary.elf.get_section_by_name(".gnu_debugaltlink")
        if section is None or not 2 <= section.data_size <= 4096:
            return None
        name, _, build_id = section.data().partition(b"\0")
        path = name.decode("utf-8", "replace")

        def read(file: BinaryIO) -> Any:
            found = Binary(self._binary.path, file)
            fits = found.build_id == build_id.hex()
            return Information(found.elf, debug_sections(found.elf), self._until) if fits else None

        found = self._first(self._places.of_supplement(self._binary.path, path, build_id.hex()), read)
        if found is None:
            self.missing[path] = 0
        return found

    # ---- split DWARF ----

    def unit_of(self, skeleton: Any) -> Any:
        """Return the library's unit that belongs to a skeleton; None if it isn't here, or if this is a whole unit."""
        path = split_path(skeleton)
        if path is None:
            return None
        own = skeleton.get_top_DIE().attributes.get("DW_AT_GNU_dwo_id")
        number = skeleton["dwo_id"] if skeleton["version"] >= 5 else own and own.value
        if not self._has_looked:
            self._has_looked = True
            self._package = self._first(self._places.of_package(self._binary.path), _split)
        if number is None:
            return None
        unit = self._package and _unit_in(self._package, number, skeleton)
        if unit is None:
            unit = self._first(
                self._places.of_split(self._binary.path, path),
                lambda file: _unit_in(_split(file), number, skeleton),
            )
        if unit is None:
            self.missing[path] = 0
        return unit

    def _first(self, places: Iterable[Path], read: Callable[[BinaryIO], Found | None]) -> Found | None:
        """Return the first of the files that can be read, and is the one that is looked for."""
        for place in dict.fromkeys(places):
            file = opened(place)
            if file is not None:
                with file:
                    try:
                        found = read(file)
                    except MemoryError:
                        raise
                    except Exception as error:  # noqa: BLE001 - the library raises what it happens to for a damaged file
                        logger.info("%s can't be read as debug information: %s", place, error)
                        found = None
                if found is not None:
                    return found
            self._rejected.append(place)
        return None


def split_path(unit: Any) -> str | None:
    """Return the path of the file that a skeleton's unit was written to; None for a whole unit."""
    attributes = unit.get_top_DIE().attributes
    named = attributes.get("DW_AT_dwo_name") or attributes.get("DW_AT_GNU_dwo_name")
    values = [each and each.value for each in (attributes.get("DW_AT_comp_dir"), named)]
    folder, name = (each.decode("utf-8", "replace") if isinstance(each, bytes) else "" for each in values)
    return posixpath.join(folder, name) if name else None


def _split(file: BinaryIO) -> _Split:
    elf = elf_of(file)
    if elf.num_sections() > _MOST_SECTIONS:
        raise ValueError("too many sections")
    index = elf.get_section_by_name(".debug_cu_index")
    if index is not None and (index.compressed or index.data_size > _MOST_INDEX_BYTES):
        raise ValueError("too large an index")
    rows = None if index is None else _index(index.data(), little=elf.little_endian)
    return _Split(elf, debug_sections(elf, ".dwo"), rows)


def _unit_in(split: _Split, number: int, skeleton: Any) -> Any:
    """Return the library's unit with this id, and what it takes from its skeleton; None if the file has none."""
    sections = split.sections
    if split.units is not None:
        parts = split.units.get(number)
        if parts is None:
            return None
        slices = {name: sections.get(name, b"")[at : at + size] for name, (at, size) in parts.items()}
        sections = {**sections, **slices}
    # addresses, and in version 4 ranges, are in the binary
    above = skeleton.dwarfinfo
    shared = {"addr": above.debug_addr_sec, "ranges": above.debug_ranges_sec}
    added = {name: section.stream.getvalue() for name, section in shared.items() if section is not None}
    until = skeleton.dwarfinfo.meter.until
    for unit in Information(split.elf, {**sections, **added}, until).iter_CUs():
        if unit["version"] >= 5 and unit["unit_type"] != "DW_UT_split_compile":
            continue
        forms = unit.structs.Dwarf_dw_form
        # GNU's predecessors of version 5, which the library doesn't know; and it takes strx4 for one of eight bytes
        forms |= dict.fromkeys(_FORMS_OF_4, unit.structs.the_Dwarf_uleb128)
        forms["DW_FORM_strx4"] = unit.structs.the_Dwarf_uint32
        with contextlib.suppress(DWARFError):
            # its own strings need what is added below
            unit.get_top_DIE()
        attributes = unit.get_top_DIE().attributes
        own = attributes.get("DW_AT_GNU_dwo_id")
        if number != (unit["dwo_id"] if unit["version"] >= 5 else own and own.value):
            continue
        wide = unit.structs.dwarf_format == 64
        bases = {
            "DW_AT_str_offsets_base": 16 if wide else 8,
            "DW_AT_rnglists_base": 20 if wide else 12,
            "DW_AT_loclists_base": 20 if wide else 12,
        }
        of_skeleton = skeleton.get_top_DIE().attributes
        inherited = {to: of_skeleton[name].value for name, to in _INHERITED.items() if name in of_skeleton}
        for name, value in {**bases, **inherited}.items():
            attributes[name] = AttributeValue(name, "DW_FORM_sec_offset", value, value, 0, 0)
        return unit
    return None


def _index(data: bytes, *, little: bool) -> dict[int, dict[str, tuple[int, int]]]:
    """Return the index of a package. Raises struct.error or ValueError if it is damaged."""
    end = "<" if little else ">"
    columns, rows, slots = struct.unpack_from(f"{end}3I", data, 4)
    if columns > 16 or max(rows, slots) > _MOST_ROWS:
        raise ValueError("too large an index")
    numbers = struct.unpack_from(f"{end}{slots}Q", data, 16)
    chosen = struct.unpack_from(f"{end}{slots}I", data, 16 + 8 * slots)
    at = 16 + 12 * slots
    kinds = struct.unpack_from(f"{end}{columns}I", data, at)
    offsets = struct.unpack_from(f"{end}{rows * columns}I", data, at + 4 * columns)
    sizes = struct.unpack_from(f"{end}{rows * columns}I", data, at + 4 * columns * (rows + 1))
    (version,) = struct.unpack_from(f"{end}H", data)
    names = _OF_INDEX_5 if version >= 5 else _OF_INDEX
    return {
        number: {
            names[kind]: (offsets[first + column], sizes[first + column])
            for column, kind in enumerate(kinds)
            if kind in names
        }
        for number, row in zip(numbers, chosen, strict=True)
        if 1 <= row <= rows
        for first in ((row - 1) * columns,)
    }
