"""The largest value of each few rows of a column, by which searches skip what can't match."""

from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK, SUPER_BLOCK = 64, 4096
"""Rows summed up by one row of a column's ``_64`` and ``_4096`` companions."""


def block_peaks(column: npt.NDArray[Any], rows: int) -> npt.NDArray[Any]:
    """The largest value of each ``rows`` rows, the last block perhaps shorter."""
    if not len(column):
        return np.zeros(1, column.dtype)
    return np.maximum.reduceat(column, np.arange(0, len(column), rows))


def block_lows(column: npt.NDArray[Any], rows: int) -> npt.NDArray[Any]:
    """The smallest value of each ``rows`` rows of a column that is not empty, the last block perhaps shorter."""
    return np.minimum.reduceat(column, np.arange(0, len(column), rows))
