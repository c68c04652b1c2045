"""The rule of :mod:`memlens.model.attribution` as ranks of frames. Its names are in that module, without NumPy."""

from collections.abc import Iterable
from typing import assert_never

import numpy as np

from memlens.arrays import U8, U32
from memlens.kernels.tree.calltree import best_above
from memlens.model.attribution import Attribution
from memlens.model.frames import NATIVE, POSSIBLE_ARENA, USER, is_nameless
from memlens.model.info import Model
from memlens.model.languages import is_allocation_function, is_language_runtime, is_start_up
from memlens.model.timeline import NEVER
from memlens.packs import registry

NAMELESS = NATIVE + 1
"""The rank of frames without a name, of which a caller with one says more."""

RUNTIME, NOWHERE = NAMELESS + 1, NAMELESS + 2
"""The ranks of functions of the library of C or C++ without a line, than which an address in another binary says more,
and of frames that have neither a name nor such a binary."""

PASSED_OVER = NOWHERE + 1
"""The rank of frames in which nearly every stack begins or ends, and which are therefore the least informative."""


def passed_over(frames: Iterable[tuple[str, str, int]], model: Model) -> U8:
    """Return the rank of frames (file, function, kind) that are charged only if their stack has no other; 0 for others.

    In profiles and heap dumps :data:`PASSED_OVER` are allocation functions, those that start programs and threads, and
    the marker of a possible pool of Python's allocator; :data:`NAMELESS`, :data:`RUNTIME` and :data:`NOWHERE` are those
    that say little. In traces the recorder's frames are passed over.
    """
    match model:
        case "timeline":
            is_recorder = registry.operators().is_recorder
            found = [PASSED_OVER * (kind == NATIVE and is_recorder(function)) for _, function, kind in frames]
        case "profile" | "graph":
            found = [_passed_over(*frame) for frame in frames]
        case _:
            assert_never(model)
    return np.array(found, np.uint8)


def _passed_over(file: str, function: str, kind: int) -> int:
    if kind == USER:
        return 0
    if function == POSSIBLE_ARENA.function or is_allocation_function(function, file) or is_start_up(function):
        return PASSED_OVER
    if kind != NATIVE:
        return 0
    if is_nameless(function):
        binary = " at 0x" in function
        return (
            NAMELESS if binary and not is_language_runtime(file or function.partition(" at ")[0]) else NOWHERE
        )
    return RUNTIME if is_language_runtime(file) else 0


def charged(parents: U32, frames: U32, nodes: U32, ranked: U8) -> U32:
    """Return the frame that each stack is charged to: the innermost of the lowest rank, NEVER without frames.

    Stacks are ``nodes`` of the prefix tree of ``parents`` and ``frames``; ``ranked`` has the rank of each frame.
    """
    best: U32 = np.full(len(parents), NEVER, np.uint32)
    best_above(parents, frames, ranked, best)
    return best[nodes]


def ranks(
    kinds: U8,
    passed: U8,
    attribution: Attribution,
    model: Model,
) -> U8:
    """Return the rank of each frame. A stack is charged to its frame of the lowest rank, of equal ones the innermost.

    In a trace C++ is passed over if there is Python, because every stack ends in the device's allocator.
    """
    own = kinds if attribution == "mine" else _ranks_of_any_code(kinds, model)
    return np.where(passed, passed, own).astype(np.uint8)


def _ranks_of_any_code(kinds: U8, model: Model) -> U8:
    match model:
        case "timeline":
            native: U8 = (kinds == NATIVE).astype(np.uint8)
            return native
        case "profile" | "graph":
            return np.zeros_like(kinds)
        case _:
            assert_never(model)
