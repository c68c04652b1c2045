from collections.abc import Iterable

from memlens.arrays import I64, U8, U32, U64

PAGE_BYTES: int
LOCK_PAGE: int
MOST_RECORD_BYTES: int
MOST_COLUMNS: int

class Texts:
    def __init__(self, texts: Iterable[str | None]) -> None: ...
    def __len__(self) -> int: ...
    @property
    def longest_bytes(self) -> int: ...
    @property
    def texts(self) -> list[str | None]: ...

class Tree:
    rows: int
    leaves: int
    def __init__(self, first_page: int, *, has_rowids: bool) -> None: ...
    def add(
        self,
        columns: list[tuple[I64, U8 | None, Texts | None] | None],
        count: int,
        first_rowid: int = 0,
    ) -> bytes: ...
    def finish(self) -> tuple[bytes, bytes | None]: ...

def sort_rows(keys: U64, order: U32, spare: U32) -> None: ...
def stack_levels(
    nodes: U32,
    parents: U32,
    frames: U32,
    first_stack: int,
    most: int,
    stack_of: I64,
    level_of: I64,
    frame_of: I64,
) -> None: ...
def stacks_by_frame(
    nodes: U32, parents: U32, frames: U32, most: int, ends: I64, stack_of: U32, level_of: U32
) -> None: ...
