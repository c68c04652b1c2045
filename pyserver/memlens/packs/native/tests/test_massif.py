"""massif's profiles against an independent reader of the same text, ms_print, and damaged files."""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.python.archived import shown
from tests.python.conftest import real_profiles
from tests.python.profile_reading import FIXTURES, damage, load, samples_of
from tests.python.replays import massif
from tests.python.replays.stacks import Frame

from memlens.formats import scanning
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.stacks import CUT
from memlens.model.frames import USER, SourceFrame
from memlens.model.profile import CHANGE_DTYPE, Profile
from memlens.packs.native.kernels import massif_text
from memlens.packs.native.massif import BELOW, NO_TREE
from memlens.packs.native.valgrind_frames import valgrind_frame

FIXTURE = FIXTURES / "massif.out.ledger"
FILES = [FIXTURE, *real_profiles("massif/*")]
Held = Counter[tuple[SourceFrame, ...]]


def without_cut(stack: tuple[SourceFrame, ...]) -> tuple[SourceFrame, ...]:
    return stack[:-1] if stack and stack[-1] == CUT else stack


def places(stack: tuple[SourceFrame, ...]) -> tuple[Frame, ...]:
    """A stack in the terms of the replay."""
    return tuple(Frame(frame.function, frame.file, frame.line) for frame in without_cut(stack))


def held_over_time(profile: Profile) -> Iterator[Held]:
    """Sum up the changes at each edge."""
    assert profile.times is not None
    stacks = [without_cut(stack) for stack, _ in samples_of(profile)]
    now: Held = Counter()
    offsets = profile.times.change_offsets.tolist()
    for edge in range(len(profile.times.time_us)):
        for row in profile.times.changes[offsets[edge] : offsets[edge + 1]]:
            now[stacks[row["sample"]]] += int(row["allocated_bytes"]) - int(row["freed_bytes"])
        yield +now


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_all_trees_are_read(path: Path) -> None:
    """All trees over time; the peak and the end are in ``test_replays.py``."""
    profile = load(path)
    assert profile.times is not None
    assert profile.times.known is not None
    over_time = list(held_over_time(profile))
    numbers = []
    for each in massif.snapshots(path):
        numbers.append(each.number)
        mine = Counter[tuple[Frame, ...]]()
        for stack, size in over_time[each.number].items():
            mine[places(stack)] += size
        theirs = Counter[tuple[Frame, ...]]()
        for frames, size in each.held.items():
            theirs[tuple(map(shown, frames))] += size
        assert mine == theirs
        assert sum(theirs.values()) == profile.times.series["live_bytes"][each.number]
    assert numbers == np.flatnonzero(profile.times.known).tolist()


def printed(path: Path) -> tuple[list[list[int]], list[Held]]:
    """ms_print's table of snapshots, and the bytes of the innermost frames of each tree."""
    command = ["ms_print", "--threshold=0", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    rows: list[list[int]] = []
    held: list[Held] = []
    for line in text.splitlines():
        if re.fullmatch(r" *\d+( +[\d,]+){5}", line):
            rows.append([int(word.replace(",", "")) for word in line.split()])
        elif re.match(r"\d+\.\d\d% \(", line):
            held.append(Counter())
        found = re.match(r"->\d+\.\d\d% \(([\d,]+)B\) (.*)", line)
        if found is not None:
            text = found[2].rstrip()
            # an address of nothing, by which nothing is called, is no stack
            nowhere = re.fullmatch(r"0x[0-9A-F]+: \?\?\?", text)
            innermost = () if nowhere else (BELOW if text.startswith("in ") else valgrind_frame(text),)
            held[-1][innermost] += int(found[1].replace(",", ""))
    return rows, [+each for each in held]


@pytest.mark.skipif(shutil.which("ms_print") is None, reason="valgrind's ms_print isn't installed")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_figures_agree_with_ms_print(path: Path) -> None:
    profile = load(path)
    times = profile.times
    assert times is not None
    assert times.known is not None
    rows, held = printed(path)
    scale = 1000 if times.unit == "microseconds" else 1
    heap, extra = times.series["live_bytes"], times.series["heap_extra_bytes"]
    stacks = times.series.get("stacks_bytes", np.zeros(len(heap), np.int64))
    mine = zip((times.time_us // scale).tolist(), heap.tolist(), extra.tolist(), stacks.tolist(), strict=True)
    assert rows == [[n, time, a + b + c, a, b, c] for n, (time, a, b, c) in enumerate(mine)]
    over_time = list(held_over_time(profile))
    for edge, innermost in zip(np.flatnonzero(times.known).tolist(), held, strict=True):
        found: Held = Counter()
        for stack, size in over_time[edge].items():
            found[stack[:1]] += size
        assert found == innermost


def test_the_recording_in_the_repository() -> None:
    """The program's entries at the peak, on their lines, and the threshold."""
    profile = load(FIXTURE)
    source = (FIXTURES / "src" / "ledger.cpp").read_text("utf-8").splitlines()
    held: Counter[str] = Counter()
    for stack, values in samples_of(profile):
        line = next((frame for frame in stack if frame.kind == USER), None)
        held[source[line.line - 1].split("//")[0].strip() if line else ""] += values[0]
    # massif records a peak only if it is 1% higher than the last
    assert held["char *note = new char[64];"] in [count * 64 for count in range(145, 151)]
    assert {"below-threshold", "detailed-only"} <= {warning.code for warning in profile.warnings}
    assert profile.times is not None
    assert profile.times.unit == "bytes"
    assert profile.settings["command"] == "./ledger"


TREE = """desc: {desc}
cmd: ./x
time_unit: {unit}
#-----------
snapshot=0
#-----------
time=5
mem_heap_B=100
mem_heap_extra_B=8
mem_stacks_B=0
heap_tree={kind}
n2: 100 ({what}) x, etc.
 n1: 90 0xA: inlined (a.cpp:1)
  n1: 90 0xA: f (a.cpp:2)
   n1: 90 0xB: f (a.cpp:2)
    n0: 90 0xB: f (a.cpp:2)
 n0: 10 in 3 places, all below massif's threshold (1.00%)
"""
LINES = {"desc": "(none)", "unit": "i", "kind": "peak", "what": "heap allocation functions"}


def written(path: Path, text: str = TREE, **change: str) -> Path:
    path.write_text(text.format(**{**LINES, **change}), "utf-8")
    return path


@pytest.mark.parametrize(
    ("unit", "called", "time"), [("i", "instructions", 5), ("ms", "microseconds", 5000), ("B", "bytes", 5)]
)
def test_units_of_time(tmp_path: Path, unit: str, called: str, time: int) -> None:
    times = load(written(tmp_path / "massif.out.1", unit=unit)).times
    assert times is not None
    assert (times.unit, times.time_us.tolist()) == (called, [time])


def test_pages_are_not_heap(tmp_path: Path) -> None:
    profile = load(written(tmp_path / "massif.out.1", what="page allocation syscalls"))
    assert "pages" in {warning.code for warning in profile.warnings}
    assert "pages" not in {warning.code for warning in load(written(tmp_path / "massif.out.2")).warnings}


@pytest.mark.parametrize(("depth", "cut"), [(2, True), (3, True), (4, False)])
def test_stacks_of_the_recorded_depth_are_cut(tmp_path: Path, depth: int, cut: bool) -> None:
    """Three addresses: the first two lines share one, as the inner is inlined; the last is recursion."""
    profile = load(written(tmp_path / "massif.out.1", desc=f"--depth=9 --depth={depth}"))
    assert any(stack[-1] == CUT for stack, _ in samples_of(profile)) is cut


SNAPSHOT = re.compile(
    r"^snapshot=(\d+)\n#-+\ntime=\d+\nmem_heap_B=(\d+)\nmem_heap_extra_B=(\d+)\nmem_stacks_B=(\d+)\n"
    r"heap_tree=(\w+)(?:\nn\d+: (\d+))?",
    re.MULTILINE,
)


def check_peak(path: Path) -> tuple[int, int, set[str]]:
    """Check the peak; return its bytes, those without a stack, and the codes of warnings."""
    rows = [
        (int(heap), int(number), int(extra), int(stacks), tree, int(root or 0))
        for number, heap, extra, stacks, tree, root in SNAPSHOT.findall(path.read_text("utf-8"))
    ]
    highest = max(row[0] for row in rows)
    at_peak = [row for row in rows if row[0] == highest]
    in_tree = max((row[5] for row in rows if row[4] != "empty"), default=0)
    profile = load(path)
    assert profile.value_types[0].name == "peak_bytes"
    assert int(profile.values[0].sum()) == highest
    bare = [values for stack, values in samples_of(profile) if NO_TREE in stack]
    missing = sum(values[0] for values in bare)
    assert missing == highest - in_tree
    assert all(sum(values[1:]) == 0 for values in bare)
    settings = profile.settings
    assert (
        highest, settings["peak_snapshot"], settings["peak_heap_extra_bytes"], settings["peak_stacks_bytes"],
    ) in [row[:4] for row in at_peak]  # fmt: skip
    codes = {warning.code for warning in profile.warnings}
    text = " ".join(warning.message for warning in profile.warnings)
    assert ("peak-without-tree" in codes) == (in_tree > 0 and not any(row[4] != "empty" for row in at_peak))
    if missing:
        assert f"{highest:,} bytes" in text
        assert in_tree == 0 or f"the remaining {missing:,}" in text
    return highest, missing, codes


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_peak_is_the_highest_snapshot(path: Path) -> None:
    assert check_peak(path)[0] > 0


def snapshots(*rows: tuple[int, int, int, str]) -> str:
    """A file of (heap, extra, stacks, tree), where a tree is one line of code with all of the heap."""
    text = "desc: --detailed-freq=9\ncmd: ./x\ntime_unit: B\n"
    for number, (heap, extra, stacks, tree) in enumerate(rows):
        text += f"#-----------\nsnapshot={number}\n#-----------\ntime={number}\nmem_heap_B={heap}\n"
        text += f"mem_heap_extra_B={extra}\nmem_stacks_B={stacks}\nheap_tree={tree}\n"
        if tree != "empty":
            text += f"n1: {heap} (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
            text += f" n0: {heap} 0xA: f (a.cpp:{number + 1})\n"
    return text


PEAKS: dict[str, tuple[str, int, int, set[str]]] = {
    # the largest is above 4 GiB, and all its figures differ, so that they can't be confused
    "no tree at all": (snapshots((5_021_305_210, 5_021_305_211, 5_021_305_212, "empty")), 5_021_305_210, 5_021_305_210,
                       {"no-samples"}),
    "the highest has none": (snapshots((9, 1, 0, "detailed"), (100, 1, 0, "peak"), (130, 0, 0, "empty")), 130, 30,
                             {"peak-without-tree"}),
    "the highest tree isn't massif's peak": (
        snapshots((100, 1, 0, "detailed"), (60, 1, 90, "peak"), (110, 0, 0, "empty"), (0, 0, 0, "empty")), 110, 10,
        {"peak-without-tree", "other-peak"}),
    "as high as one with a tree": (snapshots((100, 1, 0, "empty"), (100, 1, 0, "peak"), (100, 1, 0, "detailed")), 100,
                                   0, set()),
    "no peak marked": (snapshots((100, 1, 0, "detailed"), (90, 1, 0, "empty")), 100, 0, set()),
    "stacks alone": (snapshots((0, 0, 70, "detailed"), (0, 0, 90, "peak")), 0, 0, {"no-heap"}),
    "nothing": (snapshots((0, 0, 0, "empty")), 0, 0, {"no-samples"}),
}  # fmt: skip


@pytest.mark.parametrize("what", PEAKS)
def test_a_peak_without_a_tree(tmp_path: Path, what: str) -> None:
    text, highest, missing, codes = PEAKS[what]
    path = written(tmp_path / "massif.out.1", text)
    *peak, warnings = check_peak(path)
    assert peak == [highest, missing]
    assert warnings - {"detailed-only"} == codes
    times = load(path).times
    assert times is not None
    assert times.peaks.max() == highest


WRONG: dict[str, tuple[str, str]] = {
    "a child too much": ("n1: 90 0xB", "n2: 90 0xB"),
    "a child too few": ("n2: 100 (", "n1: 100 ("),
    "children with more than their parent": ("n0: 10 in", "n0: 11 in"),
    "a wrong depth": ("   n1: 90 0xB", "    n1: 90 0xB"),
    "no root": ("n2: 100 (heap", "x2: 100 (heap"),
    "a number without end": ("n0: 10 in", f"n0: {'1' * 40} in"),
    "an unknown kind of tree": ("heap_tree=peak", "heap_tree=oak"),
    "a tree twice": ("heap_tree=peak", "heap_tree=empty\nheap_tree=peak\nheap_tree=peak"),
    "a line that isn't massif's": ("mem_stacks_B=0", "mem_other_B=0"),
    "no snapshots": (TREE[TREE.index("snapshot=") :], ""),
    "half a tree": (TREE[TREE.index("    n0: 90") :], ""),
}


@pytest.mark.parametrize("what", WRONG)
def test_invalid_contents_are_reported(tmp_path: Path, what: str) -> None:
    old, new = WRONG[what]
    assert old.format(**LINES) in TREE.format(**LINES)
    path = tmp_path / "massif.out.1"
    path.write_text(TREE.format(**LINES).replace(old.format(**LINES), new), "utf-8")
    with pytest.raises(DamagedSnapshotError):
        load(path)


def test_unknown_unit_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotASnapshotError, match="'weeks'"):
        load(written(tmp_path / "massif.out.1", unit="weeks"))


def test_tree_that_is_too_deep_is_rejected(tmp_path: Path) -> None:
    head = TREE[: TREE.index("n2:")].format(**LINES)
    path = tmp_path / "massif.out.1"
    path.write_text(
        head + "".join(f"{' ' * depth}n1: 9 0x{depth + 1:x}: f\n" for depth in range(5000)), "utf-8"
    )
    with pytest.raises(DamagedSnapshotError, match="deeper"):
        load(path)


@pytest.mark.slow
def test_damaged_files_are_reported(tmp_path: Path) -> None:
    errors, intact = damage(FIXTURE.read_bytes(), tmp_path / "massif.out.1", 400, 6)
    assert errors > 150
    assert intact > 50  # truncated files with complete snapshots, and changed names


def test_complete_snapshots_of_a_truncated_file_are_shown(tmp_path: Path) -> None:
    """Truncated anywhere: the complete snapshots, with the same trees as in the whole file."""
    whole = FIXTURE.read_bytes()
    profile = load(FIXTURE)
    assert profile.times is not None
    every = list(held_over_time(profile))
    starts = [match.start() for match in re.finditer(rb"#-----------\nsnapshot=", whole)]
    ends = [*starts[1:], len(whole)]
    for end in (*range(ends[0], len(whole), 37), *(end + by for end in ends[1:] for by in (-2, -1, 0))):
        path = tmp_path / "massif.out.1"
        path.write_bytes(whole[:end])
        cut = load(path)
        assert cut.times is not None
        edges = len(cut.times.time_us)
        count = sum(end >= each - 1 for each in ends)
        # a line that is cut after a bracket looks complete
        assert edges == count or (edges == count + 1 and whole[:end].endswith(b")")), end
        begun = len(re.findall(rb"(?m)^snapshot=", whole[:end]))
        codes = {warning.code for warning in cut.warnings}
        assert "breaks-off" in codes if edges < begun else edges == begun, end
        assert list(held_over_time(cut)) == every[:edges], end
    path.write_bytes(whole[: starts[1] - 40])
    with pytest.raises(DamagedSnapshotError, match="first snapshot"):
        load(path)


def test_step_size_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(samples_of(load(FIXTURE)))
    monkeypatch.setattr(scanning, "_STEP_BYTES", 90)
    assert list(samples_of(load(FIXTURE))) == whole


@pytest.mark.parametrize(
    ("ends", "samples", "rows"),
    [([3], [0, 1], 2), ([2, 1], [0, 1], 2), ([2], [0, 2], 2), ([2], [0, -1], 2), ([2], [0, 1], 1)],
)
def test_differences_of_invalid_columns(ends: list[int], samples: list[int], rows: int) -> None:
    with pytest.raises(IndexError):
        massif_text.differences(
            np.array(ends, np.int64), np.array(samples, np.int64), np.ones(rows, np.int64), np.zeros(2, np.int64),
            np.empty(2 * len(samples), CHANGE_DTYPE), np.zeros(len(ends), np.uint64),
        )  # fmt: skip
