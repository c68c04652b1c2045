from typing_extensions import Buffer

from memlens.arrays import I64, U32

RECT_FORMAT: bytes

class Layer:
    def gather(
        self,
        ends: U32,
        ends_64: U32,
        ends_4096: U32,
        ys: I64,
        sizes: I64,
        stops: U32,
        moments: U32,
        first: int,
        last: int,
        y0: float,
        y1: float,
        rows: int,
        most_bytes: int,
    ) -> float: ...
    merged_rows: int
    merged_items: int
    tall_bytes: int
    def lay(self, shortest: int, most_bytes: int) -> tuple[Buffer, Buffer] | float: ...
