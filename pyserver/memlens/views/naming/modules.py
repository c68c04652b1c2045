"""The module in which an allocation was made, if frames show it."""

import re

import numpy as np

from memlens.arrays import U32
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
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


@kept
def merged(snapshot: Snapshot) -> tuple[U32, list[str]]:
    """The number among all paths of each module, and these paths. Number 0 is "in no module", with an empty path."""
    first: dict[str, int] = {"": 0}
    numbers = [first.setdefault(path, len(first)) for _, _, path in snapshot.modules()]
    return np.array(numbers or [0], np.uint32), list(first)


@kept
def modules_of_stacks(snapshot: Snapshot) -> tuple[U32, list[str]]:
    """For each stack the number of its innermost module, NEVER for none; and the modules' paths.

    A path is ``GPT / forward (model.py:17) / nn.Linear``, the outermost module first.
    """
    numbers_of, names = merged(snapshot)
    of_stacks = numbers_of[snapshot.trace.stack_module]
    # number 0 is "in no module"
    numbers = np.where(of_stacks == 0, np.uint32(NEVER), of_stacks - np.uint32(1)).astype(np.uint32)
    return numbers, names[1:]


def inferred_modules(snapshot: Snapshot, device: Device) -> U32 | None:
    """The number of each allocation's inferred module, as in :func:`merged`; None where nothing was inferred at all."""
    return None if device.inferred_module is None else merged(snapshot)[0][device.inferred_module]


def with_inferred(snapshot: Snapshot, device: Device, numbers: U32, count: int) -> U32:
    """The module numbers of a device's allocations; inferred ones follow the ``count`` recorded modules."""
    inferred = inferred_modules(snapshot, device)
    if inferred is None:
        return numbers
    return np.where(inferred == 0, numbers, inferred + np.uint32(count - 1)).astype(np.uint32)


def inferred_names(names: list[str]) -> list[str]:
    """The names of inferred modules."""
    return [f"{name} (inferred)" for name in names]


def inferred_module(snapshot: Snapshot, device: Device, row: int) -> str | None:
    """The path of the module that an allocation was inferred to belong to."""
    number = 0 if device.inferred_module is None else int(device.inferred_module[row])
    return snapshot.modules()[number][2] if number else None
