"""Functions and lines of addresses by DWARF 2 to 5, with inlined functions.

Source: the standard, https://dwarfstd.org (sections 2.17, 3.3.8 and 6.2 of version 5).
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from elftools.common.utils import struct_parse

from memlens.formats.symbols.line_programs import OF_LINES, OF_STRINGS, Program, lines_of, program_at
from memlens.formats.symbols.linked import RANGES_BASE, LinkedFiles, split_path
from memlens.formats.symbols.metered import Information, LateError, TooMuchError

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

    def __init__(self, information: Information, linked: LinkedFiles, demangle: Callable[[str], str]) -> None:
        """Nothing more is read once the meter of ``information`` says that time is up, or that it was too much."""
        self._information, self._linked, self._meter = information, linked, information.meter
        information.supplementary_dwarfinfo = linked.supplement()
        self._demangle = demangle
        self.is_late = self.is_damaged = False
        """Whether time ran out, or more was to be read than can be true, before all addresses were looked up."""

    def places(self, addresses: Sequence[int]) -> dict[int, list[Place]]:
        """Return the frames of each address that is known, the innermost first."""
        found: dict[int, list[Place]] = {}
        try:
            for unit, inside in self._units(sorted(set(addresses))):
                self._meter.look()
                try:
                    found |= self._in_unit(unit, inside)
                except MemoryError:
                    raise
                except Exception:  # noqa: BLE001 - one damaged unit of many; the library raises what it happens to
                    self._check()
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - as above
            self.is_late = self._meter.is_late
            self.is_damaged = not self.is_late
        return found

    def _check(self) -> None:
        """Raise what the meter has raised, which the library may have turned into an error of its own."""
        if self._meter.is_late:
            raise LateError
        if self._meter.is_spent:
            raise TooMuchError

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
            self._meter.look()
            if unit.cu_offset in of_units:
                continue
            inside = within(unknown, self._ranges(unit.get_top_DIE()))
            if inside:
                known = set(inside)
                unknown = [each for each in unknown if each not in known]
                yield unit, inside

    # ---- a unit ----

    def _in_unit(self, unit: Any, addresses: list[int]) -> dict[int, list[Place]]:
        top = unit.get_top_DIE()
        program, folder = self._program(unit), _text(top, "DW_AT_comp_dir")
        lines = {} if program is None else lines_of(program, addresses, self._meter)

        def path(number: int | None) -> str:
            return "" if program is None else program.path(number, folder)

        calls: dict[int, list[Any]] = {address: [] for address in addresses}
        split = self._linked.unit_of(unit)
        try:
            self._descend(top if split is None else split.get_top_DIE(), addresses, calls, 0)
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - the library raises what it happens to
            self._check()
            # lines remain
            calls = {address: [] for address in addresses}
            if split is not None:
                self._linked.missing[split_path(unit) or ""] = 0
        found = {}
        for address in addresses:
            file, line = lines.get(address, (None, 0))
            places = []
            for call in reversed(calls[address]):
                places.append(Place(self._name(call), path(file), line))
                file = _number(call, "DW_AT_call_file")
                line = _number(call, "DW_AT_call_line") or 0
            if not places and line:
                places.append(Place("", path(file), line))
            if places:
                found[address] = places
        return found

    def _program(self, unit: Any) -> Program | None:
        """Return the line program of a unit, if it has one."""
        offset, data = _number(unit.get_top_DIE(), "DW_AT_stmt_list"), self._information.sections.get("line")
        if offset is None or data is None:
            return None
        return program_at(
            data, offset, self._line_text, self._meter, is_little=self._information.config.little_endian
        )

    def _line_text(self, form: int, offset: int) -> bytes | None:
        information: Any = self._information
        if form in OF_LINES:
            return self._information.get_string_from_linetable(offset)
        if form not in OF_STRINGS:
            information = information.supplementary_dwarfinfo
        text: bytes | None = information and information.get_string_from_table(offset)
        return text

    def _descend(self, above: Any, addresses: list[int], calls: dict[int, list[Any]], depth: int) -> None:
        """Add the functions of each address to ``calls``, the outermost first."""
        if depth > _MOST_DEPTH:
            return
        for child in above.iter_children():
            self._meter.look()
            tag, inside = child.tag, addresses
            if tag in _CALLS or tag in _BLOCKS:
                ranges = self._ranges(child)
                inside = within(addresses, ranges)
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


def within(addresses: list[int], ranges: list[tuple[int, int]]) -> list[int]:
    """Return the addresses in any of the ranges; ``addresses`` are sorted, and the last of a range isn't in it."""
    found: list[int] = []
    last = 0
    for start, end in sorted(ranges):
        first = max(bisect_left(addresses, start), last)
        last = max(bisect_left(addresses, end), last)
        found += addresses[first:last]
    return found


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
