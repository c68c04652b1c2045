"""Writes the heap of the running Python program into a file: ``import memlens.dump; memlens.dump.heap(path)``.

The file has every object that the garbage collector tracks, and all that these refer to, with types, sizes and
references, and the frames, modules and threads that hold them. This module needs only the standard library of CPython
3.11 and later, and imports nothing of memlens, since ``memlens dump PID`` runs its source in the other process. No code
of the program runs: no properties, and no ``__repr__`` or ``__sizeof__`` of its classes. docs/python-heap.md describes
the format.
"""
# Modules that this one imports become part of the dumped heap, hence neither pathlib nor contextlib.
# Classes are compared by identity and looked up by their ids, since a metaclass may define __eq__ and __hash__.
# Types in C, classes and hooks of the program may raise any error anywhere: it is theirs alone.
# ruff: noqa: PTH105, PTH108, PTH110, PTH113, PTH123, SIM105, BLE001, S110

import errno
import gc
import os
import struct
import sys
import threading
import time
import tracemalloc
import types
from array import array
from typing import Any, BinaryIO, NamedTuple

MAGIC = b"\x89MLHEAP\n"
VERSION = 1

_NONE = 0xFFFFFFFF
_FLUSH_BYTES = 1 << 20
_MOST_TEXT = 100
"""The most characters of a string's text; of longer ones the middle is left out."""

_LAST = 24
"""So many of them are the last ones: texts that begin alike often end otherwise."""

_MOST_BITS = 256
"""The most bits of an integer that is written in digits."""

_MOST_LEARNT = 8
"""The most instances of a class whose ``__dict__`` is read for the names of attributes; reading it may create it."""

_MOST_SOURCE_BYTES = 4 << 20
"""As much of a module's file is searched for classes."""

_MOST_SIZE_BYTES = 1 << 47
"""More than a process can address; a ``__sizeof__`` in C that returns more is wrong."""

_MOST_LINE = (1 << 32) - 1
_MOST_FRAMES = 100_000
_MOST_NAMES = 1_000_000

_OBJECT = struct.Struct("<cQQQIII")
_GROUP = struct.Struct("<cI")
_TYPE = struct.Struct("<cQII")
_FRAME = struct.Struct("<cIII")
_ROOT = struct.Struct("<cQIII")
_LABEL = struct.Struct("<cQI")
_ACTIVATION = struct.Struct("<cQIII")
_TWO = struct.Struct("<cII")

_QUALNAME = type.__dict__["__qualname__"].__get__
_MODULE = type.__dict__["__module__"].__get__
_MRO_OF_CLASS = type.__dict__["__mro__"].__get__
_DICT_OF_CLASS = type.__dict__["__dict__"].__get__
_MODULE_DICT: Any = vars(types.ModuleType)["__dict__"].__get__
_FLAGS = type.__dict__["__flags__"].__get__
_DICT_OFFSET = type.__dict__["__dictoffset__"].__get__
_GET = object.__getattribute__
_MANAGED_DICT = 1 << 4
_HEAP_TYPE = 1 << 9
"""Classes that aren't written in C have it, and some that are."""
_CO_OPTIMIZED = 1
_CONTAINERS = (list, tuple, dict)
_WITH_OWN_DICT = (type, types.ModuleType)
_WITHOUT_ATTRIBUTES = (*_WITH_OWN_DICT, types.FunctionType)

_ATTRIBUTES: dict[type, tuple[str, ...]] = {
    types.FunctionType: (
        "__code__", "__globals__", "__builtins__", "__doc__", "__defaults__", "__kwdefaults__", "__closure__",
        "__name__", "__qualname__", "__module__",
    ),
    types.MethodType: ("__func__", "__self__"),
    types.BuiltinMethodType: ("__self__", "__module__"),
    types.CellType: ("cell_contents",),
    types.CodeType: ("co_consts", "co_names", "co_filename", "co_name", "co_qualname", "co_linetable"),
    types.GeneratorType: ("gi_yieldfrom", "gi_code"),
    types.CoroutineType: ("cr_await", "cr_code"),
    types.TracebackType: ("tb_next", "tb_frame"),
    types.FrameType: ("f_back", "f_code", "f_globals", "f_builtins"),
    property: ("__doc__", "fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    slice: ("start", "stop", "step"),
    type: ("__bases__", "__mro__", "__base__"),
}  # fmt: skip
"""The attributes by which objects of some types refer to others; reading these runs no code of the program. What may be
None stands before those that are None where there is no reference."""

_WRITTEN_IN_C = frozenset(
    id(kind)
    for kind in (
        types.MemberDescriptorType, types.GetSetDescriptorType, types.MethodDescriptorType,
        types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.BuiltinFunctionType,
    )
)  # fmt: skip
"""Types of what a class has because C code or its slots say so."""

_MADE_BY_C = frozenset(map(id, (bool, int, type(None))))
"""Types of values that C code makes of a member that is no object: a flag, a number, nothing. The program's may be the
same."""

_OF_PYTHON = sys.stdlib_module_names
_KNOWN = {id(kind): names for kind, names in _ATTRIBUTES.items()}


class Cost(NamedTuple):
    """What a dump took."""

    objects: int
    references: int
    file_bytes: int
    seconds: float
    peak_bytes: int | None
    """By how much the process grew meanwhile, at its largest; None if the system doesn't report it."""


def heap(
    path: str | bytes | os.PathLike[str], *, texts: bool = True, collect: bool = True, force: bool = False
) -> Cost:
    """Write the heap into the file ``path``, and return what that took.

    Without ``texts`` the text of strings and numbers is left out, and with it the keys of dictionaries. ``collect``
    collects garbage first, so that everything that is written is in use. The program is paused meanwhile, except for
    threads that run without the interpreter's lock. Only its owner may read the file. Whatever an object does while it
    is examined costs at most its own references, and the file says how many objects that was. Raises FileExistsError if
    there is a file already, which only ``force`` overwrites, and OSError if the file can't be written; then what was
    there stays.
    """
    began, before = time.perf_counter(), _resident_bytes()
    path = os.fsdecode(path)
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(errno.EINVAL, "It is not a regular file, which could be replaced", path)
    if not force and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, "It exists, and is overwritten only with force=True", path)
    if force:
        # a link stays one
        path = os.path.realpath(path)
    partial = f"{path}.partial"
    if collect:
        gc.collect()
    was_on, interval = gc.isenabled(), sys.getswitchinterval()
    gc.disable()
    # other threads run only while the file is written
    sys.setswitchinterval(1000.0)
    try:
        file = _created(partial)
        # not `with`, which would keep a method of the file: that would be in the heap
        try:
            writer = _Writer(file, texts)
            # what was frozen isn't collected
            writer.write(sys._getframe(), collect and not gc.get_freeze_count())
            peak = writer.peak_bytes
            seconds = time.perf_counter() - began
            grown = None if before is None or peak is None else max(0, peak - before)
            cost = Cost(writer.objects, writer.references, writer.written, seconds, grown)
            writer.end(cost)
            cost = cost._replace(file_bytes=writer.written)
        finally:
            file.close()
        _put(partial, path, force=force)
    except BaseException as error:
        try:
            os.unlink(partial)
        except OSError:
            pass
        if isinstance(error, OSError) or not isinstance(error, Exception):
            raise
        # memory ran out, or an audit hook of the program refused
        number = errno.ENOMEM if isinstance(error, MemoryError) else errno.ECANCELED
        raise OSError(number, f"The heap can't be examined: {type(error).__name__}: {error}", path) from error
    finally:
        sys.setswitchinterval(interval)
        if was_on:
            gc.enable()
    return cost


def _put(partial: str, path: str, *, force: bool) -> None:
    """Give a whole file its name; without ``force`` never that of another, which was made meanwhile."""
    if not force:
        try:
            os.link(partial, path)
        except FileExistsError:
            raise
        except (OSError, NotImplementedError):
            # a file system without such links
            if os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from None
        else:
            os.unlink(partial)
            return
    os.replace(partial, path)


def _created(path: str) -> BinaryIO:
    """Create a file for its owner alone, in place of what an interrupted dump has left there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return open(os.open(path, flags, 0o600), "wb", buffering=0)


def _resident_bytes() -> int | None:
    """Return the resident memory of this process; None if the system doesn't report it."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _class_lines(file: str) -> dict[str, int]:
    """Return the lines of a file that begin a class, by its name; 0 where several classes have one name."""
    found: dict[str, int] = {}
    try:
        with open(file, "rb", buffering=0) as source:
            data = source.read(_MOST_SOURCE_BYTES)
    except (OSError, ValueError):
        return found
    for number, line in enumerate(data.split(b"\n"), 1):
        words = line.lstrip()
        if words.startswith(b"class "):
            name = words[6:].replace(b"(", b":").replace(b"[", b":").split(b":", 1)[0].strip()
            text = name.decode("utf-8", "replace")
            found[text] = 0 if text in found else number
    return found


class _Class(NamedTuple):
    """What is known about a class."""

    is_sizeof_safe: bool
    has_dict: bool
    slots: dict[str, Any]
    """Descriptors of attributes by name. They are written in C, so that reading them runs no code of the program."""
    members: set[str]
    """Which of them C code has declared, so that what they return may be no object of the item's."""


class _Writer:
    """Walks the heap, and writes the records of what it finds."""

    def __init__(self, file: BinaryIO, texts: bool) -> None:  # noqa: FBT001
        self._file = file
        self._with_texts = texts
        self._buffer = bytearray()
        self._strings: dict[str, int] = {}
        self._text_count = 0
        self._frames: dict[tuple[int, int, int], int] = {}
        self._stacks: dict[Any, int] = {}
        # by the ids of classes
        self._classes: dict[int, _Class] = {}
        self._learnt: dict[int, list[str]] = {}
        # of these, attributes that the class has as well
        self._defaults: dict[int, set[str]] = {}
        self._asked: dict[int, int] = {}
        self._runs_code: dict[int, dict[str, bool]] = {}
        self._seen: set[int] = set()
        self._waiting: list[Any] = []
        self._held: list[Any] = []
        self._named_dicts: set[int] = set()
        # names that code has, and the ids of the code objects that were looked at
        self._code_names: set[str] = set()
        self._codes: set[int] = set()
        self._keys: set[str] = set()
        # by the file
        self._class_lines: dict[str, dict[str, int]] = {}
        self._traced = tracemalloc.is_tracing()
        self._unread = 0
        self._unread_example = ""
        self.objects = self.references = self.written = 0
        self.peak_bytes = _resident_bytes()
        self._buffer += MAGIC + struct.pack("<II", VERSION, struct.calcsize("P"))

    # ---- the walk ----------------------------------------------------------------------------------------------

    def write(self, own: types.FrameType, collected: bool) -> None:  # noqa: FBT001
        """Write everything but the end. ``own`` is this module's own frame, which is left out.

        ``collected`` says whether all garbage was collected before.
        """
        self._note("python", sys.version)
        self._note("process_id", str(os.getpid()))
        words = getattr(sys, "argv", None)
        self._note("program", words[0] if type(words) is list and words and type(words[0]) is str else "")
        self._note("allocations_traced", "1" if self._traced else "0")
        self._note("collected", "1" if collected else "0")
        everything = gc.get_objects()
        # the objects of this writer itself
        mine = {id(each) for each in (self, own, self.__dict__, everything)}
        mine |= {id(each) for each in self.__dict__.values() if gc.is_tracked(each)}
        self._write_roots(own.f_code.co_filename)
        # gc.freeze hides objects that the collector still tracks
        listed = {id(each) for each in everything} if gc.get_freeze_count() else None
        for item in everything:
            if id(item) not in mine:
                self._write_object(item)
            self._drain(mine, listed)
        self._waiting.extend(self._held)
        self._drain(mine, listed)
        # in an order that says nothing; those that nothing is called aren't needed
        for name in sorted(self._code_names & (self._strings.keys() | self._keys)):
            self._buffer += _LABEL.pack(b"L", 0, self._text(name))

    def _drain(self, mine: set[int], listed: set[int] | None) -> None:
        """Write each object that was referred to and isn't in the collector's list, once."""
        seen, waiting = self._seen, self._waiting
        while waiting:
            below = waiting.pop()
            number = id(below)
            is_listed = gc.is_tracked(below) if listed is None else number in listed
            if is_listed or number in seen or number in mine:
                continue
            seen.add(number)
            self._write_object(below)

    def end(self, cost: Cost) -> None:
        """Write what the dump took, and the end record."""
        self._note("seconds", f"{cost.seconds:.3f}")
        if cost.peak_bytes is not None:
            self._note("peak_bytes", str(cost.peak_bytes))
        if self._unread:
            self._note("unread", str(self._unread))
            self._note("unread_example", self._unread_example)
        self._buffer += struct.pack("<cQ", b"E", self.objects)
        self._flush()

    def _flush(self) -> None:
        view, done = memoryview(self._buffer), 0
        while done < len(view):
            done += self._file.write(view[done:]) or 0
        self.written += len(view)
        view.release()
        self._buffer.clear()
        now = _resident_bytes()
        if now is not None and self.peak_bytes is not None and now > self.peak_bytes:
            self.peak_bytes = now

    # ---- texts, frames, stacks ---------------------------------------------------------------------------------

    def _text(self, text: str) -> int:
        """Return the number of a text that belongs to the program's code; it is written once."""
        text = _exact(text)
        number = self._strings.get(text)
        if number is None:
            number = self._new_text(text)
            if len(self._strings) < _MOST_NAMES:
                self._strings[text] = number
        return number

    def _new_text(self, text: str) -> int:
        data = text.encode("utf-8", "replace")
        # at once, so that an error leaves no half of a record
        self._buffer += _GROUP.pack(b"S", len(data)) + data
        self._text_count += 1
        return self._text_count

    def _learn_code(self, code: types.CodeType) -> None:
        """Note the names that code has for attributes, variables and keywords, which its data doesn't choose.

        Code that was made of a text has any names: a named tuple's ``__new__`` those of its fields, the headings of a
        table for instance.
        """
        waiting = [code]
        while waiting:
            own = waiting.pop()
            if id(own) in self._codes:
                continue
            self._codes.add(id(own))
            if _is_of_data(own):
                continue
            for names in (own.co_names, own.co_varnames, own.co_cellvars, own.co_freevars):
                self._code_names.update(map(_exact, names))
            for each in own.co_consts:
                if type(each) is types.CodeType:
                    waiting.append(each)
                elif type(each) is tuple and each and all(type(name) is str for name in each):
                    # keywords of a call
                    self._code_names.update(each)

    def _learn_class(self, item: type) -> None:
        """Note the names that a class gets from C code and its slots; of Python's own classes, all names."""
        own = _class_dict(item)
        is_known = not _FLAGS(item) & _HEAP_TYPE or _name_of(item)[1].partition(".")[0] in _OF_PYTHON
        for name, value in own.items():
            if type(name) is str:
                self._keys.add(name)
                if is_known or id(type(value)) in _WRITTEN_IN_C:
                    self._code_names.add(name)

    def _note(self, key: str, value: str) -> None:
        self._buffer += _TWO.pack(b"N", self._text(key), self._new_text(value))

    def _frame(self, file: str, line: int, function: str) -> int:
        # an object of the program may have put any number there
        key = (self._text(file), self._text(function), line if line and 0 < line <= _MOST_LINE else 0)
        number = self._frames.get(key)
        if number is None:
            if len(self._frames) >= _MOST_FRAMES:
                return _NONE
            self._buffer += _FRAME.pack(b"F", *key)
            number = self._frames[key] = len(self._frames)
        return number

    def _stack(self, item: Any) -> int:
        trace = tracemalloc.get_object_traceback(item)
        if trace is None:
            return 0
        frames = tuple((frame.filename, frame.lineno) for frame in reversed(trace))
        number = self._stacks.get(frames)
        if number is None:
            own = [self._frame(file, line, "") for file, line in frames]
            self._buffer += _GROUP.pack(b"K", len(own)) + _u32(own)
            number = self._stacks[frames] = len(self._stacks) + 1
        return number

    # ---- roots -------------------------------------------------------------------------------------------------

    def _write_roots(self, own_file: str) -> None:
        for name, module in _items(sys.modules):
            if type(name) is not str:
                continue
            self._root(module, "builtins" if name in ("builtins", "sys") else "module", name)
            if type(module) is types.ModuleType:
                self._named_dicts.add(id(_MODULE_DICT(module)))
        # not threading.enumerate, which takes a lock that the program may hold
        names: dict[int, str] = {}
        addresses: dict[int, int] = {}
        for ident, thread in _items(getattr(threading, "_active", None)):
            own_name: Any = None
            try:
                if not _is_descriptor(type(thread), "_name"):
                    own_name = _GET(thread, "_name")
            except Exception:
                pass
            names[ident] = own_name if type(own_name) is str else f"thread {ident}"
            addresses[ident] = id(thread)
            self._root(thread, "thread", names[ident])
        handled = sys._current_exceptions()
        for ident, top in list(sys._current_frames().items()):
            name = names.get(ident, f"thread {ident}")
            error: Any = handled.get(ident)
            # before Python 3.12 with its type and traceback
            error = error[1] if type(error) is tuple else error
            has_frames = self._write_thread(top, name, addresses.get(ident, 0), own_file)
            if has_frames and error is not None:
                self._root(error, "exception", f"{_error_name(type(error))} ({name})")

    def _write_thread(self, top: types.FrameType, thread_name: str, address: int, own_file: str) -> bool:
        """Write the frames of a thread but this module's own, and their variables; False if it has no others."""
        frame: types.FrameType | None = top
        depth = 0
        while frame is not None:
            code = frame.f_code
            if _exact(code.co_filename) != own_file:
                self._learn_code(code)
                place = self._frame(code.co_filename, frame.f_lineno or 0, code.co_qualname)
                self._buffer += _ACTIVATION.pack(b"A", address, self._text(thread_name), depth, place)
                depth += 1
                try:
                    variables = _variables(frame)
                except Exception as error:
                    variables = []
                    self._count_unread(types.FrameType, error)
                for name, value in variables:
                    self._root(value, "local", f"{name} ({thread_name})", place)
            frame = frame.f_back
        return depth > 0

    def _root(self, item: Any, kind: str, detail: str, frame: int = _NONE) -> None:
        self._held.append(item)
        self._buffer += _ROOT.pack(b"G", id(item), self._text(kind), self._text(detail), frame)

    # ---- objects -----------------------------------------------------------------------------------------------

    def _write_object(self, item: Any) -> None:
        kind = type(item)
        known = self._classes.get(id(kind)) or self._class(kind)
        size = text = stack = 0
        place = _NONE
        try:
            size = _size_of(item, known)
            text, place = self._describe(item, kind)
            stack = self._stack(item) if self._traced else 0
        except Exception as error:
            self._count_unread(kind, error)
        self._buffer += _OBJECT.pack(b"O", id(item), id(kind), size, text, stack, place)
        self.objects += 1
        try:
            if kind is dict:
                self._write_dict(item)
            elif kind is list or kind is tuple:
                self._group(b"i", item)
            elif kind is set or kind is frozenset:
                self._group(b"e", item)
            elif kind is not str and kind is not int and kind is not float and kind is not bytes:
                self._write_others(item, kind, known)
        except Exception as error:
            self._count_unread(kind, error)
        if len(self._buffer) > _FLUSH_BYTES:
            self._flush()

    def _count_unread(self, kind: type, error: Exception) -> None:
        """Count an object that can't be examined whole. Modules in C may define types that break any rule."""
        self._unread += 1
        if not self._unread_example:
            self._unread_example = f"{_name_of(kind)[0]}: {_name_of(type(error))[0]}"

    def _class(self, kind: type) -> _Class:
        """Examine a class, and write its name."""
        try:
            known = self._examined(kind)
        except Exception as error:
            known = _Class(is_sizeof_safe=False, has_dict=False, slots={}, members=set())
            self._count_unread(kind, error)
        self._classes[id(kind)] = known
        name, module = _name_of(kind)
        self._buffer += _TYPE.pack(b"T", id(kind), self._text(name), self._text(module) if module else 0)
        return known

    def _examined(self, kind: type) -> _Class:
        slots: dict[str, Any] = {name: _class_dict(kind).get(name) for name in _KNOWN.get(id(kind), ())}
        members: set[str] = set()
        sizeof = None
        for base in _mro(kind):
            own = _class_dict(base)
            if sizeof is None:
                sizeof = own.get("__sizeof__")
            for name, value in own.items():
                if type(value) is types.MemberDescriptorType and type(name) is str and name not in slots:
                    slots[name] = value
                    if "__slots__" not in own:
                        members.add(name)
        slots = {name: value for name, value in slots.items() if _has_get(value)}
        # under this name a class may have any other function in C
        is_in_c = type(sizeof) is types.MethodDescriptorType and sizeof.__name__ == "__sizeof__"
        return _Class(is_in_c, bool(_FLAGS(kind) & _MANAGED_DICT) or _DICT_OFFSET(kind) != 0, slots, members)

    def _describe(self, item: Any, kind: type) -> tuple[int, int]:
        """Return the number of an object's name or text, and that of the frame of its definition."""
        if kind is str:
            return (self._new_text(_shortened(item)) if self._with_texts and item else 0), _NONE
        if kind is types.FunctionType or kind is types.CodeType:
            code = item.__code__ if kind is types.FunctionType else item
            self._learn_code(code)
            name = code.co_qualname
            return self._text(name), self._frame(code.co_filename, code.co_firstlineno, name)
        if kind is types.ModuleType:
            own = _MODULE_DICT(item) or {}
            name, file = own.get("__name__"), own.get("__file__")
            place = self._frame(file, 1, "<module>") if type(file) is str else _NONE
            is_in_c = type(file) is str and file.endswith((".so", ".pyd"))
            if is_in_c or (type(name) is str and name.partition(".")[0] in _OF_PYTHON):
                self._code_names.update(key for key in dict.keys(own) if type(key) is str)
            return (self._text(name) if type(name) is str else 0), place
        if issubclass(kind, type):
            self._learn_class(item)
            return self._text(_name_of(item)[0]), self._class_line(item)
        if kind is types.GeneratorType or kind is types.CoroutineType:
            code = item.gi_code if kind is types.GeneratorType else item.cr_code
            self._learn_code(code)
            return self._text(code.co_qualname), self._frame(
                code.co_filename, code.co_firstlineno, code.co_qualname
            )
        if not self._with_texts:
            return 0, _NONE
        if kind is int:
            text = (
                str(item)
                if item.bit_length() <= _MOST_BITS
                else f"(whole number of {item.bit_length()} bits)"
            )
        elif kind is float or kind is complex:
            text = repr(item)
        elif kind is bytes:
            text = _shortened(repr(item[:_MOST_TEXT] + item[max(_MOST_TEXT, len(item) - _LAST) :]))
        else:
            return 0, _NONE
        return self._new_text(text), _NONE

    def _class_line(self, item: type) -> int:
        """Return the frame of a class: its first line from Python 3.13 on; before that its first method's, or else the
        only line of its module's file that begins a class of its name.

        Methods that others made, as dataclasses and decorators do, say nothing about the class.
        """
        own, (name, owner) = _class_dict(item), _name_of(item)
        line, file, first = own.get("__firstlineno__"), "", 0
        for value in own.values():
            if type(value) is types.FunctionType and str.startswith(value.__code__.co_qualname, f"{name}."):
                code = value.__code__
                if not first or code.co_firstlineno < first:
                    file, first = code.co_filename, code.co_firstlineno
        if not file:
            module = sys.modules.get(owner)
            known = (_MODULE_DICT(module) or {}).get("__file__") if type(module) is types.ModuleType else None
            file = known if type(known) is str else ""
        if type(line) is not int:
            line = first or self._declared(file, name)
        return self._frame(file, line, name) if file and line else _NONE

    def _declared(self, file: str, name: str) -> int:
        """Return the only line of a module's file that begins a class of a name, or 0."""
        if not file.endswith(".py"):
            return 0
        lines = self._class_lines.get(file)
        if lines is None:
            lines = self._class_lines[file] = _class_lines(file)
        return lines.get(name.rpartition(".")[2], 0)

    # ---- references --------------------------------------------------------------------------------------------

    def _group(self, tag: bytes, items: Any, names: list[int] | None = None) -> None:
        addresses = array("Q", map(id, items))
        if not addresses:
            return
        self._waiting.extend(items)
        self.references += len(addresses)
        self._buffer += (
            _GROUP.pack(tag, len(addresses)) + _little(addresses) + (b"" if names is None else _u32(names))
        )

    def _write_dict(self, item: dict[Any, Any]) -> None:
        keys, values = list(dict.keys(item)), list(dict.values(item))
        if id(item) in self._named_dicts:
            # names of a module's globals belong to the code, not to the data
            self._group(b"n", values, [self._text(key) if type(key) is str else 0 for key in keys])
            self._group(b"r", keys)
            return
        self._group(b"d", [each for pair in zip(keys, values, strict=True) for each in pair])

    def _write_others(self, item: Any, kind: type, known: _Class) -> None:
        referents = gc.get_referents(item)
        # isinstance would read the object's __class__, which the program may define
        if issubclass(kind, _CONTAINERS):
            if issubclass(kind, dict):
                self._write_dict(item)
                items = [*dict.keys(item), *dict.values(item)]
            else:
                items = list(list.__iter__(item) if issubclass(kind, list) else tuple.__iter__(item))
                self._group(b"i", items)
            referents = _without(referents, items)
        if not referents:
            return
        if kind is types.FunctionType and item.__closure__:
            for name, cell in zip(item.__code__.co_freevars, item.__closure__, strict=False):
                self._buffer += _LABEL.pack(b"L", id(cell), self._text(name))
        names = []
        try:
            names = self._names(item, kind, known, referents)
        except Exception as error:
            self._count_unread(kind, error)
        if any(names):
            self._group(b"n", referents, names)
        else:
            self._group(b"r", referents)

    def _names(self, item: Any, kind: type, known: _Class, referents: list[Any]) -> list[int]:
        """Return the number of the name by which an object refers to each of its referents, 0 if it isn't known."""
        # attributes with the same object, as True, each have a reference and a name
        by_id: dict[int, list[str]] = {}
        for name, descriptor in known.slots.items():
            try:
                value = descriptor.__get__(item)
                if name not in known.members or id(type(value)) not in _MADE_BY_C:
                    by_id.setdefault(id(value), []).append(name)
            except Exception:
                pass  # a slot that isn't set
        if known.has_dict and not issubclass(kind, _WITHOUT_ATTRIBUTES):
            self._attributes(item, kind, referents, by_id)
        names = []
        for each in referents:
            own = by_id.get(id(each))
            name = own.pop(0) if own else ""
            if not name and each is kind:
                name = "__class__"
            elif not name and type(each) is dict and self._is_own_dict(item, kind, known, each):
                name = "__dict__"
            names.append(self._text(name) if name else 0)
        return names

    def _is_own_dict(self, item: Any, kind: type, known: _Class, candidate: dict[Any, Any]) -> bool:
        """Whether a dictionary is the one with the object's attributes, and not one that the object has as data.

        Asking for the former would create it where there is none.
        """
        if issubclass(kind, types.ModuleType):
            return candidate is _MODULE_DICT(item)
        if issubclass(kind, type):
            return any(each is candidate for each in gc.get_referents(_class_dict(item)))
        if not known.has_dict or kind is types.FunctionType:
            return known.has_dict
        is_known = not candidate
        runs_code = self._runs_code.setdefault(id(kind), {})
        for name, value in dict.items(candidate):
            if type(name) is not str:
                continue
            is_code = runs_code.get(name)
            if is_code is None:
                is_code = _is_descriptor(kind, name)
            try:
                if not is_code and _GET(item, name) is not value:
                    return False
            except Exception:
                return False
            # not before: the keys of data are many
            runs_code[name] = is_code
            self._keys.add(name)
            if is_code:
                continue
            is_known = True
        return is_known or _own_dict(item, kind) is candidate

    def _attributes(self, item: Any, kind: type, referents: list[Any], by_id: dict[int, list[str]]) -> None:
        """Name the attributes of an instance whose values are stored in the object itself.

        Only for the first few instances of a class is a dictionary created, to learn the names for the others.
        """
        learnt, defaults = self._learnt.setdefault(id(kind), []), self._defaults.setdefault(id(kind), set())
        found = []
        for name in learnt:
            try:
                found.append((name, id(_GET(item, name))))
            except Exception:
                pass
        if defaults and len(found) != len(_unnamed(referents, kind, by_id)):
            # some are the class's own, and which ones would depend on their values
            found = [row for row in found if row[0] not in defaults]
        for name, number in found:
            by_id.setdefault(number, []).append(name)
        unknown = _unnamed(referents, kind, by_id)
        asked = self._asked.get(id(kind), 0)
        if not unknown or asked >= _MOST_LEARNT:
            return
        own = _own_dict(item, kind)
        if own is None or any(each is own for each in unknown):
            return  # it had a dictionary already
        self._asked[id(kind)] = asked + 1
        for name, value in list(own.items()):
            if type(name) is str:
                named = by_id.setdefault(id(value), [])
                if name not in named:
                    named.append(name)
                if name not in learnt and not _is_descriptor(kind, name):
                    learnt.append(name)
                    if any(name in _class_dict(base) for base in _mro(kind)):
                        defaults.add(name)


def _unnamed(referents: list[Any], kind: type, by_id: dict[int, list[str]]) -> list[Any]:
    """Return an instance's referents, except its class, that have no name yet; each name belongs to one."""
    left = {number: len(names) for number, names in by_id.items()}
    unnamed = []
    for each in referents:
        left[id(each)] = left.get(id(each), 0) - 1
        if left[id(each)] < 0 and each is not kind:
            unnamed.append(each)
    return unnamed


def _items(own: Any) -> list[tuple[Any, Any]]:
    """Return the items of a dictionary of the interpreter, none if the program has put something else in its place."""
    return list(dict.items(own)) if issubclass(type(own), dict) else []


def _class_dict(kind: type) -> Any:
    """Return the attributes of a class itself. A type in C that isn't ready yet has none.

    Until Python 3.12, modules in C keep such types, as ``_socket`` and ``msgspec`` do.
    """
    own = _DICT_OF_CLASS(kind)
    return {} if own is None else own


def _mro(kind: type) -> tuple[type, ...]:
    """Return a class and those it inherits from; of a type in C that isn't ready yet, the type alone."""
    found: Any = _MRO_OF_CLASS(kind)
    return (kind,) if found is None else found


def _name_of(kind: type) -> tuple[str, str]:
    """Return the qualified name of a class, and its module, which is empty if it isn't known."""
    name, module = "?", ""
    try:
        name = _exact(_QUALNAME(kind))
        owner: Any = _MODULE(kind)
        module = owner if type(owner) is str else ""
    except Exception:
        pass  # a class may have lost its module, and a type in C be called anything
    return name, module


def _size_of(item: Any, known: _Class) -> int:
    """Return an object's bytes, 0 if they can't be known. A ``__sizeof__`` in C may fail, or return any number."""
    if known.is_sizeof_safe:
        try:
            size = sys.getsizeof(item)
            if size <= _MOST_SIZE_BYTES:
                return size
        except Exception:
            pass
    size = object.__sizeof__(item) + (16 if gc.is_tracked(item) else 0)
    return size if 0 <= size <= _MOST_SIZE_BYTES else 0


def _without(referents: list[Any], items: list[Any]) -> list[Any]:
    """Return the objects of the first list without those of the second, each as often as it is there."""
    counts: dict[int, int] = {}
    for each in items:
        counts[id(each)] = counts.get(id(each), 0) + 1
    rest = []
    for each in referents:
        left = counts.get(id(each), 0)
        if left:
            counts[id(each)] = left - 1
        else:
            rest.append(each)
    return rest


def _error_name(kind: type) -> str:
    """Return the name of an exception's class; all exceptions for lack of memory get the same one."""
    ran_out = any(base is MemoryError for base in _mro(kind))
    return _name_of(MemoryError if ran_out else kind)[0]


def _variables(frame: types.FrameType) -> list[tuple[str, Any]]:
    """Return the variables of a frame. The names in a class's body may be kept by an object of the program."""
    own: Any = frame.f_locals
    kind = type(own)
    if issubclass(kind, dict):
        items = list(dict.items(own))
    elif not _FLAGS(kind) & _HEAP_TYPE:
        items = list(own.items())
    else:
        return [("", own)]
    code = frame.f_code
    # until Python 3.12 a function's frame keeps this dictionary, and with it what the function soon drops; the third
    # reference is the argument
    if kind is dict and code.co_flags & _CO_OPTIMIZED and sys.getrefcount(own) == 3:
        for name in code.co_varnames + code.co_cellvars + code.co_freevars:
            dict.pop(own, name, None)
    return [(_exact(name) if issubclass(type(name), str) else "", value) for name, value in items]


def _own_dict(item: Any, kind: type) -> dict[Any, Any] | None:
    """Return the dictionary of an instance, without reading another ``__dict__`` that the program defines."""
    for base in _mro(kind):
        descriptor = _class_dict(base).get("__dict__")
        if type(descriptor) is types.GetSetDescriptorType:
            try:
                own = descriptor.__get__(item)
            except Exception:
                return None
            return own if type(own) is dict else None
    return None


def _is_descriptor(kind: type, name: str) -> bool:
    """Return whether reading the attribute could run code: a property, or another descriptor, precedes the value."""
    for base in _mro(kind):
        own = _class_dict(base)
        if name in own:
            return _has_get(own[name])
    return False


def _has_get(value: Any) -> bool:
    return any("__get__" in _class_dict(base) for base in _mro(type(value)))


def _is_of_data(code: types.CodeType) -> bool:
    """Return whether code was made while the program ran, of a text that may have data for names."""
    file = _exact(code.co_filename)
    if file.startswith("<attrs generated "):
        return True
    arguments = sys.argv
    is_program = (
        type(arguments) is list and len(arguments) > 0 and type(arguments[0]) is str and arguments[0] == "-c"
    )
    # with -c the program's own code has the same name of a file as what it gives to exec
    return file == "<string>" and (
        not is_program
        or code.co_qualname.startswith("__create_fn__")
        or (code.co_name == "<lambda>" and code.co_varnames[:1] == ("_cls",))
    )


def _exact(text: str) -> str:
    """Return a text whose class is ``str``: names may be of a subclass with methods of its own."""
    return text if type(text) is str else str.__str__(text)


def _shortened(text: str) -> str:
    if len(text) <= _MOST_TEXT:
        return text
    return f"{text[: _MOST_TEXT - _LAST - 1]}\u2026{text[-_LAST:]}"


def _u32(numbers: list[int]) -> bytes:
    column = array("I", numbers)
    if column.itemsize != 4:
        return struct.pack(f"<{len(numbers)}I", *numbers)
    return _little(column)


def _little(column: "array[int]") -> bytes:
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()
