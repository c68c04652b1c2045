"""The places that stacks are charged to, by number: frames, missing stacks, and operators.

The first places are the archive's frames, by their numbers. Then follow those for stacks without frames, and in a trace
the operators of stacks that have only C++.
"""

from typing import assert_never

import numpy as np

from memlens.arrays import U32, Mask
from memlens.model.attribution import Attribution
from memlens.model.frames import NATIVE
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameRow
from memlens.views.naming.attribution import charged_frames
from memlens.views.naming.frame_names import BEFORE_TRACE, SPECIAL_NAMES
from memlens.views.naming.operators import operators_of_stacks

NO_STACK_ROW: FrameRow = ("", 0, "", NATIVE)
BEFORE_RECORDING: FrameRow = ("", 0, SPECIAL_NAMES[BEFORE_TRACE].text, NATIVE)


def bare_place(snapshot: Snapshot, why: int) -> int:
    """The place for missing stacks, :data:`NO_STACK` or :data:`BEFORE_TRACE`."""
    return len(snapshot.frames) + why


@kept
def places_of(snapshot: Snapshot) -> list[FrameRow]:
    """All places, in the order of their numbers."""
    operators = [("", 0, name, NATIVE) for name in operator_names(snapshot)]
    return [*snapshot.frames.each(), NO_STACK_ROW, BEFORE_RECORDING, *operators]


@kept
def native_places(snapshot: Snapshot) -> Mask:
    """Mask of the places that are native code, or for stacks without Python frames."""
    frames = snapshot.frames.kind == NATIVE
    return np.concatenate((frames, np.ones(len(places_of(snapshot)) - len(frames), bool)))


def operator_names(snapshot: Snapshot) -> list[str]:
    """The names of the places that are operators, in the order of their numbers."""
    return _operators(snapshot)[1]


@kept
def charged_places(snapshot: Snapshot, attribution: Attribution) -> U32:
    """The place that each stack is charged to; after the archive's stacks the places of missing stacks."""
    frames, operators = charged_frames(snapshot, attribution), _operators(snapshot)[0]
    no_stack, before_trace, first_operator = (np.uint32(bare_place(snapshot, each)) for each in range(3))
    places = np.where(frames == NEVER, no_stack, frames)
    named = operators != NEVER
    places[named] = operators[named] + first_operator
    return np.concatenate((places, np.array([no_stack, before_trace], np.uint32)))


def _operators(snapshot: Snapshot) -> tuple[U32, list[str]]:
    """For each stack that has only C++ the number of its operator, NEVER for others; and the operators' names."""
    match snapshot.info:
        case TimelineInfo():
            return _operators_of_native(snapshot)
        case ProfileInfo() | GraphInfo():
            return np.full(len(snapshot.stacks.node), NEVER, np.uint32), []
        case _:
            assert_never(snapshot.info)


@kept
def _operators_of_native(snapshot: Snapshot) -> tuple[U32, list[str]]:
    labels, native = snapshot.stacks.label, snapshot.frames.kind == NATIVE
    # a stack is charged to C++ only where it has no Python at all
    alone = np.flatnonzero(labels != NEVER)
    alone = alone[native[labels[alone]]]
    found = np.full(len(labels), NEVER, np.uint32)
    if not len(alone):
        return found, []
    operators, names = operators_of_stacks(snapshot)
    alone = alone[operators[alone] != NEVER]
    numbers, found[alone] = np.unique(operators[alone], return_inverse=True)
    return found, [names[number] for number in numbers.tolist()]
