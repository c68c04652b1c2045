from collections.abc import Sequence

from typing_extensions import Buffer

from memlens.arrays import U64
from memlens.kernels.readers.scan import Scan

OK: int
MORE: int
NO_MEMORY: int
BAD_RECORD: int
BAD_NUMBER: int
REFERENCE: int
KEY: int
VALUE: int
ITEM: int
ATTRIBUTE: int
ELEMENT: int

class Heap(Scan):
    is_cut: bool
    dangling: int
    duplicates: int
    def text(self, number: int) -> str: ...
    def types(self) -> bytes: ...
    def link(self, wanted: U64) -> Buffer | None: ...
    def take(self) -> dict[str, Buffer]: ...

class Dump(Heap):
    is_whole: bool
    recorded_objects: int
    def __init__(self, data: Buffer, start: int) -> None: ...
    def tables(self) -> dict[str, Buffer]: ...

class PyHeap(Heap):
    def __init__(
        self,
        data: Buffer,
        start: int,
        count: int,
        containers: Sequence[int],
        common: U64,
        frequent: Sequence[str],
        has_texts: bool,
        ends_early: bool,
    ) -> None: ...
