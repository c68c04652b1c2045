from typing_extensions import Buffer

from memlens.kernels.readers.scan import Scan

class Lines(Scan):
    needed: int
    is_cut: bool
    def __init__(self, data: Buffer) -> None: ...
    def fill(self, out: bytearray) -> int: ...
