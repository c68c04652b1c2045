from memlens.arrays import I32, I64, U8, U32, U64

class Replay:
    reserved_bytes: int
    peak_reserved_bytes: int
    failed_event: int
    failed_bytes: int
    missing_bytes: int
    segments: int
    segments_equal: int
    addresses: int
    addresses_equal: int
    is_out_of_memory: bool
    def __init__(
        self,
        arenas: U8,
        rows: int,
        *,
        expandable: bool,
        max_split: int,
        limit: int,
        allowed: int,
        collects_from: float,
        follows: bool,
    ) -> None: ...
    def begin(self, addresses: U64, sizes: I64, arenas: I32, kinds: U8, rows: U32) -> None: ...
    def place_before(self, row: int, arena: int, size: int) -> bool: ...
    def shrink(self) -> None: ...
    def drop(self, rows: U32) -> None: ...
    def run(
        self,
        first: int,
        actions: U8,
        rows: U32,
        addresses: U64,
        sizes: I64,
        arenas: I32,
        skipped: U8,
        implicit_events: U32,
        implicit_rows: U32,
    ) -> int: ...
