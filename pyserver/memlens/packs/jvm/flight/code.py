"""Methods, classes, threads and stacks of a recording, numbered across its chunks."""

import re
from collections.abc import Callable, Iterator

import numpy as np

from memlens.arrays import I64, U32, U64, Mask
from memlens.formats.stacks import CUT, Numbers
from memlens.formats.symbols.names import plain_name
from memlens.model.frames import MOST_NAME, NATIVE, Frames, SourceFrame, profiled_frame
from memlens.model.profile import StackTree
from memlens.packs.jvm.flight.chunks import Chunk, Pool
from memlens.packs.jvm.flight.kernels import flight as kernel
from memlens.packs.jvm.frames import ClassNames, in_package, outermost
from memlens.result_cache import remembered
from memlens.units import shortened

CODE_CONSTANTS = {
    "java.lang.String": ("",),
    "java.lang.Class": ("name",),
    "jdk.types.Symbol": ("string",),
    "jdk.types.Method": ("type", "name"),
    "jdk.types.StackTrace": ("truncated", "frames"),
    "java.lang.Thread": ("osName", "javaName", "virtual"),
}
"""What is read to name code."""

UNKNOWN = "(unknown)"
_MOST_DEPTH = 4_096
_MOST_AT_ONCE = 4_096
"""Stacks that are decoded at once, which bounds the memory that it takes."""
_MOST_LINE = 2**31 - 1
_MOST_NAME = 2_000
_MOST_CLASSES = 1 << 10
"""Whose names as in source are kept: many objects may be of one whose name is long."""
_PRIMITIVES = {
    "B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short", "Z": "boolean",
}  # fmt: skip
_LAMBDA = re.compile(r"(\$\$Lambda)(?:\$\d+)?(?:[+/.](?:0x)?[0-9a-fA-F]+)+(?![\w$])")
"""The part of a lambda's class that is another number in each run."""

_LIBRARY = re.compile(r"\.(?:so(?:\.[\d.]+)?|dylib)$")
_KOTLIN = "Kt"
"""What the class of a file's functions ends in, that Kotlin makes: ``FooKt`` of ``Foo.kt``."""


@remembered(_MOST_CLASSES)
def type_name(internal: str) -> str:
    """Return a class's name as in source: ``int[][]`` for ``[[I``, ``java.util.List[]`` for ``[Ljava/util/List;``."""
    depth = len(internal) - len(internal.lstrip("["))
    name = internal[depth:]
    if depth:
        name = name[1:].removesuffix(";") if name.startswith("L") else _PRIMITIVES.get(name, name)
    name = _LAMBDA.sub(r"\1", name).replace("/", ".")
    return shortened(name or UNKNOWN, _MOST_NAME) + "[]" * min(depth, 255)


def source_file(internal: str) -> str:
    """Return the file that a class is usually in, with its package's folders: recordings don't say it."""
    if internal.startswith("["):
        return ""
    internal = _LAMBDA.sub(r"\1", internal)
    name = outermost(internal).rpartition("/")[2]
    if name.endswith(_KOTLIN) and len(name) > len(_KOTLIN):
        return in_package(internal, f"{name.removesuffix(_KOTLIN)}.kt")
    return in_package(internal, f"{name}.java") if name else ""


def declared_frame(internal: str, field: str = "") -> SourceFrame:
    """A frame that stands for a class, or for a field of one: in the class's file, without a line."""
    title = type_name(internal)
    element = internal.lstrip("[")
    if element != internal:
        element = element[1:].removesuffix(";") if element.startswith("L") else ""
    return SourceFrame(source_file(element), 0, f"{title}.{field}" if field else title, NATIVE)


class Code:
    """The frames, stacks and texts of all chunks so far. Stack 0 is empty, text 0 unknown."""

    def __init__(self, file_bytes: int) -> None:
        self.names = ClassNames(file_bytes)
        self._frames: Numbers[SourceFrame] = Numbers()
        self._stacks = kernel.StackTree()
        self._texts: Numbers[str] = Numbers()
        self.text("")

    def text(self, text: str) -> int:
        """The number of a text."""
        return self._texts[text]

    def stack(self, frames: list[SourceFrame]) -> int:
        """The number of a stack, innermost frame first."""
        numbers = np.arange(len(frames), dtype=np.uint32)
        return int(
            self.stacks_of(frames, numbers, np.array([len(frames)], np.uint64), np.zeros(1, np.bool_))[0]
        )

    def strings(self) -> dict[int, str]:
        """The texts by their numbers."""
        return {number: text for text, number in self._texts.items()}

    def frames(self) -> Frames:
        """All frames, whose stacks are in the tree."""
        return Frames(list(self._frames), np.zeros(1, np.uint64), np.empty(0, np.uint32))

    def tree(self) -> StackTree:
        """The tree of all stacks, whose numbers are those of its nodes; nothing can be added after that."""
        return StackTree(*(np.asarray(self._stacks.take(name)) for name in ("parents", "frames")))

    def of(self, chunk: Chunk) -> "ChunkCode":
        """The code of a chunk."""
        return ChunkCode(self, chunk)

    def stacks_of(self, frames: list[SourceFrame], numbers: U32, ends: U64, cut: Mask) -> U32:
        """The numbers of stacks, which have ``frames`` at ``numbers`` up to their ``ends``, and may be cut off."""
        of_frames = np.array([self._frames[each] for each in frames], np.uint32)
        is_cut = cut | (np.diff(ends, prepend=np.uint64(0)) > _MOST_DEPTH)
        last = self._frames[CUT] if is_cut.any() else 0
        found: U32 = np.empty(len(ends), np.uint32)
        self._stacks.add(of_frames[numbers], ends, is_cut.view(np.uint8), last, _MOST_DEPTH, found)
        return found


def are_virtual(chunk: Chunk, threads: I64) -> Mask:
    """Which threads are virtual ones, by their keys: others run them."""
    pool = chunk.pool("java.lang.Thread")
    return np.array([bool(pool.value(key, "virtual")) for key in threads.tolist()], np.bool_)


class ChunkCode:
    """What the keys of a chunk's constants stand for."""

    def __init__(self, code: Code, chunk: Chunk) -> None:
        self._code, self._chunk = code, chunk
        self._classes: dict[int, str] = {}
        self._methods: dict[int, tuple[str, str, str]] = {}

    def class_name(self, key: int) -> str:
        """A class's name as the virtual machine has it, ``java/lang/String``; "" for none."""
        if key not in self._classes:
            symbol = self._chunk.pool("java.lang.Class").value(key, "name")
            self._classes[key] = "" if symbol is None else self._symbol(symbol)
        return self._classes[key]

    def types(self, keys: I64) -> U32:
        """The text of each class's name."""
        return self._texts(keys, lambda key: type_name(name) if (name := self.class_name(key)) else "")

    def threads(self, keys: I64) -> U32:
        """The text of each thread's name."""
        return self._texts(keys, self._thread)

    def stacks(self, keys: I64) -> U32:
        """The number of each stack; 0 for one that isn't there."""
        distinct, inverse = np.unique(keys, return_inverse=True)
        pool = self._chunk.pool("jdk.types.StackTrace")
        places = pool.places(distinct)
        known, found = np.flatnonzero(places >= 0), np.zeros(len(distinct), np.uint32)
        for start in range(0, len(known), _MOST_AT_ONCE):
            some = known[start : start + _MOST_AT_ONCE]
            found[some] = self._some_stacks(pool, places[some])
        return found[inverse]

    def _some_stacks(self, pool: Pool, places: I64) -> U32:
        begins = pool.column("frames")[places].astype(np.uint64)
        ends, rows = self._chunk.arrays("jdk.types.StackTrace", "frames", begins, ("method", "lineNumber"))
        # lines below 1 mean: unknown, native
        methods, lines = rows[:, 0], np.clip(rows[:, 1], 0, _MOST_LINE)
        distinct_methods, of_rows = np.unique(methods, return_inverse=True)
        pairs, numbers = np.unique(of_rows * (_MOST_LINE + 1) + lines, return_inverse=True)
        owners = distinct_methods[pairs // (_MOST_LINE + 1)]
        frames = list(self._frames(owners.tolist(), (pairs % (_MOST_LINE + 1)).tolist()))
        cut = pool.column("truncated")[places] != 0
        return self._code.stacks_of(frames, numbers.ravel().astype(np.uint32), ends, cut)

    def _frames(self, methods: list[int], lines: list[int]) -> Iterator[SourceFrame]:
        for key, line in zip(methods, lines, strict=True):
            file, function, library = self._method(key)
            # lines below 1 mean: unknown, native
            yield profiled_frame(file, max(line, 0), function, library)

    def _method(self, key: int) -> tuple[str, str, str]:
        """The file of a method, what it is called with its class, and the library that it is in if it is native."""
        if key not in self._methods:
            methods = self._chunk.pool("jdk.types.Method")
            owner, name = (methods.value(key, field) or 0 for field in ("type", "name"))
            class_name = self._code.names.of_method(self.class_name(owner))
            file, library = source_file(class_name), ""
            parts = [type_name(class_name) if class_name else "", self._symbol(name)]
            if _LIBRARY.search(class_name):
                # async-profiler has native functions as methods of their library
                file, library = "", class_name
                parts = [plain_name(parts[1])]
            function = ".".join(part for part in parts if part) or UNKNOWN
            self._methods[key] = file, shortened(function, MOST_NAME), library
        return self._methods[key]

    def _symbol(self, key: int) -> str:
        place = self._chunk.pool("jdk.types.Symbol").value(key, "string")
        return "" if place is None else self._chunk.text_at(place)

    def _thread(self, key: int) -> str:
        pool = self._chunk.pool("java.lang.Thread")
        for field in ("javaName", "osName"):
            place = pool.value(key, field)
            if place is not None and (name := self._chunk.text_at(place)):
                return shortened(name, _MOST_NAME)
        return ""

    def _texts(self, keys: I64, text_of: Callable[[int], str]) -> U32:
        distinct, inverse = np.unique(keys, return_inverse=True)
        texts = np.array([self._code.text(text_of(key)) for key in distinct.tolist()], np.uint32)
        return texts[inverse] if len(keys) else np.empty(0, np.uint32)
