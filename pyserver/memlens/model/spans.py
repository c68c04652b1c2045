"""Ranges of rows in a column."""

from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64


def spans(begins: npt.NDArray[Any], counts: npt.NDArray[Any]) -> I64:
    """The rows of some ranges, one range after the other. ``begins`` and ``counts`` have an item for each range."""
    counts = counts.astype(np.int64)
    return np.repeat(begins.astype(np.int64) - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
