"""Functions and lines of addresses by DWARF 2 to 5, with inlined functions.

Source: the standard, https://dwarfstd.org (sections 2.17, 3.3.8 and 6.2 of version 5).
"""

import posixpath
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from elftools.common.utils import struct_parse
from elftools.dwarf.constants import DW_LNE, DW_LNS

from memlens.formats.symbols.linked import RANGES_BASE, LinkedFiles, split_path

_MOST_HOPS = 8
_MOST_DEPTH = 256
_SCOPES = frozenset(("DW_TAG_namespace", "DW_TAG_module", "DW_TAG_structure_type", "DW_TAG_class_type",
                     "DW_TAG_union_type", "DW_TAG_enumeration_type", "DW_TAG_variant_part", "DW_TAG_subprogram",
                     "DW_TAG_lexical_block", "DW_TAG_common_block"))  # fmt: skip
_CALLS = frozenset(("DW_TAG_subprogram", "DW_TAG_inlined_subroutine"))
_BLOCKS = frozenset(("DW_TAG_lexical_block", "DW_TAG_try_block", "DW_TAG_catch_block", "DW_TAG_with_stmt"))
_SHARED_FORMS = ("DW_FORM_GNU_ref_alt", "DW_FORM_ref_sup4", "DW_FORM_ref_sup8")
"""References into a file that dwz made."""
_ADDRESS_FORMS = frozenset(("DW_FORM_addr", "DW_FORM_addrx", "DW_FORM_addrx1", "DW_FORM_addrx2", "DW_FORM_addrx3",
                            "DW_FORM_addrx4", "DW_FORM_GNU_addr_index"))  # fmt: skip


class Place(NamedTuple):
    """A frame: ``function`` is mangled or plain; ``line`` is 0 and ``file`` is empty if unknown."""

    function: str
    file: str
    line: int


class Debug:
    """The debug information of one binary."""

    def __init__(
        self, information: Any, linked: LinkedFiles, demangle: Callable[[str], str], until: float
    ) -> None:
        """``information`` is the library's DWARFInfo; no unit is read any more after ``until`` of time.monotonic()."""
        self._information, self._linked = information, linked
        information.supplementary_dwarfinfo = linked.supplement()
        self._demangle = demangle
        self._until = until
        self.is_late = False
        """Whether time ran out before all addresses were looked up."""

    def places(self, addresses: Sequence[int]) -> dict[int, list[Place]]:
        """Return the frames of each address that is known, the innermost first."""
        found: dict[int, list[Place]] = {}
        for unit, inside in self._units(sorted(set(addresses))):
            if time.monotonic() > self._until:
                self.is_late = True
                break
            try:
                found |= self._in_unit(unit, inside)
            except _LateError:
                self.is_late = True
                break
            except Exception:  # noqa: BLE001, S112 - one damaged unit of many; the library raises what it happens to
                continue
        return found

    def _units(self, addresses: list[int]) -> Iterator[tuple[Any, list[int]]]:
        """Yield the units that have code at any of the addresses, with those addresses."""
        rest = self._information.get_aranges()
        of_units: dict[int, list[int]] = {}
        unknown = []
        for address in addresses:
            offset = rest.cu_offset_at_addr(address) if rest is not None else None
            if offset is None:
                unknown.append(address)
            else:
                of_units.setdefault(offset, []).append(address)
        for offset, inside in of_units.items():
            yield self._information.get_CU_at(offset), inside
        if not unknown:
            return
        for unit in self._information.iter_CUs():
            if not unknown:
                return
            if time.monotonic() > self._until:
                self.is_late = True
                return
            if unit.cu_offset in of_units:
                continue
            ranges = self._ranges(unit.get_top_DIE())
            inside = [each for each in unknown if any(start <= each < end for start, end in ranges)]
            if inside:
                unknown = [each for each in unknown if each not in inside]
                yield unit, inside

    # ---- a unit ----

    def _in_unit(self, unit: Any, addresses: list[int]) -> dict[int, list[Place]]:
        top = unit.get_top_DIE()
        program = self._information.line_program_for_CU(unit)
        files = _Files(program, _text(top, "DW_AT_comp_dir"))
        lines = _lines(program, addresses, self._until)
        calls: dict[int, list[Any]] = {address: [] for address in addresses}
        split = self._linked.unit_of(unit)
        try:
            self._descend(top if split is None else split.get_top_DIE(), addresses, calls, 0)
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - the library raises what it happens to
            # lines remain
            calls = {address: [] for address in addresses}
            if split is not None:
                self._linked.missing[split_path(unit) or ""] = 0
        found = {}
        for address in addresses:
            file, line = lines.get(address, (None, 0))
            places = []
            for call in reversed(calls[address]):
                places.append(Place(self._name(call), files[file], line))
                file = _number(call, "DW_AT_call_file")
                line = _number(call, "DW_AT_call_line") or 0
            if not places and line:
                places.append(Place("", files[file], line))
            if places:
                found[address] = places
        return found

    def _descend(self, above: Any, addresses: list[int], calls: dict[int, list[Any]], depth: int) -> None:
        """Add the functions of each address to ``calls``, the outermost first."""
        if depth > _MOST_DEPTH:
            return
        for child in above.iter_children():
            if time.monotonic() > self._until:
                self.is_late = True
                return
            tag, inside = child.tag, addresses
            if tag in _CALLS or tag in _BLOCKS:
                ranges = self._ranges(child)
                inside = [each for each in addresses if any(start <= each < end for start, end in ranges)]
                if tag in _CALLS:
                    for each in inside:
                        calls[each].append(child)
                elif not ranges:
                    inside = addresses
            elif tag not in _SCOPES:
                continue
            if inside and child.has_children:
                self._descend(child, inside, calls, depth + 1)

    def _ranges(self, entry: Any) -> list[tuple[int, int]]:
        attributes = entry.attributes
        low = attributes.get("DW_AT_low_pc")
        high = attributes.get("DW_AT_high_pc")
        if low is not None and high is not None:
            start = _address(low, entry.cu)
            end = _address(high, entry.cu) if high.form in _ADDRESS_FORMS else start + high.value
            return [(start, end)] if start else []
        listed = attributes.get("DW_AT_ranges")
        lists = entry.cu.dwarfinfo.range_lists()
        if listed is None or lists is None:
            return []
        top = entry.cu.get_top_DIE()
        base, after = (_number(top, name) or 0 for name in ("DW_AT_low_pc", RANGES_BASE))
        ranges = []
        for each in lists.get_range_list_at_offset(listed.value + after, cu=entry.cu):
            if hasattr(each, "base_address"):
                base = each.base_address
            else:
                shift = 0 if getattr(each, "is_absolute", False) else base
                ranges.append((each.begin_offset + shift, each.end_offset + shift))
        return [each for each in ranges if each[0]]

    def _name(self, entry: Any) -> str:
        """Return the name of a function, with its scopes where it is in any."""
        plain, owner = "", None
        for _ in range(_MOST_HOPS):
            mangled = _text(entry, "DW_AT_linkage_name") or _text(entry, "DW_AT_MIPS_linkage_name")
            if mangled:
                name = self._demangle(mangled)
                if name != mangled or not mangled.startswith(("_Z", "_R")):
                    return name
            own = _text(entry, "DW_AT_name")
            if own and not plain:
                plain, owner = own, entry
            following = next(
                (key for key in ("DW_AT_abstract_origin", "DW_AT_specification") if key in entry.attributes),
                None,
            )
            if following is None or (
                entry.attributes[following].form in _SHARED_FORMS
                and entry.dwarfinfo.supplementary_dwarfinfo is None
            ):
                break
            entry = entry.get_DIE_from_attribute(following)
        if owner is None:
            return ""
        # where the declaration is says in which class
        return self._demangle("::".join([*_scopes(entry if _text(entry, "DW_AT_name") else owner), plain]))


def _scopes(entry: Any) -> list[str]:
    names: list[str] = []
    for _ in range(_MOST_DEPTH):
        entry = entry.get_parent()
        if entry is None or entry.tag in ("DW_TAG_compile_unit", "DW_TAG_partial_unit"):
            break
        if entry.tag != "DW_TAG_lexical_block":
            names.append(_text(entry, "DW_AT_name") or "(anonymous)")
    return names[::-1]


def _address(attribute: Any, unit: Any) -> int:
    """Return the address that an attribute is, or whose number it is."""
    is_number = attribute.form == "DW_FORM_GNU_addr_index"
    found: int = unit.dwarfinfo.get_addr(unit, attribute.raw_value) if is_number else attribute.value
    return found


def _text(entry: Any, name: str) -> str:
    attribute = entry.attributes.get(name)
    value = attribute.value if attribute is not None else b""
    if attribute is not None and attribute.form == "DW_FORM_GNU_str_index":
        information, structs = entry.dwarfinfo, entry.cu.structs
        stream, bytes_each = information.debug_str_offsets_sec.stream, structs.dwarf_format // 8
        value = information.get_string_from_table(
            struct_parse(structs.the_Dwarf_offset, stream, attribute.raw_value * bytes_each)
        )
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _number(entry: Any, name: str) -> int | None:
    attribute = entry.attributes.get(name)
    return attribute.value if attribute is not None and isinstance(attribute.value, int) else None


class _Files:
    """The files of a line program by their numbers, with their folders."""

    def __init__(self, program: Any, folder: str) -> None:
        self._program, self._folder = program, folder

    def __getitem__(self, number: int | None) -> str:
        if number is None or self._program is None:
            return ""
        header = self._program.header
        files, folders = header["file_entry"], header["include_directory"]
        # version 5 counts from 0, and its first folder is the unit's
        at = number if header["version"] >= 5 else number - 1
        if not 0 <= at < len(files):
            return ""
        entry = files[at]
        name, chosen = entry.name, entry.dir_index
        if header["version"] < 5:
            folder = folders[chosen - 1] if 0 < chosen <= len(folders) else b""
        else:
            folder = folders[chosen] if 0 <= chosen < len(folders) else b""
        path = posixpath.join(self._folder, *(part.decode("utf-8", "replace") for part in (folder, name)))
        return posixpath.normpath(path)


class _LateError(Exception):
    """Time ran out."""


class _Row(NamedTuple):
    address: int
    file: int
    line: int
    is_end: bool


def _lines(program: Any, addresses: Sequence[int], until: float) -> dict[int, tuple[int, int]]:
    """Return the file's number and the line of each address.

    Args:
        program: the library's line program of a unit, or None.
        addresses: sorted.
        until: the time (time.monotonic()) after which ``_LateError`` is raised.
    """
    found: dict[int, tuple[int, int]] = {}
    inside: dict[int, tuple[int, int]] = {}
    last: _Row | None = None
    is_code = True
    for count, row in enumerate(() if program is None else _rows(program)):
        if not count % 4096 and time.monotonic() > until:
            raise _LateError
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


def _rows(program: Any) -> Iterator[_Row]:
    """Yield the rows of a line program one by one: the library's list takes a hundred bytes for each byte of the file.

    Source: the standard, section 6.2.5. Files that the program itself defines, as no compiler's has, have no names.
    """
    header, little = program.header, program.structs.little_endian
    shortest, line_base, line_range = (
        header[name] for name in ("minimum_instruction_length", "line_base", "line_range")
    )
    slots, first_special = max(header["maximum_operations_per_instruction"], 1), header["opcode_base"]
    operands = header["standard_opcode_lengths"]
    program.stream.seek(program.program_start_offset)
    code = program.stream.read(program.program_end_offset - program.program_start_offset)
    at, (address, slot, file, line) = 0, (0, 0, 1, 1)
    while at < len(code):
        opcode = code[at]
        at += 1
        if opcode >= first_special or opcode == DW_LNS.const_add_pc:
            further = (255 if opcode < first_special else opcode) - first_special
            address += shortest * ((slot + further // line_range) // slots)
            slot = (slot + further // line_range) % slots
            if opcode >= first_special:
                line += line_base + further % line_range
                yield _Row(address, file, line, False)
        elif opcode == 0:
            length, at = _uleb128(code, at)
            kind, operand = code[at], code[at + 1 : at + length]
            at += max(length, 1)
            if kind == DW_LNE.end_sequence:
                yield _Row(address, file, line, True)
                address, slot, file, line = 0, 0, 1, 1
            elif kind == DW_LNE.set_address:
                address, slot = int.from_bytes(operand, "little" if little else "big"), 0
        elif opcode == DW_LNS.copy:
            yield _Row(address, file, line, False)
        elif opcode == DW_LNS.fixed_advance_pc:
            address, slot = address + int.from_bytes(code[at : at + 2], "little" if little else "big"), 0
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


def _last_operand(code: bytes, at: int, count: int, *, is_signed: bool) -> tuple[int, int]:
    """Return the last of an instruction's operands, 0 if it has none, and the offset after them."""
    value = bits = 0
    for _ in range(count):
        value, after = _uleb128(code, at)
        bits, at = 7 * (after - at), after
    return value - (1 << bits) if is_signed and bits and value >> (bits - 1) else value, at


def _uleb128(code: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and the offset after it; IndexError where the program ends in it."""
    value = shift = 0
    while True:
        byte = code[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 or shift > 63:
            return value, at
        shift += 7
