from typing_extensions import Buffer

from memlens.arrays import U32, U64
from memlens.packs.jvm.kernels.hprof import Records

class Objects:
    records: Records
    dump: int
    ended: int
    compressed: bool
    oop_bytes: int
    header_bytes: int
    array_header_bytes: int
    arrays_compared: int
    arrays_fitting: int
    alignment: int
    declares_sizes: bool
    circular_classes: int
    def __init__(self, records: Records, dump: int, declares_sizes: bool) -> None: ...
    @property
    def offset(self) -> int: ...
    def run(self, limit: int) -> int: ...
    def finish(self) -> int: ...
    @property
    def layout(self) -> tuple[int, int, int, int, bool, int, int]: ...
    def lay_out(
        self,
        oop_bytes: int,
        header_bytes: int,
        array_header_bytes: int,
        alignment: int,
        packs_fields: int,
        arrays_fitting: int,
        arrays_compared: int,
    ) -> None: ...
    @property
    def count(self) -> int: ...
    @property
    def class_count(self) -> int: ...
    @property
    def duplicates(self) -> int: ...
    def take_roots(self) -> Buffer: ...
    def take_spaces(self) -> Buffer: ...
    def numbers(self, ids: U64, out: U32) -> None: ...
    def elements(
        self,
        numbers: U32,
        offsets: U64,
        sizes: U64,
    ) -> None: ...
    @property
    def field_count(self) -> int: ...
    def names_of_classes(
        self,
        names: U32,
        first: U64,
        fields: U32,
    ) -> None: ...
    def rename(
        self,
        names: U32,
        fields: U32,
        statics: U32,
    ) -> None: ...
