"""Names of compiled functions and shared libraries. Those that allocate are data, ``allocation_functions.toml``."""

import functools
import re
import tomllib
from collections.abc import Sequence
from importlib import resources

import msgspec
from msgspec import Struct

from memlens.packs import registry

_SHARED_OBJECT = re.compile(r"(?:^|/)(?P<name>[^/]+?\.(?:so|dylib|dll))(?:\.[\d.]+)?$", re.IGNORECASE)


def shared_object_of(path: str) -> str:
    """Return the name of a shared library without its version; empty for other files."""
    match = _SHARED_OBJECT.search(path)
    return match["name"] if match is not None else ""


_RECORDS = re.compile(r"(?:^|/)(?:vgpreload_|libheaptrack_)[^/]*$")
_ALLOCATOR = re.compile(
    r"(?:^|/)lib(?:jemalloc|tcmalloc|mimalloc|snmalloc|rpmalloc)(?:_\w+)?(?:[-.]\d[\d.]*)?\.(?:so(?:\.[\d.]+)?|dylib)$"
)


class AllocationFunctions(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table: a pattern of whole names without their arguments."""

    name: str
    function: str
    fits: tuple[str, ...]
    near: tuple[str, ...]


class _Table(Struct, forbid_unknown_fields=True):
    functions: list[AllocationFunctions]


@functools.cache
def allocation_functions() -> Sequence[AllocationFunctions]:
    """Return the rows of the tables, the packs' included.

    Raises:
        msgspec.ValidationError: A row isn't as described above.
    """
    own = resources.files("memlens.model").joinpath("allocation_functions.toml").read_text("utf-8")
    texts = [own, *(text for _, text in registry.tables("allocation_functions"))]
    return tuple(row for text in texts for row in msgspec.convert(tomllib.loads(text), _Table).functions)


@functools.cache
def _allocates() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{row.function})" for row in allocation_functions()))


_ARGUMENTS = re.compile(r"<[^<>]*>")


def _without_arguments(function: str) -> str:
    """Return a function's name without its arguments and template arguments."""
    if "<" in function:
        shorter = _ARGUMENTS.sub("", function)
        while shorter != function:
            function, shorter = shorter, _ARGUMENTS.sub("", shorter)
    return function.partition("(")[0]


def is_allocation_function(function: str, file: str) -> bool:
    """Return whether a function is called to allocate: one of the table, of an allocator's or a recorder's library.

    ``file`` may be the function's binary, such as valgrind's ``vgpreload_dhat-amd64-linux.so``.
    """
    file = file.replace("\\", "/")
    return (
        _allocates().fullmatch(_without_arguments(function)) is not None
        or _RECORDS.search(file) is not None
        or is_allocator(file)
    )


def is_allocator(binary: str) -> bool:
    """Return whether a binary is the library of an allocator, which is in every stack that its own profiler records."""
    return _ALLOCATOR.search(binary) is not None


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
