from typing import TypeAlias

import numpy as np
import numpy.typing as npt

U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]

def referrers(
    start: U64, target: U32, kind: U8, back_start: U64, back: U32, back_kind: U8, at_once: int = ...
) -> None: ...
