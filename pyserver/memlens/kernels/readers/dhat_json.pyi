from typing import Literal, TypeAlias

from typing_extensions import Buffer

OK: int
MORE: int
TRUNCATED: int
SYNTAX: int
BAD_FIELD: int
TOO_DEEP: int
NO_MEMORY: int
FIELD_NAMES: tuple[str, ...]

Table: TypeAlias = Literal["points", "stack_starts", "stack_frames"]

class Scanner:
    error_field: int
    error_offset: int
    def __init__(self, data: Buffer) -> None: ...
    @property
    def offset(self) -> int: ...
    @property
    def has_points(self) -> bool: ...
    def run(self, limit: int) -> int: ...
    def span(self) -> dict[str, tuple[int, int]]: ...
    def take(self, table: Table) -> Buffer: ...
