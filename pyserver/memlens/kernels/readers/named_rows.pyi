from typing_extensions import Buffer

from memlens.arrays import U16

MORE: int
ENDED: int
FULL: int
BROKEN: int

class Rows:
    status: int
    needed: int
    def __init__(self, width: int, type_at: int, name_at: int, bits: U16) -> None: ...
    def take(self, data: Buffer, uses: U16) -> int: ...
