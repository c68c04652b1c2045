r"""Heap profiles in text: of gperftools and tcmalloc, of Go (``debug=1``), and of jemalloc.

A row says what a stack has in use and, in brackets, allocated in all: ``objects: bytes [objects: bytes] @ addresses``.
Addresses are return addresses, so the calls lie one below. After Go's rows comments name the functions,
``#\tADDRESS\tFUNCTION+OFFSET\tFILE:LINE``. jemalloc writes the addresses first, then a row of all threads (``t*``) and
one of each. Sampled profiles are scaled as their own tools do: ``scaleHeapSample`` of google/pprof's
``legacy_profile.go``, and jemalloc's ``jeprof``, by what a block of the mean size is sampled with.
"""

import bisect
import gzip
import math
import re
from pathlib import Path

import zstandard
from tests.python.replays.stacks import Frame, Profile

_HEAD = re.compile(r"heap profile: +\d+: +\d+ \[ *\d+: +\d+\] @ (\w+)(?:/(\d+))?")
_ROW = re.compile(r" *(\d+): +(\d+) \[ *(\d+): +(\d+)\] @((?: 0x[0-9a-f]+)*)")
_THREAD = re.compile(r" *t(\*|\d+): (\d+): (\d+) \[(\d+): (\d+)\]")
_NAMED = re.compile(r"#\t0x[0-9a-f]+\t(.*?)\+0x[0-9a-f]+\t+(.*):(\d+)")
_MAPPED = re.compile(r" *([0-9a-f]+)-([0-9a-f]+)(?:: | r.xp [0-9a-f]+ \S+ \d+ +)(.*)")
"""A row of ``/proc/PID/maps``, or of the short form that Google's servers write."""

Row = tuple[int, int, int, int]


def text_of(path: Path) -> str:
    """A profile's text."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    elif data[:4] == b"\x28\xb5\x2f\xfd":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data.decode("utf-8", "replace")


def scale(count: int, size: int, rate: int) -> float:
    """The number of blocks that one sampled block of the mean size represents."""
    if rate <= 1:
        return 1.0
    return -1 / math.expm1(-size / count / rate) if count and size else 0.0


class _Modules:
    """The executable mappings of the process, if the file has them."""

    def __init__(self, lines: list[str]) -> None:
        found = [
            match for line in lines if "@" not in line and (match := _MAPPED.fullmatch(line)) is not None
        ]
        self._spans = sorted((int(each[1], 16), int(each[2], 16), each[3]) for each in found)

    def __getitem__(self, address: int) -> str:
        at = bisect.bisect_right(self._spans, address, key=lambda span: span[0]) - 1
        return self._spans[at][2] if at >= 0 and address < self._spans[at][1] else ""


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.modules = _Modules(self.lines)
        self._frames: dict[str, Frame] = {}

    def stack(self, addresses: str) -> list[Frame]:
        return [self.frame(address) for address in addresses.split()]

    def frame(self, address: str) -> Frame:
        found = self._frames.get(address)
        if found is None:
            call = int(address, 16) - 1
            found = self._frames[address] = Frame(f"{call:#x}", "", 0, self.modules[call])
        return found

    def jemalloc(self) -> Profile:
        rate = int(self.lines[0].rpartition("/")[2])
        profile = Profile(["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"])
        stack: list[Frame] | None = None
        whole: Row = (0, 0, 0, 0)
        threads: list[Row] = []

        def done() -> None:
            sums = tuple(map(sum, zip(*threads, strict=True)))
            live, made = scale(*whole[:2], rate), scale(*whole[2:], rate)
            for one in threads if sums == whole else [whole]:
                figures = (one[2] * made, one[3] * made, one[0] * live, one[1] * live)
                profile.add(stack or [], [round(figure) for figure in figures])

        for line in self.lines[1:]:
            if line.startswith("@"):
                if stack is not None:
                    done()
                stack, threads = self.stack(line[1:]), []
            elif stack is not None and (found := _THREAD.fullmatch(line)) is not None:
                row = (int(found[2]), int(found[3]), int(found[4]), int(found[5]))
                if found[1] == "*":
                    whole = row
                else:
                    threads.append(row)
        if stack is not None:
            done()
        return profile

    def plain(self) -> Profile:
        head = _HEAD.match(self.lines[0])
        assert head is not None
        kind, rate = head[1], int(head[2] or 0)
        # Go writes twice its rate, like the first such profiler
        rate = rate // 2 if kind == "heap" else rate if kind.endswith("_v2") else 0
        rows: list[tuple[list[Frame], Row]] = []
        named: list[Frame] = []
        for line in self.lines[1:]:
            if line.startswith("#"):
                if (found := _NAMED.fullmatch(line)) is not None:
                    named.append(Frame(found[1], found[2], int(found[3])))
                    rows[-1] = (named, rows[-1][1])
            elif (found := _ROW.fullmatch(line)) is not None:
                one, two, three, four, addresses = found.groups()
                rows.append((self.stack(addresses), (int(one), int(two), int(three), int(four))))
                named = []
        # if nothing was freed, or the recorder didn't count it, both pairs are equal or the second is 0
        has_totals = any(
            any(row[at] != row[at + 2] for _, row in rows) and any(row[at + 2] for _, row in rows)
            for at in (0, 1)
        )
        live = ["objects", "space"] if kind.startswith("growth") else ["inuse_objects", "inuse_space"]
        profile = Profile(["alloc_objects", "alloc_space", *live] if has_totals else live)
        for stack, row in rows:
            in_use, made = scale(row[0], row[1], rate), scale(row[2], row[3], rate)
            figures = [row[0] * in_use, row[1] * in_use]
            if has_totals:
                figures = [row[2] * made, row[3] * made, *figures]
            profile.add(stack, [int(figure) for figure in figures])
        return profile


def read(path: Path) -> Profile:
    """Read a file."""
    reader = _Reader(text_of(path))
    return reader.jemalloc() if reader.lines[0].startswith("heap_v2/") else reader.plain()
