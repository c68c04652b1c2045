"""Makes a memory snapshot of any size, shaped like a real training trace, without torch and in little memory.

The bytes are those that C ``pickle`` writes for what ``torch.cuda.memory._snapshot()`` returns: every dict and list
memoized, shared frames and strings by reference. The trace is a training loop: parameters and optimizer state stay,
each step allocates activations in forward order and frees them in backward order, with short-lived temporaries
between; 35 frames a stack, 4,000 frames, 20,000 stacks; ``alloc``, ``free_requested``, ``free_completed``.
"""

import argparse
import random
import struct
from collections.abc import Callable
from pathlib import Path

DEPTH = 35
FRAMES = 4_000
STACKS = 20_000
LAYERS = 48
FLUSH_BYTES = 1 << 22


class Pickler:
    """Just enough of the pickle format, written straight to a file."""

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
    return b"\x8c" + bytes([len(data)]) + data if len(data) < 256 else b"X" + struct.pack("<I", len(data)) + data


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
    """Emits the snapshot's objects in the order in which C pickle would meet them."""

    def __init__(self, path: Path, seed: int) -> None:
        self.out = Pickler(path)
        self.random = random.Random(seed)
        self.strings: dict[str, bytes] = {}
        self.frames: list[bytes] = []
        self.stacks: list[bytes] = []

    def string(self, value: str) -> bytes:
        """The bytes that push a string now: the whole the first time, a reference afterwards."""
        known = self.strings.get(value)
        if known is not None:
            return known
        self.strings[value] = self.out.memoized(text(value))
        return b""

    def push(self, value: str) -> None:
        self.out.write(self.string(value))

    def make_frames(self) -> None:
        """Build each frame dict once, in a list that no reader looks at, so that stacks refer to them."""
        self.push("frames")
        self.out.memoized(b"]")
        self.out.write(b"(")
        for index in range(FRAMES):
            ref = self.out.memoized(b"}")
            self.out.write(b"(")
            for key, value in (
                ("name", f"function_{index % 977}"),
                ("filename", f"/home/user/project/package_{index % 61}/module_{index % 307}.py"
                 if index % 3 else f"/usr/lib/python3.11/site-packages/torch/nn/modules/part_{index % 97}.py"),
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
            b"}\x94(" + k["action"] + action + k["addr"] + number(addr) + k["size"] + number(size)
            + k["stream"] + b"K\x00" + k["time_us"] + number(time_us) + k["frames"] + b"]\x94"
            + self.stacks[stack] + b"u"
        )

    def run(self, events: int) -> None:
        out = self.out
        out.memoized(b"}")
        out.write(b"(")
        self.make_frames()
        # a list that no reader looks at, so that each key and action can be referred to in the events
        self.push("words")
        out.memoized(b"]")
        out.write(b"(")
        for word in ("action", "addr", "size", "stream", "time_us", "alloc", "free_requested", "free_completed"):
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
        out.write(b"e")     # the list of traces
        out.write(b"u")
        out.close()

    def trace(self, events: int) -> None:
        """The loop. APPENDS comes every thousand events, as from C pickle."""
        choose = self.random.random
        below = self.random.randrange
        alloc, requested, completed = (self.strings[name] for name in ("alloc", "free_requested", "free_completed"))
        done = 0
        clock = 1_790_000_000_000_000
        free: dict[int, list[int]] = {}
        top = 0x7F00_0000_0000
        live: list[tuple[int, int, int]] = []

        def emit(action: bytes, addr: int, size: int, stack: int) -> None:
            nonlocal done, clock
            if done % 1000 == 0:
                self.out.write(b"(" if done == 0 else b"e(")
            clock += 1 + below(12)
            self.event(action, addr, size, clock, stack)
            done += 1

        def allocate(size: int) -> tuple[int, int, int]:
            nonlocal top
            reuse = free.get(size)
            if reuse:
                addr = reuse.pop()
            else:
                addr = top
                top += (size + 511) // 512 * 512
            stack = below(STACKS)
            emit(alloc, addr, size, stack)
            return addr, size, stack

        def release(block: tuple[int, int, int]) -> None:
            addr, size, stack = block
            emit(requested, addr, size, stack)
            emit(completed, addr, size, stack)
            free.setdefault(size, []).append(addr)

        sizes: Callable[[], int] = lambda: int(512 * 2 ** (choose() * 16)) // 4 * 4
        kinds = [sizes() for _ in range(400)]
        live = [allocate(kinds[below(400)] * 4) for _ in range(min(2_000, events // 20))]
        step = 0
        while done < events - 16:
            step += 1
            activations: list[tuple[int, int, int]] = []
            for _ in range(LAYERS):
                for _ in range(12):
                    activations.append(allocate(kinds[below(400)]))
                    if choose() < 0.5:
                        release(allocate(kinds[below(400)]))
                if done >= events - 16:
                    return self.finish(done)
            gradients = []
            while activations:
                release(activations.pop())
                if choose() < 0.2:
                    gradients.append(allocate(kinds[below(400)] * 2))
                if done >= events - 16:
                    return self.finish(done)
            for gradient in gradients:
                release(gradient)
            if step % 50 == 0:      # what leaks a little from step to step
                live.append(allocate(kinds[below(400)]))
        self.finish(done)

    def finish(self, done: int) -> None:
        if done:
            self.out.write(b"e")


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
