from typing import Literal, TypeAlias

from typing_extensions import Buffer

from memlens.kernels.readers.pickle_machine import Machine

FIELD_NAMES: tuple[str, ...]

Table: TypeAlias = Literal["traces", "trace_list", "frames", "stack_frames", "stack_starts"]

class Scanner(Machine):
    limit: int
    is_snapshot: bool
    def take(self, table: Table) -> Buffer: ...
