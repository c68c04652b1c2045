from typing import Literal, TypeAlias

from typing_extensions import Buffer

from memlens.kernels.readers.scan import Scan

OK: int
MORE: int
TRUNCATED: int
SYNTAX: int
BAD_FIELD: int
TOO_DEEP: int
NO_MEMORY: int
FIELD_NAMES: tuple[str, ...]

Table: TypeAlias = Literal["points", "stack_starts", "stack_frames"]

class Scanner(Scan):
    error_field: int
    def __init__(self, data: Buffer) -> None: ...
    @property
    def has_points(self) -> bool: ...
    def span(self) -> dict[str, tuple[int, int]]: ...
    def take(self, table: Table) -> Buffer: ...
