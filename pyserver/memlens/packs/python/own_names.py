"""Other names for what a Python program calls its own: types, functions, modules, attributes, variables, files.

Words of the language and of its standard library stay, and so does a name of the program that is one of these.
"""

import builtins
import collections
import keyword
import os
import queue
import re
import sys
import threading
import types
import weakref
from functools import cache
from pathlib import Path

from memlens.formats.redaction.own_names import OwnNames

_PYTHON = re.compile(r"python\d*|cpython|pypy\d*")
_OF_PATHS = frozenset(
    (
        "usr", "local", "lib", "lib64", "opt", "home", "Users", "srv", "var", "tmp", "bin", "site", "dist", "packages",
        "py", "pyc", "pyi", "so", "pyd", "pyx", "frozen", "string", "stdin", "module", "locals", "lambda", "listcomp",
        "dictcomp", "setcomp", "genexpr", "thread", "local", "exception", "unknown", "modules", "enum", "self", "cls",
        "args", "kwargs", "process_id", "seconds", "program", "allocations_traced", "collected", "peak_bytes", "unread",
        "unread_example", "removed", "code", "function", "MainThread", "Thread", "Dummy", "Timer", "QueueFeederThread",
        "ThreadPoolExecutor", "nan", "inf", "ExecutorManagerThread", "Pool",
    )
)  # fmt: skip
"""Parts of paths, and words of the dump's own."""

_EXAMPLES = (
    builtins, collections, queue, threading, types, weakref, object, type, str, bytes, bytearray, int, float, complex,
    list, tuple, dict, set, frozenset, range, slice, property, BaseException, OSError, types.FunctionType,
    types.CodeType, types.FrameType, types.GeneratorType, types.CoroutineType, types.TracebackType, types.ModuleType,
    types.MethodType, types.CellType, types.BuiltinFunctionType, types.MappingProxyType, collections.deque,
    queue.Queue, threading.Thread, threading.Condition, threading.Event,
)  # fmt: skip
_OF_SELF = re.compile(r"self\.([^\W\d]\w*)")
_WITH_ATTRIBUTES = (queue, threading, collections, weakref)
"""Modules of which the attributes of instances are read in their source."""


@cache
def names_of_python() -> frozenset[bytes]:
    """What an attribute may be called in any program, and what classes of newer versions have."""
    return frozenset(name.encode() for name in _of_python() | {"__firstlineno__", "__static_attributes__"})


@cache
def _of_python() -> frozenset[str]:
    """Names of the language and of its standard library."""
    found = set(keyword.kwlist) | sys.stdlib_module_names | _OF_PATHS
    for each in _EXAMPLES:
        found.update(dir(each))
    library = Path(os.__file__).parent
    for folder in (library, *(each for each in library.iterdir() if each.name in sys.stdlib_module_names)):
        if folder.is_dir():
            found.update(file.stem for file in folder.glob("*.py"))
    for module in _WITH_ATTRIBUTES:
        found.update(_OF_SELF.findall(Path(str(module.__file__)).read_text("utf-8", "replace")))
    return frozenset(found)


def python_names() -> OwnNames:
    """Return the replacement for the names of a program, and of libraries that it installed."""
    return OwnNames(_of_python(), is_kept=_is_pythons)


def _is_pythons(word: str) -> bool:
    return (word[:2] == "__" == word[-2:] and len(word) > 4) or _PYTHON.fullmatch(word) is not None
