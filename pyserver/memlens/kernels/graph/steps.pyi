from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from memlens.kernels.graph.left_out import LeftOut

U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]

def one_up(
    start: U64,
    target: U32,
    kind: U8,
    back_start: U64,
    back: U32,
    back_kind: U8,
    follows: U8,
    distance: U32,
    items: U32,
    above: U32,
    rows: U64,
    most: int,
    left_out: LeftOut | None = ...,
) -> int | None: ...
