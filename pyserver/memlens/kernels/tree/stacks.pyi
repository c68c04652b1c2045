from typing import TypeAlias

import numpy as np
import numpy.typing as npt

U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]

def depths(parents: U32, depth: U32) -> bool: ...
def unroll(parents: U32, frames: U32, nodes: U32, starts: U64, sequence: U32) -> None: ...
