"""Views of profiles against every sample: sets, filters, trees, groups, sizes, times, SQL, lines, comparisons."""

import base64
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fuzz.questions import ask_everything
from tests.python.conftest import real_profiles
from tests.python.profile_reading import FIXTURES
from tests.python.recordings import GO
from tests.python.replays.pprof import message_of
from tests.python.test_profile_model import archived, random_profile

from memlens.cli import main
from memlens.errors import BadRequestError
from memlens.model.frames import USER, Frames, SourceFrame, package_of
from memlens.model.info import ValueType
from memlens.model.profile import CHANGE_DTYPE, LABEL_DTYPE, Profile, ProfileTimes
from memlens.packs.go.tests import pprof_files
from memlens.store.snapshot import Snapshot
from memlens.store.tables.fill import fill
from memlens.texts import Text
from memlens.views.compare.rows import compare
from memlens.views.compare.sides import side_of
from memlens.views.flame import graph as flame
from memlens.views.flame import tables as flame_tables
from memlens.views.flame.calltree import FlameOptions
from memlens.views.flame.tables import FlameSides
from memlens.views.lines.totals import line, line_values, top_profile_lines
from memlens.views.profile import times as profile_times
from memlens.views.selection.items import items_of
from memlens.views.selection.profile_sets import value_named
from memlens.views.selection.sets import AllocationSet, SetKind
from memlens.views.sql.query import SqlSession
from memlens.views.tables.groupings import GroupKind
from memlens.views.tables.groups import Branch, Group, groups, members

BINS = 6


def whole_profile(seed: int) -> tuple[Profile, list[list[int]]]:
    """A profile with everything: labels, sizes, times."""
    chance = random.Random(seed)
    profile, stacks_of = random_profile(seed, as_tree=bool(seed % 2))
    count = len(profile.stacks)
    profile.values[2] = np.abs(profile.values[2])
    profile.strings = {1: "thread", 2: "main", 3: "worker", 4: "request", 5: "bytes"}
    labels = [(n, 1, chance.choice((2, 3)), 0, 0) for n in range(count) if chance.random() < 0.8]
    labels += [(n, 4, 0, chance.randrange(3), 5) for n in range(count) if chance.random() < 0.3]
    profile.labels = np.array(labels, LABEL_DTYPE)
    profile.sizes = np.array([chance.choice((0, 1, 8, 9, 100, 4096)) for _ in range(count)], np.int64)
    rows: list[tuple[int, int, int, int, int]] = []
    offsets = [0]
    for _ in range(BINS + 1):
        rows += [
            (chance.randrange(count), chance.randrange(1000), chance.randrange(500), chance.randrange(9), 1)
            for _ in range(30)
        ]
        offsets.append(len(rows))
    changes = np.array(rows, CHANGE_DTYPE)
    edges = np.arange(BINS + 1, dtype=np.int64) * 1000
    profile.times = ProfileTimes(edges, {"live_bytes": edges * 3, "temporary": edges}, edges * 4,
                                 np.array(offsets, np.uint64), changes)  # fmt: skip
    return profile, stacks_of


@pytest.fixture(params=range(4))
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    profile, stacks_of = whole_profile(request.param)
    snapshot = archived(profile, tmp_path / "archive")
    yield profile, stacks_of, snapshot
    snapshot.close()


def expected(profile: Profile, of: AllocationSet) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Amounts and counts of every sample, by adding up row by row."""
    count = len(profile.stacks)
    if of.from_moment is None:
        value = profile.default_value if of.value is None else of.value
        counts = profile.values[0] if value == 1 else np.ones(count, np.int64)
        return profile.values[value], counts
    times = profile.times
    assert times is not None
    sums: dict[str, Counter[tuple[int, str]]] = {"before": Counter(), "in": Counter()}
    for edge in range(BINS + 1):
        for row in times.changes[int(times.change_offsets[edge]) : int(times.change_offsets[edge + 1])]:
            sample, *figures = row.tolist()
            for name, figure in zip(("a", "f", "ac", "fc"), figures, strict=True):
                if edge <= of.from_moment:
                    sums["before"][sample, name] += figure
                elif of.to_moment is not None and edge <= of.to_moment:
                    sums["in"][sample, name] += figure
    columns = []
    for a, f in (("a", "f"), ("ac", "fc")):
        live = [sums["before"][n, a] - sums["before"][n, f] for n in range(count)]
        came = [sums["in"][n, a] for n in range(count)]
        went = [sums["in"][n, f] for n in range(count)]
        column = {
            "live": live if of.to_moment is None else [x + y for x, y in zip(live, came, strict=True)],
            "allocated": came,
            "freed": went,
            "survived": [max(x - y, 0) for x, y in zip(came, went, strict=True)],
        }[of.kind]
        columns.append(np.array(column, np.int64))
    return columns[0], columns[1]


KINDS_OF_SAMPLES: list[GroupKind] = [
    "line",
    "function",
    "file",
    "package",
    "stack",
    "thread",
    "label",
    "size",
]
KINDS: tuple[SetKind, ...] = ("live", "allocated", "freed", "survived")
SETS = [AllocationSet(0, value=value) for value in (None, 0, 1, 2)] + [
    *(AllocationSet(0, kind, 1, 4) for kind in KINDS), AllocationSet(0, "live", 3, None),
]  # fmt: skip


def test_sets_are_sums_of_their_samples(made: tuple[Profile, Any, Snapshot]) -> None:
    profile, _, snapshot = made
    for of in SETS:
        amounts, counts = expected(profile, of)
        found = items_of(snapshot, of)
        if of.from_moment is None and of.value == 0:
            counts = np.ones(len(amounts), np.int64)
        inside = np.zeros(len(amounts), bool)
        inside[found.rows] = True
        assert np.array_equal(found.values, (amounts[inside], counts[inside])), of
        assert not amounts[~inside].any()


def test_filters_match_samples(made: tuple[Profile, list[list[int]], Snapshot]) -> None:
    profile, stacks_of, snapshot = made
    frames = profile.frames.frames
    labels: dict[int, list[str]] = {}
    for sample, key, text, number, _ in profile.labels.tolist():
        value = profile.strings[text] if text else str(number)
        labels.setdefault(sample, []).append(f"{profile.strings[key]}:{value}")
    assert profile.sizes is not None
    of_sizes = profile.sizes.tolist()
    tests: dict[str, Callable[[int], bool]] = {
        "file:a.cc": lambda n: any(frames[f].file == "a.cc" for f in stacks_of[n]),
        "file:b.cc:2": lambda n: any((frames[f].file, frames[f].line) == ("b.cc", 2) for f in stacks_of[n]),
        "-function:=f5": lambda n: all(frames[f].function != "f5" for f in stacks_of[n]),
        "label:thread:worker": lambda n: "thread:worker" in labels.get(n, []),
        "label:=request:1 size>8": lambda n: "request:1" in labels.get(n, []) and of_sizes[n] > 8,
        "is:native": lambda n: bool(stacks_of[n]) and all(frames[f].kind == 2 for f in stacks_of[n]),
        "stack:0": lambda n: not stacks_of[n],
    }
    for text, fits in tests.items():
        found = items_of(snapshot, AllocationSet(0, filter=text, value=1)).rows.tolist()
        reported = np.flatnonzero((profile.values[1] != 0) | (profile.values[0] != 0)).tolist()
        assert found == [n for n in reported if fits(n)], text
    for text in ("module:x", "life>1s", "pool:1", "category:x", "is:freed"):
        with pytest.raises(BadRequestError, match="a profile doesn't record that"):
            items_of(snapshot, AllocationSet(0, filter=text))


def test_trees_are_sums_of_the_samples(made: tuple[Profile, list[list[int]], Snapshot]) -> None:
    profile, stacks_of, snapshot = made
    frames = profile.frames.frames
    for of in (AllocationSet(0, value=1), AllocationSet(0, "allocated", 1, 4), AllocationSet(0, value=2)):
        amounts, _ = expected(profile, of)
        tree = flame.tree_of(snapshot, of, "bytes", FlameOptions())
        assert tree.total == int(amounts.sum())
        total: Counter[tuple[str, str]] = Counter()
        own: Counter[tuple[str, str]] = Counter()
        for sample, stack in enumerate(stacks_of):
            names = [(frames[f].file, frames[f].function) for f in stack]
            for name in set(names):
                total[name] += int(amounts[sample])
            if names:
                own[names[0]] += int(amounts[sample])
        answer = flame_tables.functions(tree, "inclusive", 0, 1000, "any")
        reported = {(row.name.file, row.name.function): (row.bytes, row.self_bytes) for row in answer.rows}
        reported.pop(("", "no stack recorded"), None)
        assert reported == {name: (number, own[name]) for name, number in total.items() if number > 0}
        first = tree.children(0)[0]
        node = flame_tables.details(snapshot, of, "bytes", FlameOptions(), int(first))
        assert node.stacks
        assert node.node.bytes == int(tree.inclusive[0, first])


def test_groups_add_up_and_their_filters_match_them(made: tuple[Profile, list[list[int]], Snapshot]) -> None:
    profile, stacks_of, snapshot = made
    frames = profile.frames.frames
    of = AllocationSet(0, value=1)
    for kind in KINDS_OF_SAMPLES:
        found = groups(snapshot, Branch(of, [kind, "line"]), "bytes", 0, 1000, descending=True)
        assert sum(group.bytes for group in found.rows) == found.bytes == int(profile.values[1].sum())
        assert sum(group.count or 0 for group in found.rows) == found.count == int(profile.values[0].sum())
        assert [g.bytes for g in found.rows] == sorted((g.bytes for g in found.rows), reverse=True)
        for group in found.rows:
            below = groups(
                snapshot, Branch(of, [kind, "line"], [group.key]), "name", 0, 1000, descending=False
            )
            assert (below.bytes, below.count) == (group.bytes, group.count)
            if group.filter:
                narrow = groups(
                    snapshot, Branch(of, [kind], [], group.filter), "bytes", 0, 10, descending=True
                )
                fits: list[Group] = [each for each in narrow.rows if each.key == group.key]
                assert [(each.bytes, each.count) for each in fits] == [(group.bytes, group.count)]
                assert len(narrow.rows) == 1 or kind == "label"
    threads = groups(snapshot, Branch(of, ["thread"]), "bytes", 0, 1000, descending=True)
    wanted: Counter[str] = Counter()
    reported = {
        sample: profile.strings[text] for sample, key, text, _, _ in profile.labels.tolist() if key == 1
    }
    for sample, amount in enumerate(profile.values[1].tolist()):
        wanted[reported.get(sample, "No thread in the file")] += amount
    assert {group.name.text: group.bytes for group in threads.rows} == wanted
    packages = groups(snapshot, Branch(of, ["package"]), "bytes", 0, 1000, descending=True)
    wanted = Counter()
    for stack, amount in zip(stacks_of, profile.values[1].tolist(), strict=True):
        leaf = frames[stack[0]] if stack else None
        name = "No stack in the file" if leaf is None else package_of(leaf.file, leaf.function, leaf.kind)
        wanted[name or "Your code"] += amount
    assert {group.name.text: group.bytes for group in packages.rows} == {k: v for k, v in wanted.items() if v}
    others: list[GroupKind] = ["module", "pool", "stream", "category"]
    for kind in others:
        with pytest.raises(BadRequestError, match="can't be grouped"):
            groups(snapshot, Branch(of, [kind]), "bytes", 0, 10, descending=True)
    with pytest.raises(BadRequestError, match="no individual allocations"):
        members(snapshot, Branch(of, []), "size", 0, 10, descending=True)


def test_times_and_the_ranges_between_them(made: tuple[Profile, Any, Snapshot]) -> None:
    profile, _, snapshot = made
    assert profile.times is not None
    answer = profile_times.times(snapshot)
    edges = np.frombuffer(base64.b64decode(answer.edges), "<f8")
    assert edges.tolist() == profile.times.time_us.tolist()
    assert {each.name: each.within for each in answer.series} == {"live_bytes": False, "temporary": True}
    assert (answer.peak_edge, answer.peak_bytes) == (BINS, 4000 * BINS)
    for text in ("", "file:a.cc"):
        between = profile_times.between(snapshot, 4, 1, text)
        inside = items_of(snapshot, AllocationSet(0, "allocated", 1, 4, text))
        freed = items_of(snapshot, AllocationSet(0, "freed", 1, 4, text))
        assert between.allocated_bytes == int(inside.values[0].sum())
        assert between.freed_count == int(freed.values[1].sum())
        after = between.live_before_bytes + between.allocated_bytes - between.freed_bytes
        assert between.live_after_bytes == after
    with pytest.raises(BadRequestError, match="no edge"):
        profile_times.between(snapshot, 0, BINS + 1, "")


def test_lines_and_tables_agree(made: tuple[Profile, Any, Snapshot]) -> None:
    profile, _, snapshot = made
    fill(snapshot, lambda *_: None)
    session = SqlSession(Snapshot.open(snapshot.archive))

    def asked(query: str) -> list[tuple[Any, ...]]:
        return list(session.stream(query)[1])

    assert dict(asked('SELECT name, sum(amount) FROM "values" GROUP BY 1')) == {
        kind.name: int(column.sum()) for kind, column in zip(profile.value_types, profile.values, strict=True)
    }
    assert asked("SELECT count(*) FROM samples") == [(len(profile.stacks),)]
    assert asked("SELECT count(*) FROM labels") == [(len(profile.labels),)]
    assert profile.sizes is not None
    assert asked("SELECT count(size_bytes) FROM samples") == [(np.count_nonzero(profile.sizes),)]
    for row in top_profile_lines(snapshot, 1, 5):
        file = row.file.replace("'", "''")
        query = (
            "SELECT sum(amount) FROM sample_values JOIN samples USING (sample) WHERE value = 1 AND stack IN (SELECT "
            f"stack FROM stack_frames JOIN frames USING (frame) WHERE file = '{file}' AND line = {row.line})"
        )
        assert asked(query) == [(row.total,)]
        reported = line(snapshot, row.file, row.line)
        assert reported.totals.total_bytes == row.total
    session.close()


def test_profiles_are_compared(tmp_path: Path) -> None:
    sides = []
    for seed in (2, 3):
        profile, _ = whole_profile(seed)
        snapshot = archived(profile, tmp_path / str(seed))
        sides.append((profile, side_of(snapshot, AllocationSet(0, value=1))))
        snapshot.close()
    (before, first), (after, second) = sides
    total = compare(first, second).answer("own", "", "difference", 0, 1000).total
    assert (total.before_bytes, total.after_bytes) == (
        int(before.values[1].sum()),
        int(after.values[1].sum()),
    )


def test_negative_values_are_counted_or_left_out_as_the_warning_says(
    tmp_path: Path, opened: Callable[[Path], Snapshot]
) -> None:
    builder = pprof_files.Builder(("inuse_space", "bytes"))
    one, two, less = (
        builder.location((name, "/a/x.c", line)) for name, line in (("f", 1), ("g", 2), ("h", 3))
    )
    for place, value in ((one, 100), (one, -30), (two, 50), (less, -20)):
        builder.sample([place], value)
    path = tmp_path / "delta.pb"
    path.write_bytes(builder.bytes())
    snapshot = opened(path)
    (warning,) = [each.message for each in snapshot.info.warnings if each.code == "negative"]
    assert warning.startswith("2 values are negative.")
    by_line = Branch(AllocationSet(0), ["line"])
    counted = {
        "totals": snapshot.profile.values[0].total,
        "tables of allocations": groups(snapshot, by_line, "bytes", 0, 9, descending=True).bytes,
        "hot spots": sum(row.bytes for row in groups(snapshot, by_line, "bytes", 0, 9, descending=True).rows),
        "source lines": sum(row.itself for each in line_values(snapshot, "/a/x.c").values() for row in each),
        "comparisons": int(side_of(snapshot, AllocationSet(0)).stacks.values[0].sum()),
    }
    assert counted == dict.fromkeys(counted, 100)
    tree = flame.tree_of(snapshot, AllocationSet(0), "bytes", FlameOptions())
    assert tree.total == 200
    assert flame_tables.whole(tree) == FlameSides(50, 2, 150, 2)
    reported = flame_tables.functions(tree, "inclusive", 0, 9).rows
    assert {row.name.function: row.self_sides for row in reported} == {
        "f": FlameSides(30, 1, 100, 1), "g": FlameSides(0, 0, 50, 1), "h": FlameSides(20, 1, 0, 0),
    }  # fmt: skip
    for word in (*counted, "flame graphs", "tables of functions"):
        assert word in warning


def test_allocations_are_not_attributed_to_allocation_functions(
    tmp_path: Path, opened: Callable[[Path], Snapshot]
) -> None:
    builder = pprof_files.Builder(("inuse_space", "bytes"))
    malloc = builder.location(("malloc", "./malloc/malloc.c", 3301))
    new = builder.location(("operator new(unsigned long, std::align_val_t)", "", 0))
    copy = builder.location(("__strdup", "./string/strdup.c", 42))
    read, own = builder.location(("reads_all", "", 0)), builder.location(("malloc", "/home/me/own.c", 5))
    for stack in ([malloc, new, read], [malloc, own], [malloc, new], [copy, read]):
        builder.sample(stack, 10)
    path = tmp_path / "booked.pb"
    path.write_bytes(builder.bytes())
    rows = groups(opened(path), Branch(AllocationSet(0), ["function"]), "name", 0, 9, descending=False).rows
    found = sorted((row.name.text, row.place.file if row.place else "", row.bytes) for row in rows)
    # without other frames the innermost one is used nevertheless
    assert found == [
        ("__strdup", "./string/strdup.c", 10), ("malloc", "./malloc/malloc.c", 10), ("malloc", "/home/me/own.c", 10),
        ("reads_all", "", 10),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [FIXTURES / "ledger.dhat.json", *real_profiles("dhat/dhat.out.git-log.json")],
    ids=lambda path: path.name,
)
def test_dhats_own_functions_are_not_hot_spots(path: Path, opened: Callable[[Path], Snapshot]) -> None:
    rows = groups(opened(path), Branch(AllocationSet(0), ["function"]), "bytes", 0, 500, descending=True).rows
    assert rows
    assert not [row for row in rows if "vgpreload" in row.detail.text]
    packages = groups(opened(path), Branch(AllocationSet(0), ["package"]), "bytes", 0, 50, descending=True)
    assert not [row for row in packages.rows if "vgpreload" in row.name.text]
    assert packages.bytes == sum(row.bytes for row in packages.rows) > 0


@pytest.mark.parametrize(("name", "counted"), [("massif.out.ledger", False), ("service.heaptrack.zst", True)])
def test_counts_that_are_not_known_are_not_shown_as_zero(
    name: str, counted: bool, opened: Callable[[Path], Snapshot]
) -> None:
    snapshot = opened(FIXTURES / name)
    last = snapshot.profile.bins
    for of in (AllocationSet(0, "allocated", 0, last), AllocationSet(0, "live", 0, last)):
        answer = groups(snapshot, Branch(of, ["line"]), "bytes", 0, 9, descending=True)
        assert answer.bytes > 0
        for number in (answer.count, answer.set_count, *(row.count for row in answer.rows)):
            assert (number is not None) == counted
            assert number is None or number > 0
    reported = profile_times.between(snapshot, 0, last, "")
    assert reported.allocated_bytes > 0
    assert (reported.allocated_count is not None, reported.freed_count is not None) == (counted, counted)


WORDS = {
    "service.heaptrack.zst": {
        "live": "peak_bytes", "peak": "peak_bytes", "total": "total_bytes", "count": "total_count",
        "temporary": "temporary_count", "leaked": "leaked_bytes", "3": "leaked_count",
    },
    "go-heap.debug1.txt": {"live": "inuse_space", "total": "alloc_space", "count": "alloc_objects"},
    "tracemalloc.pickle": {"live": "size", "count": "count"},
    "massif.out.ledger": {"peak": "peak_bytes"},
    "ledger.dhat.json": {
        "live": "peak_bytes", "peak": "peak_bytes", "total": "total_bytes", "count": "total_blocks",
        "leaked": "end_bytes",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_values_can_be_named_by_words(
    name: str, opened: Callable[[Path], Snapshot], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = FIXTURES / name
    profile = opened(path).profile
    names = [value.name for value in profile.values]
    for word, meant in WORDS[name].items():
        assert profile.values[value_named(profile, word)].name == meant
    for word in {"live", "peak", "total", "count", "temporary", "leaked"} - WORDS[name].keys():
        if (name, word) == ("massif.out.ledger", "live"):
            continue
        assert main(["flame", str(path), "--value", word, "--cache-dir", str(tmp_path)]) == 1
        reported = capsys.readouterr().err
        assert f"no value {word}" in reported
        assert all(known in reported for known in names)
    if name == "service.heaptrack.zst":
        assert main(["info", str(path), "--cache-dir", str(tmp_path)]) == 0
        assert "18 samples of 15 stacks, calls to allocation functions: 2,089\n" in capsys.readouterr().out
    for word in ("live", "count") if "count" in WORDS[name] else ():
        assert main(["flame", str(path), "--value", word, "--folded", "--cache-dir", str(tmp_path)]) == 0
        rows = capsys.readouterr().out.splitlines()
        total = profile.values[names.index(WORDS[name][word])].total
        assert sum(int(row.rpartition(" ")[2]) for row in rows) == total


def test_every_request_is_answered_or_refused_with_a_sentence(made: tuple[Profile, Any, Snapshot]) -> None:
    _, _, snapshot = made
    assert ask_everything(snapshot, random.Random(1), rounds=6) > 20


@pytest.mark.parametrize("path", [GO, *real_profiles("pprof/go-heap.pb.gz")], ids=lambda path: path.name)
def test_the_command_line_prints_profiles(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def reported(*arguments: str) -> str:
        assert main([arguments[0], str(path), *arguments[1:], "--cache-dir", str(tmp_path)]) == 0
        return capsys.readouterr().out

    message = message_of(path)
    sums = [sum(values) for values in zip(*(each["value"] for each in message["sample"]), strict=True)]
    folded = reported("flame", "--value", "inuse_objects", "--folded").splitlines()
    assert sum(int(row.rpartition(" ")[2]) for row in folded) == sums[2]
    assert f"{sums[0]:,}" in reported("info")
    assert "main.main" in reported("lines", "--value", "alloc_space")
    assert str(sums[1]) in reported(
        "sql", "SELECT total FROM value_types WHERE name = 'alloc_space'", "--csv"
    )


def test_rates_in_a_bin_are_per_second() -> None:
    """Bins of length 0 are merged with the next longer one, and the last ones with the one before them."""
    edges = np.array([0, 0, 500_000, 500_000, 2_500_000, 2_500_000])
    rates = profile_times.per_second(edges, np.array([0, 3, 4, 5, 1, 2]))
    assert rates.tolist() == [0, 0, 14, 0, 4, 0]
    assert profile_times.per_second(edges[:2], np.array([0, 3])).tolist() == [0, 0]


def test_a_line_in_a_comprehension_has_the_name_of_the_function_around_it(tmp_path: Path) -> None:
    frames = [
        SourceFrame("/p/app.py", 8, "<listcomp>", USER), SourceFrame("/p/app.py", 8, "collect", USER),
        SourceFrame("/p/app.py", 9, "<lambda>", USER),
    ]  # fmt: skip
    snapshot = _profile(tmp_path, frames, amounts=[10, 90, 30], sizes=None)
    found = groups(snapshot, Branch(AllocationSet(0), ["line"]), "bytes", 0, 10, descending=True)
    assert [(row.name.text, row.detail.text, row.bytes) for row in found.rows] == [
        ("app.py:8", "collect", 100), ("app.py:9", "<lambda>", 30),
    ]  # fmt: skip
    snapshot.close()


def test_the_largest_block_is_known_only_if_all_sizes_are(tmp_path: Path) -> None:
    frames = [SourceFrame("/p/app.c", line, "work", USER) for line in (1, 1, 2)]
    snapshot = _profile(tmp_path, frames, amounts=[64, 4096, 300], sizes=[64, 0, 100])
    found = groups(snapshot, Branch(AllocationSet(0), ["line"]), "bytes", 0, 10, descending=True)
    assert found.largest == "block"
    assert [(row.name.text, row.largest_bytes) for row in found.rows] == [("app.c:1", None), ("app.c:2", 100)]
    snapshot.close()


def _profile(
    folder: Path, frames: list[SourceFrame], amounts: list[int], sizes: list[int] | None
) -> Snapshot:
    """A sample for each frame, whose stack is that frame."""
    starts, each = np.arange(len(frames) + 1, dtype=np.uint64), np.arange(len(frames), dtype=np.uint32)
    kind = ValueType("peak_bytes", "bytes", "peak", Text("Live at the peak"))
    profile = Profile(
        "test", Frames(frames, starts, each), [kind], 0, each, [np.array(amounts, np.int64)],
        sizes=None if sizes is None else np.array(sizes, np.int64),
    )  # fmt: skip
    return archived(profile, folder / "archive")
