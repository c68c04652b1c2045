"""The model allocator on a device of limited memory: it gives back what it can, then records an out-of-memory event.

Nothing here imports memlens.
"""

from typing import Any

from tests.python.conftest import frame
from tests.python.model_allocator import (
    LARGE_LEAST,
    LARGE_SEGMENT,
    SMALL_MOST,
    SMALL_SEGMENT,
    Block,
    ModelAllocator,
    Range,
)


class DeviceFullError(Exception):
    """What torch.cuda.OutOfMemoryError is to a program."""


def asked_of_driver(size: int) -> int:
    if size <= SMALL_MOST:
        return SMALL_SEGMENT
    return LARGE_SEGMENT if size < LARGE_LEAST else -(-size // SMALL_SEGMENT) * SMALL_SEGMENT


class LimitedAllocator(ModelAllocator):
    def __init__(self, expandable: bool, capacity: int) -> None:
        super().__init__(expandable)
        self.capacity = capacity
        self.line = 1

    @property
    def device_free(self) -> int:
        return self.capacity - sum(held.size for held in self.ranges)

    def record(self, action: str, addr: int, size: int, stream: int, pool: tuple[int, int]) -> None:
        super().record(action, addr, size, stream, pool)
        self.events[-1]["frames"] = [frame("/job/model.py", self.line, f"layer{self.line}")]
        if action == "oom":
            self.events[-1]["device_free"] = self.events[-1].pop("addr")

    def malloc(self, requested: int, stream: int, pool: tuple[int, int]) -> None:
        self.wanted = max(512, -(-requested // 512) * 512), stream, pool
        super().malloc(requested, stream, pool)

    def take(self, line: int, requested: int, stream: int = 0, pool: tuple[int, int] = (0, 0)) -> int:
        """Allocate at a line; the number of the allocation."""
        self.line = line
        self.malloc(requested, stream, pool)
        return self.live[-1]

    def drop(self, *numbers: int) -> None:
        for number in numbers:
            self.request_free(self.live.index(number))
            self.complete_free(-1)

    def reserve(self, size: int, key: Any) -> tuple[Range, Block]:
        self.make_room(asked_of_driver(size))
        return super().reserve(size, key)

    def map(self, size: int, key: Any) -> tuple[Range, Block]:
        page = SMALL_SEGMENT if key[2] else LARGE_SEGMENT
        self.make_room(-(-size // page) * page)
        return super().map(size, key)

    def make_room(self, size: int) -> None:
        if self.device_free < size:
            self.empty_cache()
        if self.device_free < size:
            self.record("oom", self.device_free, *self.wanted)
            raise DeviceFullError
