import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

from memlens.kernels.readers.scan import Scan

OK: int
MORE: int
NO_MEMORY: int
WRITE: int

class Dump(Scan):
    stage: int
    end: int
    is_whole: bool
    needed: int
    def __init__(self, data: Buffer, start: int, keeps_numbers: bool) -> None: ...
    @property
    def texts(self) -> int: ...
    def fill(self, out: bytearray) -> int: ...

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
