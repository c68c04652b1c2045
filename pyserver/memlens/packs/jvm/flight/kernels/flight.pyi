from typing import Literal

from typing_extensions import Buffer

from memlens.arrays import I32, I64, U8, U32, U64
from memlens.kernels.readers.scan import Scan

OK: int
MORE: int
BAD_SIZE: int
BAD_VALUE: int
NO_MEMORY: int
LONG: int
INT: int
SHORT: int
BYTE: int
FLOAT: int
DOUBLE: int
STRING: int
ARRAY: int
NOWHERE: int
MOST_TYPES: int

class Scanner(Scan):
    cut: int
    def __init__(self, data: Buffer, start: int, end: int, wanted: U8, is_compressed: bool) -> None: ...
    def take(self, table: Literal["events"]) -> Buffer: ...

class Decoder:
    error_offset: int
    def __init__(self, data: Buffer, steps: I32, starts: U32, is_compressed: bool) -> None: ...
    def events(self, program: int, begins: U64, ends: U64, rows: I64) -> int: ...
    def pool(self, program: int, at: int, end: int, count: int, columns: int) -> tuple[int, int]: ...
    def arrays(self, program: int, begins: U64, columns: int) -> int: ...
    def take(self, table: Literal["rows", "ends"]) -> Buffer: ...
