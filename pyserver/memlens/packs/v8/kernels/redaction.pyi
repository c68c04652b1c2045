from typing_extensions import Buffer

from memlens.arrays import U8, U32, U64
from memlens.kernels.readers.scan import Scan

OK: int
MORE: int
TRUNCATED: int
SYNTAX: int
TOO_LARGE: int
NO_NODE: int
NO_MEMORY: int

NAME: int
VALUE: int
NODE: int
FIXED: int
SHORT: int
CONSTANT: int
CLASS: int
DECLARED: int

PLAIN: int
ALWAYS: int
CONSTRUCTOR: int
CONSTANTS: int
POOL: int
ENGINES: int
ACCESSOR: int
GLOBAL: int

class Strings(Scan):
    count: int
    needed: int
    def __init__(self, data: Buffer, start: int, end: int) -> None: ...
    def take_uses(self) -> Buffer: ...
    def take_forms(self) -> Buffer: ...
    def take_numerals(self) -> Buffer: ...
    def take_tables(self) -> Buffer: ...
    def number_tables(self, old: U64, new: U64) -> None: ...
    def write(self, start: int, uses: U8, numbers: U32, slots: U32) -> None: ...
    def fill(self, out: bytearray) -> int: ...
