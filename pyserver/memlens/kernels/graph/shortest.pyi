from memlens.arrays import U8, U32, U64
from memlens.kernels.base.work import Work

def first_found(
    start: U64, target: U32, kind: U8, follows: U8, sources: U32, order: U32, parent: U32, work: Work
) -> int | None: ...
def sum_below(order: U32, parent: U32, own: U64, total: U64) -> None: ...
