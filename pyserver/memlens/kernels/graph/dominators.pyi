from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

NONE: int

def dominators(
    start: npt.NDArray[np.uint64],
    target: npt.NDArray[np.uint32],
    kind: npt.NDArray[np.uint8],
    retains: npt.NDArray[np.uint8],
    roots: npt.NDArray[np.uint32],
    root: int,
    attach: bool,
    referrers: Callable[[], tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32], npt.NDArray[np.uint8]]],
    order: npt.NDArray[np.uint32],
    idom: npt.NDArray[np.uint32],
    room: Callable[[int, str], npt.NDArray[Any]],
    contested: int = 1024,
) -> tuple[int, int, npt.NDArray[np.uint32] | None]: ...
def retained_sizes(
    order: npt.NDArray[np.uint32],
    idom: npt.NDArray[np.uint32],
    count: int,
    shallow: npt.NDArray[np.uint64],
    retained: npt.NDArray[np.uint64],
) -> None: ...
def by_object(
    order: npt.NDArray[np.uint32],
    idom: npt.NDArray[np.uint32],
    of_vertex: npt.NDArray[np.uint64],
    dominator: npt.NDArray[np.uint32],
    retained: npt.NDArray[np.uint64],
) -> None: ...
