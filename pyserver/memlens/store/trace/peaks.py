"""What was live over time, and the largest value of each block of rows, with which searches skip blocks."""

from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.kernels.trace.timeline import live_over_time

BLOCK, SUPER_BLOCK = 64, 4096
"""How many rows one row of a column's ``_64`` and ``_4096`` companions covers."""

Column = npt.NDArray[Any]


def block_peaks(column: Column, rows: int) -> Column:
    """The largest value of each ``rows`` rows, the last block perhaps shorter."""
    if not len(column):
        return np.zeros(1, column.dtype)
    return np.maximum.reduceat(column, np.arange(0, len(column), rows))


def block_lows(column: Column, rows: int) -> Column:
    """The smallest value of each ``rows`` rows of a column that is not empty, the last block perhaps shorter."""
    return np.minimum.reduceat(column, np.arange(0, len(column), rows))


def live_columns(sizes: Column, starts: Column, ends: Column, moments: int) -> dict[str, Column]:
    """The live bytes at each moment, and their companions, by the names of a device's columns.

    Raises IndexError for an allocation that starts after the last moment.
    """
    live, count = np.empty(moments, np.int64), np.empty(moments, np.uint32)
    live_over_time(sizes, starts, ends, live, count)
    live_64 = block_peaks(live, BLOCK)
    return {
        "live": live,
        "live_64": live_64,
        "live_4096": block_peaks(live_64, SUPER_BLOCK // BLOCK),
        "low_64": block_lows(live, BLOCK),
        "live_count": count,
    }


def end_columns(end: Column) -> dict[str, Column]:
    """The companions of the ends of allocations, by the names of a device's columns."""
    end_64 = block_peaks(end, BLOCK)
    return {"end_64": end_64, "end_4096": block_peaks(end_64, SUPER_BLOCK // BLOCK)}
