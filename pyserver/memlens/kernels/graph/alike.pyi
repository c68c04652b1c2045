from memlens.arrays import U8, U32, U64

def first_alike(
    data: U8,
    begin: U64,
    end: U64,
    seed: int,
    first: U32,
) -> None: ...
