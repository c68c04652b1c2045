from typing_extensions import Buffer

from memlens.arrays import I32, U8, U64

SKIPPED: int
WANTED: int
NOT_ZERO: int
COUNTED: int

def find(
    data: Buffer,
    widths: I32,
    wanted: U8,
    last: int,
    out: U64,
    counted: int,
    place: int,
) -> tuple[int, int, bool, int]: ...
