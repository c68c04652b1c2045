"""memray's captures against memray's own reader and reports, and against ones written record by record.

memray isn't part of the development environment: ``npm test`` installs the one of ``tests/python/memray.lock`` in
``.cache/memray`` (or MEMLENS_TEST_MEMRAY names its Python); without it, tests that ask it are skipped. Captures of
another file format are compared where ``.cache/memray-FORMAT`` is an environment with the memray of it, such as
``.cache/memray-11`` for memray 1.18, which nothing installs.
"""

import html
import json
import os
import random
import re
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fuzz import memray_shapes
from tests.python.conftest import ROOT, real_profiles
from tests.python.counted import perhaps
from tests.python.profile_reading import FIXTURES, damage, load, samples_of, value
from tests.python.recordings import MEMRAY
from tests.python.replays import memray as memray_replay
from tests.python.tries import tries

from memlens.cli import main
from memlens.errors import MemlensError
from memlens.formats.containers import open_source
from memlens.formats.errors import NotASnapshotError
from memlens.model.frames import POSSIBLE_ARENA, USER, SourceFrame
from memlens.model.profile import Profile
from memlens.packs.python import memray_times
from memlens.packs.python.kernels.memray_lines import fill_lines
from memlens.packs.python.memray_header import read_header
from memlens.packs.python.tests.memray_files import FREE, MALLOC, MMAP, MUNMAP, PYMALLOC, Records, header
from memlens.store.snapshot import Snapshot
from memlens.units import format_bytes
from memlens.views.findings.headline import headline
from memlens.views.findings.table import findings
from memlens.views.selection.sets import AllocationSet
from memlens.views.tables.groupings import GroupKind
from memlens.views.tables.groups import Branch, groups

PYTHON = Path(os.environ.get("MEMLENS_TEST_MEMRAY") or ROOT / ".cache" / "memray" / "bin" / "python")
needs_memray = pytest.mark.skipif(
    not PYTHON.exists(), reason=f"no memray: {PYTHON} isn't there, see the head of this file"
)
CAPTURES = [MEMRAY, *real_profiles("memray/*.bin")]


def python_at(version: int) -> Path:
    """The Python with the memray of a file format, if it is installed."""
    return PYTHON if version == 13 else ROOT / ".cache" / f"memray-{version}" / "bin" / "python"


INSTALLED = [13, *(version for version in (12, 11, 10, 9) if python_at(version).exists())]
"""The file formats whose memray is there; that of the newest is checked for by ``needs_memray``."""
SCRIPT = """
import memray, sys
scope = {"__name__": "index"}
exec(compile(open(sys.argv[2]).read(), sys.argv[2], "exec"), scope)
to = memray.FileDestination(sys.argv[1], overwrite=True, compress_on_exit=sys.argv[5] == "compressed")
with memray.Tracker(destination=to, trace_python_allocators=True, file_format=memray.FileFormat[sys.argv[3]]):
    kept = scope["main"]()
    if sys.argv[4] == "killed":
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
"""


@cache
def as_read(path: Path) -> Profile:
    """What is read of a capture that no test writes, once for the tests that ask about it."""
    return load(path)


def recorded(
    folder: Path, *, kind: str = "ALL_ALLOCATIONS", killed: bool = False, compressed: bool = True
) -> Path:
    """A capture of ``src/index.py``."""
    path = folder / "index.bin"
    command = [
        str(PYTHON),
        "-c",
        SCRIPT,
        str(path),
        str(FIXTURES / "src" / "index.py"),
        kind,
        "killed" if killed else "",
        "compressed" if compressed else "",
    ]
    subprocess.run(command, check=not killed, timeout=120)
    return path


# ---- headers and compression ----


@pytest.mark.parametrize(
    ("version", "words"), [(8, "before 1.4"), (99, "newer than Memlens"), (-1, "before 1.4")]
)
def test_unknown_versions_are_reported(tmp_path: Path, version: int, words: str) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(header(version))
    with pytest.raises(NotASnapshotError, match=words):
        load(path)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_headers_in_lz4_frames(path: Path) -> None:
    found = re.match(r"v1\.(\d+)", path.name)
    with open_source(path, path.parent, lambda *_: None) as source:
        reported = read_header(source)
    assert reported.version == {"10": 10, "18": 11, "19": 12}[found[1]] if found else reported.version == 13
    assert (
        reported.command.endswith((".py", ".py 4", ".py 20", ".py 60", ".py 40")) or ".py" in reported.command
    )
    assert (reported.allocations > 0) != reported.aggregated
    assert 0 < reported.end_ms - reported.start_ms < 600_000
    assert reported.native == ("native" in path.name)
    assert reported.aggregated == ("aggregate" in path.name)


def lz4_by_literals(data: bytes) -> bytes:
    """An LZ4 frame with only literals."""
    rest = len(data) - 15
    block = b"\xf0" + b"\xff" * (rest // 255) + bytes([rest % 255]) + data
    return b"\x04\x22\x4d\x18\x40\x40\xc0" + struct.pack("<I", len(block)) + block + bytes(4)


def unpacked(frame: bytes, path: Path) -> bytes:
    path.write_bytes(frame)
    with open_source(path, path.parent, lambda *_: None) as source:
        data = b"".join(bytes(chunk) for chunk in source.chunks(lambda *_: None))
        return data + (b"..." if source.truncated else b"")


def test_lz4_as_specified(tmp_path: Path) -> None:
    """Literals, a match that overlaps itself, a block that isn't compressed, and one that refers to another."""
    path, data = tmp_path / "x", bytes(range(256)) * 3
    assert unpacked(lz4_by_literals(data), path) == data
    assert unpacked(lz4_by_literals(data) * 2, path) == data * 2
    block = b"\x36abc\x03\x00" + b"\x10!"
    begin, end = b"\x04\x22\x4d\x18\x40\x40\xc0", bytes(4)
    packed = struct.pack("<I", len(block)) + block
    text = b"abc" + (b"abc" * 4)[:10] + b"!"
    assert unpacked(begin + packed + end, path) == text
    # the first four of the text before, which is fourteen bytes back
    again = b"\x00\x0e\x00" + b"\x10?"
    assert unpacked(begin + packed + struct.pack("<I", len(again)) + again + end, path) == text + b"abca?"
    independent = begin[:4] + b"\x60" + begin[5:]
    assert unpacked(independent + packed + struct.pack("<I", len(again)) + again + end, path) == text + b"..."
    stored = b"\x04\x22\x4d\x18\x48\x40" + bytes(8) + b"\xc0" + struct.pack("<I", 5 | 1 << 31) + b"hello"
    assert unpacked(stored + end, path) == b"hello"
    assert unpacked(stored, path) == b"hello..."


@pytest.mark.slow
def test_damaged_headers_are_reported(tmp_path: Path) -> None:
    for seed, data in enumerate((header(), lz4_by_literals(header()))):
        _, whole = damage(data, tmp_path / "x.bin", 40, seed)
        assert whole == 0


# ---- what is recorded ----


@needs_memray
def test_the_recording_leads_to_the_lines_of_the_program(tmp_path: Path) -> None:
    profile = load(recorded(tmp_path))
    source = (FIXTURES / "src" / "index.py").read_text("utf-8").splitlines()
    peak: Counter[str] = Counter()
    for stack, values in samples_of(profile):
        if stack and stack[0].kind == USER:
            assert Path(stack[0].file).name == "index.py"
            peak[source[stack[0].line - 1].strip()] += values[0]
    line, size = peak.most_common(1)[0]
    assert line.startswith("line = ")
    assert size > 200 * 11 * 9
    assert value(profile, "temporary_allocations") > 0
    assert {profile.strings[number] for number in profile.labels["text"].tolist()} >= {
        "main thread",
        "pymalloc_malloc",
    }
    assert not {"killed", "aggregated"} & {warning.code for warning in profile.warnings}


@needs_memray
def test_a_killed_process_is_reported(tmp_path: Path) -> None:
    profile = load(recorded(tmp_path, killed=True))
    assert "killed" in {warning.code for warning in profile.warnings}
    assert value(profile, "peak_bytes") > 0


@needs_memray
def test_an_aggregated_capture_has_no_temporary_allocations(tmp_path: Path) -> None:
    profile = load(recorded(tmp_path, kind="AGGREGATED_ALLOCATIONS"))
    assert "aggregated" in {warning.code for warning in profile.warnings}
    assert [kind.meaning for kind in profile.value_types] == ["peak", "peak", "end", "end"]


@pytest.mark.slow
@needs_memray
def test_damaged_captures_are_reported_or_read(tmp_path: Path) -> None:
    whole = recorded(tmp_path).read_bytes()
    outcomes: set[str] = set()
    for number in range(1, 8):
        path = tmp_path / f"cut{number}.bin"
        path.write_bytes(whole[: len(whole) * number // 8])
        try:
            profile = load(path)
        except MemlensError:  # any other exception fails the test
            outcomes.add("refused")
        else:
            outcomes |= {warning.code for warning in profile.warnings}
    assert outcomes & {"refused", "broken"}


@pytest.mark.slow
@needs_memray
def test_captures_with_other_numbers_and_names_are_reported_or_read(tmp_path: Path) -> None:
    # without compression nothing has a checksum
    whole = recorded(tmp_path, compressed=False).read_bytes()
    chance, path, outcomes = random.Random(36), tmp_path / "edited.bin", set[str]()
    for number in range(16):
        edited = bytearray(whole)
        length = 1 + number % 8
        for _ in range(1 + number):
            place = chance.randrange(200, len(whole.rstrip(b"\0")))
            # half of them move what follows
            edited[place : place + length * (number % 2)] = chance.randbytes(length)
        path.write_bytes(edited)
        try:
            profile = load(path)
        except MemlensError:  # any other exception fails the test
            outcomes.add("refused")
        else:
            outcomes |= {warning.code for warning in profile.warnings} & {"broken", "killed"} or {"whole"}
            assert all((each >= 0).all() for each in profile.values)
    assert "broken" in outcomes


RAW = """
import ctypes, mmap, memray, os, sys
take = ctypes.pythonapi.PyMem_RawMalloc  # goes by way of malloc, which memray records
take.restype, take.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc = ctypes.CDLL(None)  # called by address, which memray doesn't see
free, unmap = libc.free, libc.munmap
free.restype, free.argtypes = None, [ctypes.c_void_p]
unmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
PAGE = 4096

def reused():
    return take(4_000)

def kept():
    return take(5_000)

def wide(pages):
    return mmap.mmap(-1, pages * PAGE)

def narrow(pages):
    return mmap.mmap(-1, pages * PAGE)

def address_of(mapped):
    return ctypes.addressof(ctypes.c_char.from_buffer(mapped))

all = []
with memray.Tracker(sys.argv[1]):
    kept()
    for _ in range(200):
        free(reused())
    for number in range(40):
        all.append(wide(64))
        # the system fills such gaps: wholly, partly, by one range or by several
        unmap(address_of(all[-1]) + 8 * PAGE, (8 + number) * PAGE)
        all += [narrow(4 + number % 9) for _ in range(3)]
        if number == 30:  # the peak is before this, and some of what is covered ends
            high = [take(1 << 20) for _ in range(8)]
            for each in high:
                ctypes.pythonapi.PyMem_RawFree(ctypes.c_void_p(each))
    mmap.mmap(-1, PAGE).close()
os._exit(0)  # the objects must not unmap what others own now
"""

REPLAY = """
import json, memray, sys
reader = memray.FileReader(sys.argv[1])
free = {int(kind) for kind in memray.AllocatorType if kind.name.endswith("FREE")}
maps, unmaps = int(memray.AllocatorType.MMAP), int(memray.AllocatorType.MUNMAP)
live, last, reused, temporary = {}, {}, [], []
pages, made, now, most, covered = {}, 0, 0, 0, 0
at_peak = {}

def by_function():
    sums = {}
    for size, function in live.values():
        sums.setdefault("malloc " + function, [0, set()])[0] += size
        sums["malloc " + function][1].add(len(sums["malloc " + function][1]))
    for here in pages.values():
        number, function = here[-1]  # the last one that was mapped there has the page
        sums.setdefault("mmap " + function, [0, set()])[0] += 4096
        sums["mmap " + function][1].add(number)
    return {name: [size, len(numbers)] for name, (size, numbers) in sums.items()}

watched = len(sys.argv) > 2
for record in reader.get_allocation_records():
    address = record.address
    latest = last.get(record.tid)
    if record.allocator == unmaps:
        # only what is unmapped whole is temporary
        if latest and latest == (address, record.size):
            temporary.append(latest[1])
        for page in range(address // 4096, (address + record.size + 4095) // 4096):
            now -= 4096 * len(pages.pop(page, ()))
    elif record.allocator in free:
        if latest and latest[0] == address:
            temporary.append(latest[1])
            last.pop(record.tid)
        now -= live.pop(address, (0,))[0]
    else:
        last[record.tid] = (address, record.size)
        function = (record.stack_trace() or [("?",)])[0][0]
        now += record.size
        if record.allocator == maps:
            made += 1
            for page in range(address // 4096, (address + record.size) // 4096):
                covered += page in pages
                pages.setdefault(page, []).append((made, function))
        else:
            if address in live:
                reused.append(live[address][0])
            live[address] = (record.size, function)
    if watched and now >= most:  # by memray's count, which includes covered mappings
        most, at_peak = now, by_function()
sums = [[sum(each), len(each)] for each in ([size for size, _ in live.values()], reused, temporary)]
json.dump({"sums": sums, "covered": covered, "end": by_function(), "peak": at_peak}, sys.stdout)
"""


def replayed(path: Path, python: Path, *options: str) -> dict[str, Any]:
    """An independent replay of every record: bytes and number of what malloc left live at the end, of what lay at
    reused addresses, and of temporaries ("sums"); pages that were mapped over others; and, by the innermost function,
    what was live at the end and, with an option, at the moment that memray takes for the peak."""
    printed = subprocess.run(
        [python, "-c", REPLAY, path, *options], check=True, capture_output=True, timeout=300
    )
    figures: dict[str, Any] = json.loads(printed.stdout)
    return figures


@pytest.mark.slow
@needs_memray
@pytest.mark.parametrize("version", INSTALLED)
def test_reusing_an_address_ends_the_previous_allocation(version: int, tmp_path: Path) -> None:
    """Allocations and mappings, at the peak and at the end."""
    python = python_of(version)
    path = tmp_path / "reused.bin"
    subprocess.run([python, "-c", RAW, path], check=True, timeout=120)
    replay = replayed(path, python, "peak")
    live, reused, _ = replay["sums"]
    assert reused[1] >= 150
    assert replay["covered"] > 40
    profile = load(path)
    peak: Counter[tuple[str, int]] = Counter()
    end: Counter[tuple[str, int]] = Counter()
    for sample, (stack, values) in enumerate(samples_of(profile)):
        kind = "mmap" if "mmap" in labels_of(profile, sample) else "malloc"
        name = f"{kind} {unmarked(stack)[0].function if unmarked(stack) else '?'}"
        for column in range(2):
            peak[name, column] += values[column]
            end[name, column] += values[2 + column]
    for sums, figures in ((peak, replay["peak"]), (end, replay["end"])):
        assert +sums == +Counter(
            {(name, column): row[column] for name, row in figures.items() for column in range(2)}
        )
    assert sum(size for (name, column), size in end.items() if name[:3] == "mal" and not column) == live[0]
    assert profile.settings["command"] == f"-c {path}"
    assert profile.times is not None
    assert profile.times.series["live_bytes"][-1] == value(profile, "leaked_bytes")
    assert profile.times.series["live_count"][-1] == value(profile, "leaked_allocations")
    messages = [warning.message for warning in profile.warnings if warning.code == "reused"]
    assert len(messages) == 1
    assert format_bytes(reused[0] + replay["covered"] * 4096) in messages[0]


class World:
    """What memray counts, by every single byte: what is live, the peak, the end, and what was freed in time."""

    def __init__(self) -> None:
        self.live: dict[int, tuple[str, int, int]] = {}
        self.pages: dict[int, list[int]] = {}
        self.mappings: list[tuple[str, int]] = []
        self.now = self.most = self.clock = 0
        self.peak: dict[str, tuple[int, int]] = {}
        self.changes: Counter[tuple[int, str, str]] = Counter()
        self.totals: Counter[tuple[str, str]] = Counter()

    def held(self, *, pieces: bool) -> dict[str, tuple[int, int]]:
        """Bytes and allocations of each function; a mapping counts once, at the peak once for each piece."""
        sums: Counter[tuple[str, int]] = Counter()
        for function, size, _ in self.live.values():
            sums[function, 0] += size
            sums[function, 1] += 1
        for number, (function, _) in enumerate(self.mappings):
            whole = sorted(at for at, here in self.pages.items() if number in here)
            own = sum(self.pages[at][-1] == number for at in whole)
            runs = sum(at - 1 not in whole for at in whole)
            sums[function, 0] += own
            sums[function, 1] += (runs - (bool(whole) and not own)) if pieces else bool(own)
        return {name: (sums[name, 0], sums[name, 1]) for name, _ in sums if sums[name, 0] or sums[name, 1]}

    def _lived(self, function: str, birth: int, size: int, count: int) -> None:
        if birth != self.clock:
            for when, what in ((birth, "allocated"), (self.clock, "freed")):
                self.changes[when, function, f"{what}_bytes"] += size
                self.changes[when, function, f"{what}_count"] += count

    def do(self, function: str, allocator: int, address: int, size: int) -> None:
        span = range(address, address + size)
        if allocator == FREE:
            if address in self.live:
                former, gone, birth = self.live.pop(address)
                self._lived(former, birth, gone, 1)
                self.now -= gone
        elif allocator == MUNMAP:
            cut = Counter(number for at in span for number in self.pages.get(at, ()))
            runs = {
                number: sum(
                    number in self.pages.get(at, ())
                    and (at == address or number not in self.pages.get(at - 1, ()))
                    for at in span
                )
                for number in cut
            }
            for at in span:
                self.now -= len(self.pages.pop(at, ()))
            for number, gone in cut.items():
                ends = runs[number] == 1 and not any(number in here for here in self.pages.values())
                self._lived(*self.mappings[number], gone, int(ends))
        else:
            self.totals[function, "bytes"] += size
            self.totals[function, "count"] += 1
            self.now += size
            if allocator == MMAP:
                self.mappings.append((function, self.clock))
                for at in span:
                    self.pages.setdefault(at, []).append(len(self.mappings) - 1)
            else:
                self.live[address] = (function, size, self.clock)
        if self.now >= self.most:
            self.most, self.peak = self.now, self.held(pieces=True)

    def end(self) -> dict[str, tuple[int, int]]:
        for function, size, birth in self.live.values():
            self.changes[birth, function, "allocated_bytes"] += size
            self.changes[birth, function, "allocated_count"] += 1
        for number, (function, birth) in enumerate(self.mappings):
            own = sum(here[-1] == number for here in self.pages.values())
            self.changes[birth, function, "allocated_bytes"] += own
            self.changes[birth, function, "allocated_count"] += bool(own)
        return self.held(pieces=False)


def sums_by_function(profile: Profile) -> tuple[dict[str, Counter[tuple[str, int]]], list[str]]:
    """Bytes (0) and counts (1) by the innermost function, and that of each sample."""
    sums: dict[str, Counter[tuple[str, int]]] = {"peak": Counter(), "end": Counter(), "total": Counter()}
    functions = []
    for stack, values in samples_of(profile):
        functions.append(stack[0].function)
        for kind, amount in zip(profile.value_types, values, strict=True):
            if kind.meaning in sums:
                sums[kind.meaning][stack[0].function, int(kind.unit == "count")] += amount
    return sums, functions


@pytest.mark.parametrize("seed", range(tries(40)))
def test_figures_by_every_byte(seed: int, tmp_path: Path) -> None:
    """Addresses that are used again, ranges that are mapped over others, partly unmapped, or never freed."""
    chance, world, records = random.Random(seed), World(), Records()
    for thread in (1, 2):
        records.thread(thread)
        records.code(thread, b"outer", b"/app.py", 1)
    for number in range(4):
        records.code(10 + number, f"f{number}".encode(), b"/app.py", 10 * number + 5)
    records.push(1)
    records.memory(100, 0)
    world.clock = 1
    for _ in range(chance.choice((5, 40, 160))):
        if chance.random() < 0.15:
            records.thread(chance.choice((1, 2)))
        if chance.random() < 0.1:
            records.memory(100, world.clock * 10)
            world.clock += 1
        allocator = chance.choice((MALLOC, MALLOC, FREE, FREE, PYMALLOC, MMAP, MMAP, MUNMAP))
        address = 8 * chance.randrange(12 if chance.random() < 0.8 else 30)
        size = 0 if allocator == FREE else chance.randrange(60)
        function = f"f{chance.randrange(4)}"
        records.push(10 + int(function[1]))
        records.allocate(allocator, address, size)
        records.pop()
        world.do(function, allocator, address, size)
    path = tmp_path / "x.bin"
    path.write_bytes(header(allocations=9) + records.end())
    profile = load(path)
    sums, functions = sums_by_function(profile)
    end = world.end()
    for found, expected in ((sums["peak"], world.peak), (sums["end"], end)):
        assert +found == +Counter(
            {(f, column): row[column] for f, row in expected.items() for column in (0, 1)}
        )
    assert +sums["total"] == +Counter({(f, int(u == "count")): n for (f, u), n in world.totals.items()})
    assert profile.times is not None
    changes: Counter[tuple[int, str, str]] = Counter()
    edges = np.repeat(
        np.arange(len(profile.times.time_us)), np.diff(profile.times.change_offsets).astype(int)
    )
    for edge, row in zip(edges.tolist(), profile.times.changes, strict=True):
        for what in ("allocated_bytes", "allocated_count", "freed_bytes", "freed_count"):
            changes[edge, functions[row["sample"]], what] += int(row[what])
    assert +changes == +world.changes


def test_mappings_that_lie_over_each_other_again_and_again_are_counted_by_what_is_on_top(
    tmp_path: Path,
) -> None:
    """Holes are cut into 4,000 mappings of one range of 8,000 pages: in full, 4,000 pieces of each."""
    size, page = 4_000, 4_096
    path = tmp_path / "x.bin"
    path.write_bytes(memray_shapes.overlapping_mappings(size))
    profile = load(path)
    (warning,) = (each for each in profile.warnings if each.code == "overlapping-mappings")
    # a hole leaves two pieces of each mapping, the first one; until they are more than 2**18 and four for each call
    call = next(n for n in range(size, 2 * size) if (2 * (n - size) - 1) * size > (1 << 18) + 4 * (n + 1)) + 1
    assert f"from call {call:,} of" in warning.message
    assert value(profile, "peak_bytes") == 2 * size * page
    assert value(profile, "leaked_bytes") == size * page
    assert value(profile, "total_bytes") == 2 * size * page * size


def test_lines_are_read_of_a_table_as_cpython_does() -> None:
    """All instructions of functions with jumps, loops and long expressions, in any table that this Python makes."""
    source = "def f(a, b):\n" + "".join(
        f"    for x{n} in a:\n        if b({n},\n             {'+'.join(['a'] * n)}):\n            break\n\n\n"
        for n in range(1, 60)
    )
    code = compile(source, "x.py", "exec").co_consts[0]
    expected = {at: line or 0 for begin, end, line in code.co_lines() for at in range(begin, end, 2)}
    offsets = np.array(sorted([-2, *expected, len(code.co_code) + 8]), np.int64)
    lines = np.empty(len(offsets), np.int64)
    table = np.frombuffer(code.co_linetable, np.uint8)
    fill_lines(table, 0, len(table), sys.hexversion, code.co_firstlineno, offsets, lines)
    found = dict(zip(offsets.tolist(), lines.tolist(), strict=True))
    assert {at: found[at] for at in expected if expected[at]} == {at: n for at, n in expected.items() if n}
    assert found[-2] == found[len(code.co_code) + 8] == 0


def test_native_stacks_that_share_far_more_than_a_capture_has_are_left_out(tmp_path: Path) -> None:
    """3,000 functions of Python lead to one native stack of 3,000 frames: as many as fit have it."""
    size = 3_000
    path = tmp_path / "x.bin"
    path.write_bytes(memray_shapes.native_stacks(size))
    profile = load(path)
    (warning,) = (each for each in profile.warnings if each.code == "plain-stacks")
    # each place has the native frames, main and its own function, of 2**21 for all
    assert warning.message.endswith(f"{size - (1 << 21) // (size + 2):,}.")
    assert value(profile, "leaked_bytes") == 16 * size


def labels_of(profile: Profile, sample: int) -> set[str]:
    chosen = profile.labels[profile.labels["sample"] == sample]
    return {profile.strings[number] for number in chosen["text"].tolist()}


@pytest.mark.slow
@needs_memray
@pytest.mark.parametrize(
    "path",
    [path for path in CAPTURES if path.stat().st_size < 400_000 and "aggr" not in path.name],
    ids=lambda path: path.name,
)
def test_temporary_allocations(path: Path) -> None:
    """Freed before the thread allocates anything else, by a replay of every record; nothing is counted twice."""
    profile = as_read(path)
    replay = replayed(path, python_for(path))
    _, reused, temporary = replay["sums"]
    assert [value(profile, "temporary_bytes"), value(profile, "temporary_allocations")] == temporary
    title = next(kind.title.text for kind in profile.value_types if kind.name == "temporary_bytes")
    assert title == "Temporary: freed before the next allocation of the thread"
    assert ("reused" in {warning.code for warning in profile.warnings}) == bool(
        reused[1] or replay["covered"]
    )


# ---- pymalloc's pools ----


POOL = 1 << 20


def pooled(
    path: Path, *, allocator: int = 1, traced: int = 0, version: int = 13, other: int = MALLOC
) -> Path:
    """A capture in which ``dumps`` mapped three arenas and kept one, and others mapped what may be one, or isn't."""
    records = Records()
    records.thread(1)
    for code, (function, line) in enumerate(((b"dumps", 12), (b"load", 20), (b"old", 30))):
        records.code(code, function, b"/app.py", line)
    records.push(0)
    for each in range(3):
        records.allocate(MMAP, each * POOL, POOL)
    records.pop()
    records.push(1)
    # mapped, but of another size, if only once
    records.allocate(MMAP, 1 << 40, 4096)
    records.pop()
    for each in range(2):
        records.allocate(MUNMAP, each * POOL, POOL)
    records.push(0)
    # on the same line, but not an arena
    records.allocate(other, 1 << 41, POOL)
    records.pop()
    records.push(1)
    records.allocate(MUNMAP, 1 << 40, 4096)
    records.allocate(MMAP, 1 << 42, POOL)
    records.pop()
    records.push(2)
    # as large as arenas were up to Python 3.9
    for each in range(2):
        records.allocate(MMAP, (1 << 43) + each * (1 << 18), 1 << 18)
    head = header(version, allocator=allocator, traced=traced)
    path.write_bytes(head + records.end())
    return path


def test_ranked_lines_mark_possible_pools(
    tmp_path: Path, opened: Callable[[Path], Snapshot], capsys: pytest.CaptureFixture[str]
) -> None:
    path = pooled(tmp_path / "x.bin")
    snapshot = opened(path)

    def ranked(value: int, by: GroupKind) -> list[tuple[str, str, int]]:
        answer = groups(snapshot, Branch(AllocationSet(0, value=value), [by]), "bytes", 0, 9, descending=True)
        return [(row.name.text, row.detail.text, row.bytes) for row in answer.rows]

    assert ranked(2, "line") == [
        ("app.py:12", "dumps, perhaps pools: 1 MiB", 2 * POOL),
        ("app.py:20", "load", POOL),
        ("app.py:30", "old, perhaps pools: 512 KiB", POOL // 2),
    ]
    assert ranked(3, "function")[0] == ("dumps", "app.py, perhaps pools: 1", 2)
    assert ranked(2, "package") == [("Your code", "perhaps pools: 1.50 MiB", 7 * POOL // 2)]
    assert "perhaps pools: " in headline(snapshot, None).text
    for command in (["info"], ["lines", "--value", "leaked"]):
        assert main([*command, str(path), "--cache-dir", str(tmp_path / "cache")]) == 0
        assert "note: Python's own allocator, pymalloc, was not traced" in capsys.readouterr().out


@pytest.mark.parametrize(("freed_at", "says"), [(None, True), (36, False), (10, True)])
def test_a_run_that_still_grows_where_pools_hide_the_line(
    tmp_path: Path, opened: Callable[[Path], Snapshot], freed_at: int | None, *, says: bool
) -> None:
    """40 arenas of 1 MiB, one each 10 ms; what is freed early is made up for, what is freed late ends the growth."""
    records = Records()
    records.thread(1)
    records.code(0, b"dumps", b"/app.py", 12)
    records.push(0)
    for each in range(40):
        records.allocate(MMAP, each * POOL, POOL)
        records.memory(each * POOL, 10)
        if each == freed_at:
            for back in range(5):
                records.allocate(MUNMAP, back * POOL, POOL)
    path = tmp_path / "x.bin"
    path.write_bytes(header(13, allocator=1, traced=0) + records.end())
    found = [each.text for each in findings(opened(path), None, 99).findings if each.rule == "still_growing"]
    assert len(found) == says
    if freed_at is None:
        assert found[0].startswith(
            "The run ends with 40 MiB and still grows: 9 MiB is live after 20% of it, 33 MiB "
        )


@pytest.mark.parametrize(
    ("allocator", "traced", "other", "warned", "marked"),
    [
        (1, 0, MALLOC, "pymalloc", True),
        (2, 0, MALLOC, "pymalloc debug", True),
        (5, 0, MALLOC, "mimalloc", False),
        (1, 1, MALLOC, "", False),
        (3, 0, MALLOC, "", False),
        (1, 0, PYMALLOC, "pymalloc", True),
    ],
)
def test_pools_are_marked(
    tmp_path: Path, allocator: int, traced: int, other: int, warned: str, *, marked: bool
) -> None:
    profile = load(pooled(tmp_path / "x.bin", allocator=allocator, traced=traced, other=other))
    found: Counter[tuple[bool, int]] = Counter()
    for stack, values in samples_of(profile):
        found[stack[0] == POSSIBLE_ARENA, unmarked(stack)[0].line] += values[2]
    bare = {(False, 12): POOL, (False, 20): POOL}
    pools = {(True, 12): POOL, (True, 30): 2 << 18}
    if not marked:
        bare, pools = {(False, 12): 2 * POOL, (False, 20): POOL, (False, 30): 2 << 18}, {}
    assert {place: size for place, size in found.items() if size} == bare | pools
    said = [warning.message for warning in profile.warnings if warning.code == "pools"]
    assert len(said) == bool(warned)
    if warned:
        assert warned in said[0]
        assert "--trace-python-allocators" in said[0]
        assert ("1.50 MiB at the peak and 1.50 MiB at the end" in said[0]) == marked


@needs_memray
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_captures_whose_objects_were_not_recorded_are_reported(path: Path) -> None:
    """As in memray's own report, by its metadata; only mapped memory is marked."""
    if path.stat().st_size > 400_000 and "native" in path.name:
        pytest.skip("memray takes minutes over its symbols")
    python = python_for(path)
    profile = as_read(path)
    code = (
        "import json, memray, sys; found = memray.FileReader(sys.argv[1]).metadata; "
        "json.dump([found.python_allocator, getattr(found, 'trace_python_allocators', None)], sys.stdout)"
    )
    said = subprocess.run([python, "-c", code, path], check=True, capture_output=True, timeout=120)
    allocator, traced = json.loads(said.stdout)
    assert traced is not None or format_of(path) < 11  # all of these were made without the option
    assert profile.settings["python_allocator"] == allocator
    warned = allocator.startswith("pymalloc") and not traced
    assert ("pools" in {warning.code for warning in profile.warnings}) == warned
    marks = [
        sample for sample, (stack, _) in enumerate(samples_of(profile)) if stack[:1] == (POSSIBLE_ARENA,)
    ]
    assert all("mmap" in labels_of(profile, sample) for sample in perhaps(marks))
    assert bool(marks) == warned


FILES = [
    path
    for path in CAPTURES
    if not path.name.startswith("v1.") and "native" not in path.name and "pymalloc" not in path.name
]


def unmarked(stack: tuple[SourceFrame, ...]) -> tuple[SourceFrame, ...]:
    """A stack as in memray, without the marks of pools."""
    return stack[1:] if stack[:1] == (POSSIBLE_ARENA,) else stack


COMMANDS = """
import json, memray.commands, sys
for command in json.loads(sys.argv[1]):
    assert not memray.commands.main(command), command
"""


def run_memray(*commands: list[str]) -> None:
    """Run commands of memray's in one process, as starting it takes longer than they do."""
    subprocess.run([PYTHON, "-c", COMMANDS, json.dumps(commands)], check=True, capture_output=True)


def table(path: Path) -> Counter[tuple[str, str]]:
    """The rows that ``memray table`` wrote: bytes and allocations by innermost place."""
    found = re.search(r"const packed_data = (\[.*?\]);\n", path.read_text("utf-8"), re.DOTALL)
    assert found is not None
    rows: Counter[tuple[str, str]] = Counter()
    data: list[dict[str, Any]] = json.loads(found[1])
    for row in data:
        place = html.unescape(row["stack_trace"])
        rows[place, "bytes"] += row["size"]
        rows[place, "count"] += row["n_allocations"]
    return rows


@pytest.mark.slow
@needs_memray
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_figures_agree_with_memrays_own_reports(path: Path, tmp_path: Path) -> None:
    profile = as_read(path)
    # its options, by the column of what it then shows
    tables: dict[int, list[str]] = {0: [], 2: ["--leaks"], 4: ["--temporary-allocation-threshold=0"]}
    out = tmp_path / "stats.json"
    run_memray(
        *(
            ["table", *options, "-o", str(tmp_path / f"{column}.html"), str(path)]
            for column, options in tables.items()
        ),
        ["stats", "--json", "-o", str(out), str(path)],
    )
    for column, options in tables.items():
        mine: Counter[tuple[str, str]] = Counter()
        for marked, values in samples_of(profile):
            stack = unmarked(marked)
            place = f"{stack[0].function} at {stack[0].file}:{stack[0].line}" if stack else "???"
            mine[place, "bytes"] += values[column]
            mine[place, "count"] += values[column + 1]
        assert +mine == +table(tmp_path / f"{column}.html"), options
    stats = json.loads(out.read_text("utf-8"))
    assert value(profile, "peak_bytes") == stats["metadata"]["peak_memory"]
    if "total_bytes" in {kind.name for kind in profile.value_types}:
        assert value(profile, "total_bytes") == stats["total_bytes_allocated"]
        assert value(profile, "total_allocations") == stats["total_num_allocations"]
        counts = profile.values[[kind.name for kind in profile.value_types].index("total_allocations")]
        assert profile.sizes is not None
        assert int((profile.sizes * counts).sum()) == stats["total_bytes_allocated"]
    else:
        assert "aggregated" in {warning.code for warning in profile.warnings}
    assert profile.settings["command"] == stats["metadata"]["command_line"]
    assert profile.times is not None
    assert profile.times.series["live_bytes"].max() <= stats["metadata"]["peak_memory"]


# ---- over time ----


def format_of(path: Path) -> int:
    with open_source(path, path.parent, lambda *_: None) as source:
        return read_header(source).version


def python_for(path: Path) -> Path:
    """The Python with the memray of a capture; the test is skipped where there is none."""
    return python_of(format_of(path))


def python_of(version: int) -> Path:
    """The Python with the memray of a file format; the test is skipped where there is none."""
    python = python_at(version)
    if not python.exists():
        pytest.skip(f"no memray for file format {version}: {python} isn't there")
    return python


@pytest.mark.slow
@needs_memray
@pytest.mark.parametrize("path", real_profiles("memray/ast-aggregate-native.bin"), ids=lambda path: path.name)
def test_native_frames_have_the_functions_that_memray_finds(path: Path) -> None:
    """With the binaries of this machine, if they are those that ran."""
    profile = load(path, only_folders=False)
    if "no-symbols" in {warning.code for warning in profile.warnings}:
        pytest.skip("the Python that ran isn't on this machine")
    mine: Counter[tuple[str, ...]] = Counter()
    for stack, values in samples_of(profile):
        mine[tuple(frame.function for frame in unmarked(stack))] += values[0]
    theirs: Counter[tuple[str, ...]] = Counter()
    replay = memray_replay.read(path, python_for(path), native=True)
    sums = replay.sums()
    for number, row in zip(sums.stacks.tolist(), sums.values.tolist(), strict=True):
        theirs[tuple(frame.function for frame in replay.tree.stack(number))] += row[0]
    assert +mine == +theirs
    assert any("PyObject_Vectorcall" in stack for stack in theirs)


TEMPORAL = """
import json, memray, sys
reader = memray.FileReader(sys.argv[1])
native = reader.metadata.has_native_traces
rows = []
for record in reader.get_temporal_allocation_records(merge_threads=False):
    trace = record.hybrid_stack_trace() if native else record.stack_trace()
    for lived in record.intervals:
        rows.append([trace, lived.allocated_before_snapshot, lived.deallocated_before_snapshot, lived.n_bytes,
                     lived.n_allocations])
memory = [[line.time, line.rss, line.heap] for line in reader.get_memory_snapshots()]
json.dump({"rows": rows, "memory": memory}, sys.stdout)
"""

Place = tuple[tuple[str, str, int], ...]
Places = Counter[tuple[Place, str]]
FULL = [path for path in CAPTURES if path.stat().st_size < 400_000 and "aggr" not in path.name]


@cache
def temporal(path: Path, python: Path) -> dict[str, Any]:
    said = subprocess.run([python, "-c", TEMPORAL, path], check=True, capture_output=True, timeout=120)
    reported: dict[str, Any] = json.loads(said.stdout)
    # once for all: each sum goes through all rows
    reported["rows"] = [(place(frames), *rest) for frames, *rest in reported["rows"]]
    return reported


def place(frames: Any) -> Place:
    return tuple((str(name), str(file), int(line)) for name, file, line in frames)


def stacks_of(profile: Profile) -> list[Place]:
    """The stack of each sample."""
    return [
        place((f.function, f.file, f.line) for f in unmarked(frames)) for frames, _ in samples_of(profile)
    ]


def changes_of(profile: Profile, stacks: list[Place], first: int, last: int) -> tuple[Places, Places]:
    """What each stack allocated and freed in the bins that end at the edges ``first`` to ``last``."""
    assert profile.times is not None
    begin, end = (int(profile.times.change_offsets[edge]) for edge in (first, last + 1))
    allocated: Places = Counter()
    freed: Places = Counter()
    for row in profile.times.changes[begin:end].tolist():
        sample, more, less, more_count, less_count = row
        allocated[stacks[sample], "bytes"] += more
        allocated[stacks[sample], "count"] += more_count
        freed[stacks[sample], "bytes"] += less
        freed[stacks[sample], "count"] += less_count
    return +allocated, +freed


@pytest.mark.slow
@needs_memray
@pytest.mark.parametrize("most_edges", [4096, 7])
@pytest.mark.parametrize("path", FULL, ids=lambda path: path.name)
def test_what_stacks_allocated_and_freed_over_time(
    path: Path, most_edges: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against memray's records of lifetimes, added up one by one."""
    python = python_for(path)
    reported = temporal(path, python)
    monkeypatch.setattr(memray_times, "_MOST_EDGES", most_edges)
    profile = load(path)
    times = profile.times
    assert times is not None
    assert times.has_flow
    assert not times.has_short_lived
    memory = reported["memory"]
    lines = len(memory)
    step = -(-(lines + 1) // most_edges)
    ends = [*range(step - 1, lines, step), lines]
    assert len(times.time_us) == len(ends) <= most_edges
    # what is live at each edge agrees with memray's own count at that time
    for edge, line in enumerate(ends[:-1]):
        assert times.time_us[edge] == (memory[line][0] - memory[0][0]) * 1000
        assert times.series["rss_bytes"][edge] == memory[line][1]
        assert times.series["live_bytes"][edge] == memory[line][2]
    assert times.series["live_bytes"][-1] == value(profile, "leaked_bytes")
    assert times.series["live_count"][-1] == value(profile, "leaked_allocations")
    assert times.peaks.max() == value(profile, "peak_bytes")
    assert (times.peaks >= times.series["live_bytes"]).all()
    chance, stacks = random.Random(1), stacks_of(profile)
    for _ in range(12):
        first, last = sorted(chance.choices(range(len(ends)), k=2))
        after = ends[first - 1] if first else -1
        allocated: Places = Counter()
        freed: Places = Counter()
        for frames, begin, end, size, count in reported["rows"]:
            for sums, when in ((allocated, begin), (freed, end)):
                if when is not None and after < when <= ends[last]:
                    sums[frames, "bytes"] += size
                    sums[frames, "count"] += count
        assert changes_of(profile, stacks, first, last) == (+allocated, +freed)
