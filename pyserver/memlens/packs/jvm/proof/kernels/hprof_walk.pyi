import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

COLUMNS: int
OK: int
MORE: int
UNKNOWN: int

def walk(data: Buffer, id_bytes: int, rows: npt.NDArray[np.uint64]) -> tuple[int, int, int]: ...
