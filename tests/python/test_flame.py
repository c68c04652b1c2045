"""Call trees and flame graphs, against sums over every allocation's stack and against plain arithmetic."""

import functools
import json
import pickle
import struct
from collections import defaultdict
from collections.abc import Callable
from itertools import groupby, pairwise
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.python.command_line import memlens
from tests.python.conftest import WithOracle, event, frame
from tests.python.made_stacks import stacks_of_nodes, tree_of_stacks
from tests.python.replays import torch as oracle
from tests.python.server_harness import write_snapshot
from tests.python.tries import tries

from memlens.errors import MemlensError
from memlens.kernels.tree import calltree as kernel
from memlens.model.frames import NATIVE, package_of
from memlens.packs.pytorch.frames import source_frame
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import listed
from memlens.views.flame import calltree
from memlens.views.flame import tables as flame_tables
from memlens.views.flame.calltree import CallTree, FlameOptions
from memlens.views.flame.graph import picture, tree_of
from memlens.views.naming.frame_names import FrameNames
from memlens.views.selection.sets import AllocationSet

Path_ = tuple[Any, ...]
Sums = dict[Path_, list[int]]


def stack_of(alloc: oracle.Alloc, options: FlameOptions) -> list[Any]:
    """An allocation's names, outermost first (innermost first if bottom-up), by the definition of the options."""
    return names_of(alloc.frames, alloc.early, options)


@functools.cache
def names_of(stack: tuple[tuple[str, int, str], ...], early: bool, options: FlameOptions) -> list[Any]:
    if not stack:
        return ["allocated before recording" if early else "no stack recorded"]
    frames = [source_frame(*each) for each in reversed(stack)]
    names: list[Any] = []
    for each in frames:
        package = package_of(each.file, each.function, each.kind)
        if "*" in options.collapse and package:
            names.append("native code" if each.kind == NATIVE else package)
        else:
            names.append((each.file, each.function, *([each.line] if options.merge == "line" else [])))
    if "*" in options.collapse:
        # next to a library native code has no box, unless the stack ends in it
        runs = [list(run) for _, run in groupby(names, key=lambda name: isinstance(name, str))]
        last = len(names) - 1
        while last >= 0 and names[last] == "native code":
            last -= 1
        ends = names[last + 1 :]
        inner = [(name, run) for run in runs for name in run][: last + 1]
        names = [
            name for name, run in inner
            if name != "native code" or all(other == name for other in run)
        ] + ends  # fmt: skip
    folded = [
        name for place, name in enumerate(names)
        if place == 0 or name != names[place - 1] or (isinstance(name, tuple) and not options.fold_recursion)
    ]  # fmt: skip
    return folded[::-1] if options.direction == "bottom_up" else folded


def sums_of(found: list[oracle.Alloc], rows: list[int], options: FlameOptions) -> tuple[Sums, Sums]:
    inclusive: Sums = defaultdict(lambda: [0, 0])
    own: Sums = defaultdict(lambda: [0, 0])
    for row in rows:
        names = tuple(stack_of(found[row], options))
        own[names][0] += found[row].size
        own[names][1] += 1
    for names, (size, count) in own.items():
        for length in range(len(names) + 1):
            inclusive[names[:length]][0] += size
            inclusive[names[:length]][1] += count
    return inclusive, own


def key_of(tree: CallTree, node: int) -> Any:
    (name,) = tree.names.names([int(tree.name[node])])
    if name.is_package or name.kind == "none":
        return name.function
    return (name.file, name.function, *([name.line] if tree.options.merge == "line" else []))


def nodes_of(tree: CallTree) -> list[int]:
    """The nodes with values, root first."""
    found: list[int] = np.flatnonzero(tree.inclusive.any(axis=0)).tolist()
    return found or [0]


def laid_out(tree: CallTree) -> dict[int, tuple[int, int]]:
    """The start and depth of each node in the picture: it follows its previous siblings."""
    found = {0: (0, 0)}
    todo = [0]
    while todo:
        node = todo.pop()
        left, depth = found[node]
        for child in tree.children(node).tolist():
            found[child] = left, depth + 1
            left += int(tree.inclusive[tree.by, child])
            todo.append(child)
    return found


def sums_in(tree: CallTree) -> tuple[Sums, Sums]:
    paths: list[Path_] = [()]
    for node in range(1, len(tree.parents)):
        paths.append((*paths[tree.parents[node]], key_of(tree, node)))
    assert len(set(paths)) == len(paths), "a node occurs twice"
    inclusive = {path: tree.inclusive[:, node].tolist() for node, path in enumerate(paths)}
    own = {path: tree.ends[:, node].tolist() for node, path in enumerate(paths)}
    return (
        {path: sums for path, sums in inclusive.items() if any(sums)},
        {path: sums for path, sums in own.items() if any(sums)},
    )


OPTIONS = [
    FlameOptions(),
    FlameOptions(direction="bottom_up"),
    FlameOptions(merge="line", order="time"),
    FlameOptions(collapse=("*",), fold_recursion=True),
    FlameOptions(collapse=("*",), direction="bottom_up", merge="line"),
]


def test_trees_are_sums_over_allocations(with_oracle: WithOracle) -> None:
    snapshot, info, found = with_oracle
    everything = AllocationSet(info.device, "live", 0, info.events)
    for of, rows, every in (
        (AllocationSet(info.device), oracle.alive(found, info.peak_moment), OPTIONS),
        (everything, list(range(len(found))), OPTIONS[:2]),
    ):
        for options in every:
            tree = tree_of(snapshot, of, "bytes", options)
            inclusive, own = sums_of(found, rows, options)
            got, got_own = sums_in(tree)
            assert got == {path: sums for path, sums in inclusive.items() if any(sums)}
            assert got_own == {path: sums for path, sums in own.items() if any(sums)}


def test_children_are_sorted_by_the_requested_value(opened: Callable[[Path], Snapshot], sample: Path) -> None:
    snapshot = opened(sample)
    found = oracle.allocations(oracle.load(sample), 0)
    for by, value in ((0, "bytes"), (1, "count")):
        tree = tree_of(snapshot, AllocationSet(0), value, FlameOptions())
        for node in range(len(tree.parents)):
            values = tree.inclusive[by, tree.children(node)].tolist()
            assert values == sorted(values, reverse=True)
            assert sum(values) + tree.ends[by, node] == tree.inclusive[by, node]
    options = FlameOptions(order="time")
    tree = tree_of(snapshot, AllocationSet(0), "bytes", options)
    first: dict[Path_, int] = {}
    for row in oracle.alive(found, snapshot.timeline.devices[0].peak_moment):
        names = tuple(stack_of(found[row], options))
        for length in range(len(names) + 1):
            first.setdefault(names[:length], row)
    paths: dict[int, Path_] = {0: ()}
    for node in range(1, len(tree.parents)):
        paths[node] = (*paths[int(tree.parents[node])], key_of(tree, node))
    for node in range(len(tree.parents)):
        starts = [first[paths[child]] for child in tree.children(node).tolist()]
        assert starts == sorted(starts)


@pytest.mark.slow
def test_focus_keeps_callees_or_callers_and_hide_leaves_a_frame_out(
    opened: Callable[[Path], Snapshot], sample: Path
) -> None:
    snapshot = opened(sample)
    found = oracle.allocations(oracle.load(sample), 0)
    of = AllocationSet(0, "live", 0, snapshot.timeline.devices[0].events)
    whole = tree_of(snapshot, of, "bytes", FlameOptions())
    for node in range(1, len(whole.parents), 3):
        name, key = int(whole.name[node]), key_of(whole, node)
        callees: Sums = defaultdict(lambda: [0, 0])
        callers: Sums = defaultdict(lambda: [0, 0])
        without: Sums = defaultdict(lambda: [0, 0])
        for each in found:
            names = stack_of(each, FlameOptions())
            ways = [(without, tuple(other for other in names if other != key))]
            if key in names:
                at = names.index(key)
                ways += [(callees, tuple(names[at:])), (callers, tuple(names[at::-1] if at else names[:1]))]
            for sums, way in ways:
                for length in range(len(way) + 1):
                    sums[way[:length]][0] += each.size
                    sums[way[:length]][1] += 1
        for options, expected in (
            (FlameOptions(focus=name), callees),
            (FlameOptions(focus=name, direction="bottom_up"), callers),
            (FlameOptions(hide=(name,)), without),
        ):
            assert sums_in(tree_of(snapshot, of, "bytes", options))[0] == dict(expected)


@pytest.mark.slow
def test_functions_searches_and_details_count_each_allocation_once(
    opened: Callable[[Path], Snapshot], tmp_path: Path, sample: Path
) -> None:
    def recursive(depth: int) -> list[dict[str, Any]]:
        frames = [frame("/x/walk.py", 7, "walk") for _ in range(depth)]
        return [frame("/x/leaf.py", 3, "leaf"), *frames, frame("/x/main.py", 1, "main")]

    trace = [event("alloc", 4096 * number, 100 + number, *recursive(number)) for number in range(5)]
    trace.append(event("alloc", 4096 * 9, 7))
    path = tmp_path / "recursive.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}, protocol=4))
    for file in (path, sample):
        snapshot = opened(file)
        info = snapshot.timeline.devices[0]
        found = oracle.allocations(oracle.load(file), 0)
        of = AllocationSet(0, "live", 0, info.events)
        for options in (FlameOptions(), FlameOptions(direction="bottom_up")):
            tree = tree_of(snapshot, of, "bytes", options)
            answer = flame_tables.functions(tree, "inclusive", 0, 1000)
            expected: Sums = defaultdict(lambda: [0, 0, 0, 0])
            for each in found:
                names = stack_of(each, options)
                for name in set(names):
                    expected[name][0] += each.size
                    expected[name][1] += 1
                # a stack is attributed to the innermost frame of the user's code
                inward = names if options.direction == "bottom_up" else names[::-1]
                kinds = (
                    {}
                    if not each.frames
                    else {frame[::2]: source_frame(*frame).kind for frame in each.frames}
                )
                charged = min(inward, key=lambda name: kinds.get(name, 0))
                expected[charged][2] += each.size
                expected[charged][3] += 1
            got = {
                row.name.function if row.name.kind == "none" else (row.name.file, row.name.function): [
                    row.bytes, row.count, row.self_bytes, row.self_count,
                ]
                for row in answer.rows
            }  # fmt: skip
            assert got == {name: sums for name, sums in expected.items() if sums[0]}
            assert [row.bytes for row in answer.rows] == sorted((r.bytes for r in answer.rows), reverse=True)
            by_name = flame_tables.functions(tree, "name", 0, 1000).rows
            assert sorted(by_name, key=str) == sorted(answer.rows, key=str)
            texts = [row.name.function.casefold() for row in by_name]
            assert texts == sorted(texts)
            for by in ("name", "self", "inclusive"):
                whole = flame_tables.functions(tree, by, 0, 1000).rows
                turned = flame_tables.functions(tree, by, 1, 3, reverse=True).rows
                assert turned == whole[::-1][1:4]
            for text in ("WALK", "forward", ".py:7", "no stack", "nowhere"):
                hits = [
                    each
                    for each in found
                    if any(
                        text.casefold() in f"{name}\n{name}:{line}".casefold()
                        or text.casefold() in f"{file}:{line}".casefold()
                        for file, line, name in each.frames or [("", 0, "no stack recorded")]
                    )
                ]
                result = flame_tables.search(tree, text)
                assert (result.bytes, result.count) == (sum(each.size for each in hits), len(hits))
            for node in nodes_of(tree)[1 :: 1 if file == path else 6]:
                reported = flame_tables.details(snapshot, of, "bytes", options, node)
                way = [key_of(tree, step) for step in tree.path(node)]
                inside = [each for each in found if stack_of(each, options)[: len(way)] == way]
                assert reported.node.bytes == sum(each.size for each in inside)
                assert [step.node for step in reported.path] == tree.path(node)[:-1]
                device, highlighted = snapshot.device(0), set(reported.stacks)
                both = zip(device.stack.tolist(), device.size.tolist(), strict=True)
                assert sum(size for stack, size in both if stack in highlighted) == reported.node.bytes
                lines: dict[tuple[str, int], int] = defaultdict(int)
                for each in inside:
                    if each.frames:
                        # the innermost of the frames that the node merges; there are several only with recursion
                        order = each.frames if options.direction == "bottom_up" else each.frames[::-1]
                        lines[order[len(way) - 1][:2]] += each.size
                assert {(row.file, row.line): row.bytes for row in reported.lines} == lines


def test_a_node_has_its_lines_if_the_focus_itself_is_hidden(opened: Any, sample: Path) -> None:
    snapshot = opened(sample)
    of, looked = AllocationSet(0), 0
    whole = tree_of(snapshot, of, "bytes", FlameOptions())
    for focus in sorted(set(whole.name[1:].tolist()))[:12]:
        for direction in ("top_down", "bottom_up"):
            options = FlameOptions(direction=direction, focus=focus, hide=(focus,))
            tree = tree_of(snapshot, of, "bytes", options)
            for node in nodes_of(tree)[1::3]:
                reported = flame_tables.details(snapshot, of, "bytes", options, node)
                assert {row.function for row in reported.lines} == {reported.node.name.function}
                if len(reported.lines) < 20:
                    assert sum(row.bytes for row in reported.lines) == reported.node.bytes
                looked += direction == "bottom_up"
    assert looked > 10


# --- the command line ---------------------------------------------------------------------------------------------


def events_of(found: list[oracle.Alloc]) -> int:
    return max(moment for each in found for moment in (each.start, each.end or 0))


def run(*arguments: object) -> str:
    return memlens("flame", *arguments).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--bottom-up", "--by-line"),
        ("--value", "count"),
        ("--value", "total"),
        ("--value", "peak"),
        ("--value", "leaked"),
    ],
)
def test_folded_stacks_equal_those_of_the_allocations(
    sample: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    found = oracle.allocations(oracle.load(sample), 0)
    alive = oracle.live_bytes(found, events_of(found))
    rows = oracle.alive(found, alive.index(max(alive)))
    if "count" in arguments or "total" in arguments:
        rows = list(range(len(found)))
    elif "leaked" in arguments:
        rows = oracle.alive(found, events_of(found))
    expected: dict[str, int] = defaultdict(int)
    for row in rows:
        frames = found[row].frames if "--bottom-up" in arguments else found[row].frames[::-1]
        texts = []
        for file, line, function in frames:
            place = file.rsplit("/", 1)[-1] + (f":{line}" if "--by-line" in arguments else "")
            texts.append(f"{function} ({place})".replace(";", ","))
        expected[";".join(texts)] += 1 if "count" in arguments else found[row].size
    out = run(sample, "--folded", "--cache-dir", tmp_path, *arguments)
    got = {path: int(value) for path, value in (line.rsplit(" ", 1) for line in out.splitlines())}
    assert got == {path: value for path, value in expected.items() if value}


def test_the_tree_in_the_terminal_and_the_functions_as_json(sample: Path, tmp_path: Path) -> None:
    found = oracle.allocations(oracle.load(sample), 0)
    peak = max(oracle.live_bytes(found, events_of(found)))
    lines = run(sample, "--cache-dir", tmp_path).splitlines()
    assert lines[1].split()[-1] == "all"
    assert lines[1].split()[:2] == f"{peak / 2**20:.1f} MiB".split()
    head, *_ = run(sample, "--bottom-up", "--cache-dir", tmp_path).splitlines()
    assert lines[0].split() == head.split()
    assert lines[0].split()[:6] == ["inclusive", "self", "share", "(self", "by", "my"]
    reported = json.loads(run(sample, "--json", "--cache-dir", tmp_path))
    assert reported["total_bytes"] == reported["rows"][0]["bytes"] == peak
    narrowed = json.loads(run(sample, "--json", "--cache-dir", tmp_path, "--filter", "size>1MiB"))
    assert 0 < narrowed["total_bytes"] < peak


# --- geometry ------------------------------------------------------------------------------------------------------


class Boxes:
    def __init__(self, packed: bytes) -> None:
        magic, self.width, count, bits = struct.unpack_from("<4I", packed)
        assert magic == 0x31464C4D
        self.coarser, self.compared = bits & 1, bits & 2
        self.x0, self.x1, self.total = struct.unpack_from("<3d", packed, 16)
        self.first_depth, self.rows = struct.unpack_from("<2I", packed, 40)
        self.matched, self.matching, self.deepest = struct.unpack_from("<d2I", packed, 48)
        sides = 64 + 32 * count
        rest = sides + (16 * count if self.compared else 0)
        assert len(packed) == rest + 3 * count
        self.boxes = [struct.unpack_from("<ddIIHHHBB", packed, 64 + 32 * i) for i in range(count)]
        self.before = struct.unpack_from(f"<{count}d", packed, sides) if self.compared else ()
        self.after = struct.unpack_from(f"<{count}d", packed, sides + 8 * count) if self.compared else ()
        self.package = struct.unpack_from(f"<{count}H", packed, rest)
        self.kind = packed[rest + 2 * count :]


def made_tree(shape: list[tuple[int, int, int]], order: Any = "value", by: int = 0) -> CallTree:
    """A tree of nodes with (parent, own bytes, own count), each of a function of its own."""
    parents = [2**32 - 1] + [min(parent, place) for place, (parent, _, _) in enumerate(shape)]
    names = FrameNames(listed(("/x/a.py", i + 1, f"f{i}", 0) for i in range(len(shape))))
    stacks = stacks_of_nodes(
        parents, [2**32 - 1, *range(len(shape))], [[size, count] for _, size, count in shape]
    )
    return tree_of_stacks(stacks, names, FlameOptions(order=order), by)


def check_picture(tree: CallTree, x0: float, x1: float, width: int, first_depth: int, rows: int) -> Boxes:
    """Every box by plain arithmetic: its edges, whether it is drawn or merged, and that a row has no hole."""
    found = Boxes(picture(tree, x0, x1, first_depth, rows, width).geometry)
    inclusive, places = tree.inclusive[tree.by].tolist(), laid_out(tree)
    left, depths = ({node: place[which] for node, place in places.items()} for which in (0, 1))
    assert found.deepest == max(depths.values())
    assert all(tree.layout.place(node) == places[node] for node in places)
    scale = width / (found.x1 - found.x0) if tree.total else 0

    def pixel(value: float) -> int:
        rounded: int = floor((value - found.x0) * scale + 0.5)
        return min(max(rounded, 0), width)

    drawn = {}
    merged = defaultdict(list)
    for begin, value, node, name, low, high, row, flags, _ in found.boxes:
        assert low < high
        assert (low, high) == (pixel(begin), pixel(begin + value))
        if flags & 1:
            merged[node].append((begin, value, name, low, high, row))
        else:
            assert (begin, value) == (left[node], inclusive[node])
            assert row + first_depth == depths[node]
            assert node == 0 or (name == tree.name[node] and value * scale >= 0.5)
            drawn[node] = (low, high)
    assert found.boxes == sorted(found.boxes, key=lambda box: (box[6], box[4]))
    for parent in [0, *(node for node in drawn if node)]:
        depth = depths[parent] + 1
        children = tree.children(parent).tolist()
        if not (first_depth <= depth < first_depth + rows) or not children:
            continue
        tiles = [drawn[child] for child in children if child in drawn]
        tiles += [(low, high) for *_, low, high, _ in merged[parent]]
        edges = [pixel(left[parent]), pixel(left[parent] + sum(inclusive[child] for child in children))]
        tiles.sort()
        # no gap, no overlap, and nothing missing at either end
        assert all(one[1] == two[0] for one, two in pairwise(tiles))
        assert sum(high - low for low, high in tiles) == edges[1] - edges[0]
        assert not tiles or [tiles[0][0], tiles[-1][1]] == edges
        for begin, value, count, *_ in merged[parent]:
            inside = [child for child in children if begin <= left[child] < begin + value]
            assert len(inside) == count
            assert sum(inclusive[child] for child in inside) == value
            assert not any(child in drawn for child in inside)
        for child in children:
            low, high = pixel(left[child]), pixel(left[child] + inclusive[child])
            if inclusive[child] * scale >= 0.5 and high > low and not found.coarser:
                assert child in drawn
    return found


def test_a_bottom_up_tree_has_an_end(
    opened: Callable[[Path], Snapshot], sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, of, options = opened(sample), AllocationSet(0), FlameOptions(direction="bottom_up")
    nodes = len(tree_of(snapshot, of, "bytes", options).parents)
    for value, most in (("count", nodes - 1), ("count", 1)):
        monkeypatch.setattr(calltree, "MOST_TURNED", most)
        with pytest.raises(MemlensError, match="too deep"):
            tree_of(snapshot, of, value, options)
    monkeypatch.setattr(calltree, "MOST_TURNED", nodes)
    assert len(tree_of(snapshot, of, "count", options).parents) == nodes
    monkeypatch.setattr(calltree, "MOST_TURNED_FRAMES", 10)
    with pytest.raises(MemlensError, match="too deep"):
        tree_of(snapshot, of, "bytes", FlameOptions(direction="bottom_up", merge="line"))


SHAPES = st.lists(
    st.tuples(st.integers(0, 40), st.one_of(st.integers(0, 50), st.integers(0, 2**45)), st.integers(0, 9)),
    max_size=60,
)
DEEP = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**40), st.integers(0, 9)), max_size=400).map(
    # a parent is a few nodes back: hundreds of calls deep, with branches all along
    lambda nodes: [(max(place - back, 0), size, count) for place, (back, size, count) in enumerate(nodes)]
)


@settings(deadline=None, max_examples=tries(200))
@given(st.one_of(SHAPES, DEEP), st.sampled_from(["value", "time"]), st.integers(1, 2000), st.data())
def test_widths_add_up_at_every_zoom(
    shape: list[tuple[int, int, int]], order: str, width: int, data: st.DataObject
) -> None:
    tree = made_tree(shape, order)
    views, places = [(0.0, 1.0)], laid_out(tree)
    if tree.total:
        node = data.draw(st.sampled_from(sorted(places)))
        left = places[node][0]
        begin, end = left / tree.total, (left + int(tree.inclusive[0, node])) / tree.total
        views += [(begin, min(end, 1.0))] if begin < end else []
        a, b = sorted((data.draw(st.floats(0, 1)), data.draw(st.floats(0, 1))))
        views += [(a, b)] if b - a > 1e-12 else []
    first_depth = data.draw(st.integers(0, max(3, tree.deepest)))
    for x0, x1 in views:
        check_picture(tree, x0, x1, width, first_depth, data.draw(st.integers(1, 500)))


def test_a_real_tree_at_zooms_into_every_box(opened: Callable[[Path], Snapshot], sample: Path) -> None:
    snapshot = opened(sample)
    for options in OPTIONS:
        tree = tree_of(snapshot, AllocationSet(0), "bytes", options)
        for node, (begin, _) in laid_out(tree).items():
            end = begin + int(tree.inclusive[0, node])
            check_picture(tree, begin / tree.total, min(end / tree.total, 1), 777, 0, 50)


@pytest.mark.slow
def test_thousands_of_thin_boxes_are_merged() -> None:
    shape = [(0, 10**8, 1)] + [(1, 1, 1)] * 10_000
    tree = made_tree(shape)
    found = Boxes(picture(tree, 0, 1, 0, 10, 1000).geometry)
    # together they are thinner than half a pixel, and the last row is invisible
    assert [box[6] for box in found.boxes] == [0, 1]
    begin = laid_out(tree)[1][0] / tree.total
    near = check_picture(tree, begin, begin + 20_000 / tree.total, 1000, 0, 10)
    more = [box for box in near.boxes if box[7] & 1]
    assert [(box[3], box[1]) for box in more] == [(10_000, 10_000)]
    close = check_picture(tree, begin, begin + 900 / tree.total, 1000, 0, 10)
    assert sum(box[6] == 2 for box in close.boxes) == 900


def test_search_marks_matches_and_the_boxes_merged_with_them() -> None:
    tree = made_tree([(0, 5, 1), (1, 10, 1), (2, 100, 1), (1, 40, 1)])
    found = Boxes(picture(tree, 0, 1, 0, 10, 1000, "F2").geometry)
    flags = {box[3]: box[7] for box in found.boxes}
    assert flags == {2**32 - 1: 4, 0: 4, 1: 4, 2: 2, 3: 0}
    assert (found.matched, found.matching, found.deepest) == (100, 1, 3)
    # a match that is too thin for a box marks the box that it was merged into, and counts even without a pixel
    tree = made_tree([(0, 10**9, 1), (0, 1, 1), (0, 1, 1)])
    for x0, thin in ((1 - 2e-6, []), (1 - 2e-7, [(2, 2, 5)]), (1 - 2e-8, [(1, 1, 0), (2, 1, 2)])):
        found = Boxes(picture(tree, x0, 1, 0, 10, 100, "f2").geometry)
        assert (found.matched, found.matching) == (1, 1)
        assert [(box[3], box[1], box[7]) for box in found.boxes if box[6] == 1][1:] == thin


def test_invalid_requests(opened: Callable[[Path], Snapshot], tmp_path: Path) -> None:
    snapshot = opened(write_snapshot(tmp_path / "a.pickle"))
    of = AllocationSet(0)
    tree = tree_of(snapshot, of, "bytes", FlameOptions())
    for question in (
        lambda: picture(tree, 0.5, 0.5, 0, 10, 100),
        lambda: picture(tree, -1, 0.5, 0, 10, 100),
        lambda: picture(tree, float("nan"), 1, 0, 10, 100),
        lambda: flame_tables.children(tree, len(tree.parents), 0, 10),
        lambda: flame_tables.children(tree, 0, 0, 0),
        lambda: flame_tables.details(snapshot, of, "bytes", FlameOptions(), -1),
        lambda: flame_tables.search(tree, ""),
        lambda: tree_of(snapshot, of, "bytes", FlameOptions(focus=10**6)),
        lambda: tree_of(snapshot, of, "bytes", FlameOptions(hide=(-1,))),
    ):
        with pytest.raises(MemlensError):
            question()


def test_an_empty_set_has_an_empty_picture(opened: Callable[[Path], Snapshot], tmp_path: Path) -> None:
    snapshot = opened(write_snapshot(tmp_path / "a.pickle"))
    tree = tree_of(snapshot, AllocationSet(0, from_moment=0), "bytes", FlameOptions())
    assert tree.total == 0
    assert Boxes(picture(tree, 0, 1, 0, 10, 100).geometry).boxes == []
    assert flame_tables.children(tree, 0, 0, 10).rows == []


@given(
    st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20),
    st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20),
)
def test_contradictory_stacks_are_rejected(parents: list[int], frames: list[int]) -> None:
    count = min(len(parents), len(frames))
    names = FrameNames(listed(("a.py", i, "f", 0) for i in range(3)))
    stacks = stacks_of_nodes(parents[:count], frames[:count], [[1, 1]] * (count - 1))
    sound = all(parents[i] < i and frames[i] < names.count for i in range(1, count))
    if sound:
        assert tree_of_stacks(stacks, names, FlameOptions()).total == count - 1
    else:
        with pytest.raises(ValueError, match="out of order"):
            tree_of_stacks(stacks, names, FlameOptions())


def test_the_order_of_boxes_is_the_order_of_their_rows() -> None:
    tree = made_tree([(0, 3, 1), (0, 2, 1), (1, 4, 1), (2, 5, 1)])
    rows = [list(group) for _, group in groupby(Boxes(picture(tree, 0, 1, 0, 9, 90).geometry).boxes,
                                                lambda box: box[6])]  # fmt: skip
    assert [[box[3] for box in row] for row in rows] == [[2**32 - 1], [0, 1], [2, 3]]


@pytest.mark.parametrize("names", [2, 9, 10, 7000])
def test_nodes_with_few_and_with_many_children_are_merged_alike(names: int) -> None:
    draw = np.random.default_rng(names)
    count = 20_000
    # every second node is below one of the first nodes, which thus have many children
    parents = np.array(
        [0, *(draw.integers(0, min(i, 5) if i % 2 else i) for i in range(1, count))], np.uint32
    )
    frames = draw.integers(0, names, count).astype(np.uint32)
    known: dict[tuple[int, int], int] = {}
    expected = [0]
    for parent, called in zip(parents[1:].tolist(), frames[1:].tolist(), strict=True):
        expected.append(known.setdefault((expected[parent], called), len(known) + 1))
    columns = np.empty((5, count), np.uint32)
    none = np.zeros(names, np.uint8)
    same = np.arange(names, dtype=np.uint32)
    nodes = kernel.merge(parents, frames, same, none, none, 0, kernel.NO_FOCUS, columns)
    merged, above, under, child, sibling = columns
    assert merged.tolist() == expected
    assert list(zip(above[1:nodes].tolist(), under[1:nodes].tolist(), strict=True)) == list(known)
    lists = np.empty(nodes, np.uint32), np.empty(nodes, np.uint32)
    kernel.families(above[:nodes], *lists)
    assert all((one == two[:nodes]).all() for one, two in zip(lists, (child, sibling), strict=True))
