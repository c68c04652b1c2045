from typing import Any, Literal, TypeAlias

import numpy.typing as npt
from typing_extensions import Buffer

from memlens.arrays import I64, U64
from memlens.kernels.readers.scan import Scan

OK: int
MORE: int
TRUNCATED: int
SYNTAX: int
BAD_NUMBER: int
BAD_TREE: int
TOO_DEEP: int
NO_MEMORY: int
EMPTY: int
DETAILED: int
PEAK: int

Table: TypeAlias = Literal["snapshots", "leaves", "stack_starts", "stack_frames"]

class Scanner(Scan):
    pages: bool
    def __init__(self, data: Buffer) -> None: ...
    @property
    def unfinished(self) -> bool: ...
    def drop_last(self) -> None: ...
    def frames(self) -> list[str]: ...
    def take(self, table: Table) -> Buffer: ...

def differences(
    ends: I64,
    samples: I64,
    held: I64,
    more: I64,
    changes: npt.NDArray[Any],
    made: U64,
) -> None: ...
