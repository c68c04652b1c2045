from typing import Literal, TypeAlias

from typing_extensions import Buffer

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

class Scanner:
    maps: int
    cut: bool
    error_offset: int
    def __init__(self, data: Buffer, start: int, layout: int) -> None: ...
    @property
    def offset(self) -> int: ...
    def run(self, limit: int) -> int: ...
    def texts(self) -> list[str]: ...
    def take(self, table: Table) -> Buffer: ...
