from memlens.arrays import U8, U32, U64
from memlens.kernels.graph.left_out import LeftOut

def one_up(
    start: U64,
    target: U32,
    kind: U8,
    back_start: U64,
    back: U32,
    back_kind: U8,
    follows: U8,
    distance: U32,
    items: U32,
    above: U32,
    rows: U64,
    most: int,
    left_out: LeftOut | None = ...,
) -> int | None: ...
