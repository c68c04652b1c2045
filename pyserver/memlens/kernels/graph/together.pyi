from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from memlens.kernels.base.work import Work

U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]

MOST_GROUPS: int

def retained_together(
    start: U64,
    target: U32,
    kind: U8,
    retains: U8,
    roots: U32,
    held: U64,
    type_of: U32,
    group_of: U64,
    shallow: U64,
    counts: U64,
    sums: U64,
    native: U64,
    outside: U64,
    work: Work,
) -> bool: ...
