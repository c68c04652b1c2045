from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

BOX_FORMAT: bytes
MORE: int
MATCHES: int
HOLDS_MATCH: int

U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]
I64: TypeAlias = npt.NDArray[np.int64]

class Layout:
    def __init__(
        self,
        offsets: U32,
        left: I64,
        inclusive: I64,
        names: U32,
        held: U8,
        held_before: I64,
        largest_first: bool,
    ) -> None: ...
    def run(
        self,
        x0: float,
        x1: float,
        width: int,
        thinnest: float,
        first_depth: int,
        rows: int,
        most: int,
    ) -> Buffer | None: ...
