import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

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
    def numbers(self, ids: npt.NDArray[np.uint64], out: npt.NDArray[np.uint32]) -> None: ...
    def elements(
        self,
        numbers: npt.NDArray[np.uint32],
        offsets: npt.NDArray[np.uint64],
        sizes: npt.NDArray[np.uint64],
    ) -> None: ...
    @property
    def field_count(self) -> int: ...
    def names_of_classes(
        self,
        names: npt.NDArray[np.uint32],
        first: npt.NDArray[np.uint64],
        fields: npt.NDArray[np.uint32],
    ) -> None: ...
    def rename(
        self,
        names: npt.NDArray[np.uint32],
        fields: npt.NDArray[np.uint32],
        statics: npt.NDArray[np.uint32],
    ) -> None: ...
