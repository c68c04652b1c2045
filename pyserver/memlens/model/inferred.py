"""What is inferred about a trace when its reading ends: categories, modules, lines."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

import numpy as np

from memlens.arrays import U32
from memlens.model.timeline import NEVER, DeviceTimeline, Timeline

_MOST_PATH = 1000


class Module(NamedTuple):
    """A module within the one whose number is ``parent``; number 0 means "in no module".

    Modules of one path are one: there is one for each line of its function, which ``frame`` has (NEVER if there is
    none), since sources may show that the lines are those of several classes.
    """

    parent: int
    name: str
    path: str
    frame: int = NEVER


def module_path(outer: str, name: str) -> str:
    """Return the path of a module within another; it is shortened, since it is stored with every module."""
    whole = f"{outer} / {name}" if outer else name
    return whole if len(whole) <= _MOST_PATH else f"…{whole[1 - _MOST_PATH :]}"


Place = tuple[str, str, int]
"""What the source of a line names: a module by its name, empty for the function that runs there; a file; the line."""


class ModuleClasses(Protocol):
    """How sources name the classes of a trace's modules."""

    def places(
        self, names: list[str], parents: list[int], lines: Mapping[int, tuple[str, int]]
    ) -> Iterable[list[Place]]:
        """For each module the places whose sources may name its class, the best one first; none if it has one.

        ``lines`` are the files and lines of modules' frames, by module.
        """
        ...

    def classes_at(
        self, asked: Mapping[str, Iterable[Place]], local: Callable[[str], str | None]
    ) -> dict[Place, str]:
        """The classes at some lines, by place. ``asked`` are places by file, ``local`` finds a file on this machine."""
        ...


class Inference:
    """Infers nothing, for traces of formats whose packs declare no more."""

    has_early_modules = False
    """Whether :meth:`early_modules` is to be asked."""

    def __init__(self, timeline: Timeline) -> None:
        self.categories = timeline.categories
        """The names of the allocations' categories, recorded or inferred."""

    def modules(self, parents: U32, node_frames: U32, nodes: U32) -> tuple[U32, list[Module]]:
        """Return the number of the innermost module of each stack, and the modules by number.

        ``parents`` and ``node_frames`` are the prefix tree of the stacks, ``nodes`` the node of each stack.
        """
        del parents, node_frames
        return np.zeros(len(nodes), np.uint32), [Module(0, "", "")]

    def lines(self, device: DeviceTimeline, labels: U32) -> U32 | None:
        """Return the frame of each allocation's inferred line, NEVER for none; ``labels`` are those of the stacks."""
        del device, labels
        return None

    def early_modules(self, device: DeviceTimeline, modules: U32) -> U32:
        """Return the module of each allocation from before the trace, 0 for none; ``modules`` has those of stacks."""
        del modules
        return np.zeros(len(device.allocations), np.uint32)
