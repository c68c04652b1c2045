from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from memlens.kernels.base.work import Work

U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]

def first_found(
    start: U64, target: U32, kind: U8, follows: U8, sources: U32, order: U32, parent: U32, work: Work
) -> int | None: ...
def sum_below(order: U32, parent: U32, own: U64, total: U64) -> None: ...
