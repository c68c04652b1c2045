from typing_extensions import Buffer

from memlens.arrays import I64, U8, U32

def farthest_above(parents: U32, values: U32, barriers: U8, farthest: U32) -> None: ...
def group_sums(
    codes: U32,
    rows: U32,
    times: U32,
    values: I64,
    sizes: I64,
    sums: I64,
    first: U32,
    largest: U32,
) -> None: ...
def intern_pairs(left: U32, right: U32, first: int, codes: U32) -> Buffer: ...
