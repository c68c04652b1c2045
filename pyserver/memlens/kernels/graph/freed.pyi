from memlens.arrays import U8, U32, U64
from memlens.kernels.base.work import Work
from memlens.kernels.graph.left_out import LeftOut

class Holding:
    def __init__(
        self,
        start: U64,
        target: U32,
        kind: U8,
        back_start: U64,
        back: U32,
        back_kind: U8,
        follows: U8,
        shallow: U64,
        native: U64,
        distance: U32,
        left_out: LeftOut,
    ) -> None: ...
    def move_away(self, dropped: U32, work: Work) -> tuple[int, int, int] | None: ...
    def freed(
        self, sources: U32, targets: U32, most: int, work: Work
    ) -> tuple[tuple[int, int] | None, int] | None: ...

class Retained:
    chosen: int
    steps: int
    def __init__(
        self,
        start: U64,
        target: U32,
        kind: U8,
        back_start: U64,
        back: U32,
        back_kind: U8,
        retains: U8,
        distance: U32,
        dominated_start: U32,
        dominated: U32,
        shallow: U64,
        native: U64,
        chosen: U32,
        state: U8,
        work: Work,
    ) -> None: ...
    def follow(self, first: int, last: int) -> None: ...
    def sum_up(self) -> tuple[int, int, int] | None: ...
    def mark(self) -> None: ...
