"""What the names of compiled functions and of shared libraries say."""

import re

_SHARED_OBJECT = re.compile(r"(?:^|/)(?P<name>[^/]+?\.(?:so|dylib|dll))(?:\.[\d.]+)?$", re.IGNORECASE)


def shared_object_of(path: str) -> str:
    """The shared library that a path names, without its version; empty for other files."""
    found = _SHARED_OBJECT.search(path)
    return found["name"] if found is not None else ""


_ALLOCATES = re.compile(
    r"_*(?:GI_+)?(?:libc_|int_)?(?:tc_|je_|mi_)?"
    r"(?:malloc|calloc|realloc|reallocarray|memalign|posix_memalign|aligned_alloc|valloc|pvalloc)"
    r"|operator new(?:\[\])?(?:\(.*\))?"
    r"|_Zn[wa][jm]\w*"
)
_RECORDS = re.compile(r"(?:^|/)(?:vgpreload_|libheaptrack_)[^/]*$")


def is_allocation_function(function: str, file: str) -> bool:
    """Whether a frame is of what was called to allocate: of the C library, of C++, or of what a recorder put before it.

    ``file`` may be the binary that the function lies in, as valgrind's ``vgpreload_dhat-amd64-linux.so``.
    """
    return _ALLOCATES.fullmatch(function) is not None or _RECORDS.search(file.replace("\\", "/")) is not None
