from typing_extensions import Buffer

from memlens.arrays import I64, U32

OK: int
LONG_LINE: int
NO_MEMORY: int
TOO_MUCH: int
TOO_MANY: int
MOST_BINS: int

class Reader:
    events: int
    allocations: int
    temporary: int
    fed_bytes: int
    unknown_records: int
    bad_records: int
    cut_stacks: int
    unsized_kinds: int
    unknown_frees: int
    reused_addresses: int
    first_bad_end: int
    heaptrack_version: int
    file_version: int
    page_bytes: int
    pages: int
    attached: bool
    has_version: bool
    partial_line: bool
    is_raw: bool
    def feed(self, text: Buffer) -> int: ...
    def finish(self) -> None: ...
    @property
    def live_at_end_bytes(self) -> int: ...
    @property
    def peak(self) -> tuple[int, int]: ...
    @property
    def total_ms(self) -> int: ...
    @property
    def peak_rss_bytes(self) -> int: ...
    @property
    def string_count(self) -> int: ...
    def string_at(self, number: int) -> bytes: ...
    @property
    def command_line(self) -> bytes: ...
    @property
    def mapped_lines(self) -> bytes: ...
    def suppressions(self) -> list[bytes]: ...
    def take_tree(self) -> tuple[Buffer, Buffer]: ...
    def take_frames(self) -> Buffer: ...
    def kind_columns(
        self, sizes: I64, nodes: U32, allocations: I64, temporary: I64, peak: I64, live: I64
    ) -> None: ...
    @property
    def kind_count(self) -> int: ...
    @property
    def node_count(self) -> int: ...
    def take_times(self) -> tuple[Buffer, Buffer, Buffer]: ...
