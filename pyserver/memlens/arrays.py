"""Types of NumPy's arrays, by what they contain, and arrays of what kernels return."""

from typing import Any

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I16 = npt.NDArray[np.int16]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_row_types: dict[str, np.dtype[Any]] = {}


def rows_of(column: Any) -> npt.NDArray[Any]:
    """A kernel's result as rows of several fields. NumPy is slow to parse their types, which are therefore cached."""
    view = memoryview(column)
    found = _row_types.get(view.format)
    if found is None:
        found = _row_types[view.format] = np.asarray(column).dtype
    return np.frombuffer(view, found)
