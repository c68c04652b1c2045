"""Numbers without those that are there already."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", bound=np.integer[Any])


def distinct(numbers: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """The different ones of some numbers, ascending.

    NumPy's ``unique`` does so, too, but imports its masked arrays first, which takes longer than most findings.
    """
    ordered = np.sort(numbers, axis=None)
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]
