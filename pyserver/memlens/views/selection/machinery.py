"""Which stacks are of what a framework allocates for itself."""

from functools import partial

import numpy as np

from memlens.arrays import Mask
from memlens.packs import registry
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.selection.texts import Pattern
from memlens.views.selection.through import stacks_through


@kept
def machinery_stacks(snapshot: Snapshot) -> dict[str, Mask]:
    """For each kind of machinery in the snapshot, by its name, a mask of its stacks.

    A stack belongs to one kind at most: the first in the table that one of its functions belongs to.
    """
    found: dict[str, Mask] = {}
    left = np.ones(len(snapshot.stacks.node), bool)
    for kind in registry.machinery():
        frames = _in_functions(snapshot, kind.functions)
        if kind.file and frames.any():
            frames &= snapshot.frames.in_file(partial(_ends_with, f"/{kind.file}"))
        stacks = stacks_through(snapshot, frames) & left
        if kind.outside and stacks.any():
            stacks &= ~stacks_through(snapshot, _in_functions(snapshot, kind.outside))
        if stacks.any():
            found[kind.name] = stacks
            left &= ~stacks
    return found


def _ends_with(ending: str, file: str) -> bool:
    return f"/{file}".replace("\\", "/").endswith(ending)


def _in_functions(snapshot: Snapshot, patterns: tuple[str, ...]) -> Mask:
    found = np.zeros(len(snapshot.frames), bool)
    for each in patterns:
        found |= snapshot.frames.in_function(Pattern(each).matches)
    return found
