from typing import TypeAlias

import numpy as np
import numpy.typing as npt

U8: TypeAlias = npt.NDArray[np.uint8]
U64: TypeAlias = npt.NDArray[np.uint64]

def texts_with(utf8: U8, ends: U64, part: bytes, marks: U8) -> bool: ...
def mark_equal(utf8: U8, ends: U64, wanted: bytes, marks: U8) -> None: ...
