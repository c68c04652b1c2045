"""heaptrack's recordings against heaptrack_print and an independent reader in Python, and damaged in every way."""

import gzip
import json
import random
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from tests.python.archived import heaptrack_shown, shown_tree
from tests.python.conftest import REAL, ROOT
from tests.python.counted import some
from tests.python.profile_reading import load
from tests.python.replays.heaptrack import Recording, text_of
from tests.python.replays.stacks import Frame
from tests.python.tries import tries

from memlens.errors import MemlensError
from memlens.formats.symbols.rust_names import demangled
from memlens.model.frames import USER, SourceFrame, profiled_frame
from memlens.model.profile import Profile
from memlens.packs.native.heaptrack import sniff
from memlens.packs.native.heaptrack_suppressions import matcher, patterns_of
from memlens.packs.native.kernels import heaptrack as kernel
from memlens.store.snapshot import Snapshot
from memlens.views.profile.times import between

PROFILES = REAL.parent / "profiles"
FIXTURE = ROOT / "tests" / "fixtures" / "profiles" / "service.heaptrack.zst"
ORACLE = PROFILES / "heaptrack" / "heaptrack_print_oracle.json"
PRINTED: dict[str, dict[str, str]] = json.loads(ORACLE.read_text()) if ORACLE.exists() else {}
UNITS = {"B": 1, "K": 1e3, "M": 1e6, "G": 1e9}

HEAD = "v 10400 3\nX ./program --flag\nI 1000 100000\n"
TABLES = (
    "s 7 program\ns 4 main\ns 8 main.cpp\ns 6 helper\ns 1b operator new(unsigned long)\ns 5 libc6\n"
    "i 100 1 2 3 a\ni 200 1 4 3 14 2 3 1e\ni 300 6 5\ni 400 6\n"
    "t 1 0\nt 2 1\nt 3 2\nt 4 1\n"
)
KINDS = "a 10 1\na 20 2\na 40 3\na 80 4\n"


def total(profile: Profile, name: str) -> int:
    return int(profile.values[[kind.name for kind in profile.value_types].index(name)].sum())


def warnings(profile: Profile) -> set[str]:
    return {warning.code for warning in profile.warnings}


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def unrolled(profile: Profile) -> list[tuple[SourceFrame, ...]]:
    """Each sample's frames, innermost first."""
    assert profile.tree is not None
    parents, frames = profile.tree.parents.tolist(), profile.tree.frames.tolist()
    found = []
    for innermost in profile.stacks.tolist():
        stack, node = [], innermost
        while node:
            stack.append(profile.frames.frames[frames[node]])
            node = parents[node]
        found.append(tuple(stack))
    return found


@cache
def shown_frame(frame: Frame) -> SourceFrame:
    """A frame of the independent reader, in the model's form."""
    place = heaptrack_shown(frame)
    kind = profiled_frame(frame.file, frame.line, place.function, frame.module).kind
    return SourceFrame(place.file, place.line, place.function, kind)


# against heaptrack_print


OF_THE_SERVICE = {
    "calls to allocation functions": "2089 (2997/s)",
    "temporary memory allocations": "4 (5/s)",
    "total runtime": "0.697s.",
    "peak heap memory consumption": "420.48K",
    "total memory leaked": "4.20K",
    "peak RSS (including heaptrack overhead)": "4.61M",
}


@pytest.mark.parametrize(
    ("path", "printed"),
    [(FIXTURE, OF_THE_SERVICE), *((PROFILES / name, printed) for name, printed in PRINTED.items())],
    ids=lambda value: getattr(value, "name", ""),
)
def test_totals_agree_with_heaptrack_print(path: Path, printed: dict[str, str]) -> None:
    profile = load(path)

    def bytes_of(words: str) -> tuple[float, float]:
        """A printed figure and its rounding error."""
        number, unit = float(words[:-1]), UNITS[words[-1]]
        return number * unit, unit * (0.00501 if unit > 1 else 0)

    assert total(profile, "total_count") == int(printed["calls to allocation functions"].split()[0])
    assert total(profile, "temporary_count") == int(printed["temporary memory allocations"].split()[0])
    assert profile.settings["runtime_ms"] == round(float(printed["total runtime"][:-2]) * 1000)
    for value, words in (
        (total(profile, "peak_bytes"), "peak heap memory consumption"),
        (total(profile, "leaked_bytes"), "total memory leaked"),
        (profile.settings["peak_rss_bytes"], "peak RSS (including heaptrack overhead)"),
    ):
        exact, off = bytes_of(printed[words])
        assert abs(value - exact) <= off, words
    assert profile.settings["calls"] == total(profile, "total_count")
    assert profile.settings["peak_bytes"] == total(profile, "peak_bytes")


# the totals to the byte that heaptrack's own tests expect (tests/auto/tst_parser.cpp)
PUBLIC = {
    "heaptrack.david.18594.gz": {
        "total_count": 2896, "temporary_count": 729, "peak_bytes": 996970, "leaked_bytes": 30463,
    },
    "heaptrack.embedded_lsan_suppressions.84207.zst": {
        "total_count": 5, "peak_bytes": 72714, "leaked_bytes": 10, "leaked_unsuppressed_bytes": 5,
    },
    "heaptrack.heaptrack_gui.99454.zst": {
        "total_count": 278534, "temporary_count": 35481, "leaked_bytes": 1047379, "peak_bytes": 12222213,
    },
    "heaptrack.heaptrack_gui.99529.zst": {
        "total_count": 315255, "temporary_count": 40771, "leaked_bytes": 1046377, "peak_bytes": 64840134,
    },
}  # fmt: skip


# by heaptrack_print 1.4.0, which follow from src/service.cpp
OWN_TOTALS = {
    "peak_bytes": 420_481,
    "peak_count": 767,
    "leaked_bytes": 4_200,
    "total_count": 2_089,
    "temporary_count": 4,
}


@pytest.mark.parametrize(
    ("path", "totals"),
    [
        (FIXTURE, OWN_TOTALS),
        *(
            (path, totals)
            for name, totals in PUBLIC.items()
            if (path := PROFILES / "public" / "heaptrack" / name).exists()
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_totals_agree_with_heaptracks_own_tests(path: Path, totals: dict[str, int]) -> None:
    name = path.name
    profile = load(path)
    assert {value: total(profile, value) for value in totals} == totals
    if name == "heaptrack.david.18594.gz":
        assert profile.settings["peak_rss_bytes"] == 76042240
        assert profile.settings["machine_bytes"] == 16715239424
        assert (profile.settings["runtime_ms"], profile.settings["peak_ms"]) == (80, 0)
        assert profile.settings["command"] == "./david"
    if "gui" in name:
        symbols = {"99454": (5214, 0, 32, 56152), "99529": (5559, 0, 32, 68952)}
        nodes = [
            row
            for row, stack in enumerate(unrolled(profile))
            if any(
                frame.function == "QHashData::allocateNode(int)" and frame.file == "/usr/lib/libQt5Core.so.5"
                for frame in stack
            )
        ]
        wanted = ("total_count", "temporary_count", "leaked_bytes", "peak_bytes")
        names = [kind.name for kind in profile.value_types]
        found = tuple(int(profile.values[names.index(value)][nodes].sum()) for value in wanted)
        assert found == symbols[name.split(".")[2]]


def test_the_recording_of_the_service() -> None:
    # the figures of heaptrack_print 1.4.0, which follow from src/service.cpp
    profile = load(FIXTURE)
    names = [kind.name for kind in profile.value_types]
    assert [total(profile, name) for name in names] == [420481, 767, 4200, 30, 1125869, 2089, 4]
    assert profile.settings["runtime_ms"] == 697
    user = {frame.function.partition("(")[0] for frame in profile.frames.frames if frame.kind == USER}
    assert user == {"main", "answer", "session", "batch", "formatted", "Cache::keep"}
    leaks = {
        frame.line
        for row, stack in enumerate(unrolled(profile))
        if profile.values[names.index("leaked_bytes")][row]
        for frame in stack
        if frame.function == "session"
    }
    assert leaks == {30}
    assert not warnings(profile)


@pytest.mark.skipif(not shutil.which("heaptrack_print"), reason="heaptrack is not installed")
@pytest.mark.parametrize(
    "path",
    [
        FIXTURE,
        *(
            path
            for name in ("git-log", "rust-svc-20k", "node")
            if (path := PROFILES / "heaptrack" / f"heaptrack.{name}.zst").exists()
        ),
    ],
    ids=lambda path: path.name,
)
def test_the_top_ten_agree_with_heaptrack_print(path: Path) -> None:
    options = [
        "-n10",
        "-s1",
        "-l1",
        "-t0",
        "--disable-builtin-suppressions",
        "--disable-embedded-suppressions",
    ]
    printed = subprocess.run(
        ["heaptrack_print", *options, "-f", str(path)], capture_output=True, text=True, check=True
    ).stdout
    profile = load(path)
    stacks = unrolled(profile)
    names = [kind.name for kind in profile.value_types]
    checked = 0
    for title, value, pattern in (
        (
            "MOST CALLS TO ALLOCATION FUNCTIONS",
            "total_count",
            r"^(\d+) calls to allocation functions with .*",
        ),
        ("MOST TEMPORARY ALLOCATIONS", "temporary_count", r"^(\d+) temporary allocations of \d+ .*"),
    ):
        section = printed.split(f"{title}\n", 1)[1].split("\n\n\n", 1)[0]
        for block in section.split("\n\n"):
            head, *lines = block.strip().splitlines()
            found = re.match(pattern, head)
            if found is None:
                continue
            # grouped only by the innermost frame, whatever it was inlined into
            function, file, line, module = lines[0], "", 0, ""
            place = re.fullmatch(r"  at (.*):(\d+)", lines[1])
            if place is not None:
                file, line = place[1], int(place[2])
            module = next(text for text in lines if text.startswith("  in "))[5:]
            known = not function.startswith("0x")
            innermost = shown_frame(Frame(function if known else "", file, line, module))
            # heaptrack_print adds up unnamed functions by library; here their names have addresses
            library = innermost.file.rpartition("/")[2]
            mine = [
                row
                for row, stack in enumerate(stacks)
                if stack[:1] == (innermost,)
                or (
                    not known
                    and stack
                    and stack[0].function.startswith(f"{library} at 0x")
                    and stack[0].file == innermost.file
                )
            ]
            assert profile.values[names.index(value)][mine].sum() == int(found[1]), head
            checked += 1
    assert checked >= 5


# against the independent reader

SMALL = [
    "heaptrack.rustc.zst",
    "heaptrack.git-log.zst",
    "heaptrack.cpp-tree-small.zst",
    "heaptrack.python-ast.zst",
]


def recordings() -> list[Path]:
    found = [FIXTURE, *(PROFILES / "heaptrack" / name for name in SMALL)]
    found.append(PROFILES / "public" / "heaptrack" / "heaptrack.david.18594.gz")
    return [path for path in found if path.exists()]


@pytest.mark.parametrize("path", recordings(), ids=lambda path: path.name)
def test_live_over_time(path: Path) -> None:
    """Each stack at the edges of bins; the totals are in ``test_replays.py``."""
    second = Recording(text_of(path))
    profile = load(path)
    assert profile.sizes is not None
    assert profile.times is not None
    tree, numbers = shown_tree(second.tree, heaptrack_shown)
    kinds = [(numbers[stack], size) for stack, size in zip(second.stacks, second.sizes.tolist(), strict=True)]
    stacks = [
        tree.number([Frame(each.function, each.file, each.line) for each in stack])
        for stack in unrolled(profile)
    ]
    keys = list(zip(stacks, profile.sizes.tolist(), strict=True))
    names = [kind.name for kind in profile.value_types]
    for of_blocks, of_bytes in (
        ("peak_count", "peak_bytes"),
        ("leaked_count", "leaked_bytes"),
        ("total_count", "total_bytes"),
    ):
        of_counts = profile.values[names.index(of_blocks)] * profile.sizes
        assert np.array_equal(of_counts, profile.values[names.index(of_bytes)])
    times = profile.times
    draw = random.Random(7)
    edges = len(times.time_us)
    for edge in {0, edges - 1, *(draw.randrange(edges) for _ in range(8))}:
        rows = times.changes[: int(times.change_offsets[edge + 1])]
        counts = np.zeros(len(keys), np.int64)
        np.add.at(counts, rows["sample"], rows["allocated_count"].astype(np.int64) - rows["freed_count"])
        live = Counter[Any]()
        for key, count in zip(keys, counts.tolist(), strict=True):
            live[key] += count
        expected = Counter[Any]()
        for kind, blocks in second.live_before(int(times.time_us[edge]) // 1000).items():
            expected[kinds[kind]] += blocks
        assert +live == expected, edge
        assert times.series["live_count"][edge] == sum(expected.values())
        assert times.series["live_bytes"][edge] == sum(size * count for (_, size), count in expected.items())
        assert (counts * profile.sizes).sum() == times.series["live_bytes"][edge]
    assert times.peaks.max() == total(profile, "peak_bytes")
    assert times.series["temporary"].sum() == total(profile, "temporary_count")


def test_gzip_zstd_and_plain_text(tmp_path: Path) -> None:
    path = recordings()[-1]
    text = text_of(path)
    expected = load(path)
    for name, data in (
        ("a.gz", gzip.compress(text)), ("a.zst", zstandard.compress(text)), ("a", text),
        ("two.gz", gzip.compress(text[:1000]) + gzip.compress(text[1000:])),
        ("two.zst", zstandard.compress(text[:1000]) + zstandard.compress(text[1000:])),
    ):  # fmt: skip
        found = load(written(tmp_path / name, data))
        assert found.settings == expected.settings
        assert all(map(np.array_equal, found.values, expected.values)), name
        assert "truncated" not in warnings(found)


# time


def made(seed: int, stamps: int, kinds: int) -> str:
    """A recording of many time stamps, with frees only of what is live."""
    draw = random.Random(seed)
    lines = [HEAD + TABLES]
    lines += [f"a {draw.randrange(1, 5000):x} {draw.randrange(5):x}\n" for _ in range(kinds)]
    live: list[int] = []
    for stamp in range(stamps):
        for _ in range(draw.randrange(6)):
            if live and draw.random() < 0.48:
                lines.append(f"- {live.pop(draw.randrange(len(live))):x}\n")
            else:
                live.append(draw.randrange(kinds))
                lines.append(f"+ {live[-1]:x}\n")
        lines.append(f"c {(stamp + 1) * 10:x}\nR {stamp:x}\n")
    return "".join(lines)


def test_many_time_stamps_are_merged_into_few_bins(tmp_path: Path) -> None:
    text = made(3, 30_000, 50)
    second = Recording(text.encode())
    times_ms, temporary_frees = second.time_ms.tolist(), second.temporary().tolist()
    changes = (second.sizes[second.kind] * second.change).tolist()
    profile = load(written(tmp_path / "many", text))
    times = profile.times
    assert times is not None
    bins = len(times.time_us) - 1
    assert kernel.MOST_BINS // 4 < bins <= kernel.MOST_BINS
    live, most, at = 0, 0, 0
    edges = (times.time_us // 1000).tolist()
    # replay the events, and record the state at each edge
    for edge in range(1, len(edges)):
        most = live
        temporary = 0
        while at < len(changes) and times_ms[at] < edges[edge]:
            live += changes[at]
            most = max(most, live)
            temporary += temporary_frees[at]
            at += 1
        assert (times.series["live_bytes"][edge], times.peaks[edge]) == (live, most)
        assert times.series["temporary"][edge] == temporary
        rows = times.changes[int(times.change_offsets[edge]) : int(times.change_offsets[edge + 1])]
        assert len(np.unique(rows["sample"])) == len(rows)
    assert at == len(changes)
    assert times.changes["allocated_count"].sum() == total(profile, "total_count")
    # the resident set is recorded right after the time stamp of an edge
    assert [times.series["rss_bytes"][edge] for edge in (1, bins // 2)] == [
        4096 * (edges[edge] // 10 - 1) for edge in (1, bins // 2)
    ]


def test_chunks_may_end_anywhere() -> None:
    text = made(5, 40, 9).encode()
    whole = figures(text, [])
    draw = random.Random(2)
    for _ in range(30):
        cuts = sorted(draw.randrange(len(text)) for _ in range(draw.randrange(1, 60)))
        assert figures(text, cuts) == whole
    assert figures(text, list(range(len(text)))) == whole


def figures(text: bytes, cuts: list[int]) -> Any:
    reader = kernel.Reader()
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        assert reader.feed(memoryview(text)[start:end]) == kernel.OK
    reader.finish()
    columns = [np.asarray(column).tolist() for column in reader.take_times()]
    return reader.events, reader.peak, reader.temporary, reader.bad_records, columns


# records


def test_records(tmp_path: Path) -> None:
    text = HEAD + TABLES + KINDS + "+ 0\n+ 1\n- 1\nc a\nR 10\n+ 2\n- 0\n+ 3\n# remark\n\nc 14\nR 8\n"
    profile = load(written(tmp_path / "a", text))
    helper = profiled_frame("main.cpp", 20, "helper")
    outer, inner = profiled_frame("main.cpp", 30, "main"), profiled_frame("main.cpp", 10, "main")
    unresolved = SourceFrame("libc6", 0, "libc6 at 0x400", 2)
    # operator new is in no stack; the innermost of inlined frames comes first
    assert unrolled(profile) == [
        (inner,),
        (helper, outer, inner),
        (helper, outer, inner),
        (unresolved, inner),
    ]
    assert profile.sizes is not None
    assert profile.sizes.tolist() == [0x10, 0x20, 0x40, 0x80]
    found = {
        kind.name: column.tolist() for kind, column in zip(profile.value_types, profile.values, strict=True)
    }
    assert found["peak_count"] == [0, 0, 1, 1]
    assert found["temporary_count"] == [0, 1, 0, 0]
    assert found["total_count"] == [1, 1, 1, 1]
    assert profile.settings["peak_ms"] == 10
    assert profile.settings["command"] == "./program --flag"
    assert profile.settings["heaptrack"] == "1.4.0"
    assert profile.settings["peak_rss_bytes"] == 0x10 * 4096
    assert profile.times is not None
    assert profile.times.time_us.tolist() == [0, 10_000, 20_000, 21_000]
    assert profile.times.series["rss_bytes"].tolist() == [0, 0x10000, 0x8000, 0x8000]
    assert not profile.warnings


def test_temporary_allocations(tmp_path: Path) -> None:
    # another block of the same size and stack counts, and so does kind 0 after a free, as in heaptrack
    text = HEAD + TABLES + KINDS + "+ 1\n+ 0\n+ 1\n- 1\n- 0\n+ 2\n- 1\n- 2\n"
    profile = load(written(tmp_path / "a", text))
    found = {
        kind.name: column.tolist() for kind, column in zip(profile.value_types, profile.values, strict=True)
    }
    assert found["temporary_count"] == [1, 1, 0, 0]


def test_older_versions(tmp_path: Path) -> None:
    unsized = re.sub(r"(?m)^s [0-9a-f]+ ", "s ", TABLES)
    expected = load(written(tmp_path / "3", HEAD + TABLES + KINDS + "+ 1\n+ 2\n- 1\nc 5\n"))
    for head in ("v 10000 2\n", "v 10000 1\n", "v 10200\n"):
        found = load(written(tmp_path / "old", head + "X p\n" + unsized + KINDS + "+ 1\n+ 2\n- 1\nc 5\n"))
        assert unrolled(found) == unrolled(expected)
        assert all(map(np.array_equal, found.values, expected.values)), head
    # version 0 has size, stack and address in each event
    events = "+ 20 2 f000\n+ 40 3 f100\n+ 20 2 f200\n- f100\n- dead\n- f000\nc 5\n"
    oldest = load(written(tmp_path / "0", "v 10100\nX p\n" + unsized + events))
    names = [kind.name for kind in oldest.value_types]
    assert oldest.sizes is not None
    assert oldest.sizes.tolist() == [0x20, 0x40]
    assert unrolled(oldest) == unrolled(expected)[1:3]
    found_counts = {
        name: oldest.values[names.index(name)].tolist() for name in names if name.endswith("count")
    }
    assert found_counts == {
        "peak_count": [2, 1], "leaked_count": [1, 0], "total_count": [2, 1], "temporary_count": [0, 0],
    }  # fmt: skip


def test_version_0_identifies_blocks_by_address(tmp_path: Path) -> None:
    draw = random.Random(11)
    live: dict[int, int] = {}
    lines, expected = [], Counter[int]()
    for _ in range(20_000):
        address = draw.randrange(1, 3000) << 4
        if address in live:
            lines.append(f"- {address:x}\n")
            expected[live.pop(address)] -= 1
        else:
            live[address] = draw.randrange(1, 40)
            expected[live[address]] += 1
            lines.append(f"+ {live[address]:x} 1 {address:x}\n")
    text = "v 10100\nX p\n" + re.sub(r"(?m)^s [0-9a-f]+ ", "s ", TABLES) + "".join(lines)
    profile = load(written(tmp_path / "a", text))
    names = [kind.name for kind in profile.value_types]
    assert profile.sizes is not None
    leaked = profile.values[names.index("leaked_count")].tolist()
    assert dict(zip(profile.sizes.tolist(), leaked, strict=True)) == dict(expected)
    assert "damaged-lines" not in warnings(profile)


def test_a_raw_recording_without_stacks_has_its_figures(tmp_path: Path) -> None:
    path = tmp_path / "no-stacks.heaptrack"
    path.write_text("v 10400 3\nx 1 p\nX p\nI 1000 10\n+ 10 0 f00\n")
    profile = load(path)
    assert (total(profile, "total_bytes"), total(profile, "total_count")) == (16, 1)
    assert profile.frames.frames == []


def test_raw_recordings_have_the_figures_of_interpreted_ones(tmp_path: Path) -> None:
    """Traces have addresses and events those of blocks, as heaptrack writes before it is interpreted."""
    draw = random.Random(12)
    calls = [0x1100, 0x1200, 0x2300, 0x1400]
    raw = ["x 9 /srv/shop\n", "m 1 -\n", "m 1 x 0 1000 1000\n", "m e /srv/libx.so.1 2000 0 800\n"]
    raw += ["t 1101 0\n", "t 1201 1\n", "t 2301 2\n", "t 1401 1\n"]
    plain = [
        "s 9 /srv/shop\n",
        "s e /srv/libx.so.1\n",
        *(f"i {call:x} {1 + (call > 0x2000):x}\n" for call in calls),
    ]
    plain += ["t 1 0\n", "t 2 1\n", "t 3 2\n", "t 4 1\n"]
    kinds: dict[tuple[int, int], int] = {}
    live: dict[int, int] = {}
    for time in range(2000):
        address = draw.randrange(1, 400) << 4
        if address in live:
            raw.append(f"- {address:x}\n")
            plain.append(f"- {live.pop(address):x}\n")
            continue
        size, trace = draw.randrange(1, 9) * 8, draw.randrange(1, 5)
        if (size, trace) not in kinds:
            kinds[size, trace] = len(kinds)
            plain.append(f"a {size:x} {trace:x}\n")
        live[address] = kinds[size, trace]
        raw.append(f"+ {size:x} {trace:x} {address:x}\n")
        plain.append(f"+ {live[address]:x}\n")
        if time % 100 == 0:
            raw.append(f"c {time:x}\n")
            plain.append(f"c {time:x}\n")
    first, second = (load(written(tmp_path / "a", HEAD + "".join(lines))) for lines in (raw, plain))
    figures = [
        sorted(zip(unrolled(profile), *(column.tolist() for column in profile.values), strict=True), key=str)
        for profile in (first, second)
    ]
    assert figures[0] == figures[1]
    assert len(figures[0]) > 30
    assert {frame.function for frame in first.frames.frames} >= {"shop at 0x1100", "libx.so.1 at 0x2300"}
    assert "Not found here: shop, libx.so.1." in " ".join(str(warning.message) for warning in first.warnings)


RAW = [(FIXTURE.with_name("service.raw.heaptrack.zst"), FIXTURE)]
if PROFILES.is_dir():
    SMALL_TREE = PROFILES / "heaptrack" / "heaptrack.cpp-tree-small.zst"
    RAW.append((SMALL_TREE.with_name("heaptrack.cpp-tree-small.raw.zst"), SMALL_TREE))


@pytest.mark.parametrize("files", RAW, ids=lambda files: files[0].name)
def test_a_raw_recording_has_the_figures_of_its_interpretation(files: tuple[Path, Path]) -> None:
    raw, plain = map(load, files)
    for kind in some(plain.value_types):
        assert total(raw, kind.name) == total(plain, kind.name), kind.name


def test_attaching_resets_the_counts(tmp_path: Path) -> None:
    text = HEAD + TABLES + KINDS + "+ 3\n+ 3\nc 3\nA\n- 3\n+ 0\n+ 1\n- 1\nc 5\n"
    profile = load(written(tmp_path / "a", text))
    # a free of an earlier allocation does not make a later one temporary
    assert [total(profile, name) for name in ("total_count", "leaked_count", "temporary_count")] == [2, 1, 1]
    assert total(profile, "peak_bytes") == 0x30
    assert "attached" in warnings(profile)
    assert profile.times is not None
    assert profile.times.series["live_bytes"][0] == 0


def test_newer_version_has_a_warning(tmp_path: Path) -> None:
    text = HEAD.replace("10400 3", "20000 7") + TABLES + KINDS + "+ 0\nz what is new\n+ 1\n"
    profile = load(written(tmp_path / "a", text))
    assert total(profile, "total_count") == 2
    messages = {warning.code: warning.message for warning in profile.warnings}
    assert "version 7" in messages["version"]
    assert messages["damaged-lines"].startswith("Invalid lines of the file: 1.")


def test_invalid_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    wrong = [
        "+ ffffffff", "+ 4", "+", "+ zz", "- 4", "- 0", "- 123456789abcdef01234", "t ffffffffffffffff 1", "t 1 ffff",
        "t", "i", "i zz", "i 1 ffff 2 2 2", "i 1 1 fff fff 1", "s ff short", "s", "c", "c fffffffffffffffff", "R",
        "I 3", "a", "a fffffffffffffffff 1", "a 10 ffffff", "X again", "v", "+ 0 ", "Q",
    ]  # fmt: skip
    good = HEAD + TABLES + KINDS
    expected = load(written(tmp_path / "good", good + "+ 0\n+ 1\n"))
    for line in wrong:
        profile = load(written(tmp_path / "bad", f"{good}{line}\n+ 0\n+ 1\n"))
        if line != "+ 0 ":
            assert total(profile, "total_count") == total(expected, "total_count"), line
            code = "unknown-sizes" if line in ("a", "a fffffffffffffffff 1") else "damaged-lines"
            assert code in warnings(profile), line


def test_excessive_files_are_rejected(tmp_path: Path) -> None:
    big = "a 7fffffffffff 1\n"
    absurd = {
        "a line without end": HEAD + "s ffffff " + "x" * (17 << 20),
        "sizes without end": HEAD + TABLES + big + "+ 0\n" * (1 << 15),
        "nothing": HEAD + TABLES,
        "cut": HEAD + TABLES[:-3],
    }
    for name, text in absurd.items():
        with pytest.raises(MemlensError) as caught:
            load(written(tmp_path / "a", text))
        assert caught.value.code in ("damaged", "not-a-snapshot"), name
    # stacks that grow with each line, and many frames inlined in one address
    deep = HEAD + TABLES + "".join(f"t 1 {n:x}\n" for n in range(4, 20_000)) + "a 10 4e00\n+ 0\n"
    profile = load(written(tmp_path / "deep", deep))
    assert "stacks-cut" in warnings(profile)
    assert max(map(len, unrolled(profile))) <= 4096
    wide = HEAD + TABLES + "i 1 1" + " 2 3 1" * 3000 + "\nt 5 0\na 10 5\n+ 0\n"
    assert len(unrolled(load(written(tmp_path / "wide", wide)))[0]) <= 256


# damage


def test_truncated_recording_is_read_up_to_its_end(tmp_path: Path) -> None:
    text = made(8, 60, 12)
    draw = random.Random(4)
    for number in range(200):
        place = draw.randrange(1, len(text))
        if number % 2:
            # as if killed: the compressed data without the end of its frame
            packer = zstandard.ZstdCompressor().compressobj()
            data = packer.compress(text[:place].encode()) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        else:
            data = text[:place].encode()
        try:
            profile = load(written(tmp_path / "cut", data))
        except MemlensError as error:
            assert error.code in ("damaged", "not-a-snapshot")  # noqa: PT017
            assert not re.search(r"(?m)^\+ [0-9a-f]+\n", text[:place]), "it could have been shown"
            continue
        whole_lines = text[: text.rindex("\n", 0, place) + 1]
        events = len(re.findall(r"(?m)^\+ ", whole_lines))
        assert total(profile, "total_count") == events
        assert ("truncated" in warnings(profile)) == bool(number % 2 or text[place - 1] != "\n")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["zst", "gz"])
def test_a_compressed_file_cut_off_or_changed_anywhere(suffix: str, tmp_path: Path) -> None:
    text = made(9, 20_000, 40).encode()
    whole = zstandard.compress(text) if suffix == "zst" else gzip.compress(text)
    all_events = total(load(written(tmp_path / "a", whole)), "total_count")
    draw = random.Random(6)
    shown_parts = set()
    for number in range(200):
        data = bytearray(whole[: draw.randrange(1, len(whole))] if number % 2 else whole)
        if not number % 2:
            for _ in range(draw.choice((1, 3, 30))):
                data[draw.randrange(len(data))] = draw.randrange(256)
        try:
            profile = load(written(tmp_path / "a", bytes(data)))
        except MemlensError as error:
            assert len(str(error)) > 20  # noqa: PT017
            continue
        if number % 2:
            assert "truncated" in warnings(profile)
            assert total(profile, "total_count") <= all_events
            shown_parts.add(total(profile, "total_count"))
    assert len(shown_parts) > (1 if suffix == "zst" else 50), (
        "a part can be shown: zstd packs 128 KiB at once"
    )


@pytest.mark.slow
def test_file_that_unpacks_to_too_much_is_rejected(tmp_path: Path) -> None:
    """Streams may unpack to 20,000 times their size; a repeated byte compresses to a 32,768th."""
    empty = zstandard.compress(b"\n" * (1 << 27))
    path = written(tmp_path / "bomb.zst", zstandard.compress(HEAD.encode()) + empty * 4)
    with pytest.raises(MemlensError, match="unpacks to more than"):
        load(path)


def test_text_with_bytes_changed_anywhere(tmp_path: Path) -> None:
    whole = made(10, 300, 30).encode()
    draw = random.Random(5)
    read = 0
    for _ in range(tries(300)):
        data = bytearray(whole)
        for _ in range(draw.choice((1, 4, 40, 400))):
            data[draw.randrange(len(data))] = draw.choice(b"+-atisc 0f\n\xff") if draw.random() < 0.8 else 0
        try:
            profile = load(written(tmp_path / "a", bytes(data)))
        except MemlensError as error:
            assert len(str(error)) > 20  # noqa: PT017
            continue
        read += 1
        assert all(int(column.min(initial=0)) >= 0 for column in profile.values)
    assert read > tries(150)


def test_other_files_are_not_taken_for_recordings() -> None:
    assert sniff(b"v 10400 3\nX p\n")
    assert sniff(b"v 10200\nX p\n")
    assert sniff(b"v 10400 3\n")
    for head in (
        b"v 1.0 2.0 3.0\nv 2 3 4\n",
        b"vn 0 1\n",
        b"v \n",
        b"version\n",
        b"v 10400 3\nf 1 2 3\n",
        b"v 10400 3",
        b"",
    ):
        assert not sniff(head), head


# suppressions and names


def test_suppressions_match_as_leak_sanitizer_does() -> None:
    lines = ["leak:foobar", " leak:^leak*Supp$", "# leak:no", "leak:", "race:other", "leak:end$", "leak:a.b"]
    patterns = patterns_of(lines)
    assert patterns == ["foobar", "^leak*Supp$", "end$", "a.b"]
    search = matcher(patterns).search
    for text in ("foobar", "xfoobary", "leakSupp", "leak_a_Supp", "the end", "a.b"):
        assert search(text), text
    for text in ("foo", "xleakSupp", "leakSuppx", "ending", "acb", ""):
        assert not search(text), text
    assert not matcher([]).search("anything")


NAMES = {
    "_RNvC6_123foo3bar": "123foo::bar",
    "_RNvNtCs1234_7mycrate3foo3bar": "mycrate::foo::bar",
    "_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_4iter8iterator8Iterator9rpositionNCNgNpB9_6memchr7"
    "memrchrs_0E0Cs5ICf9eOpxpn_5bench": None,
    "_RINvNtC3std3mem8align_ofjdE": "std::mem::align_of::<usize, f64>",
    "_RINvNtC3std3mem8align_ofINtNtC3std3mem12DiscriminantdEE": "std::mem::align_of::<std::mem::Discriminant<f64>>",
    "_RNvMC0INtC8arrayvec8ArrayVechKj7b_E3new": "<arrayvec::ArrayVec<u8, 123>>::new",
    "_RNvXNtCsbmNqQUJIY6D_4core4iterhNtB2_8Iterator4next": "<u8 as core::iter::Iterator>::next",
    "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y": "utf8_idents::საჭმელად_გემრიელი_სადილი",
    "_RMC0FG_RL0_hRL0_tEu": None,
    "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE": "core::fmt::Formatter::pad",
    "_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE.llvm.123": (
        "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop"
    ),
    "std::rt::lang_start::_$u7b$$u7b$closure$u7d$$u7d$::h59202ef17d30ecbe": "std::rt::lang_start::{{closure}}",
    "_ZN3foo3barEv": "_ZN3foo3barEv",
    "_R": "_R",
    "main": "main",
}


@pytest.mark.parametrize("name", NAMES)
def test_rust_names(name: str) -> None:
    expected = NAMES[name]
    if expected is not None:
        assert demangled(name) == expected
    if shutil.which("c++filt") and name.startswith("_R") and name != "_R":
        assert demangled(name) == plain_of_binutils([name])[0]


def plain_of_binutils(names: list[str]) -> list[str]:
    """Rust names as binutils demangles them, without the hashes of crates and the types of constants."""
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    types = r": (?:usize|u8|u16|u32|u64|u128|isize|i8|i16|i32|i64|i128|bool|char)(?=[>,\]])"
    return [
        re.sub(rf"\[[0-9a-f]{{1,16}}\](?=:|>|,| )|{types}", "", line) for line in done.stdout.split("\n")
    ][: len(names)]


@pytest.mark.skipif(not shutil.which("c++filt"), reason="needs binutils")
def test_rust_names_are_those_of_binutils() -> None:
    """Of this test's table, and of a real recording where there is one."""
    names = [name for name, plain in NAMES.items() if name.startswith("_R") and plain]
    path = PROFILES / "heaptrack" / "heaptrack.rust-svc-20k.zst"
    if path.exists():
        names += re.findall(r"(?m)^s [0-9a-f]+ (_R\S+)$", text_of(path).decode())
        assert len(names) > 50
    assert len(names) > 5
    assert [demangled(name) for name in names] == plain_of_binutils(names)


def test_damaged_rust_names_are_unchanged() -> None:
    draw = random.Random(3)
    seeds = [name for name in NAMES if name.startswith("_R") and len(name) > 4]
    # each back reference repeats the one before twice
    seeds.append("_RINvC1a1bT" + "TB7_B7_E" * 30 + "EE")
    unlike: defaultdict[bool, int] = defaultdict(int)
    for _ in range(tries(5000)):
        letters = list(draw.choice(seeds))
        for _ in range(draw.randrange(1, 5)):
            letters[draw.randrange(2, len(letters))] = draw.choice("CMXYNIBTRQEFDLKAS_0123456789abs")
        name = "".join(letters)
        found = demangled(name)
        unlike[found == name] += 1
        assert len(found) < 100_000
    assert min(unlike[True], unlike[False]) > tries(100)


def test_totals_of_a_range_of_time(opened: Callable[[Path], Snapshot]) -> None:
    second = Recording(text_of(FIXTURE))
    snapshot = opened(FIXTURE)
    assert snapshot.times is not None
    edges = snapshot.times.edges.tolist()
    for first, last in ((0, len(edges) - 1), (3, 17), (20, 21), (40, 40)):
        answer = between(snapshot, first, last, "")
        within = (edges[first] <= second.time_ms * 1000) & (second.time_ms * 1000 < edges[last])
        made, freed = (
            second.sizes[second.kind[within & (second.change == change)]].tolist() for change in (1, -1)
        )
        assert (answer.allocated_bytes, answer.allocated_count) == (sum(made), len(made))
        assert (answer.freed_bytes, answer.freed_count) == (sum(freed), len(freed))
        live = [
            sum(
                int(second.sizes[kind]) * count
                for kind, count in second.live_before(edges[edge] // 1000).items()
            )
            for edge in (first, last)
        ]
        assert [answer.live_before_bytes, answer.live_after_bytes] == live
