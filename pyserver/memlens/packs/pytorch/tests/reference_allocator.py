"""PyTorch's caching allocator with its settings, by lists that are searched from end to end, to compare replays with.

It is written from c10/cuda/CUDACachingAllocator.cpp, records itself as that does, and imports nothing of memlens.
"""

from dataclasses import dataclass, field
from typing import Any

MIB = 1 << 20
FREE, LIVE, PENDING, UNMAPPED = "inactive", "active_allocated", "active_pending_free", "unmapped"
RANGE = 1 << 41


class DeviceFullError(Exception):
    """What torch.cuda.OutOfMemoryError is to a program."""


@dataclass
class Block:
    addr: int
    size: int
    state: str = FREE
    number: int = -1
    requested: int = 0
    freed_at: int = 0
    """How often a free block had been looked for when it became free."""


@dataclass
class Segment:
    stream: int
    pool: tuple[int, int]
    small: bool
    expandable: bool
    blocks: list[Block]
    large: int = 20 * MIB

    @property
    def page(self) -> int:
        return 2 * MIB if self.small else self.large

    @property
    def mapped(self) -> int:
        return sum(block.size for block in self.blocks if block.state != UNMAPPED)

    def merge(self) -> None:
        kept: list[Block] = []
        for block in self.blocks:
            if kept and kept[-1].state == block.state and block.state in (FREE, UNMAPPED):
                kept[-1].size += block.size
                kept[-1].freed_at = max(kept[-1].freed_at, block.freed_at)
            else:
                kept.append(block)
        self.blocks = kept


@dataclass
class ReferenceAllocator:
    expandable: bool = False
    max_split: int = 0
    divisions: int = 0
    capacity: int = 1 << 60
    fraction: float = 0
    """Of the capacity, as set_per_process_memory_fraction() has it; 0 where that wasn't called."""
    large: int = 20 * MIB
    """large_segment_size_mb."""
    rounding: int = 0
    """max_non_split_rounding_mb; 0 for the size of a large segment."""
    threshold: float = 0
    """garbage_collection_threshold, which does nothing without a fraction."""
    segments: list[Segment] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    places: dict[int, tuple[Segment, Block]] = field(default_factory=dict)
    peak: int = 0
    next_addr: int = 0x7F0000000000
    looked_for: int = 0
    """How often a free block of the large pool was looked for, private pools aside."""

    @property
    def reserved(self) -> int:
        return sum(segment.mapped for segment in self.segments)

    def record(self, action: str, addr: int, size: int, stream: int, pool: tuple[int, int]) -> None:
        event = {
            "action": action,
            "addr": addr,
            "size": size,
            "stream": stream,
            "pool_id": pool,
            "frames": [],
        }
        if action == "oom":
            event["device_free"] = event.pop("addr")
        self.events.append(event)
        self.peak = max(self.peak, self.reserved)

    def rounded(self, requested: int) -> int:
        size = max(requested, 1)
        if self.divisions > 1 and size > 512 * self.divisions:
            power = 1 << (size.bit_length() - 1)
            step = power // self.divisions
            return -(-size // step) * step
        return -(-size // 512) * 512

    def malloc(self, number: int, requested: int, stream: int, pool: tuple[int, int]) -> None:
        size = self.rounded(requested)
        key = (stream, pool, size <= MIB)
        if pool == (0, 0) and size > MIB:
            self.looked_for += 1
        found = self.best(size, key)
        if found is None:
            if self.fraction and self.threshold:
                self.collect()
            found = self.more(size, key)
            if found is None and self.release_some(size, key):
                found = self.more(size, key)
            if found is None:
                self.complete_all()
                self.empty_cache()
                found = self.more(size, key)
            if found is None:
                self.record("oom", self.capacity - self.reserved, size, stream, pool)
                raise DeviceFullError
        segment, block = found
        rest = block.size - size
        splits = rest >= 512 if segment.small or self.expandable else rest > MIB
        if splits and (segment.small or self.expandable or not self.max_split or size < self.max_split):
            segment.blocks.insert(segment.blocks.index(block) + 1, Block(block.addr + size, rest))
            block.size = size
        block.state, block.number, block.requested = LIVE, number, requested
        self.places[number] = found
        self.record("alloc", block.addr, requested, stream, pool)

    def free_blocks(self, key: Any) -> list[tuple[int, int, Segment, Block]]:
        """By size and address."""
        return sorted(
            (
                (block.size, block.addr, segment, block)
                for segment in self.segments
                if (segment.stream, segment.pool, segment.small) == key
                for block in segment.blocks
                if block.state == FREE
            ),
            key=lambda each: each[:2],
        )

    def best(self, size: int, key: Any) -> tuple[Segment, Block] | None:
        fits = [each for each in self.free_blocks(key) if each[0] >= size]
        if not fits:
            return None
        at = 0
        while (
            fits[at][2].expandable
            and at + 1 < len(fits)
            and self.extended(*fits[at + 1][2:]) < self.extended(*fits[at][2:])
        ):
            at += 1
        _, _, segment, block = fits[at]
        if self.max_split and size < self.max_split <= block.size:
            return None
        if self.max_split and size >= self.max_split and block.size >= size + (self.rounding or self.large):
            return None
        return segment, block

    @staticmethod
    def extended(segment: Segment, block: Block) -> int:
        after = segment.blocks[segment.blocks.index(block) + 1 :]
        return block.size + (after[0].size if after and after[0].state == UNMAPPED else 0)

    def more(self, size: int, key: Any) -> tuple[Segment, Block] | None:
        """Memory from the driver."""
        stream, pool, small = key
        total = 2 * MIB if small else self.large if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        if self.fraction and self.reserved + total > int(self.fraction * self.capacity):
            return None
        if self.expandable:
            return self.map(size, key)
        if self.reserved + total > self.capacity:
            return None
        segment = Segment(stream, pool, small, False, [Block(self.next_addr, total)])
        self.next_addr += total + 2 * MIB
        self.segments.append(segment)
        self.record("segment_alloc", segment.blocks[0].addr, total, stream, pool)
        return segment, segment.blocks[0]

    def map(self, size: int, key: Any) -> tuple[Segment, Block] | None:
        own = [s for s in self.segments if s.expandable and (s.stream, s.pool, s.small) == key]
        for segment in sorted(own, key=lambda each: each.blocks[0].addr):
            for at, block in enumerate(segment.blocks):
                if block.state != UNMAPPED:
                    continue
                first = at - 1 if at and segment.blocks[at - 1].state == FREE else at
                room, last = 0, first
                while (
                    last < len(segment.blocks)
                    and segment.blocks[last].state in (FREE, UNMAPPED)
                    and room < size
                ):
                    room += segment.blocks[last].size
                    last += 1
                if room >= size:
                    return self.map_from(segment, segment.blocks[first].addr, size)
        stream, pool, small = key
        segment = Segment(stream, pool, small, True, [Block(self.next_addr, RANGE, UNMAPPED)], self.large)
        self.next_addr += 2 * RANGE
        self.segments.append(segment)
        return self.map_from(segment, segment.blocks[0].addr, size)

    def map_from(self, segment: Segment, addr: int, size: int) -> tuple[Segment, Block] | None:
        while True:
            at = next(n for n, b in enumerate(segment.blocks) if b.addr <= addr < b.addr + b.size)
            block = segment.blocks[at]
            if block.state == FREE and block.size >= size:
                return segment, block
            if block.state == FREE:
                wanted, at = size - block.size, at + 1
                block = segment.blocks[at]
            else:
                wanted = size
            total = min(-(-min(wanted, block.size) // segment.page) * segment.page, block.size)
            if self.reserved + total > self.capacity:
                return None
            if total < block.size:
                segment.blocks.insert(at + 1, Block(block.addr + total, block.size - total, UNMAPPED))
            block.size, block.state = total, FREE
            segment.merge()
            self.record("segment_map", block.addr, total, segment.stream, segment.pool)

    def release_some(self, size: int, key: Any) -> bool:
        if not self.max_split:
            return False
        wanted = max(size, self.max_split)
        blocks = self.free_blocks(key)
        fits = [each for each in blocks if each[0] >= wanted][:1]
        if not fits:
            total = 0
            for each in reversed(blocks):
                if total >= wanted or each[0] < self.max_split:
                    break
                total += each[0]
                fits.append(each)
        if any(len(segment.blocks) > 1 or segment.expandable for *_, segment, _ in fits):
            return False
        for *_, segment, _ in fits:
            self.give_back(segment)
        return sum(each[0] for each in fits) >= wanted

    def collect(self) -> None:
        """Return whole segments of large pools, the ones that were free for longest first (age by age)."""
        most = int(self.threshold * int(self.fraction * self.capacity))
        wanted = self.reserved - most
        returned = 0
        while returned < wanted:
            whole = [
                segment
                for segment in self.segments
                if segment.pool == (0, 0) and not segment.small and not segment.expandable
                if [block.state for block in segment.blocks] == [FREE]
            ]
            ages = [self.looked_for - segment.blocks[0].freed_at for segment in whole]
            old = [segment for segment, age in zip(whole, ages, strict=True) if age >= sum(ages) / len(ages)]
            if not old:
                return
            for segment in old:
                returned += segment.mapped
                self.give_back(segment)

    def give_back(self, segment: Segment) -> None:
        self.segments.remove(segment)
        self.record(
            "segment_free", segment.blocks[0].addr, segment.blocks[0].size, segment.stream, segment.pool
        )

    def empty_cache(self) -> None:
        for segment in [each for each in self.segments if each.pool == (0, 0)]:
            if not segment.expandable:
                if len(segment.blocks) == 1 and segment.blocks[0].state == FREE:
                    self.give_back(segment)
                continue
            base = segment.blocks[0].addr
            for block in [each for each in segment.blocks if each.state == FREE]:
                low = base + -(-(block.addr - base) // segment.page) * segment.page
                high = base + (block.addr + block.size - base) // segment.page * segment.page
                if low >= high:
                    continue
                parts = [
                    Block(block.addr, low - block.addr),
                    Block(low, high - low, UNMAPPED),
                    Block(high, block.addr + block.size - high),
                ]
                at = segment.blocks.index(block)
                segment.blocks[at : at + 1] = [part for part in parts if part.size]
                self.record("segment_unmap", low, high - low, segment.stream, segment.pool)
            segment.merge()
            if [each.state for each in segment.blocks] == [UNMAPPED]:
                self.segments.remove(segment)

    def request_free(self, number: int) -> None:
        segment, block = self.places[number]
        block.state = PENDING
        self.record("free_requested", block.addr, block.requested, segment.stream, segment.pool)

    def complete_free(self, number: int) -> None:
        if number not in self.places:
            return
        segment, block = self.places.pop(number)
        block.state, block.number, block.freed_at = FREE, -1, self.looked_for
        self.record("free_completed", block.addr, block.requested, segment.stream, segment.pool)
        segment.merge()

    def complete_all(self) -> None:
        for number in [number for number, (_, block) in self.places.items() if block.state == PENDING]:
            self.complete_free(number)

    def snapshot(self, lost: int = 0) -> dict[str, Any]:
        """What PyTorch would dump now, if its buffer had lost the first events."""
        found = []
        for segment in self.segments:
            parts: list[list[Block]] = [[]]
            for block in segment.blocks:
                if block.state == UNMAPPED:
                    parts.append([])
                else:
                    parts[-1].append(block)
            found += [
                {
                    "device": 0, "address": part[0].addr, "total_size": sum(each.size for each in part),
                    "stream": segment.stream, "segment_pool_id": segment.pool,
                    "segment_type": "small" if segment.small else "large", "frames": [],
                    "is_expandable": segment.expandable,
                    "blocks": [
                        {"address": b.addr, "size": b.size, "requested_size": b.requested, "state": b.state}
                        for b in part
                    ],
                }
                for part in parts
                if part
            ]  # fmt: skip
        settings = {
            "PYTORCH_CUDA_ALLOC_CONF": (
                f"large_segment_size_mb:{self.large // MIB},max_non_split_rounding_mb:{self.rounding // MIB}"
            ),
            "expandable_segments": self.expandable,
            "max_split_size": self.max_split or -1,
            "roundup_power2_divisions": {str(1 << n): self.divisions for n in range(16)},
        }
        return {"segments": found, "device_traces": [self.events[lost:]], "allocator_settings": settings}
