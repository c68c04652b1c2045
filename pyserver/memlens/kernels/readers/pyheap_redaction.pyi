import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

from memlens.kernels.readers.scan import Scan

class PyHeap(Scan):
    is_cut: bool
    needed: int
    def __init__(
        self,
        data: Buffer,
        start: int,
        count: int,
        containers: npt.NDArray[np.uint64],
        common: npt.NDArray[np.uint64],
        has_texts: bool,
    ) -> None: ...
    def fill(self, out: bytearray) -> int: ...
