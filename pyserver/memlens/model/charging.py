"""The rule of :mod:`memlens.model.attribution` as ranks of frames; apart from its names, which need no NumPy."""

from collections.abc import Iterable
from typing import assert_never

import numpy as np
import numpy.typing as npt

from memlens.kernels.tree.calltree import best_above
from memlens.model.attribution import Attribution
from memlens.model.frames import NATIVE, POSSIBLE_ARENA, USER, is_recorder
from memlens.model.info import Model
from memlens.model.languages import is_allocation_function
from memlens.model.timeline import NEVER

U32 = npt.NDArray[np.uint32]

PASSED_OVER = NATIVE + 1
"""The rank of frames in which every stack would end: they say less than any other frame."""


def passed_over(frames: Iterable[tuple[str, str, int]], model: Model) -> npt.NDArray[np.bool_]:
    """Which of some frames, of each its file, function and kind, are charged only where a stack has nothing else.

    In a profile that is what was called to allocate, and the mark of what may be a pool of Python's allocator; in a
    trace what PyTorch's recorder adds of itself.
    """
    match model:
        case "timeline":
            found = [kind == NATIVE and is_recorder(function) for _, function, kind in frames]
        case "profile":
            found = [
                kind != USER
                and (function == POSSIBLE_ARENA.function or is_allocation_function(function, file))
                for file, function, kind in frames
            ]
        case _:
            assert_never(model)
    return np.array(found, np.bool_)


def charged(parents: U32, frames: U32, nodes: U32, ranked: npt.NDArray[np.uint8]) -> U32:
    """The frame that each stack is charged to: the innermost of the lowest rank; NEVER for a stack without frames.

    Stacks are ``nodes`` of the prefix tree of ``parents`` and ``frames``; ``ranked`` has the rank of each frame.
    """
    best = np.full(len(parents), NEVER, np.uint32)
    best_above(parents, frames, ranked, best)
    found: U32 = best[nodes]
    return found


def ranks(
    kinds: npt.NDArray[np.uint8],
    passed: npt.NDArray[np.bool_],
    attribution: Attribution,
    model: Model,
) -> npt.NDArray[np.uint8]:
    """In which order frames of these kinds are charged: the lowest rank of a stack, the innermost of equals.

    In a trace C++ is passed over where there is Python: every stack would end in the device's allocator.
    """
    if attribution == "mine":
        own = kinds
    else:
        own = (kinds == NATIVE).astype(np.uint8) if model == "timeline" else np.zeros_like(kinds)
    return np.where(passed, np.uint8(PASSED_OVER), own).astype(np.uint8)
