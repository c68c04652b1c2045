from typing import Any

from typing_extensions import Buffer

from memlens.kernels.readers.scan import Scan

OK: int
MORE: int
TRUNCATED: int
FORBIDDEN: int
UNKNOWN_OPCODE: int
UNDERFLOW: int
BAD_MEMO: int
NO_MEMORY: int
BAD_FIELD: int
TOO_DEEP: int
ABSURD_LENGTH: int
TOO_MANY: int
STRING_KIND: int
INTEGER_KIND: int

class Machine(Scan):
    error_detail: int
    def __init__(self, data: Buffer) -> None: ...
    def string_at(self, row: int) -> str: ...
    def settings(self, dict_row: int, nested: bool = True) -> dict[str, Any]: ...
