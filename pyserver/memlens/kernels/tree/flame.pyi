from typing_extensions import Buffer

from memlens.arrays import I64, U8, U32

BOX_FORMAT: bytes
SIDES_FORMAT: bytes
MORE: int
MATCHES: int
HOLDS_MATCH: int

class Layout:
    def __init__(
        self,
        parents: U32,
        names: U32,
        child: U32,
        sibling: U32,
        widths: I64,
        times: U32 | None = None,
        numbers: U32 | None = None,
        more: U32 | None = None,
        more_width: I64 | None = None,
    ) -> None: ...
    def run(
        self,
        x0: float,
        x1: float,
        width: int,
        thinnest: float,
        first_depth: int,
        rows: int,
        most: int,
        held: U8 | None = None,
        before: I64 | None = None,
        after: I64 | None = None,
    ) -> tuple[Buffer, Buffer] | None: ...
    def children_of(self, node: int) -> Buffer: ...
    def place(self, node: int) -> tuple[int, int]: ...
