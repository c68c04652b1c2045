"""Generates a memory snapshot of any size, shaped like a real training trace, without torch and in little memory.

The bytes are those that C ``pickle`` writes for what ``torch.cuda.memory._snapshot()`` returns: every dict and list
memoized, shared frames and strings by reference. The trace is a training loop: parameters and optimizer state stay,
each step allocates activations in forward order and frees them in backward order, with short-lived temporaries
between; 35 frames a stack, 4,000 frames, 20,000 stacks; ``alloc``, ``free_requested``, ``free_completed``.
"""

import argparse
import random
import struct
from pathlib import Path

DEPTH = 35
FRAMES = 4_000
STACKS = 20_000
LAYERS = 48
FLUSH_BYTES = 1 << 22

Block = tuple[int, int, int]
"""Address, size, stack."""


class Pickler:
    """The part of the pickle format that is needed, written straight to a file."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb")
        self.parts: list[bytes] = [b"\x80\x04"]
        self.size = 0
        self.memo = 0

    def write(self, data: bytes) -> None:
        self.parts.append(data)
        self.size += len(data)
        if self.size > FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        self.file.write(b"".join(self.parts))
        self.parts, self.size = [], 0

    def memoized(self, data: bytes) -> bytes:
        """Write an object and memoize it; returns the opcode that refers to it."""
        self.write(data + b"\x94")
        self.memo += 1
        index = self.memo - 1
        return b"h" + bytes([index]) if index < 256 else b"j" + struct.pack("<I", index)

    def close(self) -> None:
        self.write(b".")
        self.flush()
        self.file.close()


def text(value: str) -> bytes:
    data = value.encode()
    return (
        b"\x8c" + bytes([len(data)]) + data if len(data) < 256 else b"X" + struct.pack("<I", len(data)) + data
    )


def number(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if 0 <= value < 65536:
        return b"M" + struct.pack("<H", value)
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    length = (value.bit_length() >> 3) + 1
    return b"\x8a" + bytes([length]) + value.to_bytes(length, "little", signed=True)


class Writer:
    """Writes the snapshot's objects in the order in which C pickle would."""

    def __init__(self, path: Path, seed: int) -> None:
        self.out = Pickler(path)
        self.random = random.Random(seed)
        self.strings: dict[str, bytes] = {}
        self.frames: list[bytes] = []
        self.stacks: list[bytes] = []

    def string(self, value: str) -> bytes:
        """The bytes that push a string: the string the first time, a reference afterwards."""
        known = self.strings.get(value)
        if known is not None:
            return known
        self.strings[value] = self.out.memoized(text(value))
        return b""

    def push(self, value: str) -> None:
        self.out.write(self.string(value))

    def make_frames(self) -> None:
        """Write each frame dict once, in a list that readers ignore, so that stacks can refer to them."""
        self.push("frames")
        self.out.memoized(b"]")
        self.out.write(b"(")
        for index in range(FRAMES):
            ref = self.out.memoized(b"}")
            self.out.write(b"(")
            for key, value in (
                ("name", f"function_{index % 977}"),
                (
                    "filename",
                    f"/home/user/project/package_{index % 61}/module_{index % 307}.py"
                    if index % 3
                    else f"/usr/lib/python3.11/site-packages/torch/nn/modules/part_{index % 97}.py",
                ),
            ):
                self.push(key)
                self.push(value)
            self.push("line")
            self.out.write(number(1 + index * 7 % 1500) + b"u")
            self.frames.append(ref)
        self.out.write(b"e")
        common = self.frames[:20]
        for _ in range(STACKS):
            inner = self.random.choices(self.frames, k=DEPTH - len(common))
            self.stacks.append(b"(" + b"".join(inner + common) + b"e")

    def event(self, action: bytes, addr: int, size: int, time_us: int, stack: int) -> None:
        k = self.keys
        self.out.memo += 2
        self.out.write(
            b"}\x94("
            + k["action"]
            + action
            + k["addr"]
            + number(addr)
            + k["size"]
            + number(size)
            + k["stream"]
            + b"K\x00"
            + k["time_us"]
            + number(time_us)
            + k["frames"]
            + b"]\x94"
            + self.stacks[stack]
            + b"u"
        )

    def run(self, events: int) -> None:
        out = self.out
        out.memoized(b"}")
        out.write(b"(")
        self.make_frames()
        # a list that readers ignore, so that events can refer to each key and action
        self.push("words")
        out.memoized(b"]")
        out.write(b"(")
        for word in (
            "action",
            "addr",
            "size",
            "stream",
            "time_us",
            "alloc",
            "free_requested",
            "free_completed",
        ):
            self.push(word)
        out.write(b"e")
        self.keys = self.strings
        self.push("segments")
        out.memoized(b"]")
        self.push("device_traces")
        out.memoized(b"]")
        out.write(b"(")
        out.memoized(b"]")
        self.trace(events)
        out.write(b"e")  # the list of traces
        out.write(b"u")
        out.close()

    def trace(self, events: int) -> None:
        """Write the parameters, then steps until there are about ``events`` events."""
        heap = Heap(self, events)
        kinds = [int(512 * 2 ** (self.random.random() * 16)) // 4 * 4 for _ in range(400)]
        pick = self.random.choice
        kept = [heap.allocate(pick(kinds) * 4) for _ in range(min(2_000, events // 20))]
        step = 0
        while heap.wanted:
            step += 1
            self.step(heap, kinds)
            if step % 50 == 0:  # a small leak in each step
                kept.append(heap.allocate(pick(kinds)))
        heap.close()

    def step(self, heap: "Heap", kinds: list[int]) -> None:
        """Write a forward pass with temporaries, a backward pass in reverse with gradients, and free these."""
        pick, chance = self.random.choice, self.random.random
        activations: list[Block] = []
        for _ in range(LAYERS * 12):
            if not heap.wanted:
                return
            activations.append(heap.allocate(pick(kinds)))
            if chance() < 0.5:
                heap.release(heap.allocate(pick(kinds)))
        gradients = []
        while activations and heap.wanted:
            heap.release(activations.pop())
            if chance() < 0.2:
                gradients.append(heap.allocate(pick(kinds) * 2))
        while gradients and heap.wanted:
            heap.release(gradients.pop())


class Heap:
    """Hands out addresses and writes each event, with APPENDS every thousand events as C pickle does."""

    def __init__(self, writer: Writer, events: int) -> None:
        self.writer = writer
        self.events = events
        self.done = 0
        self.clock_us = 1_790_000_000_000_000
        self.free: dict[int, list[int]] = {}
        self.top = 0x7F00_0000_0000
        self.actions = [writer.strings[name] for name in ("alloc", "free_requested", "free_completed")]

    @property
    def wanted(self) -> bool:
        """Whether there is room for more events."""
        return self.done < self.events

    def allocate(self, size: int) -> Block:
        """Write an ``alloc``, at a freed address of the same size if there is one."""
        reuse = self.free.get(size)
        if reuse:
            addr = reuse.pop()
        else:
            addr = self.top
            self.top += (size + 511) // 512 * 512
        block = addr, size, self.writer.random.randrange(STACKS)
        self.emit(0, block)
        return block

    def release(self, block: Block) -> None:
        """Write ``free_requested`` and ``free_completed``."""
        self.emit(1, block)
        self.emit(2, block)
        self.free.setdefault(block[1], []).append(block[0])

    def emit(self, action: int, block: Block) -> None:
        """Write one event."""
        if self.done % 1000 == 0:
            self.writer.out.write(b"e(" if self.done else b"(")
        self.clock_us += 1 + self.writer.random.randrange(12)
        self.writer.event(self.actions[action], block[0], block[1], self.clock_us, block[2])
        self.done += 1

    def close(self) -> None:
        """End the list of events."""
        if self.done:
            self.writer.out.write(b"e")


def generate(path: Path, events: int, seed: int = 1) -> None:
    """Write a snapshot of about ``events`` events to ``path``."""
    Writer(path, seed).run(events)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--events", type=int, default=2_000_000)
    options = parser.parse_args()
    generate(options.path, options.events)


if __name__ == "__main__":
    main()
