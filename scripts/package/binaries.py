"""Reads what a compiled module requires: ELF, Mach-O and PE, 64-bit and little-endian."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Binary:
    """The properties that a shared object declares."""

    format: str
    machine: str
    undefined: set[str] = field(default_factory=set)
    """Symbols that other libraries have to define."""
    oldest_glibc: tuple[int, int] = (0, 0)
    """ELF: the newest version of glibc that a symbol requires."""
    packed_relocations: bool = False
    """ELF: whether it has a DT_RELR table, which glibc supports since 2.36 and musl since 1.2.4."""
    oldest_macos: tuple[int, int] = (0, 0)
    signed: bool = False
    """Mach-O: whether it is signed, if only by its linker."""


_C_LIBRARY = """
    abort bcmp bsearch __bzero bzero calloc ceil cos __errno_location __error exp floor fmod fprintf fputs free
    fwrite getrusage ldexp llrint log log10 log2 lrint madvise malloc memchr memcmp memcpy __memcpy_chk memmove
    memrchr memset memset_pattern16 memset_pattern4 memset_pattern8 mincore mmap munmap nan nearbyint pow printf
    qsort realloc rint round sigaction sigemptyset sin snprintf sqrt stderr __stderrp __stdoutp strchr strcmp
    strlen strncmp strncpy strrchr strstr strtod strtol sysconf vsnprintf
"""
_COMPILERS_AND_LOADERS = """
    _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable ___chkstk_darwin __chkstk_darwin __cxa_finalize
    dyld_stub_binder __gmon_start__ __stack_chk_fail __stack_chk_guard __tls_get_addr _tlv_bootstrap
"""
SYSTEM = frozenset((_C_LIBRARY + _COMPILERS_AND_LOADERS).split())
"""The libraries that a kernel may use besides Python's stable ABI."""


def read(path: Path) -> Binary:
    """Read a file. Raises ValueError if it isn't in any of these formats."""
    data = path.read_bytes()
    if data[:4] == b"\x7fELF":
        return _elf(data)
    if data[:4] == b"\xcf\xfa\xed\xfe":
        return _macho(data, 0)
    if data[:4] == b"\xca\xfe\xba\xbe":
        return _universal(data)
    if data[:2] == b"MZ":
        return _pe(data)
    raise ValueError(f"{path.name} is not a shared object")


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode("latin-1")


def _elf(data: bytes) -> Binary:
    (machine,) = struct.unpack_from("<H", data, 18)
    binary = Binary("elf", {62: "x86_64", 183: "aarch64"}.get(machine, str(machine)))
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    for _, kind, _, _, offset, length, link, _, _, _ in sections:
        if kind == 11:  # SHT_DYNSYM
            strings = sections[link][4]
            for at in range(offset + 24, offset + length, 24):
                name, info, _, section = struct.unpack_from("<IBBH", data, at)
                weak = info >> 4 == 2
                if section == 0 and not weak:
                    binary.undefined.add(_text(data, strings + name))
        if kind == 19:  # SHT_RELR
            binary.packed_relocations = True
        if kind == 0x6FFFFFFE:  # SHT_GNU_verneed
            binary.oldest_glibc = max(_glibc_versions(data, offset, sections[link][4]), default=(0, 0))
    return binary


def _glibc_versions(data: bytes, at: int, strings: int) -> Iterator[tuple[int, int]]:
    """Yield the versions of glibc that a table of needed versions names; libgcc_s calls some of its own so as well."""
    more = 1
    while more:
        _, count, file, aux, more = struct.unpack_from("<HHIII", data, at)
        entry = at + aux
        for _ in range(count):
            _, _, _, name, step = struct.unpack_from("<IHHII", data, entry)
            version = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", _text(data, strings + name))
            if version and not _text(data, strings + file).startswith("libgcc_s"):
                yield int(version[1]), int(version[2])
            entry += step
        at += more


def _universal(data: bytes) -> Binary:
    """Read a universal binary's part for the older processor; the other part requires the same."""
    count = struct.unpack_from(">I", data, 4)[0]
    parts = [struct.unpack_from(">IIIII", data, 8 + 20 * i) for i in range(count)]
    return _macho(data, parts[0][2])


def _macho(data: bytes, start: int) -> Binary:
    _, processor, _, _, commands = struct.unpack_from("<IIIII", data, start)
    binary = Binary("macho", {0x01000007: "x86_64", 0x0100000C: "aarch64"}.get(processor, str(processor)))
    at = start + 32
    for _ in range(commands):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 0x32:  # LC_BUILD_VERSION
            version = struct.unpack_from("<I", data, at + 12)[0]
            binary.oldest_macos = (version >> 16, version >> 8 & 0xFF)
        elif kind == 0x24:  # LC_VERSION_MIN_MACOSX
            version = struct.unpack_from("<I", data, at + 8)[0]
            binary.oldest_macos = (version >> 16, version >> 8 & 0xFF)
        elif kind == 0x1D:  # LC_CODE_SIGNATURE
            binary.signed = True
        elif kind == 0x2:  # LC_SYMTAB
            symbols, count, strings, _ = struct.unpack_from("<IIII", data, at + 8)
            for i in range(count):
                name, flags, _, _, _ = struct.unpack_from("<IBBHQ", data, start + symbols + 16 * i)
                if flags & 0x0E == 0 and flags & 0x01 and not flags & 0xE0:  # undefined and external
                    binary.undefined.add(_text(data, start + strings + name).removeprefix("_"))
        at += size
    return binary


def _pe(data: bytes) -> Binary:
    header = struct.unpack_from("<I", data, 0x3C)[0]
    machine, sections = struct.unpack_from("<HH", data, header + 4)
    binary = Binary("pe", {0x8664: "x86_64", 0xAA64: "aarch64"}.get(machine, str(machine)))
    optional = header + 24
    size = struct.unpack_from("<H", data, header + 20)[0]
    (imports,) = struct.unpack_from("<I", data, optional + 120)
    table = [struct.unpack_from("<8sIIII", data, optional + size + 40 * i) for i in range(sections)]

    def offset(address: int) -> int:
        for _, _, virtual, length, raw in table:
            if virtual <= address < virtual + length:
                return int(raw + address - virtual)
        raise ValueError("an address of the import table lies in no section")

    at = offset(imports) if imports else 0
    while at:
        lookup, _, _, library, thunks = struct.unpack_from("<IIIII", data, at)
        if not library:
            break
        # What Windows and its C library export is part of the system as well.
        if _text(data, offset(library)).lower().startswith("python"):
            entry = offset(lookup or thunks)
            while value := struct.unpack_from("<Q", data, entry)[0]:
                binary.undefined.add(_text(data, offset(value) + 2))
                entry += 8
        at += 20
    return binary
