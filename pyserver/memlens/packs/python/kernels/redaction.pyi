from collections.abc import Mapping

from typing_extensions import Buffer

from memlens.packs.python.kernels.survey import Survey

class Dump(Survey):
    needed: int
    redirected: int
    texts_written: int
    def __init__(
        self,
        data: Buffer,
        start: int,
        keeps_numbers: bool,
        keeps_time: bool = False,
        keeps_shared: bool = False,
    ) -> None: ...
    def replace(self, texts: Mapping[int, bytes]) -> None: ...
    def fill(self, out: bytearray) -> int: ...
