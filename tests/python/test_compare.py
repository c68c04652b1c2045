"""Two snapshots compared: sums against every allocation, pairs against the known changes to the code."""

import base64
import pickle
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.python.command_line import memlens as run
from tests.python.conftest import REAL, event, frame, real_files
from tests.python.counted import some
from tests.python.recordings import CUDA, EXPANDABLE
from tests.python.replays import torch as oracle
from tests.python.test_inference import backward, forward, trace_of
from tests.python.tries import tries

from memlens.errors import MemlensError
from memlens.model.frames import LIBRARY, NATIVE, USER
from memlens.packs.pytorch.frames import source_frame
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameRow
from memlens.views.compare.alignment import (
    Alignment,
    align,
    heights,
    joined,
    moments_at,
    positions_of,
    side_of,
)
from memlens.views.compare.pairing import Pairing, best_assignment, path_parts
from memlens.views.compare.pairing import align as align_lines
from memlens.views.compare.rows import CompareAnswer, Measure, compare
from memlens.views.compare.sides import CompareBy, Grouped, Side, grouped_side
from memlens.views.compare.sides import side_of as compared_side
from memlens.views.flame import first as first_flame
from memlens.views.selection.sets import AllocationSet
from memlens.views.tables.groups import Branch, groups
from memlens.views.trace.picture.live import live
from memlens.views.trace.steps.finding import steps as steps_of

BYS: tuple[CompareBy, ...] = ("line", "function", "file", "stack")


def whole_side(snapshot: Snapshot, of: AllocationSet | None = None) -> Side:
    return compared_side(snapshot, of or first_flame.opening_set(snapshot.info))


def everything(before: Side, after: Side, by: CompareBy, measure: Measure = "own") -> CompareAnswer:
    comparison = compare(before, after, by)
    first = comparison.answer(measure, "", "difference", 0, 1000)
    rows = list(first.rows)
    fields: dict[str, Any] = {name: getattr(first, name) for name in first.__struct_fields__}
    while len(rows) < first.found:
        rows += comparison.answer(measure, "", "difference", len(rows), 1000).rows
    return CompareAnswer(**(fields | {"rows": rows}))


def check_sums(answer: CompareAnswer, before_bytes: int, after_bytes: int) -> None:
    """Rows add up to each side's total, and differences to the totals' difference; so do the five kinds of row."""
    total = answer.total
    assert (total.before_bytes, total.after_bytes) == (before_bytes, after_bytes)
    assert sum(row.before_bytes for row in answer.rows) == before_bytes
    assert sum(row.after_bytes for row in answer.rows) == after_bytes
    assert sum(row.difference_bytes for row in answer.rows) == after_bytes - before_bytes
    kinds = (answer.grown, answer.shrunk, answer.same, answer.only_before, answer.only_after)
    for name in total.__struct_fields__:
        assert sum(getattr(kind, name) for kind in kinds) == getattr(total, name)
    assert answer.matching == total
    differences = [abs(row.difference_bytes) for row in answer.rows]
    assert differences == sorted(differences, reverse=True)


# --- sums ----------------------------------------------------------------------------------------------------------


def live_at_peak(path: Path, device: int) -> list[oracle.Alloc]:
    data = oracle.load(path)
    found = oracle.allocations(data, device)
    traces = data["device_traces"]
    totals = oracle.live_bytes(found, len(traces[device]) if device < len(traces) else 0)
    return [found[row] for row in oracle.alive(found, totals.index(max(totals)))]


def place_of(alloc: oracle.Alloc, kind: int) -> tuple[str, int, str] | None:
    """The innermost frame of a kind."""
    for place in alloc.frames:
        reported = source_frame(*place)
        if reported.kind == kind:
            return (reported.file, reported.line, reported.function)
    return None


PAIRS = [
    ("niu__forward_and_backward_memory_snapshot_100__*", "niu__forward_and_backward_memory_snapshot_150__*"),
    (
        "niu__forward_and_backward_memory_snapshot_200__*",
        "niu__forward_and_backward_memory_snapshot_200_mixed*",
    ),
    ("nothanmin__memory_snapshot_forward__*", "nothanmin__memory_snapshot_forward_without*"),
    ("charan__*", "bcrafton__*"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "patterns", [(), *(PAIRS if REAL.is_dir() else ())], ids=lambda pair: (*pair, "ours")[0][:8]
)
def test_rows_of_real_pairs_are_sums_over_allocations(
    opened: Callable[[Path], Snapshot], patterns: tuple[str, ...]
) -> None:
    paths = [real_files(pattern)[0] for pattern in patterns] or [CUDA, EXPANDABLE]
    snapshots = [opened(path) for path in paths]
    sides = [whole_side(snapshot) for snapshot in snapshots]
    live = [
        live_at_peak(path, snapshot.timeline.default_device)
        for path, snapshot in zip(paths, snapshots, strict=True)
    ]
    peaks = [sum(alloc.size for alloc in allocs) for allocs in live]
    for by in BYS:
        check_sums(everything(sides[0], sides[1], by), peaks[0], peaks[1])
    own: list[Counter[tuple[str, int, str]]] = [Counter(), Counter()]
    inclusive: list[Counter[tuple[str, int, str]]] = [Counter(), Counter()]
    for side, allocs in enumerate(live):
        for alloc in allocs:
            place = place_of(alloc, USER) or place_of(alloc, LIBRARY)
            if place is not None:
                own[side][place] += alloc.size
            for place in {
                (source.file, source.line, source.function)
                for source in (source_frame(*one) for one in alloc.frames)
                if source.kind != NATIVE
            }:
                inclusive[side][place] += alloc.size
    figures: list[tuple[Measure, list[Counter[tuple[str, int, str]]]]] = [
        ("own", own),
        ("inclusive", inclusive),
    ]
    for measure, expected in figures:
        found: list[Counter[tuple[str, int, str]]] = [Counter(), Counter()]
        for row in some(everything(sides[0], sides[1], "line", measure).rows):
            for side, (reported, size) in enumerate(
                (
                    (row.before, row.before_bytes - row.before_inferred_bytes),
                    (row.after, row.after_bytes - row.after_inferred_bytes),
                )
            ):
                if reported is not None and reported.kind != "native" and size:
                    found[side][reported.file, reported.line, reported.function] += size
        assert found[0] == Counter({place: size for place, size in expected[0].items() if size})
        assert found[1] == Counter({place: size for place, size in expected[1].items() if size})


@pytest.mark.parametrize("by", BYS)
def test_a_snapshot_does_not_differ_from_itself(
    opened: Callable[[Path], Snapshot], sample: Path, by: CompareBy
) -> None:
    side = whole_side(opened(sample))
    for measure in ("own", "inclusive"):
        answer = everything(side, side, by, measure)
        assert answer.rows
        assert all(row.how == "same" and row.before == row.after for row in answer.rows)
        assert all(row.difference_bytes == 0 and row.before_count == row.after_count for row in answer.rows)
    assert answer.total == answer.same


def test_sets_of_one_snapshot_can_be_compared(opened: Callable[[Path], Snapshot], sample: Path) -> None:
    """The difference of what was allocated and freed between two moments is the growth of what is live."""
    snapshot = opened(sample)
    info = snapshot.timeline.devices[0]
    device = snapshot.device(info.device)
    chance = random.Random(3)
    for _ in range(5):
        low, high = sorted(chance.sample(range(info.events + 1), 2))
        freed = whole_side(snapshot, AllocationSet(info.device, "freed", low, high))
        allocated = whole_side(snapshot, AllocationSet(info.device, "allocated", low, high))
        earlier = whole_side(snapshot, AllocationSet(info.device, "live", low))
        later = whole_side(snapshot, AllocationSet(info.device, "live", high))
        grown = int(device.live[high]) - int(device.live[low])
        churn = {row.row: row for row in everything(freed, allocated, "line").rows}
        check_sums(everything(earlier, later, "line"), int(device.live[low]), int(device.live[high]))
        assert sum(row.difference_bytes for row in churn.values()) == grown
        for row in some(everything(earlier, later, "line").rows):
            assert row.difference_bytes == (churn[row.row].difference_bytes if row.row in churn else 0)


@pytest.mark.parametrize("by", ["category", "module"])
def test_groups_of_both_have_the_sums_of_the_table_of_each(
    opened: Callable[[Path], Snapshot], sample: Path, by: Grouped
) -> None:
    snapshot = opened(sample)
    info = snapshot.timeline.devices[0]
    sets = AllocationSet(info.device), AllocationSet(info.device, from_moment=info.events)
    tables = [groups(snapshot, Branch(of, [by]), "bytes", 0, 1000, descending=True) for of in sets]
    right: list[Counter[str]] = [Counter(), Counter()]
    for table, sums in zip(tables, right, strict=True):
        for row in table.rows:
            # what is inferred to be of a group isn't another group
            sums[row.name.text.removesuffix(" (inferred)")] += row.bytes
    peak, end = (grouped_side(snapshot, of, by) for of in sets)
    answer = everything(peak, end, by)
    names: set[str] = set()
    check_sums(answer, tables[0].bytes, tables[1].bytes)
    assert len(answer.rows) > 1
    for row in answer.rows:
        place = row.after or row.before
        assert place is not None
        names.add(place.function)
        assert (row.before_bytes, row.after_bytes) == (
            right[0][place.function],
            right[1][place.function],
        )
    assert names == {*right[0], *right[1]}


def test_rows_lead_to_their_stacks(opened: Callable[[Path], Snapshot], sample: Path) -> None:
    """The stacks of a row are those that contain it, and their sum is the row's."""
    snapshot = opened(sample)
    info = snapshot.timeline.devices[0]
    peak, end = (
        whole_side(snapshot),
        whole_side(snapshot, AllocationSet(info.device, from_moment=info.events)),
    )
    worth: Counter[int] = Counter()
    for item, amount in enumerate(peak.stacks.values[0].tolist()):
        (stack,) = peak.stacks.archived(np.array([item]))
        worth[stack] += amount
    for by in BYS:
        comparison = compare(peak, end, by)
        for measure in ("own", "inclusive"):
            for row in comparison.answer(measure, "", "before", 0, 25).rows:
                stacks = comparison.stacks(row.row, measure, "before")
                assert sum(worth[stack] for stack in stacks) == row.before_bytes
                assert row.before is not None
                for stack in stacks[:3] if row.before.kind != "native" else []:
                    frames = [peak.places[number] for number in snapshot.stack_frame_ids(stack)]
                    assert any(
                        file == row.before.file and (by == "file" or function == row.before.function)
                        for file, _, function, _ in frames
                    )
    with pytest.raises(MemlensError):
        comparison.stacks(10**6, "own", "before")


def test_inferred_lines_are_paired_and_marked(opened: Callable[[Path], Snapshot], tmp_path: Path) -> None:
    """What backward allocated is listed by forward line, as a part of what that line has; moved lines pair."""
    snapshots, expected = [], []
    for shift, times in ((0, 1), (7, 3)):
        operators = [("mm", 20), ("exp", 30), ("sum_dim_IntList", 40), ("exp", 50)]
        stacks = [forward(name, line + shift) for name, line in operators]
        for number, (name, _) in enumerate(reversed(operators)):
            stacks += [backward(name)] * (times if number else 1)
        path = tmp_path / f"{shift}.pickle"
        path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace_of(stacks)]}))
        snapshots.append(opened(path))
        reported: Counter[tuple[int, str]] = Counter()
        for allocation in live(snapshots[-1], 0, len(stacks), 0, 1000).rows:
            assert allocation.label is not None
            reported[allocation.label.line - shift, allocation.label.source] += allocation.size_bytes
        assert {source for _, source in reported} == {"recorded", "inferred"}
        expected.append(reported)
    sides = [whole_side(snapshot) for snapshot in snapshots]
    for measure in ("own", "inclusive"):
        answer = everything(sides[0], sides[1], "line", measure)
        found: list[Counter[tuple[int, str]]] = [Counter(), Counter()]
        for row in answer.rows:
            assert row.before is not None
            assert row.after is not None
            assert (row.how, row.before.source) in {("moved", row.after.source), ("same", "recorded")}
            if row.before.function == "forward":
                for side, line, size, guessed in (
                    (0, row.before.line, row.before_bytes, row.before_inferred_bytes),
                    (1, row.after.line - 7, row.after_bytes, row.after_inferred_bytes),
                ):
                    found[side][line, "inferred"] += guessed
                    found[side][line, "recorded"] += size - guessed
        assert found == expected
    for by in BYS:
        totals = [sum(side.values()) for side in expected]
        comparison = everything(sides[0], sides[1], by)
        check_sums(comparison, totals[0], totals[1])
        whole = compare(sides[0], sides[1], by)
        guesses = whole.answer("own", "inferred", "name", 0, 1000).rows
        assert guesses
        assert all(row.before_inferred_bytes and row.after_inferred_bytes for row in guesses)
        for row in guesses:
            frames = [snapshots[0].stack_frame_ids(stack) for stack in whole.stacks(row.row, "own", "before")]
            rows = [snapshots[0].frames.rows(ids).values() for ids in frames]
            assert any(all(kind == NATIVE for *_, kind in each) for each in rows)
    moved = {row.how for row in everything(sides[0], sides[1], "stack").rows if row.callers == []}
    assert "moved" in moved


def test_search_order_and_pages(opened: Callable[[Path], Snapshot], sample: Path) -> None:
    snapshot = opened(sample)
    info = snapshot.timeline.devices[0]
    peak, end = (
        whole_side(snapshot),
        whole_side(snapshot, AllocationSet(info.device, from_moment=info.events)),
    )
    comparison = compare(peak, end)
    whole = comparison.answer("own", "", "difference", 0, 1000)
    assert [row for page in range(0, whole.found, 3) for row in comparison.answer("own", "", "difference", page, 3).rows] == whole.rows  # fmt: skip  # noqa: E501
    found = comparison.answer("own", "MODEL.py forward", "difference", 0, 1000)
    expected = [row for row in whole.rows if row.after and "model.py" in row.after.file and row.after.function == "forward"]  # fmt: skip  # noqa: E501
    assert found.rows == expected
    assert 0 < found.found < whole.found
    assert found.total == whole.total
    assert found.matching.before_bytes == sum(row.before_bytes for row in expected)
    growth = [row.difference_bytes for row in comparison.answer("own", "", "increase", 0, 1000).rows]
    assert growth == sorted(growth, reverse=True)
    shrinking = comparison.answer("own", "", "decrease", 0, 1000, reverse=True).rows
    assert [row.difference_bytes for row in shrinking] == growth
    sizes = [row.before_bytes for row in comparison.answer("own", "", "before", 0, 1000).rows]
    assert sizes == sorted(sizes, reverse=True)
    places = [row.after or row.before for row in comparison.answer("own", "", "name", 0, 1000).rows]
    names = [(place.file, place.line) for place in places if place is not None]
    assert names == sorted(names)
    for offset, limit in ((-1, 5), (0, 0), (0, 1001)):
        with pytest.raises(MemlensError):
            comparison.answer("own", "", "difference", offset, limit)


# --- pairs ---------------------------------------------------------------------------------------------------------

names = st.sampled_from(["forward", "step", "<module>", "__init__", "attend", "backward"])
files = st.lists(
    st.sampled_from(["model", "train", "layers", "util", "__init__", "attention"]), min_size=1, max_size=4
).map(lambda parts: "/".join(parts) + ".py")
codes = st.dictionaries(
    files,
    st.dictionaries(names, st.sets(st.integers(1, 300), min_size=1, max_size=12), min_size=1, max_size=4),
    min_size=1,
    max_size=8,
)
Code = dict[str, dict[str, set[int]]]


def rows_of_code(code: Code, root: str = "/home/ann/project/", shift: int = 0) -> list[FrameRow]:
    return [
        (root + file, line + shift, function, USER)
        for file, functions in code.items()
        for function, lines in functions.items()
        for line in sorted(lines)
    ]


@pytest.mark.slow
@given(codes, st.integers(-5, 400).filter(bool), st.randoms())
@settings(max_examples=tries(100), deadline=None)
def test_lines_that_all_moved_by_the_same_number_pair(code: Code, shift: int, chance: random.Random) -> None:
    shift = max(
        shift, 1 - min(line for functions in code.values() for lines in functions.values() for line in lines)
    )
    before, after = rows_of_code(code), rows_of_code(code, shift=shift)
    chance.shuffle(before)
    chance.shuffle(after)
    pairs = Pairing(before, after).groups["line"].pairs
    assert len(pairs) == len(before)
    for pair in pairs:
        assert pair.before is not None
        assert pair.after == pair.before._replace(line=pair.before.line + shift)
        assert pair.how == ("moved" if shift else "same")


@pytest.mark.slow
@given(codes, st.sampled_from(["/data/jobs/run-7/", "C:\\work\\", "", "/home/ann/project/src/"]))
@settings(max_examples=tries(100), deadline=None)
def test_a_renamed_root_folder_changes_nothing(code: Code, root: str) -> None:
    before, after = rows_of_code(code), rows_of_code(code, root)
    if "\\" in root:
        after = [(file.replace("/", "\\"), line, function, kind) for file, line, function, kind in after]
    pairing = Pairing(before, after)
    assert all(pair.how == "same" for group in pairing.groups.values() for pair in group.pairs)
    prefix = len("/home/ann/project/")
    for pair in pairing.groups["line"].pairs:
        assert pair.before is not None
        assert pair.after is not None
        assert (
            pair.after.file.replace("\\", "/").removeprefix(root.replace("\\", "/"))
            == pair.before.file[prefix:]
        )


@pytest.mark.slow
@given(codes, codes)
@settings(max_examples=tries(100), deadline=None)
def test_every_line_is_in_one_pair_and_order_is_kept(one: Code, two: Code) -> None:
    before, after = rows_of_code(one), rows_of_code(two, "/elsewhere/")
    pairing = Pairing(before, after)
    for by, places in (("line", 3), ("function", None), ("file", 1)):
        group = pairing.groups[by]
        for side, rows in enumerate((before, after)):
            numbers = (group.before, group.after)[side]
            for row, number in zip(rows, numbers.tolist(), strict=True):
                place = group.pairs[number][side]
                assert place is not None
                assert place.file == row[0]
                assert by == "file" or place.function == row[2]
                assert places != 3 or place.line == row[1]
            there = [pair[side] for pair in group.pairs if pair[side] is not None]
            assert len(there) == len(set(numbers.tolist()))
    moved: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for pair in pairing.groups["line"].pairs:
        if pair.before and pair.after:
            moved[pair.before.file, pair.before.function].append((pair.before.line, pair.after.line))
            assert path_parts(pair.before.file)[-1] == path_parts(pair.after.file)[-1]
    for found in moved.values():
        ordered = sorted(found)
        assert [after for _, after in ordered] == sorted(after for _, after in ordered)


lines = st.sets(st.integers(1, 30), max_size=5).map(sorted)


@given(lines, lines)
@settings(max_examples=tries(150), deadline=None)
def test_the_alignment_of_lines_is_optimal(before: list[int], after: list[int]) -> None:
    """No other order-preserving alignment has a higher score, as the docstring defines it."""

    def worth(pairs: list[tuple[int, int]]) -> float:
        sum_, offset = 0.0, 0
        for number, (line, other) in enumerate(pairs):
            sum_ += 1
            if other - line != offset or (number == 0 and other != line):
                sum_ -= (0.8 if number else 0.3) + abs(other - line) * 1e-6
            offset = other - line
        return sum_

    def chains(i: int, j: int) -> list[list[tuple[int, int]]]:
        found: list[list[tuple[int, int]]] = [[]]
        for a in range(i, len(before)):
            for b in range(j, len(after)):
                found += [[(before[a], after[b]), *rest] for rest in chains(a + 1, b + 1)]
        return found

    result = align_lines(before, after)
    pairs = [(line, other) for line, other in result if line is not None and other is not None]
    assert sorted(line for line, _ in result if line is not None) == before
    assert sorted(other for _, other in result if other is not None) == after
    best = max(worth(chain) for chain in chains(0, 0))
    assert worth(pairs) == pytest.approx(best, abs=2e-4)


def test_a_line_that_stayed_is_preferred_to_one_that_moved() -> None:
    assert align_lines([10], [10, 12]) == [(10, 10), (None, 12)]
    assert align_lines([10, 20, 30], [12, 22, 32]) == [(10, 12), (20, 22), (30, 32)]
    # the middle line is new and moved the rest down
    assert align_lines([10, 20, 30], [10, 15, 21, 31]) == [(10, 10), (20, 21), (30, 31), (None, 15)]
    # 12 existed before, but the whole function moved down
    assert align_lines([10, 12], [12, 14]) == [(10, 12), (12, 14)]
    huge = list(range(1, 2000))
    assert [pair for pair in align_lines(huge, [*huge[:-500], 5000]) if pair[0] and pair[1]] == [
        (line, line) for line in huge[:-500]
    ]


def test_files_pair_by_the_longest_common_path_and_functions() -> None:
    before = [("/a/x/net.py", 1, "f", USER), ("/a/y/net.py", 1, "g", USER), ("/a/gone.py", 1, "f", USER)]
    after = [("/b/y/net.py", 1, "f", USER), ("/b/x/net.py", 1, "g", USER), ("/b/new.py", 1, "f", USER)]
    files_of = {pair.before.file: pair.after.file for pair in Pairing(before, after).groups["file"].pairs if pair.before and pair.after}  # fmt: skip  # noqa: E501
    assert files_of == {"/a/x/net.py": "/b/x/net.py", "/a/y/net.py": "/b/y/net.py"}
    # for equal lengths functions decide, for all files together: f could pair with either, g only with one
    before = [("/u/net.py", 1, "f", USER), ("/v/net.py", 1, "f", USER), ("/v/net.py", 2, "g", USER)]
    after = [("/w/net.py", 1, "f", USER), ("/w/net.py", 2, "g", USER), ("/z/net.py", 1, "f", USER)]
    files_of = {pair.before.file: pair.after.file for pair in Pairing(before, after).groups["file"].pairs if pair.before and pair.after}  # fmt: skip  # noqa: E501
    assert files_of == {"/u/net.py": "/z/net.py", "/v/net.py": "/w/net.py"}
    # a name that every package has is no evidence
    lonely = Pairing([("/a/p/__init__.py", 1, "f", USER)], [("/b/q/__init__.py", 1, "g", USER)])
    assert len(lonely.groups["file"].pairs) == 2


def test_a_renamed_function_is_found_by_its_lines() -> None:
    pairing = Pairing(
        [("/a/m.py", 10, "old", USER), ("/a/m.py", 12, "old", USER), ("/a/m.py", 30, "kept", USER)],
        [("/a/m.py", 10, "new", USER), ("/a/m.py", 12, "new", USER), ("/a/m.py", 31, "kept", USER)],
    )
    assert [pair.how for pair in pairing.groups["line"].pairs] == ["renamed", "renamed", "moved"]
    assert [pair.how for pair in pairing.groups["function"].pairs] == ["renamed", "moved"]


@given(st.integers(1, 5), st.integers(1, 5), st.randoms())
@settings(max_examples=tries(100), deadline=None)
def test_the_assignment_is_optimal(rows: int, columns: int, chance: random.Random) -> None:
    weights = np.array([[chance.randint(0, 6) for _ in range(columns)] for _ in range(rows)], np.int64)
    found = best_assignment(weights)
    assert len(found) == min(rows, columns) == len(dict(found)) == len({column for _, column in found})
    tall = weights if rows >= columns else weights.T
    best = max(
        sum(int(tall[row, column]) for column, row in enumerate(chosen))
        for chosen in permutations(range(tall.shape[0]), tall.shape[1])
    )
    assert sum(int(weights[pair]) for pair in found) == best


def moved_code(path: Path, root: str, shift: int) -> Any:
    """The sample's snapshot as if its code were in another folder, with lines added at the top of ``model.py``."""
    data = oracle.load(path)
    seen: set[int] = set()
    for entry in (entry for trace in data["device_traces"] for entry in trace):
        for one in entry["frames"]:
            if id(one) in seen:
                continue
            seen.add(id(one))
            if "/" not in one["filename"] and one["filename"].endswith(".py"):
                one["line"] += shift if one["filename"] == "model.py" else 0
                one["filename"] = root + one["filename"]
    return data


def test_code_that_moved_is_paired(opened: Callable[[Path], Snapshot], sample: Path, tmp_path: Path) -> None:
    data = moved_code(sample, "/srv/run/", 7)
    other = tmp_path / "moved.pickle"
    other.write_bytes(pickle.dumps(data))
    before, after = whole_side(opened(sample)), whole_side(opened(other))
    for by in BYS:
        answer = everything(before, after, by)
        assert all(row.difference_bytes == 0 for row in answer.rows), by
        assert answer.total == answer.same
    hows = Counter(row.how for row in everything(before, after, "line").rows)
    assert hows["moved"] > 5
    for row in everything(before, after, "line").rows:
        if row.before and row.after and row.before.file.endswith("model.py"):
            assert (row.how, row.after.line) == ("moved", row.before.line + 7)
            assert row.after.file == f"/srv/run/{row.before.file}"


def test_stacks_with_only_cpp_are_named_by_their_operator(
    opened: Callable[[Path], Snapshot], tmp_path: Path
) -> None:
    native = [
        frame("??", 0, "c10::alloc"),
        frame("??", 0, "at::_ops::mm::call(at::Tensor)"),
        frame("??", 0, "start"),
    ]
    trace = [event("alloc", 512 * n, 100 + n, *native) for n in range(3)] + [event("alloc", 1 << 20, 5)]
    path = tmp_path / "native.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
    side = whole_side(opened(path))
    rows = everything(side, side, "line", "inclusive").rows
    assert [(row.after and row.after.function, row.after_bytes) for row in rows] == [
        ("aten::mm", 303),
        ("", 5),
    ]


# --- one axis ------------------------------------------------------------------------------------------------------


def curve(text: str) -> list[float]:
    values: list[float] = np.frombuffer(base64.b64decode(text), "<f8").tolist()
    return values


def stepped(path: Path, steps: int, events: int, name: str = "ProfilerStep#", first: int = 0) -> Path:
    """Each step allocates one kibibyte more, takes ``events`` events of 10 µs, and has an annotation."""
    trace: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    clock = 1_000_000
    for number in range(steps):
        step = f"{name}{number + first}"
        annotations.append({"stage": "START", "name": step, "device": 0, "time_us": clock})
        for _ in range(events):
            trace.append(event("alloc", 4096 * (len(trace) + 1), 1024, frame("/a.py", 3, "f"), time_us=clock))
            clock += 10
        annotations.append({"stage": "END", "name": step, "device": 0, "time_us": clock - 1})
    data = {"segments": [], "device_traces": [trace], "external_annotations": annotations}
    path.write_bytes(pickle.dumps(data))
    return path


def test_two_runs_on_one_axis(opened: Callable[[Path], Snapshot], tmp_path: Path) -> None:
    one, two = (
        opened(stepped(tmp_path / "one.pickle", 4, 10)),
        opened(stepped(tmp_path / "two.pickle", 4, 20)),
    )
    first, second = side_of(one, 0, "event"), side_of(two, 0, "event")
    for offset in (0.0, 7.0, -12.0):
        places, steps = align(first, second, Alignment("event", offset=offset))
        assert steps == []
        extent = joined(first, second, places)
        assert (extent.x0, extent.x1) == (min(0.0, offset), max(41.0, 81.0 + offset))
        edges = np.arange(extent.x0, extent.x1 + 1)
        highest = curve(heights(two, 0, "event", places.to_second(edges))[0])
        for x, height in zip(edges[:-1].tolist(), highest, strict=True):
            moment = int(x - offset)
            assert np.isnan(height) if not 0 <= moment <= 80 else height == moment * 1024
    assert first.known is None, "its steps were not requested"
    by_step = Alignment("event", by_step=True)
    first, second = side_of(one, 0, "event", by_step=True), side_of(two, 0, "event", by_step=True)
    assert first.known is not None
    assert (first.known.inferred, "ProfilerStep#" in first.known.how.text) == (False, True)
    places, steps = align(first, second, by_step)
    assert [(step.name.text, step.x) for step in steps] == [(f"ProfilerStep#{n}", 10.0 * n) for n in range(4)]
    # twice the events per step: each position corresponds to the same fraction of the same step
    xs = np.array([0.0, 5.0, 10.0, 35.0])
    assert moments_at(two, 0, "event", places.to_second(xs)) == [0, 10, 20, 70]
    assert np.allclose(places.to_first(places.to_second(xs)), xs)
    one_later, _ = align(first, second, Alignment("event", by_step=True, offset=1))
    assert moments_at(two, 0, "event", one_later.to_second(np.array([10.0, 15.0]))) == [0, 10]
    timed = align(
        side_of(one, 0, "time", by_step=True),
        side_of(two, 0, "time", by_step=True),
        Alignment("time", by_step=True),
    )[0]
    assert moments_at(two, 0, "time", timed.to_second(positions_of(one, 0, "time", [11]))) == [21]
    for wrong in (Alignment("event", by_step=True, offset=9), Alignment("event", offset=float("nan"))):
        with pytest.raises(MemlensError):
            align(first, second, wrong)


def test_steps_pair_by_name(opened: Callable[[Path], Snapshot], tmp_path: Path) -> None:
    one = opened(stepped(tmp_path / "one.pickle", 4, 10, first=3))
    two = opened(stepped(tmp_path / "two.pickle", 4, 10, first=5))
    places, steps = align(
        side_of(one, 0, "event", by_step=True),
        side_of(two, 0, "event", by_step=True),
        Alignment("event", by_step=True),
    )
    assert [step.name.text for step in steps] == ["ProfilerStep#5", "ProfilerStep#6"]
    assert places.to_second(np.array([20.0, 25.0, 0.0, 50.0])).tolist() == [0.0, 5.0, -20.0, 30.0]


def test_inferred_steps_repeat_and_are_marked_as_inferred(
    opened: Callable[[Path], Snapshot], sample: Path
) -> None:
    """The sample has no annotations: its steps are those of the table of steps, on both axes."""
    snapshot = opened(sample)
    number = snapshot.timeline.default_device
    shown = steps_of(snapshot, number, 0, 100).rows
    for axis in ("event", "time"):
        side = side_of(snapshot, number, axis, by_step=True)
        assert side.known is not None
        assert side.known.inferred
        assert side.known.how.text.endswith("the trace has no annotations of steps.")
        starts = [row.from_moment if axis == "event" else row.start_us for row in shown]
        assert side.step_edges[:-1] == starts
        places, steps = align(side, side, Alignment(axis, by_step=True, offset=1))
        assert [(step.name, step.x) for step in steps] == [
            (row.name, start) for row, start in zip(shown[1:], starts[1:], strict=True)
        ]
        assert places.to_second(np.array(starts[1:], float)).tolist() == starts[:-1]


def test_without_times_or_steps_an_axis_is_refused(
    opened: Callable[[Path], Snapshot], tmp_path: Path
) -> None:
    path = tmp_path / "untimed.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [[event("alloc", 512, 5)]]}))
    snapshot = opened(path)
    with pytest.raises(MemlensError, match="no times"):
        side_of(snapshot, 0, "time")
    side = side_of(snapshot, 0, "event", by_step=True)
    with pytest.raises(MemlensError, match=r"no steps in common.* too short to have a period"):
        align(side, side, Alignment("event", by_step=True))


# --- on the command line -------------------------------------------------------------------------------------------


BARE = {
    "segments": [
        {
            "device": 0,
            "address": 4096,
            "total_size": 512,
            "stream": 0,
            "blocks": [{"size": 512, "requested_size": 500, "address": 4096, "state": "active_allocated"}],
        }
    ],
    "device_traces": [[]],
}
"""A snapshot of one block without a history."""


def test_command_line(sample: Path, tmp_path: Path) -> None:
    text = run("compare", sample, sample, "--at", "end", "--top", 2).stdout.splitlines()
    assert text[0].split()[:4] == ["before", "after", "difference", "place"]
    assert "self by my code" in text[0]
    assert text[-2].endswith("total")
    assert text[-1] == "Nothing differs between the two."
    assert len(text) == 5
    (tmp_path / "bare.pickle").write_bytes(pickle.dumps(BARE))
    assert " (no stack), only after" in run("compare", sample, tmp_path / "bare.pickle").stdout
    assert run("compare", sample, sample, "--device", 9, status=1).stderr.count("\n") == 1
    assert "no such" in run("compare", sample, tmp_path / "none", status=1).stderr.lower()
