from memlens.arrays import U8, U32, U64
from memlens.kernels.base.work import Work

def freed_without(
    start: U64,
    target: U32,
    kind: U8,
    retains: U8,
    dominated_start: U32,
    dominated: U32,
    moved: U32,
    moved_to: U32,
    distance: U32,
    shallow: U64,
    native: U64,
    roots: U32,
    sources: U32,
    targets: U32,
    holder: int,
    most: int,
) -> tuple[tuple[int, int] | None, int]: ...

class OtherHolders:
    def __init__(
        self,
        start: U64,
        target: U32,
        kind: U8,
        retains: U8,
        dominator: U32,
        moved: U32,
        moved_to: U32,
        distance: U32,
    ) -> None: ...
    def hold(self, item: int, referrers: U32, without: U32, most: int, work: Work) -> bool | None: ...
