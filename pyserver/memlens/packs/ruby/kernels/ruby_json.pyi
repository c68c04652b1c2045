from typing_extensions import Buffer

from memlens.kernels.readers.scan import Scan

OK: int
MORE: int
NO_MEMORY: int
FLAGS: tuple[str, ...]
FIELDS: tuple[str, ...]

class Lines(Scan):
    bad_lines: int
    first_bad_offset: int
    good_lines: int
    dangling: int
    duplicates: int
    shortened: int
    unsized: int
    unknown_numbers: int
    is_cut: bool
    def __init__(self, data: Buffer, start: int = 0) -> None: ...
    def link(self) -> int: ...
    def take(self) -> dict[str, Buffer]: ...
    def types_of(self) -> list[str]: ...
    def details_of(self) -> list[str]: ...
    def categories_of(self) -> list[str]: ...
    def places_of(self) -> list[tuple[str, int, str]]: ...
