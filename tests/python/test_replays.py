"""memlens' archives, command line and SQL against independent readers of the same files, figure by figure."""

import random
import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from tests.python import recordings
from tests.python.archived import (
    Archived,
    Commands,
    heaptrack_shown,
    is_mark,
    shown,
    shown_tree,
    tracemalloc_shown,
)
from tests.python.conftest import DATA, REAL, ROOT, real_files, real_profiles
from tests.python.replays import (
    dhat,
    flight,
    heap_text,
    heapprofd,
    heaptrack,
    massif,
    memray,
    pprof,
    torch,
    tracemalloc,
    v8_sampling,
)
from tests.python.replays.stacks import Frame, Line, Profile, Stack, Sums

from memlens.packs.android.tests.native_heap_files import path_of
from memlens.packs.python.tests.test_memray import needs_memray, python_for
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot
from memlens.views.lines.stack import stack as stack_shown

FIXTURES = ROOT / "tests" / "fixtures" / "profiles"
NEVER = 2**32 - 1
BEFORE, PENDING = 1, 2
"""Flags of allocations in the archive."""

Opened = Callable[[Path], Snapshot]


@pytest.fixture
def commands(
    cache: Cache, real_archives: Cache, capsys: pytest.CaptureFixture[str]
) -> Callable[[Path], Commands]:
    """The command line about a file, with the cache that ``looked_at`` fills."""
    return lambda path: Commands(path, (real_archives if path.is_relative_to(DATA) else cache).folder, capsys)


def names(path: Path) -> str:
    return path.name


# PyTorch

TORCH = [*recordings.TORCH, *real_files("*.pickle", "*.html")]


def test_all_traces_are_replayed() -> None:
    """The other tests would pass if a wrong pattern made their lists of parameters empty."""
    present = REAL.iterdir() if REAL.is_dir() else []
    real = {path for path in present if path.is_file() and path.suffix not in (".md", ".json")}
    assert real | set(recordings.TORCH) == set(TORCH)


@pytest.mark.slow
@pytest.mark.parametrize("path", TORCH, ids=names)
def test_snapshots_of_pytorch(path: Path, looked_at: Opened, commands: Callable[[Path], Commands]) -> None:
    replay = torch.Replay(torch.load(path))
    snapshot = looked_at(path)
    archived = Archived(snapshot, replay.tree)
    check_devices(replay, snapshot)
    for number, device in replay.devices.items():
        check_allocations(replay, device, snapshot, number, archived)
    ask = commands(path)
    expected = lines_of(replay, archived)
    asked = [
        {(row["file"], row["line"]): row for row in rows}
        for rows in (ask.lines(), ask.sql("SELECT * FROM lines"))
    ]
    for figure, number in zip(FIGURES, range(len(FIGURES)), strict=True):
        figures = {place: values[number] for place, values in expected.items()}
        for rows in asked:
            mine = {place: row.get(figure) for place, row in rows.items()}
            # unlike SQL, the command has no number of allocations at the peak, and attributes lines by "my code"
            assert mine == figures or (rows is asked[0] and figure in NOT_OF_LINES), figure
    for rank, options in ((archived.rank_mine, ()), (archived.rank_any, ("--any-code",))):
        charged = replay.sums.charged(rank)
        rows = {(row["file"], row["line"]): row for row in ask.lines(*options)}
        assert {
            place: (row["self_total_bytes"], row["self_count"])
            for place, row in rows.items()
            if row["self_count"]
        } == {place: (total, count) for place, (total, count, *_) in charged.items()}
    check_charged_to_no_line(replay, ask)
    check_sql(replay, archived, ask)
    check_folded(replay, ask, snapshot)


def check_charged_to_no_line(replay: torch.Replay, ask: Commands) -> None:
    """The figures of ``memlens lines`` for allocations without a stack, and for all."""
    bare: Counter[tuple[str, str]] = Counter()
    every: Counter[str] = Counter()
    for device in replay.devices.values():
        for alloc in device.allocations:
            figures = {
                "total_bytes": alloc.size, "count": 1,
                "live_at_peak_bytes": alloc.size * bool(torch.alive([alloc], device.peak_moment)),
                "live_at_end_bytes": alloc.size * (alloc.end is None),
            }  # fmt: skip
            every.update(figures)
            if not replay.tree.stack(replay.stack_of(alloc)):
                reason = "before_recording" if alloc.early else "no_stack"
                bare.update({(reason, name): figure for name, figure in figures.items()})
    answer = ask.json("lines", "--top", "1")
    assert answer["total"] == dict(every)
    reasons = [each for each in answer["charged"] if each["to"] in ("no_stack", "before_recording")]
    assert {
        (each["to"], name): figure for each in reasons for name, figure in each.items() if name != "to"
    } == dict(bare)


NOT_OF_LINES = ("live_at_peak_count", "self_total_bytes", "self_count")
"""Figures that ``memlens lines`` lacks, or has by another rule than SQL's table."""


def check_devices(replay: torch.Replay, snapshot: Snapshot) -> None:
    """The figures that ``memlens info`` prints."""
    assert [info.device for info in snapshot.timeline.devices] == list(replay.devices)
    for info in snapshot.timeline.devices:
        device = replay.devices[info.device]
        assert (
            info.events, info.allocations, info.peak_bytes, info.peak_moment, info.live_at_start_bytes,
            info.live_at_end_bytes, info.reserved_at_end_bytes, info.ooms,
        ) == (
            device.events, len(device.allocations), max(device.live), device.peak_moment, device.live[0],
            device.live[-1], device.reserved_at_end, device.ooms,
        )  # fmt: skip
        assert info.live_at_end_count == sum(alloc.end is None for alloc in device.allocations)


def check_allocations(
    replay: torch.Replay, device: torch.Device, snapshot: Snapshot, number: int, archived: Archived
) -> None:
    """Every allocation's columns, and what was live at every moment."""
    mine, found = snapshot.device(number), device.allocations
    assert mine.live.tolist() == device.live
    for column, expected in (
        (mine.address, [alloc.addr for alloc in found]),
        (mine.size, [alloc.size for alloc in found]),
        (mine.start, [alloc.start for alloc in found]),
        (mine.end, [NEVER if alloc.end is None else alloc.end for alloc in found]),
        (mine.rounded, [alloc.rounded or 0 for alloc in found]),
        (mine.flags & BEFORE, [BEFORE if alloc.early else 0 for alloc in found]),
        ((mine.flags & PENDING) // PENDING, [int(alloc.end is None and alloc.waits) for alloc in found]),
    ):
        assert column.tolist() == expected
    streams = snapshot.manifest.streams
    assert [streams[row] for row in mine.stream.tolist()] == [alloc.stream for alloc in found]
    # inferred ones are tested elsewhere
    recorded = not any(name.endswith("(inferred)") for name in snapshot.timeline.categories)
    categories = dict(enumerate(snapshot.timeline.categories)) if recorded else {}
    assert [categories.get(row) for row in mine.category.tolist()] == [alloc.category for alloc in found]
    expected = [replay.stack_of(alloc) for alloc in found]
    stacks = archived.stacks[mine.stack].tolist()
    wrong = [row for row, (one, other) in enumerate(zip(stacks, expected, strict=True)) if one != other]
    if wrong:
        one, other = (replay.tree.stack(numbers[wrong[0]]) for numbers in (stacks, expected))
        start = found[wrong[0]].start
        pytest.fail(
            f"{len(wrong)} of {len(found)} stacks differ; allocation {wrong[0]}, {start=}: {one} is not {other}"
        )
    for row in random.Random(1).sample(range(len(found)), min(50, len(found))):
        answer = stack_shown(snapshot, mine.first_allocation + row)
        assert answer.allocation.address == hex(found[row].addr)
        assert [Frame(each.function, each.file, each.line) for each in answer.frames] == replay.tree.stack(
            expected[row]
        )


FIGURES = (
    "live_at_peak_bytes", "live_at_peak_count", "total_bytes", "count", "live_at_end_bytes", "largest_bytes",
    "self_total_bytes", "self_count",
)  # fmt: skip


def lines_of(replay: torch.Replay, archived: Archived) -> dict[Line, tuple[int, ...]]:
    """The figures of lines, in the order of :data:`FIGURES`."""
    through, own = replay.sums.by_line(archived.is_python)
    largest = replay.largest_of_lines()
    found: dict[Line, tuple[int, ...]] = {}
    for place, (total, count, peak, peak_count, end) in through.items():
        own_total, own_count, *_ = own.get(place, (0, 0))
        found[place] = (peak, peak_count, total, count, end, largest[place], own_total, own_count)
    return found


def check_sql(replay: torch.Replay, archived: Archived, ask: Commands) -> None:
    """The most used tables: allocations, devices, stacks and frames."""
    rows = ask.sql(
        "SELECT device, size_bytes, rounded_bytes, start_moment, end_moment, live_at_peak, before_trace, address, "
        "pending_free, state, CASE WHEN category NOT LIKE '% (inferred)' THEN category END, stream "
        "FROM allocations ORDER BY allocation"
    )
    expected = []
    for number, device in replay.devices.items():
        at_peak = set(torch.alive(device.allocations, device.peak_moment))
        for row, alloc in enumerate(device.allocations):
            pending = int(alloc.end is None and alloc.waits)
            state = "freed" if alloc.end is not None else "pending_free" if pending else "live"
            reported = (
                alloc.start,
                alloc.end,
                int(row in at_peak),
                int(alloc.early),
                hex(alloc.addr),
                pending,
            )
            more = (state, alloc.category, str(alloc.stream))
            expected.append((number, alloc.size, alloc.rounded, *reported, *more))
    assert [tuple(row.values()) for row in rows] == expected
    frames = {
        row["frame"]: Frame(row["function"], row["file"], row["line"])
        for row in ask.sql("SELECT * FROM frames")
    }
    stacks = ask.sql(
        "SELECT total_bytes, count, live_at_peak_bytes, live_at_peak_count, live_at_end_bytes, largest_bytes, depth, "
        "frame, (SELECT group_concat(frame, ' ' ORDER BY level) FROM stack_frames AS f WHERE f.stack = s.stack) "
        "FROM stacks AS s WHERE count > 0"
    )
    mine: dict[int, list[int]] = {}
    for of_stack in stacks:
        *values, largest, depth, first, numbers = of_stack.values()
        stack = [frames[int(number)] for number in (numbers or "").split()]
        assert len(stack) == depth
        # the one to show first: the innermost of the user's code, else of a library's, else the innermost
        assert first is None if not stack else frames[first] == min(stack, key=archived.rank_mine)
        place = replay.tree.number(stack)
        # the archive distinguishes stacks whose frames differ in properties that no view shows
        kept = mine.setdefault(place, [0] * len(values) + [0])
        kept[:] = [*(one + two for one, two in zip(kept, values, strict=False)), max(kept[-1], largest)]
    expected_sums = replay.sums.by_stack()
    assert mine == {stack: [*values, replay.largest[stack]] for stack, values in expected_sums.items()}


def check_folded(replay: torch.Replay, ask: Commands, snapshot: Snapshot) -> None:
    """``memlens flame --folded`` of the peak, the end and all of the first device."""
    device = replay.devices[snapshot.timeline.default_device]
    for value, rows in (
        ("peak", torch.alive(device.allocations, device.peak_moment)),
        ("leaked", torch.alive(device.allocations, device.events)),
        ("total", list(range(len(device.allocations)))),
    ):
        printed = Counter[str]()
        for line in ask.printed("flame", "--value", value, "--folded", "--by-line").splitlines():
            stack, _, size = line.rpartition(" ")
            printed[stack] += int(size)
        folded = Counter[str]()
        for row in rows:
            alloc = device.allocations[row]
            nothing = "allocated before recording" if alloc.early else "no stack recorded"
            folded[folded_stack(replay.tree.stack(replay.stack_of(alloc))) or nothing] += alloc.size
        assert printed == +folded


def folded_stack(stack: Stack) -> str:
    """A stack as Brendan Gregg's scripts write it, outermost frame first, each as py-spy writes it."""
    return ";".join(folded_frame(frame) for frame in reversed(stack))


MOST_PRINTED = 1_000
"""The most characters of a name; more are an ellipsis."""


@lru_cache(maxsize=1 << 16)
def folded_frame(frame: Frame) -> str:
    place = frame.file.replace("\\", "/").rpartition("/")[2]
    place += f":{frame.line}" if frame.line else ""
    function = frame.function
    if len(function) > MOST_PRINTED:
        function = function[: MOST_PRINTED - 1] + "…"
    text = f"{function} ({place})" if frame.file else function
    # semicolons separate frames, and control characters are printed as pictures of them
    return re.sub(r"[\x00-\x1f]", lambda found: chr(0x2400 + ord(found[0])), text.replace(";", ","))


# profiles

PPROF = "pprof/*.pb.gz", "gperftools/*.pb.gz", "public/parca/*", "public/flameshow/*.out"
HEAPTRACK = "heaptrack/*.zst", "heaptrack/*.gz", "public/heaptrack/*.zst", "public/heaptrack/*.gz"
HEAP_TEXTS = [recordings.GO_TEXT, recordings.TCMALLOC, recordings.JEMALLOC]
HEAP_TEXT = (
    "pprof/*.txt.zst", "gperftools/*.heap", "jemalloc/*", "public/google-pprof/cppbench.heap",
    "public/google-pprof/cppbench.growth", "public/google-pprof/gobench.heap",
)  # fmt: skip
READ: dict[str, tuple[Callable[[Path], Profile], list[Path]]] = {
    "pprof": (
        pprof.read,
        [
            *real_profiles(*PPROF, "public/google-pprof/large.cpu", "public/google-pprof/sample.cpu"),
            ROOT / "samples" / "words.pb.gz",
            *recordings.PPROF,
        ],
    ),
    "heaptrack": (
        heaptrack.read,
        [*real_profiles(*HEAPTRACK, "public/heaptrack/*.expected"), FIXTURES / "service.heaptrack.zst"],
    ),
    "massif": (massif.read, [*real_profiles("massif/*"), FIXTURES / "massif.out.ledger"]),
    "dhat": (dhat.read, [*real_profiles("dhat/*", "public/firefox/*"), FIXTURES / "ledger.dhat.json"]),
    "tracemalloc": (tracemalloc.read, [*real_profiles("tracemalloc/*"), FIXTURES / "tracemalloc.pickle"]),
    "native memory of Android": (
        heapprofd.read,
        [path_of(name) for name in ("example", "steady", "maximum")],
    ),
    "flight recorder": (flight.read, [FIXTURES / "sessions.jfr.zst"]),
    "v8 sampling": (v8_sampling.read, [FIXTURES / "words.heapprofile"]),
    "heap text": (heap_text.read, [*real_profiles(*HEAP_TEXT), FIXTURES / "go-heap.debug1.txt", *HEAP_TEXTS]),
    "memray": (
        lambda path: memray.read(path, python_for(path)),
        [*real_profiles("memray/*.bin"), FIXTURES / "index.memray.bin"],
    ),
}
LARGE = {"heaptrack.cpp-tree-deep.zst", "heaptrack.rust-svc-1M.zst", "ast-pymalloc.bin", "pandas-native.bin"}
"""Hundreds of megabytes of text and more, whose totals ``test_heaptrack.py`` holds to those of heaptrack_print; and
captures that take memray long, whose figures ``test_memray.py`` holds to memray's own reports."""
OTHERS = {
    "service.raw.heaptrack.zst", "heaptrack.cpp-tree-small.raw.zst", "heaptrack.test_sysroot.raw",
    "heaptrack.truncated.zst",
    "heaptrack.rust-svc-20k.gz", "fuzz-7e3c", "perf-vertx-stacks-01-collapsed-all.txt", "flameshow-pyspy-dump.txt",
    "cppbench.contention", "cppbench.cpu", "cppbench.small.contention", "go.crc32.cpu", "gobench.cpu",
    "java.contention", "java.cpu", "java.heap",
}  # fmt: skip
"""Files that Memlens rejects, and copies of other files."""
SHOWN = {"heaptrack": heaptrack_shown, "tracemalloc": tracemalloc_shown}
"""The names of frames in some formats."""
PROFILES = [
    pytest.param(kind, path, id=path.name, marks=needs_memray if kind == "memray" else ())
    for kind, (_, paths) in READ.items()
    for path in paths
    if path.name not in LARGE | OTHERS
]
MOST_STACK_FRAMES = 300_000
"""The most frames in a profile's stacks that are also compared by SQL and folded stacks, which takes long."""


def test_all_profiles_are_replayed() -> None:
    own = {path for path in FIXTURES.iterdir() if path.is_file() and path.suffix != ".py"}
    real = {
        path
        for path in (DATA / "profiles").rglob("*")
        if path.is_file() and "make" not in path.parts and path.suffix not in (".md", ".json")
    } | set(real_profiles("dhat/*.json"))
    replayed = {path for _, paths in READ.values() for path in paths}
    assert {path.name for path in (own | real) - replayed} <= OTHERS
    assert len(own) > 14
    assert {path.name for path in real} >= LARGE or not DATA.is_dir()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "path"), PROFILES)
def test_profiles(kind: str, path: Path, looked_at: Opened, commands: Callable[[Path], Commands]) -> None:
    replay = READ[kind][0](path)
    tree, numbers = shown_tree(replay.tree, SHOWN.get(kind, shown))
    snapshot = looked_at(path)
    archived = Archived(snapshot, tree)
    profile = snapshot.profile
    names = [value.name for value in profile.values]
    known = [name for name in names if name in replay.names]
    assert all("unsuppressed" in name for name in set(names) - set(known))
    assert set(known) == set(replay.names)
    order = [replay.names.index(name) for name in known]
    raw = replay.sums()
    sums = Sums(tree, [numbers[stack] for stack in raw.stacks.tolist()], raw.values[:, order], len(order))
    columns = [snapshot.samples.value[names.index(name)] for name in known]
    mine = Sums(tree, archived.stacks[snapshot.samples.stack].tolist(), np.stack(columns, axis=1), len(known))
    assert mine.by_stack() == sums.by_stack()
    totals = dict(zip(known, sums.values.sum(axis=0).tolist(), strict=True))
    assert {value.name: value.total for value in profile.values if value.name in totals} == totals
    ask = commands(path)
    through, _ = sums.by_line()
    charged = {rank: sums.charged(rank) for rank in (archived.rank_mine, archived.rank_any)}
    for column, name in enumerate(known):
        for rank, options in ((archived.rank_mine, ()), (archived.rank_any, ("--any-code",))):
            rows = {(row["file"], row["line"]): row for row in ask.lines("--value", name, *options)}
            assert {place: row["total"] for place, row in rows.items() if row["total"]} == {
                place: values[column] for place, values in through.items() if values[column]
            }
            assert {place: row["itself"] for place, row in rows.items() if row["itself"]} == {
                place: values[column] for place, values in charged[rank].items() if values[column]
            }
    if archived.stack_frames <= MOST_STACK_FRAMES:
        check_profile_sql(ask, archived, sums, known)
        if not any(value.negative for value in profile.values):
            name = names[profile.default_value]
            check_profile_folded(ask, sums, name, known.index(name))


def check_profile_sql(ask: Commands, archived: Archived, sums: Sums, known: list[str]) -> None:
    """The samples' values by stack, and the lines' figures from the corresponding values."""
    query = "SELECT s.stack, t.name, sum(amount) AS amount FROM sample_values AS v JOIN value_types AS t USING (value) "
    found: dict[int, list[int]] = {}
    for row in ask.sql(query + "JOIN samples AS s USING (sample) GROUP BY s.stack, t.name"):
        if row["name"] in known:
            figures = found.setdefault(int(archived.stacks[row["stack"]]), [0] * len(known))
            figures[known.index(row["name"])] += row["amount"]
    assert {stack: values for stack, values in found.items() if any(values)} == sums.by_stack()
    lines = {(row["file"], row["line"]): row for row in ask.sql("SELECT * FROM lines")}
    through, own = sums.by_line()
    types = ask.sql("SELECT name, unit, meaning FROM value_types")
    for figure, unit, meanings, of in (
        ("total_bytes", "bytes", ("total", "live"), through),
        ("count", "count", ("total", "live"), through),
        ("live_at_peak_bytes", "bytes", ("peak", "live", "end"), through),
        ("live_at_peak_count", "count", ("peak", "live", "end"), through),
        ("live_at_end_bytes", "bytes", ("end", "live"), through),
        ("self_total_bytes", "bytes", ("total", "live"), own),
        ("self_count", "count", ("total", "live"), own),
    ):
        named = [
            row["name"]
            for meaning in meanings
            for row in types
            if (row["meaning"], row["unit"]) == (meaning, unit)
        ]
        if not named:
            assert {row[figure] for row in lines.values()} <= {None}
        else:
            column = known.index(named[0])
            assert {place: row[figure] for place, row in lines.items() if row[figure]} == {
                place: values[column] for place, values in of.items() if values[column]
            }


def check_profile_folded(ask: Commands, sums: Sums, name: str, column: int) -> None:
    """``memlens flame --folded`` of a value."""
    expected = Counter[str]()
    for stack, value in zip(sums.stacks.tolist(), sums.values[:, column].tolist(), strict=True):
        expected[folded_stack(sums.tree.stack(stack)) or "no stack recorded"] += value
    printed = Counter[str]()
    for line in ask.printed("flame", "--value", name, "--folded", "--by-line").splitlines():
        text, _, value = line.rpartition(" ")
        # the mark of a truncated stack is the outermost frame, that of a possible pool the innermost
        frames = [frame for frame in text.split(";") if not is_mark(Frame(frame, "", 0))]
        printed[";".join(frames) or "no stack recorded"] += int(value)
    assert printed == {text: value for text, value in expected.items() if value}
