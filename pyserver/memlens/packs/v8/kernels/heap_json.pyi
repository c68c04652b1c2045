from typing import TypeAlias

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

Sink: TypeAlias = tuple[U8, int, int, int, bool]

def starts_of(counts: U32, starts: U64) -> None: ...
def count_items(data: Buffer, start: int, end: int) -> int: ...

class Rows(Scan):
    def __init__(self, data: Buffer, start: int, end: int, rows: int, sinks: list[Sink | None]) -> None: ...

class Strings(Scan):
    def __init__(self, data: Buffer, start: int, end: int) -> None: ...
    def take(self) -> tuple[Buffer, Buffer]: ...

class TraceTree(Scan):
    def __init__(self, data: Buffer) -> None: ...
    def read(
        self, start: int, end: int, fields: int, id_field: int, function_field: int, children_field: int
    ) -> int: ...
    def take(self) -> tuple[Buffer, Buffer, Buffer]: ...
