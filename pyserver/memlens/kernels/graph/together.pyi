from memlens.arrays import U8, U32, U64
from memlens.kernels.base.work import Work

MOST_GROUPS: int

def retained_together(
    start: U64,
    target: U32,
    kind: U8,
    retains: U8,
    roots: U32,
    held: U64,
    type_of: U32,
    group_of: U64,
    shallow: U64,
    counts: U64,
    sums: U64,
    native: U64,
    outside: U64,
    work: Work,
) -> bool: ...
