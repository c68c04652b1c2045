from typing_extensions import Buffer

from memlens.arrays import I64, U8, U32

NO_FOCUS: int
FROM_FOCUS: int
UP_TO_FOCUS: int
FOLDS: int
TAKES: int
PASSED: int

def merge(
    parents: U32,
    frames: U32,
    names: U32,
    folding: U8,
    hidden: U8,
    focus: int,
    focus_mode: int,
    merged: U32,
    new_parents: U32,
    new_names: U32,
    child: U32,
    sibling: U32,
) -> int: ...
def families(parents: U32, child: U32, sibling: U32) -> None: ...
def pick(parents: U32, names: U32, ends: U32, places: U32) -> tuple[Buffer, Buffer, Buffer]: ...
def invert(parents: U32, names: U32, counted: U8, ends: U32, most: int) -> tuple[Buffer, Buffer]: ...
def add_by(to: U32, values: I64, sums: I64) -> None: ...
def sum_changes(
    samples: U32, allocated: U32 | I64, freed: U32 | I64, more: int, less: int, sums: I64
) -> None: ...
def first_rows(numbers: U32, first: U32) -> None: ...
def least_by(to: U32, values: U32, least: U32) -> None: ...
def sum_up(parents: U32, values: I64) -> None: ...
def least_up(parents: U32, values: U32) -> None: ...
def deepest(parents: U32, widths: I64) -> int: ...
def functions(
    parents: U32,
    names: U32,
    child: U32,
    sibling: U32,
    widths: I64,
    selves: I64,
    inclusive: I64,
    self_sums: I64,
    inclusive_sums: I64,
) -> None: ...
def find(parents: U32, names: U32, wanted: U8, inclusive: I64, held: U8, totals: I64) -> None: ...
def below(parents: U32, child: U32, sibling: U32, node: int, inside: U8) -> None: ...
def best_above(parents: U32, frames: U32, kinds: U8, best: U32, nearest_root: bool = False) -> None: ...
