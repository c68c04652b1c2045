from collections.abc import Callable

from typing_extensions import Buffer

from memlens.kernels.readers.scan import Scan

OK: int

class Lines(Scan):
    needed: int
    written: int
    is_cut: bool
    has_failed: bool
    def __init__(self, data: Buffer, keeps_order: bool) -> None: ...
    def rename(self, renamed: Callable[[bytes], bytes]) -> None: ...
    def fill(self, out: bytearray) -> int: ...
