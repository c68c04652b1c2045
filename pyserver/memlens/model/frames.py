"""Source frames: whose code they are, and files and lines that are encoded in names."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct, field

from memlens.arrays import I64, U8, U32, U64, Mask
from memlens.model.languages import shared_object_of
from memlens.model.libraries import is_bare, library_of
from memlens.packs import registry

USER, LIBRARY, NATIVE = 0, 1, 2
"""Kinds of frames, the most informative first."""

MOST_PATH, MOST_NAME = 4096, 16384
"""The most characters of a file's and of a function's name; those of C++ templates come close to that."""

MOST_LINE = 2**31 - 1
"""The largest line number: editors count lines with 32 bits."""

KIND_NAMES: tuple[Literal["user"], Literal["library"], Literal["native"]] = ("user", "library", "native")

SOURCE_NAMES: tuple[Literal["recorded"], Literal["forward"], Literal["fx"], Literal["inferred"]] = (
    "recorded",
    "forward",
    "fx",
    "inferred",
)
RECORDED, FORWARD, FX, INFERRED = range(4)
"""How a line is known: from the recorded stack; from that of the forward operator, where it was recorded for a backward
one; from the original trace of an FX node whose generated code ran; or it was inferred, and may be wrong."""

NATIVE_SUFFIXES = (
    ".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".inl", ".tcc", ".s", ".m", ".mm", ".rs",
    ".so", ".dll", ".pyd", ".dylib", ".pyx",
)  # fmt: skip
NO_FILE = frozenset(("", "??", "none", "<unknown>"))
"""How recorders call a file that isn't known."""


class SourceFrame(NamedTuple):
    """One frame. ``line`` is 0 and ``file`` is empty if unknown."""

    file: str
    line: int
    function: str
    kind: int


POSSIBLE_ARENA = SourceFrame("", 0, "(perhaps a pool of pymalloc's)", NATIVE)
"""The innermost frame of memory that was mapped in the size of a pymalloc arena: the line that mapped it is charged,
but other lines may have allocated what is in the arena."""


def profiled_frame(file: str, line: int, function: str, module: str = "") -> SourceFrame:
    """Classify a frame of a profile in any language: the user's own is user code, compiled or not.

    A frame without a line that could be opened is native; its file is then ``module`` (the binary or shared library)
    if the profile has none. Code in a module of the system is library code. A function that is known by its address
    only, as ``0x7f00``, is called by its module as well: ``libfoo.so at 0x7f00``.
    """
    if module and file in NO_FILE and function.startswith("0x"):
        binary = module.replace("\\", "/").rpartition("/")[2]
        function = f"{binary} at {function}"
    if len(file) > MOST_PATH or len(function) > MOST_NAME:
        file, function = shortened_text(file, MOST_PATH), shortened_text(function, MOST_NAME)
    if file in NO_FILE or line <= 0 or line > MOST_LINE:
        return SourceFrame(
            shortened_text(module, MOST_PATH) if file in NO_FILE else file, 0, function, NATIVE
        )
    return SourceFrame(file, line, function, LIBRARY if library_of(file, function, module) else USER)


def kind_by_file(file: str) -> int | None:
    """Return the kind that :func:`profiled_frame` gives all frames with a line in a file; None if kinds may differ."""
    if file in NO_FILE or len(file) > MOST_PATH or is_bare(file):
        return None
    return LIBRARY if library_of(file) else USER


def shortened_text(text: str, most: int) -> str:
    """Shorten a text that is stored with each of its lines."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


_ADDRESS = re.compile(r"(?:^| at )0x[0-9a-f]+$")
_NO_NAME = frozenset(("", "?", "??"))


def is_by_address(function: str) -> bool:
    """Whether a function is known by its address only, and called by that: ``libfoo.so at 0x7f00``."""
    return _ADDRESS.search(function) is not None


def is_nameless(function: str) -> bool:
    """Whether the file has no name for a function, at most its address."""
    return function in _NO_NAME or is_by_address(function)


def is_remark(function: str) -> bool:
    """Return whether the function of a frame without a file is a reader's remark, such as ``(stack cut off)``."""
    return function.startswith("(") and function.endswith(")") and function.count("(") == 1


def are_mixed(frames: Sequence[SourceFrame]) -> bool:
    """Return whether the frames have both native code and the user's own code."""
    kinds = {frame.kind for frame in frames}
    if USER not in kinds or NATIVE not in kinds:
        return False
    kinds = {frame.kind for frame in frames if frame.file or not is_remark(frame.function)}
    return USER in kinds and NATIVE in kinds


def lacks_its_line(file: str, line: int) -> bool:
    """Return whether a frame of a trace is Python's but has no line, so that it can't be opened."""
    return line <= 0 and file.lower().endswith((".py", ".pyw", ">"))


_FRAMEWORKS = [name for pack in registry.packs() for name in pack.namespaces]
_NAMESPACE = re.compile(
    rf"^(?:void |bool |int )?({'|'.join((*_FRAMEWORKS, 'std', 'pybind11', 'cudnn', 'cublas', 'nccl'))})::"
)
NATIVE_CODE = "native code"


def package_of(file: str, function: str, kind: int) -> str:
    """Return the package that a frame belongs to, empty for the user's code.

    For a library it is the name in :mod:`memlens.model.libraries`, else its folder; for native code, which mostly has
    no file, its outermost namespace.
    """
    if kind == USER:
        return ""
    path = file.replace("\\", "/")
    if kind == NATIVE:
        namespace = _NAMESPACE.match(function)
        return f"{namespace[1]}:: ({NATIVE_CODE})" if namespace else shared_object_of(path) or NATIVE_CODE
    library = library_of(file, function, cut=True)
    if library:
        return library
    if path.lower().endswith((*NATIVE_SUFFIXES, *registry.suffixes(compiled=True))):
        return NATIVE_CODE
    # library code because of the setting alone
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[2] or name


class FxNode(NamedTuple):
    """The FX node that a frame of generated code belongs to; unknown fields are empty."""

    frame: int
    op: str
    name: str
    target: str
    info: str


class Frames(Struct):
    """The distinct frames of a snapshot and the stacks made of them.

    The frames of stack ``s``, innermost first, are ``sequence[starts[s]:starts[s + 1]]``; stack 0 is empty.
    ``sources`` has how each frame is known (RECORDED, FORWARD or FX). ``modules`` has the modules of
    frames of generated code according to their FX nodes, outermost first; it is empty for lines of a node's original
    trace.
    """

    frames: list[SourceFrame]
    starts: U64
    sequence: U32
    sources: U8 = field(default_factory=lambda: np.empty(0, np.uint8))
    fx_nodes: list[FxNode] = field(default_factory=list)
    modules: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    kinds: U8 = field(default_factory=lambda: np.empty(0, np.uint8))
    """The kind of each frame, which is taken from it."""

    def __post_init__(self) -> None:
        self.kinds = np.array([frame.kind for frame in self.frames], np.uint8)
        if len(self.sources) != len(self.frames):
            self.sources = np.zeros(len(self.frames), np.uint8)

    def stacks_with(self, mask: Mask) -> Mask:
        """Return a mask of the stacks with a frame of ``mask``, which has an item for each frame."""
        before: U32 = np.zeros(len(self.sequence) + 1, np.uint32)
        np.cumsum(mask[self.sequence], out=before[1:])
        return before[self.starts[1:]] > before[self.starts[:-1]]

    def stack_of_places(self) -> I64:
        """Return the stack of each item of ``sequence``."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts).astype(np.int64))
