"""Source frames: whose code they are, and the file and line in names that hide them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.model.languages import shared_object_of
from memlens.model.libraries import CPP, CPYTHON, TORCH, C, library_of

USER, LIBRARY, NATIVE = 0, 1, 2
"""Kinds of a frame, the most telling first."""

MOST_PATH, MOST_NAME = 4096, 16384
"""Characters of a file's and a function's name; C++ templates do come near."""

MOST_LINE = 2**31 - 1
"""Editors count lines with 32 bits."""

KIND_NAMES: tuple[Literal["user"], Literal["library"], Literal["native"]] = ("user", "library", "native")

SOURCE_NAMES: tuple[Literal["recorded"], Literal["forward"], Literal["fx"], Literal["inferred"]] = (
    "recorded",
    "forward",
    "fx",
    "inferred",
)
RECORDED, FORWARD, FX, INFERRED = range(4)
"""How a line is known: it stands in the recorded stack; in the ``forward_frames`` that PyTorch kept for a backward
operator; in the original trace of an FX node whose generated code ran; or it was inferred, and may be wrong."""

_NATIVE_SUFFIXES = (
    ".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".inl", ".tcc", ".s", ".m", ".mm", ".rs",
    ".so", ".dll", ".pyd", ".dylib", ".pyx",
)  # fmt: skip
_COMPILED = frozenset((C, CPP, CPYTHON, TORCH))
_NO_FILE = frozenset(("", "??", "none", "<unknown>"))
_PROFILER_NAME = re.compile(r"^(?P<file>.+)\((?P<line>\d{1,9})\): (?P<function>.+)$", re.ASCII)


@dataclass(frozen=True, slots=True)
class SourceFrame:
    """One frame: ``line`` is 0 and ``file`` empty when the file does not tell them."""

    file: str
    line: int
    function: str
    kind: int


POSSIBLE_ARENA = SourceFrame("", 0, "(perhaps a pool of pymalloc's)", NATIVE)
"""Stands innermost where memory was mapped that has the size of pymalloc's arenas: the line that mapped it is charged,
but what is in an arena was put there by any line."""


def source_frame(filename: str, line: int, name: str) -> SourceFrame:
    """A frame as PyTorch wrote it, told apart into user code, library code and native code.

    The CPU profiler's frames carry their place in the name, ``torch/nn/modules/linear.py(130): forward``, with the
    file name ``none`` (``torch.cuda._memory_viz._profile_to_snapshot``).
    """
    filename, name = _shortened(filename, MOST_PATH), _shortened(name, MOST_NAME)
    relative = False
    if filename in _NO_FILE:
        found = _PROFILER_NAME.match(name)
        if found is None:
            return SourceFrame("", 0, name, NATIVE)
        filename, line, name = found["file"], int(found["line"]), found["function"]
        relative = True
        if filename in _NO_FILE or filename.startswith("<built-in"):
            return SourceFrame("", 0, name, NATIVE)
    # Python always knows the line; only native frames have a file without one
    if line <= 0 or filename.lower().endswith(_NATIVE_SUFFIXES):
        return SourceFrame(filename, line, name, NATIVE)
    # the profiler cuts the interpreter's prefixes off
    library = library_of(filename, name, cut=relative)
    # C++ has headers without a suffix
    kind = NATIVE if library in _COMPILED else LIBRARY if library else USER
    return SourceFrame(filename, line, name, kind)


def profiled_frame(file: str, line: int, function: str, module: str = "") -> SourceFrame:
    """A frame of a profile, in whatever language: here the user's own C++, Go or Rust is user code.

    A frame without a line that could be opened is native, and stands with its ``module`` (the binary or shared
    library that it lies in) where the profile tells no file. What lies in a module of the system is library code.
    """
    file, function = _shortened(file, MOST_PATH), _shortened(function, MOST_NAME)
    if file in _NO_FILE or line <= 0 or line > MOST_LINE:
        return SourceFrame(_shortened(module, MOST_PATH) if file in _NO_FILE else file, 0, function, NATIVE)
    return SourceFrame(file, line, function, LIBRARY if library_of(file, function, module) else USER)


def _shortened(text: str, most: int) -> str:
    """A text without end would be stored with every line of it."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def is_python(frame: SourceFrame) -> bool:
    """Whether the frame stands on a line of Python, user's or library's."""
    return frame.kind != NATIVE and frame.line > 0


_NAMESPACE = re.compile(r"^(?:void |bool |int )?(at|c10|torch|std|pybind11|cudnn|cublas|nccl)::")
NATIVE_CODE = "native code"


def package_of(file: str, function: str, kind: int) -> str:
    """The package that a frame belongs to, empty for the user's code.

    A library's is what :mod:`memlens.model.libraries` calls it, else its folder; native code is told apart by its
    outermost namespace, as most of it comes without a file.
    """
    if kind == USER:
        return ""
    path = file.replace("\\", "/")
    if kind == NATIVE:
        found = _NAMESPACE.match(function)
        return f"{found[1]}:: ({NATIVE_CODE})" if found else shared_object_of(path) or NATIVE_CODE
    library = library_of(file, function, cut=True)
    if library:
        return library
    if path.lower().endswith((*_NATIVE_SUFFIXES, ".go")):
        return NATIVE_CODE
    # what the setting alone calls a library
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[2] or name


_DISPATCHED = re.compile(r"at::_ops::(\w+)::|^aten::(\w+)")
_KERNEL = re.compile(r"at::native::([a-z]\w*)[(<]")


_RECORDER = re.compile(
    r"^torch::(?:unwind::|CapturedTraceback::)|::gather(?:_with_cpp)?\(\)$|^c10::cuda::CUDACachingAllocator::"
)


def is_recorder(function: str) -> bool:
    """Whether a native function belongs to the recording of every stack, or to the allocator: it tells nothing."""
    return _RECORDER.search(function) is not None


def is_operator_entry(function: str) -> bool:
    """Whether a native function is the entry of an operator, not one of its kernels."""
    return _DISPATCHED.search(function) is not None


def operator_of(functions: Sequence[str]) -> str | None:
    """The operator that the native frames on top of a stack (innermost first) name, as ``aten::mm``.

    ``at::_ops::NAME::call`` is the entry that PyTorch generates for each operator. Operators call others, down to
    ``aten::empty`` which allocates; so the outermost says what was asked for. Kernels are named where no entry is.
    """
    for pattern in (_DISPATCHED, _KERNEL):
        for function in reversed(functions):
            found = pattern.search(function)
            if found is not None:
                return f"aten::{next(name for name in found.groups() if name)}"
    return None


class FxNode(NamedTuple):
    """What a frame of generated code tells of its FX node; empty where it doesn't."""

    frame: int
    op: str
    name: str
    target: str
    info: str


@dataclass(slots=True)
class Frames:
    """The distinct frames of a snapshot and the stacks made of them.

    ``starts`` and ``sequence`` hold the stacks: those of stack ``s``, innermost first, are
    ``sequence[starts[s]:starts[s + 1]]``; stack 0 is the empty one. ``sources`` says of each frame how it is known
    (RECORDED, FORWARD or FX). ``modules`` holds for frames of generated code the ``torch.nn`` modules that their FX
    node tells, outermost first; the lines of that node's original trace have none of their own there.
    """

    frames: list[SourceFrame]
    starts: npt.NDArray[np.uint64]
    sequence: npt.NDArray[np.uint32]
    sources: npt.NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    fx_nodes: list[FxNode] = field(default_factory=list)
    modules: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    kinds: npt.NDArray[np.uint8] = field(init=False)

    def __post_init__(self) -> None:
        self.kinds = np.fromiter((frame.kind for frame in self.frames), np.uint8, len(self.frames))
        if len(self.sources) != len(self.frames):
            self.sources = np.zeros(len(self.frames), np.uint8)

    def stacks_with(self, wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which stacks hold a frame that is wanted; ``wanted`` has an item for each frame."""
        before = np.zeros(len(self.sequence) + 1, np.uint32)
        np.cumsum(wanted[self.sequence], out=before[1:])
        found: npt.NDArray[np.bool_] = before[self.starts[1:]] > before[self.starts[:-1]]
        return found

    def stack_of_places(self) -> npt.NDArray[np.int64]:
        """The stack of each place in ``sequence``."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts).astype(np.int64))


_TRACEBACK_LINE = re.compile(
    r'^\s*File "(?P<file>[^"\n]*)", line (?P<line>\d{1,9})(?:, in (?P<function>[^\n]*))?', re.MULTILINE
)
_MOST_TRACEBACK_LINES = 64


def traceback_frames(text: str) -> list[SourceFrame]:
    """The frames of a traceback's text, innermost first; none when it has no line ``File "x.py", line 12, in f``.

    ``fx_original_trace`` and each of ``forward_frames`` are such texts (``traceback.format_list``), outermost first.
    """
    found = list(_TRACEBACK_LINE.finditer(text[:1_000_000]))[-_MOST_TRACEBACK_LINES:]
    return [
        source_frame(line["file"], int(line["line"]), (line["function"] or "").strip())
        for line in reversed(found)
    ]
