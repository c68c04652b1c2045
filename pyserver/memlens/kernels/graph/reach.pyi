from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]

def leaders(start: U64, target: U32, seen: U8, order: U32) -> Buffer: ...
def distances(start: U64, target: U32, kind: U8, follows: U8, sources: U32, distance: U32) -> None: ...
def reached_from(start: U64, target: U32, kind: U8, follows: U8, sources: U32, reached: U8) -> None: ...
