"""A small caching allocator that records itself as PyTorch's does, and keeps its true state at every moment.

It follows c10/cuda/CUDACachingAllocator.cpp in what a trace shows: two sizes of segments, blocks split and merged,
streams and private pools, expandable segments that map and unmap pages, frees that wait for other streams.
Nothing here imports memlens.
"""

from dataclasses import dataclass, field
from typing import Any

KIB, MIB = 1 << 10, 1 << 20
SMALL_MOST, SMALL_SEGMENT, LARGE_SEGMENT, LARGE_LEAST = MIB, 2 * MIB, 20 * MIB, 10 * MIB


@dataclass
class Block:
    addr: int
    size: int
    requested: int = 0
    state: str = "inactive"
    number: int = -1


@dataclass
class Range:
    """A segment as a snapshot reports it: what is mapped without a gap, tiled by blocks."""

    addr: int
    stream: int
    pool: tuple[int, int]
    small: bool
    expandable: bool
    arena: int
    blocks: list[Block] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(block.size for block in self.blocks)

    @property
    def key(self) -> tuple[int, tuple[int, int], bool]:
        return (self.stream, self.pool, self.small)


class ModelAllocator:
    def __init__(self, expandable: bool) -> None:
        self.expandable = expandable
        self.ranges: list[Range] = []
        self.events: list[dict[str, Any]] = []
        self.states: list[list[tuple[Any, ...]]] = [[]]
        self.live: list[int] = []
        self.pending: list[int] = []
        self.next_addr = 0x7F0000000000
        self.arenas: dict[Any, int] = {}
        self.count = 0

    def record(self, action: str, addr: int, size: int, stream: int, pool: tuple[int, int]) -> None:
        self.events.append(
            {"action": action, "addr": addr, "size": size, "stream": stream, "pool_id": pool, "frames": []}
        )
        self.states.append(self.state())

    def state(self) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for held in sorted(self.ranges, key=lambda held: held.addr):
            blocks = [(b.addr, b.size, b.requested, b.state, b.number) for b in held.blocks]
            found.append((held.addr, held.size, held.stream, held.pool, held.small, held.expandable, blocks))
        return found

    def malloc(self, requested: int, stream: int, pool: tuple[int, int]) -> None:
        size = max(512, -(-requested // 512) * 512)
        small = size <= SMALL_MOST
        key = (stream, pool, small)
        fits = [
            (block.size, block.addr, held, block)
            for held in self.ranges
            if held.key == key
            for block in held.blocks
            if block.state == "inactive" and block.size >= size
        ]
        if fits:
            *_, held, block = min(fits, key=lambda fit: fit[:2])
        else:
            held, block = self.map(size, key) if self.expandable else self.reserve(size, key)
        rest = block.size - size
        if rest >= 512 if small or self.expandable else rest > SMALL_MOST:
            place = held.blocks.index(block)
            held.blocks.insert(place + 1, Block(block.addr + size, rest))
            block.size = size
        block.state, block.requested, block.number = "active_allocated", requested, self.count
        self.live.append(self.count)
        self.count += 1
        self.record("alloc", block.addr, requested, stream, pool)

    def reserve(self, size: int, key: Any) -> tuple[Range, Block]:
        stream, pool, small = key
        if small:
            total = SMALL_SEGMENT
        else:
            total = LARGE_SEGMENT if size < LARGE_LEAST else -(-size // SMALL_SEGMENT) * SMALL_SEGMENT
        # released addresses are used again, as the driver does
        addr = self.next_addr
        taken = sorted((held.addr, held.addr + held.size) for held in self.ranges)
        at = 0x7F0000000000
        for low, high in taken:
            if low - at >= total:
                break
            at = max(at, high)
        addr = at
        held = Range(addr, stream, pool, small, False, -1, [Block(addr, total)])
        self.ranges.append(held)
        self.record("segment_alloc", addr, total, stream, pool)
        return held, held.blocks[0]

    def map(self, size: int, key: Any) -> tuple[Range, Block]:
        stream, pool, small = key
        page = SMALL_SEGMENT if small else LARGE_SEGMENT
        base = self.arenas.setdefault(key, 0x7E0000000000 + (len(self.arenas) << 36))
        own = sorted((held for held in self.ranges if held.arena == base), key=lambda held: held.addr)
        for index in range(-1, len(own)):
            held = own[index] if index >= 0 else None
            at = held.addr + held.size if held else base
            tail = held.blocks[-1].size if held and held.blocks[-1].state == "inactive" else 0
            total = -(-(size - tail) // page) * page
            if index + 1 < len(own) and own[index + 1].addr - at < total:
                continue
            if held is None:
                held = Range(at, stream, pool, small, True, base)
                self.ranges.append(held)
            if tail:
                held.blocks[-1].size += total
            else:
                held.blocks.append(Block(at, total))
            block = held.blocks[-1]
            if index + 1 < len(own) and own[index + 1].addr == at + total:
                after = own[index + 1]
                self.ranges.remove(after)
                held.blocks += after.blocks
                self.merge(held)
            self.record("segment_map", at, total, stream, pool)
            return held, block
        raise AssertionError

    def merge(self, held: Range) -> None:
        kept: list[Block] = []
        for block in held.blocks:
            if kept and kept[-1].state == block.state == "inactive":
                kept[-1].size += block.size
            else:
                kept.append(block)
        held.blocks = kept

    def find(self, number: int) -> tuple[Range, Block]:
        for held in self.ranges:
            for block in held.blocks:
                if block.number == number:
                    return held, block
        raise AssertionError

    def request_free(self, place: int) -> None:
        number = self.live.pop(place % len(self.live))
        held, block = self.find(number)
        block.state = "active_pending_free"
        self.pending.append(number)
        self.record("free_requested", block.addr, block.requested, held.stream, held.pool)

    def complete_free(self, place: int) -> None:
        held, block = self.find(self.pending.pop(place % len(self.pending)))
        addr, requested = block.addr, block.requested
        block.state, block.requested, block.number = "inactive", 0, -1
        self.merge(held)
        self.record("free_completed", addr, requested, held.stream, held.pool)

    def empty_cache(self) -> None:
        for held in list(self.ranges):
            if not held.expandable:
                if all(block.state == "inactive" for block in held.blocks):
                    self.ranges.remove(held)
                    self.record("segment_free", held.addr, held.size, held.stream, held.pool)
                continue
            self.unmap(held)

    def unmap(self, held: Range) -> None:
        """Release the whole pages of every free block."""
        page = SMALL_SEGMENT if held.small else LARGE_SEGMENT
        for block in [block for block in held.blocks if block.state == "inactive"]:
            # `held` may have been split by the block before
            held = next(part for part in self.ranges if block in part.blocks)
            low = held.arena + -(-(block.addr - held.arena) // page) * page
            high = held.arena + (block.addr + block.size - held.arena) // page * page
            if low >= high:
                continue
            place = held.blocks.index(block)
            before, after = held.blocks[:place], held.blocks[place + 1 :]
            if low > block.addr:
                before.append(Block(block.addr, low - block.addr))
            if high < block.addr + block.size:
                after.insert(0, Block(high, block.addr + block.size - high))
            self.ranges.remove(held)
            for blocks in (before, after):
                if blocks:
                    part = Range(blocks[0].addr, held.stream, held.pool, held.small, True, held.arena, blocks)
                    self.ranges.append(part)
            self.record("segment_unmap", low, high - low, held.stream, held.pool)

    def snapshot(self, lost: int) -> dict[str, Any]:
        """The snapshot that would be dumped now if the ring buffer had lost its first events."""
        segments = []
        for addr, size, stream, pool, small, expandable, blocks in self.state():
            segments.append(
                {
                    "device": 0, "address": addr, "total_size": size, "stream": stream,
                    "segment_type": "small" if small else "large", "segment_pool_id": pool,
                    "is_expandable": expandable, "frames": [],
                    "blocks": [
                        {"address": a, "size": s, "requested_size": r, "state": state, "frames": []}
                        for a, s, r, state, _ in blocks
                    ],
                }
            )  # fmt: skip
        return {"segments": segments, "device_traces": [self.events[lost:]]}
