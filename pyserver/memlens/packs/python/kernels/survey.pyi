from collections.abc import Iterable

from typing_extensions import Buffer

from memlens.kernels.readers.scan import Scan

OK: int
MORE: int
NO_MEMORY: int
WRITE: int
ANY: int
THREAD: int
DETAIL: int
GLOBAL: int

class Survey(Scan):
    stage: int
    end: int
    is_whole: bool
    objects: int
    def __init__(self, data: Buffer, start: int, keeps_numbers: bool, *_: bool) -> None: ...
    def know(self, words: Iterable[bytes]) -> None: ...
    def is_known(self, text: int) -> bool: ...
    @property
    def texts(self) -> int: ...
    def names(self, chosen: int) -> list[tuple[int, bytes, bool]]: ...
