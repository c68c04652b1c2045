"""The library's view of debug sections, with a meter on all that it reads: the library itself reads without end.

A few bytes can stand for much: one abbreviation with many attributes for each entry, one long string or list of ranges
for many entries, siblings that lead back. What is read, and so time and memory, is bounded by the sections' size.
"""

import io
import time
from collections.abc import Mapping
from typing import Any

from elftools.dwarf.abbrevtable import AbbrevDecl, AbbrevTable
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo
from elftools.dwarf.typeunit import TypeUnit
from elftools.elf.elffile import ELFFile

from memlens.formats.symbols.sections import NAMES

MOST_TEXT = 16_384
"""The most bytes of a name; longer ones are cut."""
_PER_BYTE = 2
_LEAST = 1 << 20
_BYTES_OF_A_READ = 64
_READS_A_LOOK = 4096
_LEAST_ENTRIES, _MOST_ENTRIES, _BYTES_OF_AN_ENTRY = 1 << 12, 1 << 19, 8
"""Entries of a unit that are kept in memory, by the section's size; others are read again."""
_UNUSED = ("debug_frame_sec", "eh_frame_sec", "debug_pubtypes_sec", "debug_pubnames_sec", "debug_sup_sec",
           "gnu_debugaltlink_sec")  # fmt: skip


class LateError(Exception):
    """Time ran out."""


class TooMuchError(Exception):
    """The debug information stands for far more than its size."""


class Meter:
    """Counts what is read of ``size`` bytes, and looks at the time.

    The library may turn these errors into its own, which ``is_late`` and ``is_spent`` tell apart.
    """

    def __init__(self, size: int, until: float) -> None:
        self._left = self._look_at = _LEAST + _PER_BYTE * size
        self.until = until
        self.is_late = self.is_spent = False

    def take(self, count: int = 1) -> None:
        """Count reads. Raises :class:`TooMuchError` or, after ``until`` of time.monotonic(), :class:`LateError`."""
        self._left -= count
        if self._left < 0:
            self.is_spent = True
            raise TooMuchError
        if self._left < self._look_at:
            self.look()
            self._look_at = self._left - _READS_A_LOOK

    def look(self) -> None:
        """Raise :class:`LateError` if time is up."""
        if time.monotonic() > self.until:
            self.is_late = True
            raise LateError


class _Stream(io.BytesIO):
    def __init__(self, data: bytes, meter: Meter) -> None:
        super().__init__(data)
        self._meter = meter

    def read(self, size: int | None = -1, /) -> bytes:
        self._meter.take(1 + max(size or 0, 0) // _BYTES_OF_A_READ)
        return super().read(size)


class _Abbreviations(AbbrevTable):
    __slots__ = ("_meter",)

    def __init__(self, meter: Meter, **table: Any) -> None:
        super().__init__(**table)
        self._meter = meter

    def get_abbrev(self, code: int) -> AbbrevDecl:
        found = super().get_abbrev(code)
        # attributes may have no bytes in an entry
        self._meter.take(len(found["attr_spec"]))
        return found


class _Unit(CompileUnit):
    def _get_cached_DIE(self, offset: int) -> Any:  # noqa: N802 - the library's name
        information: Any = self.dwarfinfo
        information.count_entry(self)
        return super()._get_cached_DIE(offset)


class _TypeUnit(TypeUnit):
    def _get_cached_DIE(self, offset: int) -> Any:  # noqa: N802 - the library's name
        information: Any = self.dwarfinfo
        information.count_entry(self)
        return super()._get_cached_DIE(offset)


class Information(DWARFInfo):
    """The library's DWARFInfo of debug sections, by the names that :func:`debug_sections` has.

    ``until`` is the time (time.monotonic()) after which nothing is read any more.
    """

    def __init__(self, elf: ELFFile, sections: Mapping[str, bytes], until: float) -> None:
        self.meter = Meter(sum(map(len, sections.values())), until)
        self.sections = sections
        described = {
            f"debug_{name}_sec": DebugSectionDescriptor(
                _Stream(data, self.meter), f".debug_{name}", 0, len(data), 0
            )
            for name, data in sections.items()
        }
        self._most_entries = min(
            max(_LEAST_ENTRIES, len(sections.get("info", b"")) // _BYTES_OF_AN_ENTRY), _MOST_ENTRIES
        )
        super().__init__(
            config=DwarfConfig(
                little_endian=elf.little_endian,
                machine_arch=elf.get_machine_arch(),
                default_address_size=elf.elfclass // 8,
            ),
            **dict.fromkeys((*(f"debug_{name}_sec" for name in NAMES), *_UNUSED)) | described,
        )

    def count_entry(self, unit: Any) -> None:
        """Count that an entry of a unit is asked for, and forget those before it when there are many."""
        self.meter.take()
        if len(unit._dielist) > self._most_entries:
            # the first one is the unit's own
            del unit._dielist[1:], unit._diemap[1:]

    def get_abbrev_table(self, offset: int) -> AbbrevTable:
        """Return the abbreviations at an offset of their section."""
        section, known = self.debug_abbrev_sec, self._abbrevtable_cache
        if section is None or offset >= section.size:
            raise ValueError("no abbreviations")
        if offset not in known:
            known[offset] = _Abbreviations(
                self.meter, structs=self.structs, stream=section.stream, offset=offset
            )
        return known[offset]

    def get_string_from_table(self, offset: int) -> bytes | None:
        """Return a text of ``.debug_str``, cut to :data:`MOST_TEXT`."""
        return self._text("str", offset)

    def get_string_from_linetable(self, offset: int) -> bytes | None:
        """Return a text of ``.debug_line_str``, cut to :data:`MOST_TEXT`."""
        return self._text("line_str", offset)

    def _text(self, name: str, offset: int) -> bytes | None:
        data = self.sections.get(name, b"")
        if offset >= len(data):
            return None
        end = data.find(b"\0", offset, offset + MOST_TEXT)
        text = data[offset : end if end >= 0 else offset + MOST_TEXT]
        self.meter.take(1 + len(text) // _BYTES_OF_A_READ)
        return text

    def _parse_CU_at_offset(self, offset: int) -> CompileUnit:  # noqa: N802 - the library's name
        unit = super()._parse_CU_at_offset(offset)
        return _Unit(
            header=unit.header,
            dwarfinfo=self,
            structs=unit.structs,
            cu_offset=unit.cu_offset,
            cu_die_offset=unit.cu_die_offset,
        )

    def _parse_TU_at_offset(self, offset: int) -> TypeUnit:  # noqa: N802 - the library's name
        unit = super()._parse_TU_at_offset(offset)
        return _TypeUnit(
            header=unit.header,
            dwarfinfo=self,
            structs=unit.structs,
            tu_offset=unit.tu_offset,
            tu_die_offset=unit.tu_die_offset,
        )
