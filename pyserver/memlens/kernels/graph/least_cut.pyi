from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from memlens.kernels.base.work import Work

U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]

def least_cut(
    back_start: U64,
    back: U32,
    back_kind: U8,
    follows: U8,
    distance: U32,
    roots: U32,
    sought: U32,
    holder: int,
    most: int,
    most_steps: int,
    most_looked_at: int,
    work: Work,
) -> tuple[memoryview, memoryview, memoryview] | int | None: ...
