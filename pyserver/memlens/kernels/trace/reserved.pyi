from memlens.arrays import I64, U32

def wholly_free(
    starts: U32,
    ends: U32,
    segments: U32,
    segment_starts: U32,
    segment_ends: U32,
    segment_sizes: I64,
    bytes_free: I64,
) -> None: ...
