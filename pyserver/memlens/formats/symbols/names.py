"""Demangling of C++ names, by the system's own C++ library where there is one."""

import ctypes
import functools
import re
import sys
from collections.abc import Callable

from memlens.formats.rust_names import MOST_CHARACTERS, demangled

_LIBRARIES = {"linux": ("libstdc++.so.6", "libc++abi.so.1"), "darwin": ("libc++abi.dylib", "libc++.1.dylib")}
_NESTED = re.compile(r"^_Z(?:N(?:K)?(?P<many>(?:\d{1,5}[A-Za-z_]\w*?)+)E|(?P<one>\d{1,5}[A-Za-z_]\w*))")


def plain_name(name: str) -> str:
    """Return the demangled name of a function in Rust, C++ or C; other names are returned unchanged."""
    name = name.partition("@")[0] or name
    shorter = demangled(name)
    if shorter != name or not name.startswith("_Z") or len(name) > MOST_CHARACTERS:
        return shorter
    stem, dot, suffix = name.partition(".")
    by_system = _system_demangler()
    return ((by_system(stem) if by_system is not None else None) or _nested(stem)) + dot + suffix


def _nested(name: str) -> str:
    """Demangle a path of names without templates; other names are returned unchanged."""
    match = _NESTED.match(name)
    if match is None:
        return name
    parts, at, text = [], 0, match["many"] or match["one"]
    while at < len(text):
        digits = re.match(r"\d+", text[at:])
        if digits is None:
            return name
        start = at + digits.end()
        at = start + int(digits[0])
        if at > len(text):
            return name
        parts.append(text[start:at])
        if match["one"]:
            break
    return "::".join(parts)


@functools.cache
def _system_demangler() -> Callable[[str], str | None] | None:
    for library in _LIBRARIES.get(sys.platform, ()):
        try:
            loaded = ctypes.CDLL(library)
            demangle, free = loaded.__cxa_demangle, ctypes.CDLL(None).free
        except (OSError, AttributeError):
            continue
        demangle.restype = ctypes.c_void_p
        demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
        free.argtypes = [ctypes.c_void_p]

        def named(name: str, demangle=demangle, free=free) -> str | None:  # type: ignore[no-untyped-def]
            status = ctypes.c_int()
            result = demangle(name.encode(), None, None, ctypes.byref(status))
            if not result:
                return None
            text = ctypes.string_at(result).decode("utf-8", "replace")
            free(result)
            return text

        return named
    return None
