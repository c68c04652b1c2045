from typing_extensions import Buffer

from memlens.arrays import U64

COLUMNS: int
OK: int
MORE: int
UNKNOWN: int

def walk(data: Buffer, id_bytes: int, rows: U64) -> tuple[int, int, int]: ...
