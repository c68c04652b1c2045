from collections.abc import Callable, Iterable, Mapping

from typing_extensions import Buffer

from memlens.arrays import U64
from memlens.kernels.readers.scan import Scan

OK: int
MORE: int
NO_MEMORY: int
KNOWN: int
ATTRIBUTES: int
SHARED: int
WRITE: int
NUMBER: int
TEXT: int
FLAG: int
ENUM: int

class PyHeap(Scan):
    stage: int
    objects_end: int
    is_cut: bool
    needed: int
    redirected: int
    has_failed: bool
    def __init__(
        self,
        data: Buffer,
        start: int,
        count: int,
        containers: U64,
        common: U64,
        has_texts: bool,
        keeps_shared: bool,
    ) -> None: ...
    def know(self, words: Iterable[bytes]) -> None: ...
    def classify(self, kinds: Mapping[int, int]) -> None: ...
    def rename(self, renamed: Callable[[bytes], bytes]) -> None: ...
    def place(self, address: int, is_reference: bool) -> int: ...
    def fill(self, out: bytearray) -> int: ...
