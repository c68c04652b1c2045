from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]

def marked(numbers: U32, table: U8, marks: U8) -> None: ...
def groups_of(chosen: U8, group: U32, found: U8) -> None: ...
def handed_down(parent: U32, own: U8, below: U8) -> None: ...
def having(
    start: U64, name: U32, kind: U8, by_text: U8, fits: U8, first: int, last: int, marks: U8
) -> None: ...
def rows_named(name: U32, kind: U8, by_text: U8, fits: U8) -> Buffer: ...
