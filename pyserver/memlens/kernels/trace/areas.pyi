from typing_extensions import Buffer

from memlens.arrays import I64, U8, U32

GROUP_MASK: int
LIT_BIT: int

def live_by_group(
    sizes: I64,
    ends: U32,
    ends_64: U32,
    ends_4096: U32,
    codes: U8 | U32,
    lit: U8,
    moments: U32,
    stops: U32,
    first_column: int,
    last_column: int,
    sums: I64,
    least_bytes: int,
) -> Buffer: ...
def lay_out(
    sums: I64,
    blocks_of: U32,
    sizes: I64,
    rows: U32,
    lit: U8,
    entering: U32,
    entering_from: U32,
    leaving: U32,
    leaving_from: U32,
    first_column: int,
    last_column: int,
    y0: float,
    y1: float,
    pixel_rows: int,
    most_bytes: int,
) -> tuple[Buffer, Buffer] | float: ...
