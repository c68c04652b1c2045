"""What is attributed to a line or a function itself: the same in every view, and as computed from stacks."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from tests.python.archived import shown
from tests.python.conftest import real_profiles
from tests.python.counted import some
from tests.python.recordings import DHAT, GO, GO_DIFFERENCE, HEAPTRACK, MASSIF, PPROF, TRACEMALLOC
from tests.python.replays import pprof

from memlens.model.attribution import Attribution
from memlens.model.frames import NATIVE, USER
from memlens.model.languages import is_allocation_function, is_language_runtime, is_start_up
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameRow
from memlens.store.totals import stack_totals
from memlens.views.compare.rows import compare
from memlens.views.compare.sides import side_of
from memlens.views.flame import tables as flame_tables
from memlens.views.flame.calltree import CallTree, FlameOptions
from memlens.views.flame.graph import picture, tree_of
from memlens.views.flame.tables import children, details, functions
from memlens.views.lines.totals import line_values, source_lines, top_profile_lines
from memlens.views.naming.attribution import charged_frames
from memlens.views.selection.sets import AllocationSet
from memlens.views.tables.groups import Branch, groups

ROOT = Path(__file__).parents[2]
BOTH: tuple[Attribution, ...] = ("mine", "any")
LARGEST_BYTES = 300_000
ANOTHER = "go-heap-mid.pb.gz"
"""A later profile of the program of go-heap-base.pb.gz."""
OTHERS = (".raw.zst", "_oracle.json", ANOTHER, "_delta.pb.gz")
FILES = [
    *(each for each in PPROF if each != GO_DIFFERENCE),
    HEAPTRACK,
    DHAT,
    MASSIF,
    TRACEMALLOC,
    *(
        path
        for path in real_profiles(
            "pprof/*", "gperftools/*", "jemalloc/*", "massif/*", "dhat/*", "tracemalloc/*", "heaptrack/heaptrack.*",
            "public/parca/*", "public/flameshow/*.out",
        )
        if path.stat().st_size <= LARGEST_BYTES and not path.name.endswith(OTHERS)
    ),
]  # fmt: skip


@pytest.fixture(params=FILES, ids=lambda path: path.name)
def profile(request: pytest.FixtureRequest, looked_at: Callable[[Path], Snapshot]) -> Snapshot:
    """Every profile that is small enough to examine its stacks one by one."""
    return looked_at(request.param)


@lru_cache(maxsize=1 << 16)
def comes_last(file: str, function: str) -> int:
    """0 for a frame that says what it is; the others are charged only where a stack has none of a smaller number."""
    if is_allocation_function(function, file) or is_start_up(function):
        return 4
    if re.fullmatch(r"\?{0,2}|0x[0-9a-f]+", function):
        return 3
    at_address = re.fullmatch(r"(.* at )0x[0-9a-f]+", function) is not None
    if is_language_runtime(file):
        return 3 if at_address else 2
    return int(at_address)


class Plain:
    """A profile's stacks as lists of frames, innermost first, and the amounts of its default value."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.frames = list(snapshot.frames.each())
        self.last = [comes_last(file, function) for file, _, function, _ in self.frames]
        info = snapshot.profile
        self.value = info.default_value
        self.stacks: list[tuple[list[int], int]] = []
        sums: Counter[int] = Counter()
        amounts = snapshot.samples.value[self.value].tolist()
        for stack, amount in zip(snapshot.samples.stack.tolist(), amounts, strict=True):
            sums[stack] += amount
        for stack, amount in sums.items():
            self.stacks.append((snapshot.stack_frame_ids(stack), amount))

    def charged(self, ids: list[int], attribution: Attribution) -> int | None:
        """The position in the stack of the frame that it is attributed to."""

        def rank(number: int) -> int:
            kind = self.frames[number][3]
            last = 0 if kind == USER or (kind != NATIVE and self.last[number] < 4) else self.last[number]
            return last if attribution == "any" else NATIVE + last if last else kind

        return min(range(len(ids)), key=lambda place: (rank(ids[place]), place), default=None)

    def of_lines(self, attribution: Attribution) -> dict[tuple[str, int], int]:
        found: Counter[tuple[str, int]] = Counter()
        for ids, amount in self.stacks:
            place = self.charged(ids, attribution)
            if place is not None:
                file, line, _, kind = self.frames[ids[place]]
                if kind != NATIVE and line > 0:
                    found[file, line] += amount
        return {key: amount for key, amount in found.items() if amount}


def test_lines_have_the_same_self_values_everywhere(profile: Snapshot) -> None:
    plain = Plain(profile)
    for attribution in BOTH:
        check_lines(profile, plain, attribution)


def check_lines(profile: Snapshot, plain: Plain, attribution: Attribution) -> None:
    of = AllocationSet(0, value=plain.value)
    expected = plain.of_lines(attribution)
    branch = Branch(of, ["line"], attribution=attribution)
    hot = groups(profile, branch, "bytes", 0, 1000, descending=True)
    found: dict[tuple[str, int], int] = {}
    for row in hot.rows:
        if row.place is not None and row.bytes:
            found[row.place.file, row.place.line] = row.bytes
        if row.place is not None:
            assert ("library" in row.detail.text.split(", ")) == (row.place.kind == "library"), row
    if hot.groups <= 1000:
        assert found == expected
        assert sum(row.bytes for row in hot.rows) == hot.bytes == sum(amount for _, amount in plain.stacks)
    assert found.items() <= expected.items()
    # the figures of hovers, the heat of lines and the command line
    hovered = {
        (file, line): value.itself
        for file in {file for file, _ in expected}
        for line, values in line_values(profile, file, attribution).items()
        for value in values
        if value.value == plain.value and value.itself
    }
    assert hovered == expected
    listed = top_profile_lines(profile, plain.value, None, attribution)
    assert {(row.file, row.line): row.itself for row in listed if row.itself} == expected
    # the figures of a comparison with nothing
    after = side_of(profile, of, attribution)
    before = side_of(profile, AllocationSet(0, value=plain.value, filter="stack:999999999"))
    compared: Counter[tuple[str, int]] = Counter()
    for each in compare(before, after, "line").answer("own", "", "name", 0, 1000).rows:
        if each.after is not None and each.after.kind != "native" and each.after.line:
            compared[each.after.file, each.after.line] += each.difference_bytes
    if len(compared) < 900:
        assert {key: amount for key, amount in compared.items() if amount} == expected
    # and those of a hot spot's filter
    for row in hot.rows[:5]:
        if row.filter and row.place is not None:
            of_row = Branch(of, ["line"], [], row.filter, attribution)
            narrowed = groups(profile, of_row, "bytes", 0, 9, descending=True)
            assert [(each.key, each.bytes) for each in narrowed.rows] == [(row.key, row.bytes)]


def plain_stacks(message: pprof.Message) -> list[list[tuple[str, str, int]]]:
    """The stacks of a decoded profile, as memlens shows their frames."""
    return [[shown(frame)[:3] for frame in stack] for stack in pprof.stacks_of(message)]


def name_of(frame: FrameRow) -> tuple[str, str]:
    return frame[0], frame[2]


def paths_of(tree: CallTree, values: Any) -> dict[tuple[Any, ...], int]:
    paths: list[tuple[Any, ...]] = [()]
    numbers, parents = tree.name.tolist(), tree.parents.tolist()
    different = sorted(set(numbers[1:]))
    names = {
        number: (name.file, name.function)
        for number, name in zip(different, tree.names.names(different), strict=True)
    }
    for node in range(1, len(tree)):
        paths.append((*paths[parents[node]], names[numbers[node]]))
    return {path: int(value) for path, value in zip(paths, values[0].tolist(), strict=True) if value}


def test_self_values_of_boxes_and_functions_are_what_is_attributed_to_them(profile: Snapshot) -> None:
    plain = Plain(profile)
    for attribution in BOTH:
        check_boxes(profile, plain, attribution)


def check_boxes(profile: Snapshot, plain: Plain, attribution: Attribution) -> None:
    of = AllocationSet(0, value=plain.value)
    by_name: dict[str, dict[Any, int]] = {}
    for direction in ("top_down", "bottom_up"):
        options = FlameOptions(direction=direction)
        tree = tree_of(profile, of, "bytes", options)
        expected: Counter[tuple[Any, ...]] = Counter()
        for ids, amount in plain.stacks:
            place = plain.charged(ids, attribution)
            names = [name_of(plain.frames[number]) for number in ids]
            if place is None:
                expected[(("", "no stack recorded"),)] += amount
            else:
                way = names[place:][::-1] if direction == "top_down" else names[: place + 1]
                expected[tuple(way)] += amount
        own = tree.own(attribution)
        assert paths_of(tree, own) == {path: amount for path, amount in expected.items() if amount}
        assert int(own[0].sum()) == tree.total
        first = children(tree, 0, 0, 20, attribution).rows
        # one of the files has no samples
        assert bool(first) == bool(plain.stacks)
        for row in first:
            assert row.self_bytes == int(own[0, row.node])
            # the innermost frame of a stack has all of it
            passed = row.name.kind != "user" and comes_last(row.name.file, row.name.function)
            if direction == "bottom_up" and attribution == "any" and not passed:
                assert row.self_bytes == row.bytes
                assert (
                    details(profile, of, "bytes", options, row.node, "any").function_self_bytes >= row.bytes
                )
        sums: dict[Any, int] = defaultdict(int)
        for path, amount in expected.items():
            sums[path[-1]] += amount
        reported = functions(tree, "self", 0, 1000, attribution)
        by_name[direction] = {
            (row.name.file, row.name.function): row.self_bytes for row in reported.rows if row.self_bytes
        }
        if reported.functions <= 1000:
            assert by_name[direction] == {name: amount for name, amount in sums.items() if amount}
    if len(by_name["top_down"]) < 1000:
        assert by_name["top_down"] == by_name["bottom_up"]


@pytest.mark.parametrize(
    "path", [GO, *real_profiles("pprof/go-heap.pb.gz", "pprof/go-allocs.pb.gz")], ids=lambda p: p.name
)
def test_any_code_of_go_equals_flat_in_pprof(path: Path, looked_at: Callable[[Path], Snapshot]) -> None:
    message = pprof.message_of(path)
    types = [message["string_table"][each["type"]] for each in message["sample_type"]]
    snapshot = looked_at(path)
    for number, value in enumerate(snapshot.profile.values):
        column = types.index(value.name)
        flat: Counter[tuple[str, str]] = Counter()
        for stack, each in zip(plain_stacks(message), message["sample"], strict=True):
            flat[stack[0][:2]] += each["value"][column]
        of = AllocationSet(0, value=number)
        tree = tree_of(snapshot, of, "bytes", FlameOptions())
        rows = functions(tree, "self", 0, 1000, "any").rows
        wanted = {name: amount for name, amount in flat.items() if amount}
        assert {
            (row.name.function, row.name.file): row.self_bytes for row in rows if row.self_bytes
        } == wanted
        branch = Branch(of, ["function"], attribution="any")
        hot = groups(snapshot, branch, "bytes", 0, 1000, descending=True)
        by_function: Counter[str] = Counter()
        for (function, _), amount in wanted.items():
            by_function[function] += amount
        found: Counter[str] = Counter()
        for row in hot.rows:
            found[row.name.text] += row.bytes
        assert +found == by_function


def test_a_trace_is_attributed_to_lines_of_python(opened: Callable[[Path], Snapshot], sample: Path) -> None:
    """C++ is skipped if there is Python, since every stack ends in the device's allocator."""
    snapshot = opened(sample)
    rows = list(snapshot.frames.each())
    device = snapshot.device(0)
    stacks = [
        [rows[number] for number in snapshot.stack_frame_ids(stack)]
        for stack in range(len(snapshot.stacks.node))
    ]
    everything = AllocationSet(0, "live", 0, device.info.events)
    for attribution in BOTH:
        expected: Counter[tuple[str, int]] = Counter()
        for stack, size in zip(device.stack.tolist(), device.size.tolist(), strict=True):
            frames = stacks[stack]
            kinds = (USER,) if attribution == "mine" and any(row[3] == USER for row in frames) else (0, 1)
            place = next((row for row in frames if row[3] in kinds), None)
            if place is not None:
                expected[place[0], place[1]] += size
        files = {file for file, _ in expected}
        found = {
            (row.file, row.line): row.self_total_bytes
            for file in files
            for row in source_lines(snapshot, file, attribution)
        }
        assert {place: size for place, size in found.items() if size} == dict(expected)
        branch = Branch(everything, ["line"], attribution=attribution)
        hot = groups(snapshot, branch, "bytes", 0, 1000, descending=True)
        reported = {
            (row.place.file, row.place.line): row.bytes
            for row in hot.rows
            if row.place is not None and row.place.source == "recorded"
        }
        assert reported == dict(expected)
        for row in some((row for row in hot.rows[:5] if row.filter), 3):
            of_row = Branch(everything, ["line"], [], row.filter, attribution)
            assert groups(snapshot, of_row, "bytes", 0, 9, descending=True).bytes == row.bytes


def test_largest_is_a_block_if_sizes_are_known_else_a_stack(profile: Snapshot) -> None:
    info = profile.profile
    stacks = profile.samples.stack.tolist()
    for number, value in enumerate(info.values):
        amounts = profile.samples.value[number].tolist()
        of = AllocationSet(0, value=number)
        answer = groups(profile, Branch(of, ["package"]), "largest", 0, 1000, descending=True)
        assert answer.largest == ("block" if info.has_sizes and value.unit == "bytes" else "stack")
        shown = [row.largest_bytes or 0 for row in answer.rows]
        assert shown == sorted(shown, reverse=True)
        if answer.largest == "block":
            sizes = profile.samples.size.tolist()
            counts = [0] * len(sizes) if value.count is None else profile.samples.value[value.count].tolist()
            largest: dict[int, int] = {}
            unknown: set[int] = set()
            for stack, size, amount, many in zip(stacks, sizes, amounts, counts, strict=True):
                if amount or many:
                    largest[stack] = max(largest.get(stack, 0), size)
                if amount and not size:
                    unknown.add(stack)
            by_stack = groups(profile, Branch(of, ["stack"]), "largest", 0, 1000, descending=True)
            expected = sorted((size for stack, size in largest.items() if stack not in unknown), reverse=True)
            assert [row.largest_bytes for row in by_stack.rows if row.largest_bytes] == expected[:1000]
        else:
            sums: Counter[int] = Counter()
            for stack, amount in zip(stacks, amounts, strict=True):
                sums[stack] += amount
            counted = {stack for stack in sums if sums[stack]}
            assert not shown or max(shown) == max((sums[stack] for stack in counted), default=0)


DELTAS = [GO_DIFFERENCE, *real_profiles("public/parca/alloc_space_delta.pb.gz")]


@pytest.mark.parametrize("path", DELTAS, ids=lambda path: path.name)
@pytest.mark.parametrize("direction", ["top_down", "bottom_up"])
def test_no_negative_value_is_missing_from_a_flame_graph(
    path: Path, direction: Any, looked_at: Callable[[Path], Snapshot]
) -> None:
    message = pprof.message_of(path)
    snapshot = looked_at(path)
    seen = 0
    for number, value in enumerate(snapshot.profile.values):
        amounts = [sample["value"][number] for sample in message["sample"]]
        if not value.negative:
            continue
        seen += sum(amount < 0 for amount in amounts)
        tree = tree_of(snapshot, AllocationSet(0, value=number), "bytes", FlameOptions(direction=direction))
        less = Counter[tuple[Any, ...]]()
        more = Counter[tuple[Any, ...]]()
        for stack, amount in zip(plain_stacks(message), amounts, strict=True):
            names = [(file, function) for function, file, _ in stack]
            way = names if direction == "bottom_up" else names[::-1]
            for length in range(len(way) + 1):
                (more if amount > 0 else less)[tuple(way[:length])] += abs(amount)
        assert paths_of(tree, tree.inclusive[2:]) == dict(+less)
        assert paths_of(tree, tree.inclusive[4:]) == dict(+more)
        assert paths_of(tree, tree.inclusive) == dict(+(less + more))
        # the net value equals the totals
        whole = flame_tables.whole(tree)
        assert whole is not None
        assert whole.after_bytes - whole.before_bytes == value.total == sum(amounts)
        for attribution in BOTH:
            own = tree.own(attribution)
            assert (own.sum(axis=1) == tree.inclusive[:, 0]).all()
        assert picture(tree, 0, 1, 0, 100, 1000).geometry[12] & 2
    assert seen > 100


# calls of a stripped library below main, as heaptrack and massif record them
STRIPPED = """desc: --massif-out-file=x
cmd: ./prog
time_unit: B
#-----------
snapshot=0
#-----------
time=100
mem_heap_B=100
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=detailed
n2: 100 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n1: 90 0x1111: ??? (in /usr/lib/libsqlite3.so.0.8.6)
  n1: 90 0x2222: {inner}
   n0: 90 0x3333: {outer}
 n0: 10 0x4444: {outer}
"""
STARTS = [
    (
        "__libc_start_call_main (libc_start_call_main.h:58)",
        "__libc_start_main@@GLIBC_2.34 (libc-start.c:360)",
    ),
    ("start_thread (pthread_create.c:442)", "clone3 (clone3.S:81)"),
    ("call_init (dl-init.c:74)", "_dl_init (dl-init.c:121)"),
]


@pytest.mark.parametrize(("inner", "outer"), STARTS)
@pytest.mark.parametrize("attribution", ["mine", "any"])
def test_startup_code_is_used_only_without_other_frames(
    opened: Callable[[Path], Snapshot], tmp_path: Path, inner: str, outer: str, attribution: Attribution
) -> None:
    path = tmp_path / "massif.out.1"
    path.write_text(STRIPPED.format(inner=inner, outer=outer), encoding="ascii")
    snapshot = opened(path)
    charged = {}
    for frame, amount in zip(
        charged_frames(snapshot, attribution).tolist(), stack_totals(snapshot)[:, 2].tolist(), strict=True
    ):
        if amount:
            file, line, _, _ = snapshot.frames.rows([frame])[frame]
            charged[file, line] = amount
    alone = outer.partition("(")[2].rstrip(")").split(":")
    assert charged == {("/usr/lib/libsqlite3.so.0.8.6", 0): 90, (alone[0], int(alone[1])): 10}


@pytest.mark.parametrize("attribution", ["mine", "any"])
def test_a_function_without_a_name_is_charged_only_where_no_caller_has_one(
    opened: Callable[[Path], Snapshot], tmp_path: Path, attribution: Attribution
) -> None:
    path = tmp_path / "massif.out.1"
    named = "sqlite3BtreeInsert (in /usr/lib/libsqlite3.so.0.8.6)"
    path.write_text(STRIPPED.format(inner=named, outer="??? (in /usr/bin/sqlite3)"), encoding="ascii")
    snapshot = opened(path)
    charged = {
        snapshot.frames.rows([frame])[frame][2]: amount
        for frame, amount in zip(
            charged_frames(snapshot, attribution).tolist(), stack_totals(snapshot)[:, 2].tolist(), strict=True
        )
        if amount
    }
    assert charged == {"sqlite3BtreeInsert": 90, "sqlite3 at 0x4444": 10}


@pytest.mark.parametrize("attribution", ["mine", "any"])
@pytest.mark.parametrize(
    ("inner", "outer", "charged_to"),
    [
        ("sqlite3Malloc (in /usr/lib/libsqlite3.so)", "??? (in /usr/bin/app)", "libsqlite3.so.0.8.6 at 0x1111"),
        ("std::string::f() (in /usr/lib/libstdc++.so.6)", "??? (in /bin/app)", "libsqlite3.so.0.8.6 at 0x1111"),
        ("xmalloc (in /usr/bin/app)", "main (in /usr/bin/app)", "main"),
    ],
)  # fmt: skip
def test_allocators_and_the_language_s_own_library_are_charged_last(
    opened: Callable[[Path], Snapshot], tmp_path: Path, inner: str, outer: str, charged_to: str,
    attribution: Attribution,
) -> None:  # fmt: skip
    path = tmp_path / "massif.out.1"
    path.write_text(STRIPPED.format(inner=inner, outer=outer), encoding="ascii")
    snapshot = opened(path)
    frames = charged_frames(snapshot, attribution).tolist()
    totals = stack_totals(snapshot)[:, 2].tolist()
    names = {
        amount: snapshot.frames.rows([frame])[frame][2]
        for frame, amount in zip(frames, totals, strict=True)
        if amount
    }
    assert names[90] == charged_to
