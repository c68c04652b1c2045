"""Which ``torch.nn`` module a stack ran in, as a path such as ``GPT / forward (model.py:17) / nn.Linear``.

The sources, the most reliable first:

* The profiler records each module's call as a separate frame: ``nn.Module: Linear_3`` (the class and its number).
  In a file with such frames nothing else is used.
* ``torch/nn/modules/module.py`` calls a module's ``forward``, perhaps through decorators. The first frame of that name
  below it is the module. Its name is the class if the function's name has it (``Linear.forward``), else it comes from
  the file: PyTorch's ``linear.py`` defines one common module; ``conv.py``, which defines many, gives ``nn.conv``; a
  user's module is named by the lines of its ``forward`` that are in stacks, as ``forward (model.py:42-57)``, until
  a source says of which class that is (``module_classes.py``). Modules in the same file are distinguished
  by the line at which their parent calls them, and by an ``__init__`` between them.
* An FX node's ``nn_module_stack`` has all modules from the compiled one down, by class and attribute
  (as its reader has decoded it). Nothing else is used for that frame, so that forward and backward of a module are
  the same module.
* A ``forward`` in the original trace of another FX node is a module, too.
"""

import bisect
import re
from collections.abc import Sequence

import numpy as np

from memlens.arrays import U8, U32
from memlens.kernels.trace import timeline as kernel
from memlens.model.frames import FX, Frames
from memlens.model.inferred import Module, module_path
from memlens.model.timeline import NEVER

_CALLERS = frozenset(("_call_impl", "_slow_forward", "__call__", "_wrapped_call_impl"))
_CALLER_FILE = "torch/nn/modules/module.py"
_PROFILED = re.compile(r"^nn\.Module: (\w+)$")
_OWN = re.compile(r"(?:^|/)torch/nn/modules/(\w+)\.py$")
_MOST_MODULES = 100_000
_CALLER, _CALLED, _ALWAYS = 1, 2, 3
# files of torch/nn/modules that define one commonly used module
_COMMON = {"linear": "Linear", "container": "Sequential", "flatten": "Flatten", "transformer": "Transformer"}


def modules_of(
    frames: Frames,
    parents: U32,
    node_frames: U32,
    nodes: U32,
) -> tuple[U32, list[Module]]:
    """Return the number of the innermost module of each stack, and the modules by number.

    ``parents`` and ``node_frames`` are the prefix tree of the stacks, ``nodes`` the node of each stack. A module that
    is called at several lines, or whose ``forward`` has several, has as many numbers.
    """
    roles, names = _roles(frames)
    constructors = _constructors(frames)
    nearest = np.empty(len(parents), np.uint32)
    kernel.module_calls(parents, node_frames, roles, nearest)
    entries = np.flatnonzero((nearest == np.arange(len(nearest))) & (nearest > 0)).tolist()
    found = _Found()
    number_of: dict[int, int] = {0: 0}
    # a parent's number is less than its child's
    for node in entries:
        here = int(node_frames[node])
        chain = frames.modules.get(here)
        if chain:
            number_of[node] = found.chain(chain)
            continue
        parent = int(nearest[parents[node]])
        call = frames.frames[int(node_frames[parent])].line if parent else 0
        file, line = frames.frames[here].file, frames.frames[here].line
        part = bisect.bisect(constructors.get(file, ()), line)
        number_of[node] = found.forward(number_of[parent], here, (call, names[here], part), line)
    of_node = np.zeros(len(parents), np.uint32)
    of_node[entries] = np.asarray([number_of[node] for node in entries], np.uint32)
    return of_node[nearest[nodes]], found.modules()


class _Found:
    """The modules so far, grouped by identity."""

    def __init__(self) -> None:
        self._groups: dict[tuple[int, int, str, int], int] = {}
        self._group = [0]
        """The group of each module; 0 is "in no module"."""
        self._lines: dict[int, tuple[int, int]] = {}
        """The first and the last line of each group's function that is in any stack."""
        self._shown: dict[int, str] = {0: ""}
        self._parents, self._frames = [0], [NEVER]
        self._numbers: dict[tuple[int, int, str], int] = {}

    def forward(self, parent: int, frame: int, called: tuple[int, str, int], line: int) -> int:
        """A function that a module's call led to, at one of its lines."""
        number = self._number(parent, frame, called)
        group = self._group[number]
        first, last = self._lines.get(group, (line, line))
        self._lines[group] = min(first, line), max(last, line)
        return number

    def chain(self, names: tuple[str, ...]) -> int:
        """The innermost of an FX node's modules, or an outer one if there are too many modules."""
        number = 0
        for name in names:
            if (number, NEVER, name) not in self._numbers and len(self._numbers) >= _MOST_MODULES:
                break
            number = self._number(number, NEVER, (0, name, 0))
        return number

    def _number(self, parent: int, frame: int, called: tuple[int, str, int]) -> int:
        number = self._numbers.get((parent, frame, called[1]))
        if number is None:
            number = self._numbers[parent, frame, called[1]] = len(self._parents)
            group = self._groups.setdefault((self._group[parent], *called), len(self._groups) + 1)
            self._shown.setdefault(group, called[1])
            self._group.append(group)
            self._parents.append(parent)
            self._frames.append(frame)
        return number

    def modules(self) -> list[Module]:
        """All modules by number. Modules of unknown classes are named by their functions."""
        found = [Module(0, "", "")]
        for parent, frame, group in zip(self._parents[1:], self._frames[1:], self._group[1:], strict=True):
            name = self._shown[group]
            if name.endswith(".py") and frame != NEVER:
                first, last = self._lines[group]
                name = f"forward ({name}:{first})" if first == last else f"forward ({name}:{first}-{last})"
            found.append(Module(parent, name, module_path(found[parent].path, name), frame))
        return found


def first_of_paths(modules: Sequence[Module]) -> U32:
    """For each module the number of the first with the same path, which is the same module."""
    first: dict[str, int] = {}
    numbers = [first.setdefault(module.path, number) for number, module in enumerate(modules)]
    return np.array(numbers, np.uint32)


def _constructors(frames: Frames) -> dict[str, list[int]]:
    """The lines of ``__init__`` in each file, ascending: lines before and after one belong to different functions."""
    found: dict[str, set[int]] = {}
    for frame in frames.frames:
        if frame.line and frame.function.rpartition(".")[2] == "__init__":
            found.setdefault(frame.file, set()).add(frame.line)
    return {file: sorted(lines) for file, lines in found.items()}


def _roles(frames: Frames) -> tuple[U8, list[str]]:
    """Return the role of each frame, see ``kernel.module_calls``, and its module's name."""
    roles = np.zeros(len(frames.frames), np.uint8)
    profiled = [match[1] if (match := _PROFILED.match(frame.function)) else "" for frame in frames.frames]
    if any(profiled):
        roles[[bool(name) for name in profiled]] = _ALWAYS
        return roles, profiled
    names = [""] * len(frames.frames)
    for number, (frame, source) in enumerate(zip(frames.frames, frames.sources.tolist(), strict=True)):
        chain = frames.modules.get(number)
        if chain is not None:
            roles[number] = _ALWAYS if chain else 0
            continue
        if not frame.line:
            continue
        path = frame.file.replace("\\", "/")
        of_class, _, function = frame.function.rpartition(".")
        if path.endswith(_CALLER_FILE):
            roles[number] = _CALLER if function in _CALLERS else 0
        elif function == "forward":
            roles[number] = _ALWAYS if source == FX else _CALLED
            names[number] = _module_name(path, of_class.rpartition(".")[2])
    return roles, names


def _module_name(path: str, of_class: str) -> str:
    own = _OWN.search(path)
    if own:
        return f"nn.{of_class or _COMMON.get(own[1], own[1])}"
    return of_class or path.rpartition("/")[2]
