from typing import Literal, TypeAlias

from typing_extensions import Buffer

from memlens.kernels.readers.pickle_machine import Machine

FIELD_NAMES: tuple[str, ...]
UNKNOWN_ADDRESS: int
ADDRESS_OF_HISTORY: int
UNKNOWN_SIZE: int
UNKNOWN_TIME: int
UNKNOWN_DEVICE: int

Table: TypeAlias = Literal[
    "events", "frames", "blocks", "segments", "annotations", "extras", "streams", "pools", "actions", "categories",
    "stack_frames", "stack_starts", "module_names", "module_starts",
]  # fmt: skip

RowTable: TypeAlias = Literal["events", "blocks", "segments", "annotations"]

class Scanner(Machine):
    def roots(self) -> list[dict[str, tuple[Literal["list", "dict", "other"], int]]]: ...
    def odd_counts(self) -> list[tuple[str, str, int]]: ...
    def list_of_lists(self, list_row: int) -> list[int] | None: ...
    def rows(self, list_row: int, table: RowTable) -> Buffer | None: ...
    def block_lists(self) -> tuple[Buffer, Buffer] | None: ...
    def event_sums(self, most_bytes: int) -> tuple[int, float]: ...
    def drop_scratch(self) -> None: ...
    def take(self, table: Table) -> Buffer: ...
