from typing_extensions import Buffer

from memlens.arrays import I32

OK: int
MORE: int
NO_MEMORY: int

class Nodes:
    broken: int
    dangling: int
    total_bytes: int
    def __init__(
        self, data: Buffer, table: int, count: int, blob: int, blob_bytes: int, sizes: I32
    ) -> None: ...
    @property
    def offset(self) -> int: ...
    def run(self, limit: int) -> int: ...
    def take(self) -> tuple[Buffer, Buffer, Buffer, Buffer]: ...
