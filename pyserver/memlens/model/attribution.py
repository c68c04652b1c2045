"""Which frame of a stack its bytes are charged to: the one rule behind every figure that is called "self" or "own".

"My code" charges the innermost frame of the user's own code, so that a line is answerable for what the libraries that
it calls allocate. "Any code" charges the innermost frame, no matter whose code it is, as other tools do. Where a stack
has none of the user's code the next best is charged: a library's, then native code, and last what was called to
allocate.
"""

from collections.abc import Iterable
from typing import Literal

import numpy as np
import numpy.typing as npt

from memlens.model.frames import NATIVE, USER
from memlens.model.languages import is_allocation_function

Attribution = Literal["mine", "any"]
Model = Literal["timeline", "profile"]

NAMES: dict[Attribution, str] = {"mine": "my code", "any": "any code"}
MEANINGS: dict[Attribution, str] = {
    "mine": "charged to the innermost frame of your own code",
    "any": "charged to the innermost frame, no matter whose code it is; functions such as malloc are passed over",
}

ALLOCATING = NATIVE + 1
"""The rank of what was called to allocate, which says less than any other frame: every stack would end there."""


def allocation_functions(frames: Iterable[tuple[str, str, int]]) -> npt.NDArray[np.bool_]:
    """Which of some frames, of each its file, function and kind, were called to allocate."""
    found = [kind != USER and is_allocation_function(function, file) for file, function, kind in frames]
    return np.array(found, np.bool_)


def ranks(
    kinds: npt.NDArray[np.uint8],
    allocating: npt.NDArray[np.bool_],
    attribution: Attribution,
    model: Model,
) -> npt.NDArray[np.uint8]:
    """In which order frames of these kinds are charged: the lowest rank of a stack, the innermost of equals.

    In a trace C++ is passed over where there is Python: every stack would end in the device's allocator.
    """
    if model == "timeline":
        return (kinds == NATIVE).astype(np.uint8) if attribution == "any" else kinds
    if attribution == "any":
        return allocating.astype(np.uint8)
    return np.where(allocating, np.uint8(ALLOCATING), kinds).astype(np.uint8)
