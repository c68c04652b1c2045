from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

from memlens.kernels.readers.scan import Scan

OK: int
MORE: int
TRUNCATED: int
SYNTAX: int
TOO_LARGE: int
NO_NODE: int
NO_MEMORY: int

Sink: TypeAlias = tuple[npt.NDArray[np.uint8], int, int, int, bool]

def starts_of(counts: npt.NDArray[np.uint32], starts: npt.NDArray[np.uint64]) -> None: ...
def count_items(data: Buffer, start: int, end: int) -> int: ...

class Rows(Scan):
    def __init__(self, data: Buffer, start: int, end: int, rows: int, sinks: list[Sink | None]) -> None: ...

class Strings(Scan):
    def __init__(self, data: Buffer, start: int, end: int) -> None: ...
    def take(self) -> tuple[Buffer, Buffer]: ...

class TraceTree(Scan):
    def __init__(self, data: Buffer) -> None: ...
    def read(
        self, start: int, end: int, fields: int, id_field: int, function_field: int, children_field: int
    ) -> int: ...
    def take(self) -> tuple[Buffer, Buffer, Buffer]: ...
