from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]

class Joined:
    left_out: int
    def __init__(
        self,
        start: U64,
        target: U32,
        kind: U8,
        reference_name: U32,
        kinds: int,
        internal: int,
        first: int,
        second: int,
        chosen: U32,
        is_string: U8,
        name: U32,
        utf8: U8,
        end: U64,
        base: int,
        most: int,
    ) -> None: ...
    def take(self) -> tuple[Any, Any, Any]: ...
