from collections.abc import Iterable

from typing_extensions import Buffer

from memlens.arrays import U8, U32, U64
from memlens.kernels.graph.left_out import LeftOut

class PathSearch:
    def __init__(
        self,
        back_start: U64,
        back: U32,
        back_kind: U8,
        follows: U8,
        is_root: U8,
        item: int,
        left_out: LeftOut | None = ...,
    ) -> None: ...
    def next_path(self, most: int) -> Buffer | None: ...
    @property
    def is_complete(self) -> bool: ...

class WaySearch:
    def __init__(
        self,
        back_start: U64,
        back: U32,
        back_kind: U8,
        follows: U8,
        is_root: U8,
        distance: U32,
        dominator: U32,
        item: int,
        avoided: Iterable[int] = ...,
        not_before: Iterable[int] = ...,
        passes_item: bool = ...,
        longest: int = ...,
        many: int = ...,
    ) -> None: ...
    def next_path(self, most: int) -> Buffer | None: ...
    @property
    def is_complete(self) -> bool: ...
