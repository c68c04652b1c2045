import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

from memlens.kernels.readers.scan import Scan

NUMBER: int
ZERO: int
TYPE: int
NAME: int
TARGET: int
EDGES: int
STATE: int

NAMES: int
IS_VALUE: int
IS_ELEMENT: int
IS_CLASS: int
IS_INDEX: int
IS_TEXT: int
IS_ODDBALL: int
DECLARES: int

JUDGED: int
FUNCTION: int
CODE: int
TEXT: int

PROPERTY: int
OF_CODE: int

class Rows(Scan):
    needed: int
    rows: int
    redirected: int
    has_constants: bool
    def __init__(
        self,
        data: Buffer,
        start: int,
        end: int,
        roles: npt.NDArray[np.uint8],
        kinds: npt.NDArray[np.uint8],
        uses: npt.NDArray[np.uint8],
        width: int,
        nodes: int,
    ) -> None: ...
    def note_owners(self, of_types: npt.NDArray[np.uint8], forms: npt.NDArray[np.uint8]) -> None: ...
    def judge(
        self,
        edge_counts: npt.NDArray[np.uint32],
        owners: npt.NDArray[np.uint8],
        names: npt.NDArray[np.uint32],
        forms: npt.NDArray[np.uint8],
        marks: npt.NDArray[np.uint8],
        has_constants: bool,
    ) -> None: ...
    def judge_classes(self) -> None: ...
    def take_owners(self) -> Buffer: ...
    def take_names(self) -> Buffer: ...
    def take_edge_counts(self) -> Buffer: ...
    def take_shared(self) -> Buffer: ...
    def write(self, start: int, numbers: npt.NDArray[np.uint32]) -> None: ...
    def cut_shared(self, edge_counts: npt.NDArray[np.uint32], are_shared: npt.NDArray[np.uint8]) -> None: ...
    def fill(self, out: bytearray) -> int: ...

class Trace(Scan):
    needed: int
    def __init__(self, data: Buffer, start: int, end: int, fields: int) -> None: ...
    def write(self, start: int) -> None: ...
    def fill(self, out: bytearray) -> int: ...
