from memlens.arrays import U8, U32, U64
from memlens.kernels.base.work import Work

def least_cut(
    back_start: U64,
    back: U32,
    back_kind: U8,
    follows: U8,
    distance: U32,
    roots: U32,
    sought: U32,
    holder: int,
    most: int,
    most_steps: int,
    most_looked_at: int,
    work: Work,
) -> tuple[memoryview, memoryview, memoryview] | int | None: ...
