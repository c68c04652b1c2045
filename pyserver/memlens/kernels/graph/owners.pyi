from memlens.arrays import U8, U32, U64
from memlens.kernels.base.work import Work

SEVERAL: int

def named_targets(
    start: U64, target: U32, kind: U8, name: U32, chosen: U32, follows: U8, wanted: int, found: U32
) -> None: ...
def spread_owners(start: U64, target: U32, kind: U8, follows: U8, owner: U32, work: Work) -> bool | None: ...
