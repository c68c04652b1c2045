from typing_extensions import Buffer

from memlens.packs.jvm.kernels.hprof import Records

WRITE: int
STATIC: int

class Survey:
    stage: int
    damaged_at: int
    objects: int
    def __init__(self, records: Records, start: int, keeps_numbers: bool, _keeps_order: bool) -> None: ...
    @property
    def offset(self) -> int: ...
    def run(self, limit: int) -> int: ...
    def take_kept(self) -> Buffer: ...
    def take_members(self) -> Buffer: ...
