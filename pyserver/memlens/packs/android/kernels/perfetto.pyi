from typing import Literal

from typing_extensions import Buffer

OK: int
TRUNCATED: int
BAD_TAG: int
BAD_WIRE: int
NO_MEMORY: int

HEAP_GRAPH: int
PROFILE: int
COMPRESSED: int
MAPPING: int
PROCESSES: int
FAILURE: int

def sniff(head: Buffer) -> bool: ...
def packed(data: Buffer) -> list[int]: ...
def fields_of(data: Buffer, start: int, end: int) -> list[tuple[int, int | bytes]]: ...

class Packets:
    offset: int
    status: int
    def __init__(self, data: Buffer) -> None: ...
    def run(self, limit: int) -> int: ...
    def take(self, table: Literal["packets"]) -> Buffer: ...

class Objects:
    broken: int
    impossible: int
    part_count: int
    def add(self, data: Buffer, start: int, end: int) -> int: ...
    def take(
        self,
        table: Literal[
            "ids",
            "types",
            "sizes",
            "heaps",
            "starts",
            "targets",
            "fields",
            "is_runtime",
            "roots",
            "extras",
            "parts",
        ],
    ) -> Buffer: ...
