from typing import TypeAlias

import numpy as np
import numpy.typing as npt

U32: TypeAlias = npt.NDArray[np.uint32]
I64: TypeAlias = npt.NDArray[np.int64]

class LineFolder:
    def __init__(self, parents: U32, lines: U32, count: int) -> None: ...
    def fold(self, values: I64, inclusive: I64, own: I64) -> None: ...
