"""Stacks with values as the formats of profiles have them: unrolled, each frame in full. Whatever they are of."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.kernels.tree import stacks as kernel
from memlens.store.frames import FrameRow
from memlens.store.manifest import InconsistentError
from memlens.views.flame.calltree import Stacks
from memlens.views.naming.frame_names import FrameNames


class ValueName(NamedTuple):
    """What a value is, as ``("alloc_space", "bytes")``. Units are those of pprof, as bytes, count and nanoseconds."""

    name: str
    unit: str


class Label(NamedTuple):
    """A label of the sample of that number: a text, or a number with its unit where it has one."""

    sample: int
    key: str
    text: str
    number: int
    unit: str


class Recording(NamedTuple):
    """How a profile came about, as far as that is known; 0 and empty where it isn't."""

    time_unix_ns: int = 0
    duration_ns: int = 0
    period: int = 0
    period_type: str = ""
    period_unit: str = ""
    comments: tuple[str, ...] = ()
    doc_url: str = ""


NOTHING_TOLD = Recording()


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Stacks with values.

    The frames of stack ``i``, innermost first, are ``sequence[starts[i]:starts[i + 1]]``, numbers in ``frames``, all of
    which occur. ``values`` is int64[values, samples], and ``types`` says what they are; number ``default`` is the one
    to show first. ``of`` is the stack of each sample; without it sample ``i`` is that of stack ``i``. ``labels`` are in
    the order of their samples.
    """

    frames: list[FrameRow]
    starts: npt.NDArray[np.uint64]
    sequence: npt.NDArray[np.uint32]
    values: npt.NDArray[np.int64]
    types: Sequence[ValueName]
    default: int = 0
    of: npt.NDArray[np.uint32] | None = None
    labels: Sequence[Label] = ()
    recording: Recording = NOTHING_TOLD

    def stacks(self) -> list[list[int]]:
        """The frames of each stack, innermost first."""
        edges = self.starts.tolist()
        numbers = self.sequence.tolist()
        return [numbers[first:last] for first, last in pairwise(edges)]

    def stack_of(self) -> list[int]:
        """The stack of each sample."""
        found: list[int] = list(range(self.values.shape[1])) if self.of is None else self.of.tolist()
        return found


def samples_of(stacks: Stacks, names: FrameNames, types: Sequence[ValueName], default: int = 0) -> Samples:
    """Unroll some stacks."""
    starts = np.empty(len(stacks.nodes) + 1, np.uint64)
    if not kernel.measure(stacks.parents, stacks.nodes, starts):
        raise InconsistentError("The stacks run in a circle")
    sequence = np.empty(int(starts[-1]), np.uint32)
    kernel.unroll(stacks.parents, stacks.frames, stacks.nodes, starts, sequence)
    numbers, places = np.unique(sequence, return_inverse=True)
    if len(numbers) and int(numbers[-1]) >= names.count:
        raise InconsistentError("A stack has an unknown frame")
    frames: list[FrameRow] = []
    words = names.words.all()
    for number in numbers.tolist():
        row = words.get(number)
        # behind the frames come names that stand for stacks without any
        frames.append(row if row is not None else ("", 0, names.name(number, "line").function, -1))
    return Samples(frames, starts, places.astype(np.uint32), stacks.values, types, default)
