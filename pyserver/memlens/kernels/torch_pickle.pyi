from typing import Literal, TypeAlias

from typing_extensions import Buffer

OK: int
MORE: int
TRUNCATED: int
FORBIDDEN: int
UNKNOWN_OPCODE: int
UNDERFLOW: int
BAD_MEMO: int
NO_MEMORY: int
BAD_FIELD: int
TOO_DEEP: int
ABSURD_LENGTH: int
TOO_MANY: int
STRING_KIND: int
FIELD_NAMES: tuple[str, ...]

Table: TypeAlias = Literal[
    "events", "frames", "blocks", "segments", "annotations", "extras", "streams", "pools", "actions", "categories",
    "stack_frames", "stack_starts",
]  # fmt: skip

RowTable: TypeAlias = Literal["events", "blocks", "segments", "annotations"]

class Scanner:
    error: int
    error_offset: int
    error_detail: int
    def __init__(self, data: Buffer) -> None: ...
    @property
    def offset(self) -> int: ...
    def run(self, limit: int) -> int: ...
    def root(self) -> dict[str, int] | None: ...
    def string_at(self, row: int) -> str: ...
    def settings(self, dict_row: int) -> dict[str, str | int | float | bool | None]: ...
    def list_of_lists(self, list_row: int) -> list[int] | None: ...
    def rows(self, list_row: int, table: RowTable) -> Buffer | None: ...
    def block_lists(self) -> tuple[Buffer, Buffer]: ...
    def drop_scratch(self) -> None: ...
    def take(self, table: Table) -> Buffer: ...
