from typing import Literal, TypeAlias

from typing_extensions import Buffer

from memlens.arrays import U8, U32, U64

OK: int
TRUNCATED: int
BAD_TAG: int
BAD_WIRE: int
NO_MEMORY: int
TOO_MANY: int

Table: TypeAlias = Literal[
    "types",
    "location_starts",
    "sample_locations",
    "value_starts",
    "values",
    "labels",
    "mappings",
    "locations",
    "lines",
    "functions",
    "strings",
    "comments",
]

def sniff(head: Buffer) -> bool: ...
def prune(starts: U64, locations: U32, below: U8, whole: U8, firsts: U64) -> None: ...

class Scanner:
    error_offset: int
    def __init__(self, data: Buffer) -> None: ...
    def run(self) -> int: ...
    def numbers(self) -> dict[str, int]: ...
    def take(self, table: Table) -> Buffer: ...
