"""Allocations folded into stacks with values: all that a comparison has to know, and free of its snapshot.

A snapshot may be asked by one thread only. So each side of a comparison is folded by its own thread into this, and
what follows looks at two of these and at no snapshot. A profile (pprof, tracemalloc, …) is the same thing by nature.
"""

from dataclasses import dataclass
from typing import TypeVar, assert_never

import numpy as np
import numpy.typing as npt

from memlens.kernels.trace.timeline import BEFORE_TRACE as BEFORE_FLAG
from memlens.kernels.tree import stacks as kernel
from memlens.model.attribution import Attribution
from memlens.model.frames import NATIVE, operator_of
from memlens.model.info import ProfileInfo, TimelineInfo
from memlens.store.frames import FrameRow
from memlens.store.manifest import InconsistentError
from memlens.store.snapshot import Snapshot
from memlens.views.naming.attribution import charged_frames
from memlens.views.naming.frame_names import BEFORE_TRACE, SPECIAL_NAMES
from memlens.views.selection.columns import NEVER
from memlens.views.selection.profile_sets import samples_of
from memlens.views.selection.sets import AllocationSet, rows_of

K = TypeVar("K", np.uint32, np.uint64)

NO_STACK: FrameRow = ("", 0, "", NATIVE)
"""The place of what has no stack."""
BEFORE_RECORDING: FrameRow = ("", 0, SPECIAL_NAMES[BEFORE_TRACE], NATIVE)
"""The place of what has no stack since it was allocated before recording."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Every frame of a snapshot, and the one that each stack is told by.

    ``frames`` begins with the archive's own, by number, then come NO_STACK and BEFORE_RECORDING, and the operators that
    stand for stacks of C++ alone. ``own`` has an item for each stack of the archive: the frame that it is charged to,
    or the operator where that is one of C++ alone.
    """

    frames: list[FrameRow]
    own: npt.NDArray[np.uint32]
    early: int
    """The frame that is BEFORE_RECORDING."""


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """Stacks with values, an item a stack; those without allocations are left out.

    The frames of item ``i``, innermost first, are ``sequence[starts[i]:starts[i + 1]]``, numbers in ``places.frames``;
    ``own[i]`` is the one that it is told by. ``values[i]`` is bytes and count. ``stacks[i]`` is its number in the
    archive, with which its view lights it up. Where ``inferred[i]`` that frame does not stand in the stack but was
    inferred for some of its allocations, so a stack may have several items; so has the empty one, for what was
    allocated before recording.
    """

    places: Places
    stacks: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.uint64]
    sequence: npt.NDArray[np.uint32]
    own: npt.NDArray[np.uint32]
    values: npt.NDArray[np.int64]
    inferred: npt.NDArray[np.bool_]


def places_of(snapshot: Snapshot, attribution: Attribution = "mine") -> Places:
    """The frames of a snapshot, the same by either attribution. Takes time that grows with their number: keep it."""
    frames = snapshot.frames.all_rows()
    labels, own = snapshot.stacks.label, charged_frames(snapshot, attribution).copy()
    empty = labels == NEVER
    if bool(np.any(np.maximum(labels, own)[~empty] >= len(frames))):
        raise InconsistentError("A stack has an unknown frame")
    native = np.fromiter((frame[3] == NATIVE for frame in frames), np.bool_, len(frames))
    known = len(frames)
    frames += [NO_STACK, BEFORE_RECORDING]
    own[empty] = known
    # a stack is told by a native frame only where it has no line of Python at all
    nameless = np.flatnonzero(~empty & np.append(native, False)[np.minimum(labels, known)]).astype(np.uint32)
    starts, sequence = _unrolled(snapshot, nameless, known)
    numbers: dict[str, int] = {}
    named: dict[bytes, int] = {}
    for stack, start, end in zip(nameless.tolist(), starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        of_stack = sequence[start:end]
        key = of_stack.tobytes()
        number = named.get(key)
        if number is None:
            operator = operator_of([frames[frame][2] for frame in of_stack.tolist()])
            if operator is None:
                number = int(own[stack])
            elif operator in numbers:
                number = numbers[operator]
            else:
                number = numbers[operator] = len(frames)
                frames.append(("", 0, operator, NATIVE))
            named[key] = number
        own[stack] = number
    return Places(frames, own, known + 1)


def fold(snapshot: Snapshot, of: AllocationSet, places: Places) -> Folded:
    """Fold a set of allocations by stack. ``places`` is :func:`places_of` the same snapshot.

    Raises :class:`BadRequestError` for a device or a moment that the snapshot hasn't.
    """
    match snapshot.info:
        case TimelineInfo():
            return _fold_allocations(snapshot, of, places)
        case ProfileInfo():
            return _fold_samples(snapshot, of, places)
        case _:
            assert_never(snapshot.info)


def _fold_allocations(snapshot: Snapshot, of: AllocationSet, places: Places) -> Folded:
    device, rows = rows_of(snapshot, of)
    stack = device.stack[rows]
    if len(stack) and int(stack.max()) >= len(places.own):
        raise InconsistentError("An allocation has an unknown stack")
    guess = np.full(len(rows), NEVER, np.uint32) if device.inferred is None else device.inferred[rows]
    guessed = guess != NEVER
    if bool(guessed.any()) and int(guess[guessed].max()) >= len(places.frames):
        raise InconsistentError("A line is inferred from an unknown frame")
    bare = places.own[stack] == places.early - 1
    early = bare & ~guessed & ((device.flags[rows] & BEFORE_FLAG) != 0)
    plain = ~guessed & ~early
    stacks, values = _summed(stack[plain], device.size[rows[plain]])
    early_stacks, early_values = _summed(stack[early], device.size[rows[early]])
    # the allocations of one stack may be inferred to come from several lines
    pairs, more_values = _summed(
        stack[guessed].astype(np.uint64) << np.uint64(32) | guess[guessed], device.size[rows[guessed]]
    )
    of_pair, lines = (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)
    own = np.concatenate((places.own[stacks], np.full(len(early_stacks), places.early, np.uint32), lines))
    stacks = np.concatenate((stacks, early_stacks, of_pair))
    starts, sequence = _unrolled(snapshot, stacks, len(places.frames))
    inferred = np.arange(len(stacks)) >= len(stacks) - len(pairs)
    return Folded(
        places, stacks, starts, sequence, own, np.concatenate((values, early_values, more_values)), inferred
    )


def _fold_samples(snapshot: Snapshot, of: AllocationSet, places: Places) -> Folded:
    samples = samples_of(snapshot, of)
    stacks, of_sample = np.unique(snapshot.samples.stack[samples.rows], return_inverse=True)
    values = np.zeros((len(stacks), 2), np.int64)
    np.add.at(values, of_sample, np.stack((samples.amounts, samples.counts), axis=1))
    starts, sequence = _unrolled(snapshot, stacks, len(places.frames))
    return Folded(places, stacks, starts, sequence, places.own[stacks], values, np.zeros(len(stacks), bool))


def _summed(
    keys: npt.NDArray[K], sizes: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[K], npt.NDArray[np.int64]]:
    """The different keys, ascending, and the bytes and count of each."""
    found, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
    values = np.zeros((len(found), 2), np.int64)
    # exact, unlike bincount, which adds up weights as floats
    np.add.at(values[:, 0], place, sizes)
    values[:, 1] = counts
    return found, values


def _unrolled(
    snapshot: Snapshot, stacks: npt.NDArray[np.uint32], frames: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
    """Where each of ``stacks`` begins, and the frames of all of them, every number below ``frames``."""
    parents, node_frames = snapshot.tree.parent, snapshot.tree.frame
    nodes = snapshot.stacks.node[stacks]
    starts = np.empty(len(stacks) + 1, np.uint64)
    if not kernel.measure(parents, nodes, starts):
        raise InconsistentError("The stacks run in a circle")
    sequence = np.empty(int(starts[-1]), np.uint32)
    kernel.unroll(parents, node_frames, nodes, starts, sequence)
    if len(sequence) and int(sequence.max()) >= frames:
        raise InconsistentError("A stack has an unknown frame")
    return starts, sequence
