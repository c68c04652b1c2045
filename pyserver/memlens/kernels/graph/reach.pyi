from typing import TypeAlias

import numpy as np
import numpy.typing as npt

U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]

def distances(start: U64, target: U32, kind: U8, follows: U8, sources: U32, distance: U32) -> None: ...
def reached_from(start: U64, target: U32, kind: U8, follows: U8, sources: U32, reached: U8) -> None: ...
