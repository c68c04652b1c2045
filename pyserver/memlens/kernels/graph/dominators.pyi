from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from memlens.arrays import U8, U32, U64

NONE: int

def dominators(
    start: U64,
    target: U32,
    kind: U8,
    retains: U8,
    roots: U32,
    root: int,
    attach: bool,
    referrers: Callable[[], tuple[U64, U32, U8]],
    order: U32,
    idom: U32,
    room: Callable[[int, str], npt.NDArray[Any]],
    contested: int = 1024,
) -> tuple[int, int, U32 | None]: ...
def retained_sizes(
    order: U32,
    idom: U32,
    count: int,
    shallow: U64,
    retained: U64,
) -> None: ...
def by_object(
    order: U32,
    idom: U32,
    of_vertex: U64,
    dominator: U32,
    retained: U64,
) -> None: ...
