"""Names of compiled functions and shared libraries. Those that allocate are data, ``allocation_functions.toml``."""

import functools
import re
import tomllib
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from memlens.nested import without_nested
from memlens.packs import registry

_SHARED_OBJECT = re.compile(r"(?:^|/)(?P<name>[^/]+?\.(?:so|dylib|dll))(?:\.[\d.]+)?$", re.IGNORECASE)


def shared_object_of(path: str) -> str:
    """Return the name of a shared library without its version; empty for other files."""
    match = _SHARED_OBJECT.search(path)
    return match["name"] if match is not None else ""


class AllocationFunctions(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table: a pattern of whole names without their arguments."""

    name: str
    function: str
    fits: tuple[str, ...]
    near: tuple[str, ...]


class Binaries(Struct, frozen=True, forbid_unknown_fields=True):
    """A row for libraries: a pattern of their paths, with forward slashes."""

    name: str
    binary: str
    fits: tuple[str, ...]
    near: tuple[str, ...]


class _Table(Struct, forbid_unknown_fields=True):
    functions: list[AllocationFunctions] = []
    allocators: list[Binaries] = []
    recorders: list[Binaries] = []


@functools.cache
def _table() -> _Table:
    """Return the rows of the packs' tables.

    Raises:
        msgspec.ValidationError: A row isn't as described above.
    """
    tables = [*map(_parsed, registry.allocation_tables()), *registry.allocation_tables_of_others(_checked)]
    return _Table(
        [row for table in tables for row in table.functions],
        [row for table in tables for row in table.allocators],
        [row for table in tables for row in table.recorders],
    )


def _parsed(text: str) -> _Table:
    return msgspec.convert(tomllib.loads(text), _Table)


def _checked(text: str) -> _Table:
    """A table whose patterns nothing else has tried. Raises ValueError and re.error."""
    table = _parsed(text)
    for pattern in (
        *(row.function for row in table.functions),
        *(row.binary for row in (*table.allocators, *table.recorders)),
    ):
        re.compile(pattern)
    return table


def allocation_functions() -> Sequence[AllocationFunctions]:
    """Return the rows for functions that allocate."""
    return _table().functions


def allocating_binaries() -> Sequence[Binaries]:
    """Return the rows for allocators and recorders."""
    return [*_table().allocators, *_table().recorders]


def _any(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{each})" for each in patterns))


@functools.cache
def _allocates() -> re.Pattern[str]:
    return _any(row.function for row in allocation_functions())


@functools.cache
def _allocators() -> re.Pattern[str]:
    return _any(row.binary for row in _table().allocators)


@functools.cache
def _allocating() -> re.Pattern[str]:
    return _any(row.binary for row in allocating_binaries())


def is_allocation_function(function: str, file: str) -> bool:
    """Return whether a function is called to allocate: one of the table, of an allocator's or a recorder's library.

    ``file`` may be the function's binary.
    """
    file = file.replace("\\", "/")
    return (
        _allocates().fullmatch(without_nested(function, "<>").partition("(")[0]) is not None
        or _allocating().search(file) is not None
    )


def is_allocator(binary: str) -> bool:
    """Return whether a binary is the library of an allocator, which is in every stack that its own profiler records."""
    return _allocators().search(binary) is not None


_RUNTIME = re.compile(
    r"(?:^|/)(?:lib(?:stdc\+\+|c\+\+(?:abi)?|supc\+\+|c|m|dl|rt|pthread|gcc_s|unwind|System(?:\.B)?)(?:-\d[\d.]*)?"
    r"\.(?:so(?:\.[\d.]+)?|dylib)|libSystem(?:\.B)?\.dylib|ld-(?:linux|musl)[\w.-]*|ld-\d[\d.]*\.so"
    r"|(?:msvcr|msvcp|vcruntime|ucrtbase|ntdll|kernel32|kernelbase)\w*\.dll)$",
    re.IGNORECASE,
)


def is_language_runtime(binary: str) -> bool:
    """Return whether a binary is the library of C or C++, or the system's loader, which every program uses."""
    return _RUNTIME.search(binary.replace("\\", "/")) is not None


_STARTS = frozenset((
    # glibc and musl
    "_start", "(below main)", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main",
    "libc_start_main_stage2", "start_thread", "clone3", "__clone", "__clone3", "__GI___clone",
    "__GI___clone3", "call_init", "_dl_init", "_dl_start_user",
    # macOS and Windows
    "thread_start", "_pthread_start", "mainCRTStartup", "WinMainCRTStartup", "invoke_main", "__scrt_common_main",
    "__scrt_common_main_seh", "BaseThreadInitThunk", "RtlUserThreadStart",
))  # fmt: skip


def is_start_up(function: str) -> bool:
    """Return whether a function of the C library or the system starts programs, threads, or initialisers of libraries.

    Such a frame is the outermost of nearly every stack, and often the only one with a line, if everything it calls was
    compiled without debug information.
    """
    return function.partition("@")[0] in _STARTS
