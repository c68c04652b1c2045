import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

OK: int
MORE: int
NO_MEMORY: int

class Nodes:
    broken: int
    dangling: int
    total_bytes: int
    def __init__(
        self, data: Buffer, table: int, count: int, blob: int, blob_bytes: int, sizes: npt.NDArray[np.int32]
    ) -> None: ...
    @property
    def offset(self) -> int: ...
    def run(self, limit: int) -> int: ...
    def take(self) -> tuple[Buffer, Buffer, Buffer, Buffer]: ...
