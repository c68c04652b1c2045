from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

from memlens.packs.jvm.kernels.hprof_order import Order

U64: TypeAlias = npt.NDArray[np.uint64]

class Redaction(Order):
    needed: int
    keeps_time: bool
    @property
    def written(self) -> int: ...
    def keep(self, offsets: U64) -> None: ...
    def replace(self, offsets: U64, ends: U64, data: Buffer) -> None: ...
    def rename(self, ids: U64, ends: U64, data: Buffer) -> None: ...
    def fill(self, out: bytearray) -> int: ...
