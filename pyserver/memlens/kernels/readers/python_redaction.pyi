from typing_extensions import Buffer

from memlens.kernels.readers.scan import Scan

OK: int
MORE: int
NO_MEMORY: int
WRITE: int

class Dump(Scan):
    stage: int
    end: int
    is_whole: bool
    objects: int
    needed: int
    def __init__(self, data: Buffer, start: int, keeps_numbers: bool, keeps_time: bool = False) -> None: ...
    @property
    def texts(self) -> int: ...
    def fill(self, out: bytearray) -> int: ...
