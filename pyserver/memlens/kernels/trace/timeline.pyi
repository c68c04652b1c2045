from typing import Any

import numpy.typing as npt
from typing_extensions import Buffer

from memlens.arrays import I64, U8, U16, U32, U64

ALLOC: int
FREE_REQUESTED: int
FREE_COMPLETED: int
BEFORE_TRACE: int
PENDING_FREE: int
IMPLICIT_FREE: int
STACK_OF_FREE: int
NEVER: int
ALLOCATION_FORMAT: bytes

class Matcher:
    implicit_frees: int
    completed_frees: int
    repeating_frees: int
    differing_frees: int
    def match(
        self,
        actions: U8,
        addresses: U64,
        sizes: I64,
        stacks: U32,
        streams: U16,
        categories: U8,
        owners: U32,
        blocks: tuple[U64, I64, U32, U16, U8],
        held: U32,
    ) -> Buffer: ...

def live_over_time(
    sizes: npt.NDArray[Any], starts: npt.NDArray[Any], ends: npt.NDArray[Any], live: I64, counts: U32
) -> None: ...
def build_tree(starts: U64, frames: U32, stack_nodes: U32) -> tuple[Buffer, Buffer]: ...
def stack_totals(
    sizes: npt.NDArray[Any],
    starts: npt.NDArray[Any],
    ends: npt.NDArray[Any],
    stacks: npt.NDArray[Any],
    peak: int,
    last: int,
    totals: I64,
    largest: U32,
    first_row: int,
) -> None: ...
def fold_lines(
    starts: U64,
    frames: U32,
    frame_lines: U32,
    totals: I64,
    inclusive: I64,
    self_totals: I64,
    frame_is_python: U8,
) -> None: ...
def label_frames(starts: U64, frames: U32, kinds: U8, labels: U32) -> None: ...
def mark_below(parents: U32, frames: U32, wanted: U8, below: U8) -> None: ...
def module_calls(parents: U32, frames: U32, roles: U8, nearest: U32) -> None: ...
def longest_falling(values: I64, keep: U8) -> None: ...
def lay_in_lanes(starts: I64, ends: I64, lanes: U8, most: int) -> None: ...
