"""Which ``torch.nn`` module a stack ran in, as a path such as ``model.py:42 / model.py:17 / nn.Linear``.

The sources, the most reliable first:

* The profiler records each module's call as a separate frame: ``nn.Module: Linear_3`` (the class and its number).
  In a file with such frames nothing else is used.
* ``torch/nn/modules/module.py`` calls a module's ``forward``, perhaps through decorators. The first frame of that name
  below it is the module. Its name is the class if the function's name has it (``Linear.forward``), else it comes from
  the file: PyTorch's ``linear.py`` defines one common module; ``conv.py``, which defines many, gives ``nn.conv``; a
  user's module is named by its file and the first line of its ``forward`` that is in any stack, as ``model.py:42``.
  Modules in the same file are distinguished by the line at which their parent calls them.
* An FX node's ``nn_module_stack`` has all modules from the compiled one down, by class and attribute
  (as its reader has decoded it). Nothing else is used for that frame, so that forward and backward of a module are
  the same module.
* A ``forward`` in the original trace of another FX node is a module, too.
"""

import re

import numpy as np
import numpy.typing as npt

from memlens.kernels.trace import timeline as kernel
from memlens.model.frames import FX, Frames
from memlens.model.inferred import Module

_CALLERS = frozenset(("_call_impl", "_slow_forward", "__call__", "_wrapped_call_impl"))
_CALLER_FILE = "torch/nn/modules/module.py"
_PROFILED = re.compile(r"^nn\.Module: (\w+)$")
_OWN = re.compile(r"(?:^|/)torch/nn/modules/(\w+)\.py$")
_MOST_MODULES, _MOST_MODULE_PATH = 100_000, 1000
_CALLER, _CALLED, _ALWAYS = 1, 2, 3
# files of torch/nn/modules that define one commonly used module
_COMMON = {"linear": "Linear", "container": "Sequential", "flatten": "Flatten", "transformer": "Transformer"}


def modules_of(
    frames: Frames,
    parents: npt.NDArray[np.uint32],
    node_frames: npt.NDArray[np.uint32],
    nodes: npt.NDArray[np.uint32],
) -> tuple[npt.NDArray[np.uint32], list[Module]]:
    """Return the number of the innermost module of each stack, and the modules by number.

    ``parents`` and ``node_frames`` are the prefix tree of the stacks, ``nodes`` the node of each stack.
    """
    roles, names = _roles(frames)
    nearest = np.empty(len(parents), np.uint32)
    kernel.module_calls(parents, node_frames, roles, nearest)
    entries = np.flatnonzero((nearest == np.arange(len(nearest))) & (nearest > 0)).tolist()
    # modules of one file are distinguished by the line of the call; a parent's number is less than its child's
    lines: dict[tuple[int, int, str], int] = {}
    groups: list[int] = []
    group_of: dict[int, int] = {0: -1}
    keys: dict[tuple[int, int, str], int] = {}
    group_of_chain: dict[tuple[str, ...], int] = {}
    for node in entries:
        parent = int(nearest[parents[node]])
        here = int(node_frames[node])
        chain = frames.modules.get(here)
        if chain:
            if chain not in group_of_chain:
                group_of_chain[chain] = _add_chain(chain, keys)
            group_of[node] = group_of_chain[chain]
            groups.append(group_of[node])
            continue
        call = frames.frames[int(node_frames[parent])].line if parent else 0
        key = (group_of[parent], call, names[here])
        group_of[node] = keys.setdefault(key, len(keys))
        line = frames.frames[here].line
        lines[key] = min(line, lines.get(key, line))
        groups.append(group_of[node])
    modules = [Module(0, "", "")]
    numbers: dict[tuple[int, str], int] = {}
    of_group: list[int] = []
    for parent, call, name in keys:
        line = lines.get((parent, call, name), 0)
        shown = f"{name}:{line}" if line and name.endswith(".py") else name
        outer = of_group[parent] if parent >= 0 else 0
        number = numbers.get((outer, shown))
        if number is None:
            number = numbers[outer, shown] = len(modules)
            path = modules[outer].path
            modules.append(Module(outer, shown, _within(path, shown)))
        of_group.append(number)
    of_node = np.zeros(len(parents), np.uint32)
    of_node[entries] = np.asarray(of_group, np.uint32)[groups] if groups else 0
    return of_node[nearest[nodes]], modules


def _add_chain(chain: tuple[str, ...], keys: dict[tuple[int, int, str], int]) -> int:
    """Return the group of the innermost of an FX node's modules, or of an outer one if there are too many modules."""
    group = -1
    for name in chain:
        key = (group, 0, name)
        if key not in keys and len(keys) >= _MOST_MODULES:
            break
        group = keys.setdefault(key, len(keys))
    return group


def _within(path: str, name: str) -> str:
    """Return the path of a module within another; it is shortened, since it is stored with every module."""
    whole = f"{path} / {name}" if path else name
    return whole if len(whole) <= _MOST_MODULE_PATH else f"…{whole[1 - _MOST_MODULE_PATH :]}"


def _roles(frames: Frames) -> tuple[npt.NDArray[np.uint8], list[str]]:
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
