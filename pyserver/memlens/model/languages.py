"""Names of compiled functions and shared libraries."""

import re

_SHARED_OBJECT = re.compile(r"(?:^|/)(?P<name>[^/]+?\.(?:so|dylib|dll))(?:\.[\d.]+)?$", re.IGNORECASE)


def shared_object_of(path: str) -> str:
    """Return the name of a shared library without its version; empty for other files."""
    match = _SHARED_OBJECT.search(path)
    return match["name"] if match is not None else ""


_ALLOCATES = re.compile(
    r"_*(?:GI_+)?(?:libc_|int_)?(?:tc_|je_|mi_)?"
    r"(?:malloc|calloc|realloc|reallocarray|memalign|posix_memalign|aligned_alloc|valloc|pvalloc)"
    r"|operator new(?:\[\])?(?:\(.*\))?"
    r"|_Zn[wa][jm]\w*"
)
_RECORDS = re.compile(r"(?:^|/)(?:vgpreload_|libheaptrack_)[^/]*$")
_ALLOCATOR = re.compile(
    r"(?:^|/)lib(?:jemalloc|tcmalloc|mimalloc|snmalloc|rpmalloc)(?:_\w+)?(?:[-.]\d[\d.]*)?\.(?:so(?:\.[\d.]+)?|dylib)$"
)


def is_allocation_function(function: str, file: str) -> bool:
    """Return whether a function is called to allocate: one of the C library, of C++, of an allocator or a recorder.

    ``file`` may be the function's binary, such as valgrind's ``vgpreload_dhat-amd64-linux.so``.
    """
    file = file.replace("\\", "/")
    return (
        _ALLOCATES.fullmatch(function) is not None or _RECORDS.search(file) is not None or is_allocator(file)
    )


def is_allocator(binary: str) -> bool:
    """Return whether a binary is the library of an allocator, which is in every stack that its own profiler records."""
    return _ALLOCATOR.search(binary) is not None


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
