from typing import Any

from memlens.arrays import U8, U32, U64

class Joined:
    left_out: int
    def __init__(
        self,
        start: U64,
        target: U32,
        kind: U8,
        reference_name: U32,
        kinds: int,
        internal: int,
        first: int,
        second: int,
        chosen: U32,
        is_string: U8,
        name: U32,
        utf8: U8,
        end: U64,
        base: int,
        most: int,
    ) -> None: ...
    def take(self) -> tuple[Any, Any, Any]: ...
