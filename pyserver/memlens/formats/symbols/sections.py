"""Debug sections of an ELF file, unpacked: by zlib or zstd, or as tools before 2016 packed them.

Sources: the ELF specification ("Section Compression") and the standard of DWARF, https://dwarfstd.org.
"""

import io
import zlib
from collections.abc import Mapping
from typing import Any

import zstandard
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo
from elftools.elf.elffile import ELFFile

MOST_BYTES = 1 << 30
"""The most bytes of debug information of one file, which are kept in memory."""
_NAMES = ("info", "aranges", "abbrev", "str", "line", "loc", "ranges", "addr", "str_offsets", "line_str", "loclists",
          "rnglists", "types")  # fmt: skip
_OLD_HEADER_BYTES = 12
"""``ZLIB``, and the unpacked size in eight bytes, the highest first."""
_MOST_WINDOW_BYTES = 1 << 27
_ZLIB = (1, "ELFCOMPRESS_ZLIB")
_ZSTD = (2, "ELFCOMPRESS_ZSTD")
"""Ways to compress a section, by number where the library doesn't know the name."""


def debug_sections(elf: ELFFile, ending: str = "") -> dict[str, bytes]:
    """Return the debug sections that symbolization needs, by what follows ``.debug_`` in their names.

    ``ending`` is that of their names in split files. Raises ValueError if they are damaged, packed in an unknown way or
    larger than ``MOST_BYTES``.
    """
    sections = {}
    left = MOST_BYTES
    for name in _NAMES:
        section = elf.get_section_by_name(f".debug_{name}{ending}")
        is_old = section is None
        if section is None:
            section = elf.get_section_by_name(f".zdebug_{name}{ending}")
        if section is None or section["sh_type"] == "SHT_NOBITS":
            continue
        data = _unpacked(section, left, is_old=is_old)
        left -= len(data)
        sections[name] = data
    return sections


def _unpacked(section: Any, most: int, *, is_old: bool) -> bytes:
    if not is_old and not section.compressed:
        if section.data_size > most:
            raise ValueError("debug sections are too large")
        data: bytes = section.data()
        return data
    stream = section.stream
    stream.seek(section["sh_offset"])
    packed = stream.read(min(section["sh_size"], most))
    if is_old:
        head, size, kind = _OLD_HEADER_BYTES, int.from_bytes(packed[4:12], "big"), _ZLIB[0]
        if packed[:4] != b"ZLIB":
            raise ValueError("not a compressed section")
    else:
        chosen = section.structs.Elf_Chdr
        header = chosen.parse(packed)
        head, size, kind = chosen.sizeof(), header["ch_size"], header["ch_type"]
    if size > most:
        raise ValueError("debug sections are too large")
    packed = packed[head:]
    if kind in _ZLIB:
        try:
            data = zlib.decompressobj().decompress(packed, size)
        except zlib.error as error:
            raise ValueError(f"a damaged section: {error}") from None
    elif kind in _ZSTD:
        # the size in zstd's own header may be another
        unpacker = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW_BYTES)
        try:
            with unpacker.stream_reader(packed, read_across_frames=True) as reader:
                data = reader.read(size)
        except zstandard.ZstdError as error:
            raise ValueError(f"a damaged section: {error}") from None
    else:
        raise ValueError(f"a section is compressed in an unknown way: {kind}")
    if len(data) != size:
        raise ValueError("a section ends too early")
    return data


def information_of(elf: ELFFile, sections: Mapping[str, bytes]) -> DWARFInfo:
    """Return the library's view of debug sections by the names that ``debug_sections`` has."""
    described = {
        f"debug_{name}_sec": DebugSectionDescriptor(io.BytesIO(data), f".debug_{name}", 0, len(data), 0)
        for name, data in sections.items()
    }
    unused = ("debug_frame_sec", "eh_frame_sec", "debug_pubtypes_sec", "debug_pubnames_sec", "debug_sup_sec",
              "gnu_debugaltlink_sec")  # fmt: skip
    return DWARFInfo(
        config=DwarfConfig(
            little_endian=elf.little_endian,
            machine_arch=elf.get_machine_arch(),
            default_address_size=elf.elfclass // 8,
        ),
        **dict.fromkeys((*(f"debug_{name}_sec" for name in _NAMES), *unused)) | described,
    )
