from typing_extensions import Buffer

from memlens.arrays import U8

def find(data: Buffer, endings: tuple[bytes, ...], found: U8) -> None: ...
