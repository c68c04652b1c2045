from typing_extensions import Buffer

from memlens.arrays import I64, U32

def live_at(ends: U32, ends_64: U32, ends_4096: U32, stop: int, moment: int) -> Buffer: ...

class Sweep:
    def __init__(self, sizes: I64, ends: U32, ends_64: U32, ends_4096: U32, stacks: U32) -> None: ...
    def run(
        self,
        moments: U32,
        stops: U32,
        first_column: int,
        last_column: int,
        y0: float,
        y1: float,
        rows: int,
        most_bytes: int,
    ) -> tuple[Buffer, Buffer] | float: ...
