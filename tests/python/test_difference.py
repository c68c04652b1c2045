"""Difference flame graphs against sums over every stack of both sides, and against comparisons of the same sets."""

import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.python.conftest import real_profiles
from tests.python.made_stacks import side_of_stacks, stacks_of_nodes
from tests.python.recordings import GO, GO_BEFORE
from tests.python.test_flame import Boxes, check_picture, laid_out, nodes_of
from tests.python.test_profile_model import archived, random_profile
from tests.python.tries import tries

from memlens.cli import main
from memlens.errors import MemlensError
from memlens.model.frames import NATIVE, SourceFrame
from memlens.model.profile import Profile
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameRow
from memlens.views.compare.difference import Joined, join, normalised, tree_of
from memlens.views.compare.pairing import Pairing
from memlens.views.compare.rows import Comparison
from memlens.views.compare.sides import Side, side_of
from memlens.views.flame import tables as flame_tables
from memlens.views.flame.calltree import CallTree, FlameOptions
from memlens.views.flame.graph import picture
from memlens.views.selection.profile_sets import value_of
from memlens.views.selection.sets import AllocationSet

SHAPES: Any = list(product(("absolute", "normalised"), ("both", "after", "before")))


class Pair:
    """Two sides, every sample of theirs, and the pairing of their places."""

    def __init__(self, before: Snapshot, after: Snapshot, of: AllocationSet, own: Any = "before") -> None:
        self.snapshots = (before, after)
        self.of = of
        self.sides = [side_of(snapshot, of) for snapshot in self.snapshots]
        self.pairing = Pairing(self.sides[0].places, self.sides[1].places)
        self.joined = join(self.sides[0], self.sides[1], self.pairing, own)

    def names(self, side: int, merge: Any) -> list[int]:
        """The pair of each place of a side."""
        group = self.pairing.groups[merge]
        found: list[int] = (group.before, group.after)[side].tolist()
        return found

    def stacks(self, side: int) -> dict[int, list[int]]:
        """The values of each stack on a side, summed up sample by sample."""
        snapshot = self.snapshots[side]
        value = value_of(snapshot, self.of)
        amounts = snapshot.samples.value[snapshot.profile.values.index(value)].tolist()
        counts = [1] * len(amounts)
        if value.count is not None:
            counts = snapshot.samples.value[value.count].tolist()
        found: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        for stack, amount, count in zip(snapshot.samples.stack.tolist(), amounts, counts, strict=True):
            if amount or (value.count is not None and count):
                found[stack][0] += amount
                found[stack][1] += count
        return found

    def sums(self, options: FlameOptions, sides: Sequence[int] = (0, 1)) -> dict[tuple[int, ...], list[int]]:
        """The values of each path of pairs: both sides together, before and after; -1 means no stack."""
        found: dict[tuple[int, ...], list[int]] = defaultdict(lambda: [0] * 6)
        for side in sides:
            names, snapshot = self.names(side, options.merge), self.snapshots[side]
            for stack, values in self.stacks(side).items():
                path = [names[frame] for frame in snapshot.stack_frame_ids(stack)] or [-1]
                if options.direction == "top_down":
                    path.reverse()
                for length in range(len(path) + 1):
                    for row in (0, 1):
                        found[tuple(path[:length])][row] += abs(values[row])
                        found[tuple(path[:length])][2 * side + 2 + row] += values[row]
        return found

    def paths(self, tree: CallTree) -> dict[tuple[int, ...], list[int]]:
        """The same of a tree."""
        function_of: dict[int, int] = {}
        for lines, functions in zip(
            (self.names(0, "line"), self.names(1, "line")),
            (self.names(0, "function"), self.names(1, "function")),
            strict=True,
        ):
            function_of.update(zip(lines, functions, strict=True))
        paths: dict[int, tuple[int, ...]] = {0: ()}
        found = {}
        for node in nodes_of(tree):
            if node:
                name = int(tree.name[node])
                key = -1 if name >= self.joined.names.frames else name
                if key >= 0 and tree.options.merge == "function":
                    key = function_of[key]
                paths[node] = (*paths[int(tree.parents[node])], key)
            found[paths[node]] = tree.inclusive[:6, node].tolist()
        assert len(found) == len(paths)
        return found


def moved(seed: int) -> Profile:
    """A profile of a program that behaves differently, with its code in another folder and two lines further down."""
    profile, _ = random_profile(seed, as_tree=False)
    frames = profile.frames.frames
    for number, frame in enumerate(frames):
        if frame.line:
            frames[number] = SourceFrame(
                f"/srv/jobs/7/{frame.file}", frame.line + 2, frame.function, frame.kind
            )
    return revalued(profile, seed)


def revalued(profile: Profile, seed: int) -> Profile:
    """The profile with other values, of which the last is negative as often as positive."""
    chance = random.Random(seed)
    profile.values = [
        np.array([chance.randrange(-450 if kind == 2 else 0, 450) for _ in column], np.int64)
        for kind, column in enumerate(profile.values)
    ]
    return profile


@pytest.fixture(params=[2, 5])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    profile, _ = random_profile(request.param, as_tree=True)
    before = archived(revalued(profile, request.param), tmp_path / "before")
    after = archived(moved(request.param + 1), tmp_path / "after")
    yield before, after
    before.close()
    after.close()


def check(pair: Pair, options: FlameOptions) -> None:
    """Every node has the sums of both sides' stacks, whatever the width of boxes means."""
    expected = {path: values for path, values in pair.sums(options).items() if any(values)}
    sizes = [{path: values[0] for path, values in pair.sums(options, [side]).items()} for side in (0, 1)]
    totals = [max(sizes[side].get((), 0), 1) for side in (0, 1)]
    for scale, width in SHAPES:
        tree = tree_of(pair.joined, options, scale, width)
        found = pair.paths(tree)
        assert {path: values for path, values in found.items() if any(values)} == expected
        widths = dict(zip(found, tree.inclusive[tree.by, nodes_of(tree)].tolist(), strict=True))
        for path, wide in widths.items():
            before, after = (sizes[side].get(path, 0) for side in (0, 1))
            if width == "both" and scale == "normalised":
                assert abs(wide / 2**50 - before / totals[0] - after / totals[1]) < 1e-9
            else:
                assert wide == {"both": before + after, "before": before, "after": after}[width]
        check_boxes(tree, 0.0, 1.0, 700)


def check_boxes(tree: CallTree, x0: float, x1: float, width: int) -> None:
    """The picture is like that of any flame graph, and each box has the values of both sides."""
    found: Boxes = check_picture(tree, x0, x1, width, 0, 50)
    assert found.compared
    places = laid_out(tree)
    for box, before, after in zip(found.boxes, found.before, found.after, strict=True):
        begin, value, node, name, *_, flags, _unused = box
        nodes = [node]
        if flags & 1:
            nodes = [
                child for child in tree.children(node).tolist() if begin <= places[child][0] < begin + value
            ]
            assert len(nodes) == name
        assert (before, after) == tuple(int(tree.inclusive[row, nodes].sum()) for row in (2, 4))


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["top_down", "bottom_up"])
@pytest.mark.parametrize("merge", ["function", "line"])
def test_every_node_has_the_sums_of_both_sides_stacks(pair: Any, direction: Any, merge: Any) -> None:
    """The last value is itself a difference, and sometimes negative."""
    for value, own in ((0, "before"), (1, "after"), (2, "before")):
        check(Pair(pair[0], pair[1], AllocationSet(0, value=value), own), FlameOptions(direction, merge))


@pytest.mark.parametrize(
    "files",
    [
        each
        for each in ([GO_BEFORE, GO], real_profiles("pprof/go-heap-base.pb.gz", "pprof/go-heap-mid.pb.gz"))
        if each
    ],
    ids=lambda files: files[0].name,
)
def test_real_profiles_side_by_side(looked_at: Callable[[Path], Snapshot], files: list[Path]) -> None:
    pair = Pair(looked_at(files[0]), looked_at(files[1]), AllocationSet(0))
    check(pair, FlameOptions())


def of_functions(tree: CallTree) -> dict[tuple[str, str], tuple[int, ...]]:
    rows = flame_tables.functions(tree, "inclusive", 0, 1000).rows
    found: dict[tuple[str, str], tuple[int, ...]] = {}
    for row in rows:
        assert row.sides is not None
        assert row.self_sides is not None
        if row.name.kind not in ("native", "none"):
            found[row.name.file, row.name.function] = (
                *(
                    row.sides.before_bytes,
                    row.sides.after_bytes,
                    row.sides.before_count,
                    row.sides.after_count,
                ),
            )
    return found


def test_functions_agree_with_the_comparison(pair: Any) -> None:
    made = Pair(pair[0], pair[1], AllocationSet(0, value=1))
    comparison = Comparison(made.sides[0], made.sides[1], made.pairing, "function")
    answer = comparison.answer("inclusive", "", "difference", 0, 1000)
    reported: dict[tuple[str, str], tuple[int, ...]] = {}
    for row in answer.rows:
        place = row.before or row.after
        if place is not None and place.kind != "native":
            reported[place.file, place.function] = (
                *(row.before_bytes, row.after_bytes, row.before_count, row.after_count),
            )
    assert of_functions(tree_of(made.joined, FlameOptions())) == reported
    # with sides swapped it is the same, with the other side's names
    other = Pair(pair[0], pair[1], AllocationSet(0, value=1), "after")
    assert sorted(of_functions(tree_of(other.joined, FlameOptions())).values()) == sorted(reported.values())


def test_details_have_lines_and_stacks_of_the_view_s_snapshot(pair: Any) -> None:
    before, after = pair
    of = AllocationSet(0, value=1)
    for own in ("before", "after"):
        made = Pair(before, after, of, own)
        tree = tree_of(made.joined, FlameOptions(merge="line"), "normalised")
        number = 0 if own == "before" else 1
        stacks = made.stacks(number)
        files = {row[0] for row in made.sides[number].places}
        root = flame_tables.details_of(tree, made.joined.stacks, 0)
        assert set(stacks) == set(root.stacks)
        for node in nodes_of(tree)[1:]:
            reported = flame_tables.details_of(tree, made.joined.stacks, node)
            assert reported.whole == root.node.sides
            assert reported.node.sides is not None
            held = [sum(stacks[stack][row] for stack in reported.stacks) for row in (0, 1)]
            mine = reported.node.sides
            if own == "before":
                assert [mine.before_bytes, mine.before_count] == held
            else:
                assert [mine.after_bytes, mine.after_count] == held
            if held[0] and reported.lines:
                assert reported.lines[0].file in files


@pytest.mark.slow
@settings(deadline=None, max_examples=tries(100))
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), st.integers(0, 2**40)), max_size=40),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), st.integers(0, 2**40)), max_size=40),
    st.sampled_from(SHAPES),
    st.booleans(),
    st.integers(1, 1500),
    st.data(),
)
def test_widths_add_up_at_every_zoom(
    before: Any, after: Any, how: Any, upwards: bool, width: int, data: st.DataObject
) -> None:
    tree = tree_of(joined(before, after), FlameOptions("bottom_up" if upwards else "top_down"), *how)
    check_boxes(tree, 0.0, 1.0, width)
    if tree.total:
        places = laid_out(tree)
        node = data.draw(st.sampled_from(sorted(places)))
        begin = places[node][0] / tree.total
        end = (places[node][0] + int(tree.inclusive[tree.by, node])) / tree.total
        if begin < min(end, 1.0):
            check_boxes(tree, begin, min(end, 1.0), width)


ROWS: list[FrameRow] = [("/x/a.py", line, f"f{line}", 0) for line in (1, 2)] + [("", 0, "native", NATIVE)]


def joined(before: Any, after: Any, rows: list[FrameRow] = ROWS) -> Joined:
    """Stacks of nodes with (parent, frame, bytes); the number after the last frame means no stack."""

    def side(nodes: Any) -> Side:
        parents = [0, *(min(parent, place) for place, (parent, *_) in enumerate(nodes))]
        frames = [0, *(min(frame, len(rows)) for _, frame, _ in nodes)]
        return side_of_stacks(stacks_of_nodes(parents, frames, [[size, 1] for *_, size in nodes]), rows)

    sides = side(before), side(after)
    return join(*sides, Pairing(sides[0].places, sides[1].places), "before")


def test_shares_are_rounded_on_the_running_sum() -> None:
    for values in ([1] * 7, [3, 0, 2**45, 1], [5], []):
        found = normalised(np.array(values, np.int64))
        assert int(found.sum()) == (2**50 if sum(values) else 0)
        total = max(sum(values), 1)
        assert all(abs(a - b / total * 2**50) <= 1 for a, b in zip(found.tolist(), values, strict=True))


def test_a_renamed_function_is_one_box() -> None:
    one: list[FrameRow] = [("/a/m.py", 3, "old", 0), ("/a/m.py", 4, "old", 0)]
    two: list[FrameRow] = [("/b/m.py", 3, "new", 0), ("/b/m.py", 4, "new", 0)]
    sides = [
        side_of_stacks(stacks_of_nodes([0, 0, 0], [0, 0, 1], [[10, 1], [5, 1]]), rows) for rows in (one, two)
    ]
    pairing = Pairing(sides[0].places, sides[1].places)
    for own, name in (("before", "old"), ("after", "new")):
        tree = tree_of(join(sides[0], sides[1], pairing, own), FlameOptions())
        assert len(tree.parents) == 2
        assert tree.names.names([int(tree.name[1])])[0].function == name


def test_the_command_line_prints_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = str(Path(__file__).parents[2] / "samples" / "words.pb.gz")

    def reported(*arguments: str) -> str:
        assert main(["flame", sample, "--diff", sample, *arguments, "--cache-dir", str(tmp_path)]) == 0
        return capsys.readouterr().out

    folded = [line.rsplit(" ", 2) for line in reported("--folded").splitlines()]
    assert folded
    assert all(before == after for _, before, after in folded)
    answer = json.loads(reported("--json"))
    assert sum(int(before) for _, before, _ in folded) * 2 == answer["total_bytes"]
    assert "difference" in reported().splitlines()[0]
    assert "0 B" in reported("--bottom-up").splitlines()[1]
    assert main(["picture", sample, "--diff", sample, "--cache-dir", str(tmp_path)]) == 0
    picture = capsys.readouterr().out
    assert "Difference flame graph: words.pb.gz → words.pb.gz" in picture
    assert "▲ more after" in picture
    assert not re.search(r"<text[^>]*>[▲▼] (?!more after|less after)", picture)
    assert re.search(r"<text[^>]*>= (?!the same)\w", picture)


def test_sums_that_are_too_large_and_empty_trees() -> None:
    made = joined([(0, 0, 2**61)], [(0, 0, 2**61)])
    with pytest.raises(MemlensError, match="too large"):
        tree_of(made, FlameOptions())
    empty = tree_of(joined([], []), FlameOptions(), "normalised")
    assert Boxes(picture(empty, 0, 1, 0, 5, 100).geometry).boxes == []
    assert flame_tables.whole(empty) == flame_tables.FlameSides(0, 0, 0, 0)


def test_the_oracle_covers_every_case(pair: Any) -> None:
    """Some code is only on one side, some moved, some memory has no stack, and some values are negative."""
    made = Pair(pair[0], pair[1], AllocationSet(0, value=0))
    sums = made.sums(FlameOptions())
    assert any(before and not after for *_, before, _, after, _ in sums.values())
    assert any(before and after for *_, before, _, after, _ in sums.values())
    assert (-1,) in sums
    signed = Pair(pair[0], pair[1], AllocationSet(0, value=2)).sums(FlameOptions())
    assert any(before < 0 or after < 0 for *_, before, _, after, _ in signed.values())
