from typing_extensions import Buffer

from memlens.arrays import I64

def parse(data: Buffer, out: I64) -> int: ...
