import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

SKIPPED: int
WANTED: int
NOT_ZERO: int
COUNTED: int

def find(
    data: Buffer,
    widths: npt.NDArray[np.int32],
    wanted: npt.NDArray[np.uint8],
    last: int,
    out: npt.NDArray[np.uint64],
    counted: int,
    place: int,
) -> tuple[int, int, bool, int]: ...
