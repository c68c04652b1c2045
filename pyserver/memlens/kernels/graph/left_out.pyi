from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from memlens.kernels.base.work import Work

U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]

class LeftOut:
    def __init__(self, start: U64, target: U32, kind: U8) -> None: ...
    def add_objects(self, chosen: U32) -> None: ...
    def add_names(self, name: U32, by_text: U8, wanted: int, among: U32, work: Work) -> int | None: ...
    def add_name(self, name: U32, by_text: U8, wanted: int, work: Work) -> int | None: ...
    def are_out(self, sources: U32, rows: U64, out: U8) -> None: ...
