"""Recordings of heaptrack (text of versions 1 to 3), after ``src/analyze/accumulatedtracedata.cpp``.

The records are those of heaptrack's interpreter: ``s`` strings, ``i`` instructions with what was inlined at them, ``t``
trace nodes, ``a`` kinds of allocations (a size and a trace), ``+`` and ``-`` a block of a kind, ``c`` the time. Blocks
of a kind aren't distinguished. A free is temporary if the event before it allocated a block of that kind.
"""

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt
import zstandard
from tests.python.replays.stacks import I64, Frame, Profile, Tree

NEW = ("operator new(unsigned long)", "operator new[](unsigned long)")
VALUES = (
    "peak_bytes", "peak_count", "leaked_bytes", "leaked_count", "total_bytes", "total_count", "temporary_count",
)  # fmt: skip


def text_of(path: Path) -> bytes:
    """A recording's text."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data


def _numbers(data: npt.NDArray[np.uint8], starts: I64, ends: I64) -> I64:
    """Hexadecimal numbers between places of the text."""
    digit = np.zeros(256, np.int64)
    for value, character in enumerate(b"0123456789abcdef"):
        digit[character] = value
    found = np.zeros(len(starts), np.int64)
    for place in range(int((ends - starts).max(initial=0))):
        inside = starts + place < ends
        found[inside] = found[inside] * 16 + digit[data[starts[inside] + place]]
    return found


class Recording:
    """Each event, and the stack and size of each kind of allocation."""

    def __init__(self, text: bytes) -> None:
        data = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(data == ord("\n"))
        starts = np.concatenate(([0], ends[:-1] + 1))
        letters = data[starts]
        is_event = (letters == ord("+")) | (letters == ord("-"))
        events = np.flatnonzero(is_event)
        self.kind = _numbers(data, starts[events] + 2, ends[events])
        """The kind of block that each event allocated or freed."""
        self.change: I64 = np.where(letters[events] == ord("+"), 1, -1)
        stamps = np.flatnonzero(letters == ord("c"))
        times = np.concatenate(([0], _numbers(data, starts[stamps] + 2, ends[stamps])))
        self.time_ms: I64 = times[np.searchsorted(stamps, events)]
        self.tree = Tree()
        self.stacks: list[int] = []
        """The stack of each kind, as a number in the tree."""
        sizes: list[int] = []
        self._version = 0
        self._strings = [""]
        self._instructions: list[tuple[Frame, ...]] = [(Frame("", "", 0),)]
        self._traces = [0]
        others = np.flatnonzero(~is_event & (letters != ord("c")))
        for start, end in zip(starts[others].tolist(), ends[others].tolist(), strict=True):
            letter, _, rest = text[start:end].decode().partition(" ")
            if letter == "t":
                address, parent = rest.split(" ")
                self._traces.append(self._called(int(address, 16), self._traces[int(parent, 16)]))
            elif letter == "a":
                size, trace = rest.split(" ")
                sizes.append(int(size, 16))
                self.stacks.append(self._traces[int(trace, 16)])
            else:
                self._take(letter, rest)
        self.sizes: I64 = np.array(sizes, np.int64)

    def _take(self, letter: str, rest: str) -> None:
        fields = rest.split(" ")
        if letter == "v":
            self._version = int(fields[1], 16) if len(fields) > 1 else 1
        elif letter == "s":
            self._strings.append(rest if self._version < 3 else rest.partition(" ")[2])
        elif letter == "i":
            self._instructions.append(self._instruction([int(field, 16) for field in fields]))
        assert letter != "A", "test_heaptrack.py has one that was attached"

    def _instruction(self, numbers: list[int]) -> tuple[Frame, ...]:
        """The frames at an address, inlined ones first: function, file and line; the last may be incomplete."""
        address, module, *rest = [*numbers, 0][:2] + numbers[2:]
        rest += [0] * (-len(rest) % 3) if len(rest) < 3 else []
        triples = [rest[at : at + 3] for at in range(0, len(rest) - 2, 3)] or [[0, 0, 0]]
        return tuple(
            Frame(
                self._strings[function] if function or file or line else f"{address:#x}",
                self._strings[file],
                line,
                self._strings[module],
            )
            for function, file, line in triples
        )

    def _called(self, address: int, caller: int) -> int:
        frames = self._instructions[address]
        if frames[0].function in NEW:
            return caller
        for frame in reversed(frames):
            caller = self.tree.call(caller, frame)
        return caller

    def live_before(self, time_ms: int) -> Counter[int]:
        """How many blocks of each kind are live when the time stamp is written."""
        before = self.time_ms < time_ms
        counts = self._counts(self.kind[before], self.change[before])
        return Counter({kind: count for kind, count in enumerate(counts.tolist()) if count})

    def _counts(self, kinds: I64, changes: I64) -> I64:
        found = np.zeros(len(self.sizes), np.int64)
        np.add.at(found, kinds, changes)
        return found

    def temporary(self) -> npt.NDArray[np.bool_]:
        """Which events free what the previous event allocated; after a free that is kind 0."""
        before = np.where(self.change > 0, self.kind, 0)
        found: npt.NDArray[np.bool_] = self.kind == np.concatenate(([0], before[:-1]))
        return found & (self.change < 0)

    def by_kind(self) -> I64:
        """The :data:`VALUES` of each kind. The peak is the first moment of the most live bytes."""
        live_bytes = np.cumsum(self.sizes[self.kind] * self.change)
        until_peak = int(np.argmax(live_bytes)) + 1 if live_bytes.max() > 0 else 0
        peak = self._counts(self.kind[:until_peak], self.change[:until_peak])
        end = self._counts(self.kind, self.change)
        made = self._counts(self.kind, (self.change > 0).astype(np.int64))
        temporary = self._counts(self.kind, self.temporary().astype(np.int64))
        sizes = self.sizes
        columns = (sizes * peak, peak, sizes * end, end, sizes * made, made, temporary)
        return np.stack(columns, axis=1)


def read(path: Path) -> Profile:
    """The values of each stack."""
    recording = Recording(text_of(path))
    profile = Profile(VALUES, recording.tree)
    profile.add_all(recording.stacks, recording.by_kind())
    return profile
