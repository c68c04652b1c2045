from typing import TypeAlias

import numpy as np
import numpy.typing as npt

U32: TypeAlias = npt.NDArray[np.uint32]
I64: TypeAlias = npt.NDArray[np.int64]

def wholly_free(
    starts: U32,
    ends: U32,
    segments: U32,
    segment_starts: U32,
    segment_ends: U32,
    segment_sizes: I64,
    bytes_free: I64,
) -> None: ...
