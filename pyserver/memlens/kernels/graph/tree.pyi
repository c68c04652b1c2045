from typing import TypeAlias

import numpy as np
import numpy.typing as npt

U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]

def descending(values: U64, ordered: U32) -> None: ...
def grouped(group: U32, ordered: U32, begin: U32, member: U32) -> None: ...
def retained_by_type(begin: U32, child: U32, type_of: U32, retained: U64, sums: U64) -> None: ...
