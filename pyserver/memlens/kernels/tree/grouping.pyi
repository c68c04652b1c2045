from typing import TypeAlias

import numpy as np
import numpy.typing as npt

U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]
I64: TypeAlias = npt.NDArray[np.int64]

def farthest_above(parents: U32, values: U32, barriers: U8, farthest: U32) -> None: ...
def group_sums(codes: U32, rows: U32, sizes: I64, bytes_of: I64, counts: I64, largest: U32) -> None: ...
