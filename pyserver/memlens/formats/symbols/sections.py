"""Debug sections of an ELF file, unpacked: by zlib or zstd, or as tools before 2016 packed them.

Sources: the ELF specification ("Section Compression") and the standard of DWARF, https://dwarfstd.org.
"""

import zlib
from typing import Any, BinaryIO

import zstandard
from elftools.elf.elffile import ELFFile

MOST_BYTES = 1 << 30
"""The most bytes of debug information of one file, which are kept in memory."""
_MOST_EXPANSION, _LEAST_UNPACKED = 64, 1 << 20
"""How many times its size a compressed section may become, beyond a MiB; debug information becomes about four times."""
NAMES = ("info", "aranges", "abbrev", "str", "line", "loc", "ranges", "addr", "str_offsets", "line_str", "loclists",
          "rnglists", "types")  # fmt: skip
_MOST_TIMES_READ, _LEAST_READ = 4, 1 << 20
_OLD_HEADER_BYTES = 12
"""``ZLIB``, and the unpacked size in eight bytes, the highest first."""
_MOST_WINDOW_BYTES = 1 << 27
_ZLIB = (1, "ELFCOMPRESS_ZLIB")
_ZSTD = (2, "ELFCOMPRESS_ZSTD")
"""Ways to compress a section, by number where the library doesn't know the name."""


class _Bounded:
    """A file for the library, which may be read a few times as a whole: names of sections may all be its rest."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = _LEAST_READ + _MOST_TIMES_READ * file.seek(0, 2)
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise ValueError("the file stands for far more than its size")
        return data


def elf_of(file: BinaryIO) -> ELFFile:
    """Return the library's view of an open file. Raises any exception of the library's if it is damaged."""
    bounded: Any = _Bounded(file)
    return ELFFile(bounded)


def debug_sections(elf: ELFFile, ending: str = "") -> dict[str, bytes]:
    """Return the debug sections that symbolization needs, by what follows ``.debug_`` in their names.

    ``ending`` is that of their names in split files. Raises ValueError if they are damaged, packed in an unknown way or
    larger than ``MOST_BYTES``.
    """
    sections = {}
    left = MOST_BYTES
    for name in NAMES:
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
    if size > min(most, max(len(packed) * _MOST_EXPANSION, _LEAST_UNPACKED)):
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
