from memlens.arrays import U32, U64

class CompactTree:
    nodes: int
    done: int
    front: int
    def __init__(
        self,
        begin: U32,
        child: U32,
        type_of: U32,
        shallow: U64,
        retained: U64,
        root: int,
        tops: U32,
        lost: U32,
        types: int,
        columns: tuple[U32, U32, U32, U32, U32, U64, U64],
        group: U32,
        queue: U32,
    ) -> None: ...
    def run(self, most: int) -> bool: ...
