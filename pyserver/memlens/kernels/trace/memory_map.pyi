from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

RECT_FORMAT: bytes

U32: TypeAlias = npt.NDArray[np.uint32]

class Layer:
    def gather(
        self,
        starts: npt.NDArray[Any],
        ends: npt.NDArray[Any],
        ends_64: U32,
        ys: npt.NDArray[Any],
        sizes: npt.NDArray[Any],
        moments: U32,
        first: int,
        last: int,
        stop: int,
        y0: float,
        y1: float,
        rows: int,
    ) -> None: ...
    merged_rows: int
    merged_items: int
    tall_bytes: int
    def lay(self, shortest: int, most_bytes: int) -> tuple[Buffer, Buffer] | None: ...
