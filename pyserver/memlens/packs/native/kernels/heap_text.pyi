from typing import Literal, TypeAlias

from typing_extensions import Buffer

from memlens.kernels.readers.scan import Scan

OK: int
MORE: int
SYNTAX: int
BAD_NUMBER: int
TOO_DEEP: int
NO_MEMORY: int
PLAIN: int
THREADS: int
JAVA: int
ALL_THREADS: int
NO_THREAD: int

Table: TypeAlias = Literal[
    "rows", "addresses", "stack_starts", "stack_addresses", "named_starts", "named_frames"
]

class Scanner(Scan):
    maps: int
    cut: bool
    def __init__(self, data: Buffer, start: int, layout: int) -> None: ...
    def texts(self) -> list[str]: ...
    def take(self, table: Table) -> Buffer: ...
