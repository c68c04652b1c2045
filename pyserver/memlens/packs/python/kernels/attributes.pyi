from typing import TypeAlias

import numpy as np
import numpy.typing as npt

I64: TypeAlias = npt.NDArray[np.int64]

def set_by_data(objects: I64, names: I64, forms: I64, found: npt.NDArray[np.uint8]) -> bool: ...
