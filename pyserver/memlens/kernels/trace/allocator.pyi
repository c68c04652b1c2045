from typing_extensions import Buffer

from memlens.arrays import I64, U8, U16, U32, U64

BEFORE_TRACE: int
EXPANDABLE: int
SMALL: int
START_INFERRED: int
END_INFERRED: int
SPAN_FORMAT: bytes

def spans(
    boundaries: U64,
    finals: tuple[U32, U32, U32, U16, U16, U8],
    trace: tuple[U32, U8, U32, U32, U32, U16, U16, U8],
    implied_end: int,
) -> Buffer: ...
def spans_of_blocks(
    addresses: U64,
    starts: U32,
    bases: U64,
    base_of: U32,
    stops: U64,
    span_starts: U32,
    span_ends: U32,
    by_start: U32,
    by_end: U32,
    found: U32,
) -> None: ...
def room_of_blocks(
    places: U32, starts: U32, ends: U32, by_end: U32, addresses: U64, stops: U64, room: I64
) -> None: ...
