"""Stacks with values, of any model, in the form that formats of profiles use: each stack as a full list of frames."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from memlens.kernels.tree import stacks as kernel
from memlens.model.expansion import Levels, fitting, levels_of, most_frames
from memlens.store.manifest import InconsistentError
from memlens.views.flame.names import Names
from memlens.views.naming.frame_names import FlameName
from memlens.views.selection.stacks import OneSide, ValuedStacks


class Label(NamedTuple):
    """A label of sample number ``sample``: a text, or a number, with its unit if it has one."""

    sample: int
    key: str
    text: str
    number: int
    unit: str


class Recording(NamedTuple):
    """How a profile was recorded; 0 and empty for what isn't known."""

    time_unix_ns: int = 0
    duration_ns: int = 0
    period: int = 0
    period_type: str = ""
    period_unit: str = ""
    comments: tuple[str, ...] = ()
    doc_url: str = ""


UNKNOWN = Recording()


@dataclass(frozen=True, slots=True)
class Unrolled:
    """The frames of each stack, innermost first, as indices into ``frames``, all of which occur."""

    frames: list[FlameName]
    stacks: list[list[int]]
    stack_of: list[int]
    """The stack of each sample."""


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """What is written: stacks with values, where each item is a sample, and the names of their frames.

    ``default`` is the index of the value to show first. ``labels`` are in the order of their samples.
    """

    stacks: ValuedStacks[OneSide]
    names: Names
    default: int = 0
    labels: Sequence[Label] = ()
    recording: Recording = UNKNOWN

    def levels(self) -> Levels:
        """How many frames of each distinct stack are written. Raises :class:`InconsistentError` for a damaged tree."""
        tree = self.stacks.tree
        numbers, stack_of = np.unique(self.stacks.stacks, return_inverse=True)
        found = levels_of(tree.parents, tree.ends[numbers])
        if found is None:
            raise InconsistentError("The stacks contain a cycle")
        # a format has each sample's stack in full, also where samples share one
        room = most_frames(len(tree.parents), len(stack_of))
        return found._replace(most=min(found.most, fitting(found.depths[stack_of], room)))

    def unrolled(self) -> Unrolled:
        """All stacks, as far as :meth:`levels` says. Raises :class:`InconsistentError` for a damaged tree."""
        tree = self.stacks.tree
        numbers, stack_of = np.unique(self.stacks.stacks, return_inverse=True)
        nodes = tree.ends[numbers]
        starts = np.concatenate(([0], np.cumsum(self.levels().kept))).astype(np.uint64)
        sequence = np.empty(int(starts[-1]), np.uint32)
        kernel.unroll(tree.parents, tree.frames, nodes, starts, sequence)
        frames, places = np.unique(sequence, return_inverse=True)
        if len(frames) and int(frames[-1]) >= self.names.count:
            raise InconsistentError("A stack has an unknown frame")
        flat = places.tolist()
        return Unrolled(
            self.names.names(frames.tolist()),
            [flat[first:last] for first, last in pairwise(starts.tolist())],
            stack_of.tolist(),
        )
