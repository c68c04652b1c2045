"""Classes of sizes: one for each power of two, and one for 0 bytes or unknown sizes."""

import numpy as np

from memlens.arrays import I64, U32

CLASSES = 64


def classes_of(sizes: I64) -> U32:
    """The class of each size: 0 for no bytes (or less), else the number of the highest bit plus one."""
    sizes = np.maximum(sizes, 0)
    # without the bit after the highest no value is rounded up to the next power of two as a double
    exponents = np.frexp((sizes & ~(sizes >> 1)).astype(np.float64))[1]
    return exponents.astype(np.uint32)


def edges_of(number: int) -> tuple[int, int]:
    """The smallest size of a class, and the smallest one beyond it."""
    return (0, 1) if number == 0 else (1 << (number - 1), 1 << number)


def filter_of(number: int) -> str:
    """The filter that finds the sizes of a class."""
    least, below = edges_of(number)
    return "size=0" if number == 0 else f"size>={least} size<{below}"
