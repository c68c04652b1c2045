"""The module in which an allocation was made, if frames show it."""

import re

import numpy as np
import numpy.typing as npt

from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device

_OF_COMPILER = re.compile(r"\((?P<name>[\w.]+)\)$")
"""The class of a module that the compiler names by its attribute: ``fc1 (nn.Linear)``."""
_NUMBER = re.compile(r"_\d+$")
"""What the profiler numbers the modules of one class by: ``Linear_3``."""
_CLASS = re.compile(r"(?:nn\.)?[A-Z]\w*")


def class_of_module(path: str) -> str:
    """The class of a module, empty where its path has only a place in a file, or where the module is inferred."""
    name = path.rpartition(" / ")[2]
    if found := _OF_COMPILER.search(name):
        name = found["name"]
    name = _NUMBER.sub("", name)
    return name if _CLASS.fullmatch(name) else ""


def modules_of_stacks(snapshot: Snapshot) -> tuple[npt.NDArray[np.uint32], list[str]]:
    """For each stack the number of its innermost module, NEVER for none; and the modules' paths.

    A path is ``model.py:42 / model.py:17 / nn.Linear``, the outermost module first.
    """
    modules = snapshot.modules()
    # number 0 is "in no module"
    names = [path for _, _, path in modules[1:]]
    of_stacks = snapshot.trace.stack_module
    numbers = np.where(of_stacks == 0, np.uint32(NEVER), of_stacks - np.uint32(1)).astype(np.uint32)
    return numbers, names


def with_inferred(device: Device, numbers: npt.NDArray[np.uint32], count: int) -> npt.NDArray[np.uint32]:
    """The module numbers of a device's allocations; inferred ones follow the ``count`` recorded modules."""
    if device.inferred_module is None:
        return numbers
    inferred = device.inferred_module
    return np.where(inferred == 0, numbers, inferred + np.uint32(count - 1)).astype(np.uint32)


def inferred_names(names: list[str]) -> list[str]:
    """The names of inferred modules."""
    return [f"{name} (inferred)" for name in names]


def inferred_module(snapshot: Snapshot, device: Device, row: int) -> str | None:
    """The path of the module that an allocation was inferred to belong to."""
    number = 0 if device.inferred_module is None else int(device.inferred_module[row])
    return snapshot.modules()[number][2] if number else None
