from typing_extensions import Buffer

from memlens.arrays import U8, U16, U32, U64, Mask
from memlens.kernels.readers.scan import Scan

NUMBER: int
ZERO: int
TYPE: int
NAME: int
TARGET: int
EDGES: int
STATE: int
ID: int

NAMES: int
IS_VALUE: int
IS_ELEMENT: int
IS_CLASS: int
IS_INDEX: int
IS_TEXT: int
IS_ODDBALL: int
DECLARES: int
MOVES: int

JUDGED: int
FUNCTION: int
CODE: int
TEXT: int
ROOTS: int
SYMBOL: int
STRUCTURE: int

PROPERTY: int
OF_CODE: int
NUMERAL: int
KNOWN: int

SHORT_TEXT: int
CONSTANT: int
TEXT_TOO: int
A_SYMBOL: int

class Rows(Scan):
    needed: int
    rows: int
    redirected: int
    most_elements: int
    has_constants: bool
    def __init__(
        self,
        data: Buffer,
        start: int,
        end: int,
        roles: U8,
        kinds: U16,
        uses: U8,
        width: int,
        nodes: int,
    ) -> None: ...
    def note_owners(self, of_types: U8, forms: U8, noted_ids: U8) -> None: ...
    def judge(
        self,
        edge_counts: U32,
        owners: U8,
        names: U32,
        forms: U8,
        marks: U8,
        has_constants: bool,
    ) -> None: ...
    def judge_classes(self) -> None: ...
    def take_owners(self) -> Buffer: ...
    def take_names(self) -> Buffer: ...
    def take_edge_counts(self) -> Buffer: ...
    def take_shared(self) -> Buffer: ...
    def take_ids(self) -> Buffer: ...
    def write(self, start: int, numbers: U32, short: int) -> None: ...
    def move(self, places: U32, new_ids: U64, hidden: U8) -> None: ...
    def scatter(self, out: bytearray, filled: U32, range_: int) -> int: ...
    def cut_shared(self, edge_counts: U32, are_shared: U8, references: U32) -> None: ...
    def cut_names(self, are_names: Mask, numerals: U32) -> None: ...
    def fill(self, out: bytearray) -> int: ...

def gathered(data: Buffer, first: int, range_: int) -> bytearray: ...

class Trace(Scan):
    needed: int
    def __init__(self, data: Buffer, start: int, end: int, fields: int) -> None: ...
    def write(self, start: int) -> None: ...
    def fill(self, out: bytearray) -> int: ...
