"""Stacks written for speedscope and pprof, read by the tests' own decoders and compared with every allocation."""

import gzip
import json
import operator
import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.python.command_line import memlens as run
from tests.python.conftest import WithOracle, event, frame, real_profiles
from tests.python.made_stacks import stacks_of_nodes
from tests.python.profile_reading import FIXTURES, load
from tests.python.protobuf import fields, varints
from tests.python.recordings import GO, GO_CPU
from tests.python.replays import torch as oracle

from memlens.export import profiles
from memlens.export.samples import Samples
from memlens.export.speedscope import speedscope
from memlens.packs.go.export import pprof
from memlens.packs.pytorch.frames import source_frame
from memlens.store.manifest import InconsistentError
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import listed
from memlens.views.naming.frame_names import FrameNames, frame_names
from memlens.views.selection.items import stacks_of
from memlens.views.selection.sets import AllocationSet

Frame = tuple[str, int, str]
Sample = tuple[tuple[Frame, ...], tuple[int, ...], tuple[tuple[str, str | int, str], ...]]
"""A stack, its values, and its labels: key, text or number, and unit."""
Sums = dict[tuple[Frame, ...], tuple[int, ...]]
"""By stack, innermost frame first: a value of each type."""


# --- independent readers -------------------------------------------------------------------------------------------


def signed(number: int) -> int:
    return number - (number >> 63 << 64)


def numbers_of(message: bytes, wanted: int) -> list[int]:
    """A repeated number's values, packed or one by one: Go writes a few either way."""
    found: list[int] = []
    for field, value in fields(message):
        if field == wanted:
            found += [value] if isinstance(value, int) else varints(value)
    return found


def read_pprof(data: bytes) -> tuple[list[tuple[str, str]], Sums, str]:
    """Types, stacks with the sums of their values, and the comment, by profile.proto."""
    types, samples, comment = read_samples(data)
    found: dict[tuple[Frame, ...], list[int]] = {}
    for stack, values, _ in samples:
        sums = found.setdefault(stack, [0] * len(types))
        sums[:] = map(operator.add, sums, values)
    return types, {stack: tuple(sums) for stack, sums in found.items()}, comment


def read_samples(data: bytes) -> tuple[list[tuple[str, str]], list[Sample], str]:
    """Types, each sample, and the comment, by profile.proto."""
    whole = fields(gzip.decompress(data))
    strings = [value.decode() for field, value in whole if field == 6]
    assert strings[0] == ""
    functions, locations = {}, {}
    for field, value in whole:
        if field == 5:
            reported = dict(fields(value))
            functions[reported[1]] = (strings[reported[4]], strings[reported[2]])
            assert reported[2] == reported[3]
        elif field == 4:
            reported = dict(fields(value))
            line = dict(fields(reported[4]))
            locations[reported[1]] = (line[1], line[2])
    assert 0 not in functions
    assert 0 not in locations
    found: list[Sample] = []
    for field, value in whole:
        if field == 2:
            places = [locations[number] for number in numbers_of(value, 1)]
            stack = tuple((functions[its][0], line, functions[its][1]) for its, line in places)
            labels = []
            for label in (dict(fields(part)) for key, part in fields(value) if key == 3):
                assert label.keys() <= {1, 2} or label.keys() <= {1, 3, 4}
                labels.append(
                    (
                        strings[label[1]],
                        strings[label[2]] if 2 in label else signed(label.get(3, 0)),
                        strings[label.get(4, 0)],
                    )
                )
            found.append((stack, tuple(map(signed, numbers_of(value, 2))), tuple(sorted(labels, key=str))))
    types = [dict(fields(value)) for field, value in whole if field == 1]
    (comment,) = (strings[value] for field, value in whole if field == 13)
    (default,) = (strings[value] for field, value in whole if field == 14)
    named = [(strings[reported[1]], strings[reported[2]]) for reported in types]
    assert default in [name for name, _ in named]
    return named, found, comment


def read_speedscope(data: bytes) -> tuple[list[tuple[str, str]], Sums, str]:
    """The same by speedscope's file-format-spec.ts."""
    whole = json.loads(data)
    assert whole["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = [(each.get("file", ""), each.get("line", 0), each["name"]) for each in whole["shared"]["frames"]]
    found: dict[tuple[Frame, ...], list[int]] = {}
    types = []
    for place, profile in enumerate(whole["profiles"]):
        assert profile["type"] == "sampled"
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        assert profile["unit"] in ("bytes", "nanoseconds", "none")
        types.append((profile["name"], "count" if profile["unit"] == "none" else profile["unit"]))
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            key = tuple(frames[number] for number in reversed(stack))
            found.setdefault(key, [0] * len(whole["profiles"]))[place] += weight
    return types, {stack: tuple(values) for stack, values in found.items()}, whole["name"]


# --- against every allocation --------------------------------------------------------------------------------------


def expected_sums(found: list[oracle.Alloc], rows: list[int]) -> Sums:
    sizes: Counter[tuple[Frame, ...]] = Counter()
    counts: Counter[tuple[Frame, ...]] = Counter()
    for row in rows:
        alloc = found[row]
        reported = [source_frame(*each) for each in alloc.frames]
        stack = tuple((each.file, max(each.line, 0), each.function or "?") for each in reported)
        if not stack:
            words = "allocated before recording" if alloc.early else "no stack recorded"
            stack = (("", 0, words),)
        sizes[stack] += alloc.size
        counts[stack] += 1
    return {stack: (sizes[stack], counts[stack]) for stack in counts}


def test_exports_are_sums_over_allocations(with_oracle: WithOracle) -> None:
    snapshot, info, found = with_oracle
    for of, rows in (
        (AllocationSet(info.device), oracle.alive(found, info.peak_moment)),
        (AllocationSet(info.device, "live", 0, info.events), list(range(len(found)))),
    ):
        samples = Samples(stacks_of(snapshot, of), frame_names(snapshot))
        expected = expected_sums(found, rows)
        kind = "inuse" if of.to_moment is None else "alloc"
        known = [(f"{kind}_space", "bytes"), (f"{kind}_objects", "count")]
        assert read_pprof(pprof(samples, "a title")) == (known, expected, "a title")
        types, sums, title = read_speedscope(speedscope(samples, "a title"))
        assert (types, title) == (known, "a title")
        assert sums == expected


@pytest.mark.parametrize(
    "path",
    [GO, GO_CPU, *real_profiles("pprof/go-heap-base.pb.gz", "pprof/go-cpu-labels.pb.gz")],
    ids=lambda p: p.name,
)
def test_profiles_are_exported_unchanged(path: Path, tmp_path: Path) -> None:
    """Every value of every stack."""
    whole = fields(gzip.decompress(path.read_bytes()))
    strings = [value.decode() for field, value in whole if field == 6]
    functions = {
        reported[1]: reported for reported in (dict(fields(value)) for field, value in whole if field == 5)
    }
    locations: dict[int, list[Frame]] = {}
    for field, value in whole:
        if field == 4:
            lines = [dict(fields(line)) for key, line in fields(value) if key == 4]
            locations[dict(fields(value))[1]] = [
                (strings[functions[line[1]].get(4, 0)], line.get(2, 0), strings[functions[line[1]][2]])
                for line in lines
            ]
    expected: dict[tuple[Frame, ...], Counter[int]] = {}
    for field, value in whole:
        if field == 2:
            stack = tuple(frame for number in numbers_of(value, 1) for frame in locations[number])
            expected.setdefault(stack, Counter()).update(dict(enumerate(numbers_of(value, 2))))
    types = [dict(fields(value)) for field, value in whole if field == 1]
    for form in ("pprof", "speedscope"):
        target = tmp_path / form
        run("export", path, f"--{form}", target, "--cache-dir", tmp_path)
        read = read_pprof if form == "pprof" else read_speedscope
        named, sums, title = read(target.read_bytes())
        assert [name for name, _ in named] == [strings[reported[1]] for reported in types]
        assert title == path.name
        want = {stack: tuple(values[n] for n in range(len(types))) for stack, values in expected.items()}
        # Memlens marks where Go's runtime truncated a stack
        bare = {
            tuple(frame for frame in stack if not frame[2].startswith("(cut off ")): values
            for stack, values in sums.items()
        }
        assert len(bare) == len(sums)
        # a sample without any value has no weight in speedscope
        assert bare == {stack: values for stack, values in want.items() if form == "pprof" or any(values)}


EVERY_FORMAT = [
    *(
        FIXTURES / name
        for name in (
            "go-heap.debug1.txt", "service.heaptrack.zst", "ledger.dhat.json", "massif.out.ledger",
            "tracemalloc.pickle", "index.memray.bin", "orders-cpu.pb.gz", "orders.difference.pb.gz",
            "service.jemalloc.heap",
        )
    ),
    *real_profiles(
        "pprof/go-heap-base.pb.gz", "pprof/go-cpu-labels.pb.gz",
        "public/parca/alloc_space_delta.pb.gz", "public/parca/profile-with-labels.pb.gz",
        "heaptrack/heaptrack.sqlite.zst", "tracemalloc/ast-10frames.pickle", "massif/massif.out.sqlite-pages",
        "dhat/dhat.out.git-log.json", "jemalloc/jeprof.11700.0.i0.heap",
    ),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("path", EVERY_FORMAT, ids=lambda p: p.name)
def test_every_sample_is_written_with_its_values_and_labels(path: Path, tmp_path: Path) -> None:
    """Read back by the test's decoder, which knows nothing of ours; then by ours."""
    profile = load(path)
    tree, nodes = profile.stack_tree()
    labels: dict[int, list[tuple[str, str | int, str]]] = {}
    for sample, key, text, number, unit in profile.labels.tolist():
        value = profile.strings[text] if text else number
        labels.setdefault(sample, []).append(
            (profile.strings[key], value, profile.strings[unit] if unit else "")
        )
    sized = any(profile.strings[key] == "bytes" for key in np.unique(profile.labels["key"]).tolist())
    expected: Counter[Sample] = Counter()
    for number, leaf in enumerate(nodes.tolist()):
        stack, node = [], leaf
        while node:
            frame = profile.frames.frames[int(tree.frames[node])]
            stack.append((frame.file, max(frame.line, 0), frame.function or "?"))
            node = int(tree.parents[node])
        reported = labels.get(number, [])
        if profile.sizes is not None and profile.sizes[number] > 0 and not sized:
            reported.append(("bytes", int(profile.sizes[number]), "bytes"))
        values = tuple(int(column[number]) for column in profile.values)
        expected[tuple(stack), values, tuple(sorted(reported, key=str))] += 1
    target = tmp_path / "out.pb.gz"
    run("export", path, "--pprof", target, "--cache-dir", tmp_path)
    types, samples, _ = read_samples(target.read_bytes())
    assert types == [(kind.name, kind.unit) for kind in profile.value_types]
    assert Counter(samples) == expected
    again = load(target)
    assert [column.tolist() for column in again.values] == [column.tolist() for column in profile.values]
    assert again.default_value == profile.default_value
    for name in ("time_unix_ns", "duration_ns", "period", "period_type", "period_unit", "doc_url"):
        assert again.settings.get(name) == profile.settings.get(name)
    # speedscope has no negative values: the export says how much it lacks
    done = run("export", path, "--speedscope", tmp_path / "out.json", "--cache-dir", tmp_path)
    sums: Counter[tuple[Frame, ...]] = Counter()
    first = profile.values[0].tolist()
    for (frames_of, values, _), count in expected.items():
        sums[frames_of] += values[0] * count
    less = sum(value for value in sums.values() if value < 0)
    shown = json.loads((tmp_path / "out.json").read_text())["profiles"][0]
    assert sum(shown["weights"]) == sum(first) - less
    assert ("negative values" in done.stderr) == any(
        value < 0 for each in read_pprof(target.read_bytes())[1].values() for value in each
    )


def test_of_very_many_samples_those_of_a_stack_are_written_as_one(
    opened: Callable[[Path], Snapshot], monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = opened(FIXTURES / "service.heaptrack.zst")
    every = profiles.of_profile(snapshot, "", merged=False)
    monkeypatch.setattr(profiles, "MOST_SAMPLES", len(every.stacks) - 1)
    fewer = profiles.of_profile(snapshot, "", merged=False)
    assert len(every.labels) > 0 == len(fewer.labels)
    assert len(fewer.stacks) == len(fewer.unrolled().stacks) < len(every.stacks)
    assert read_pprof(pprof(fewer, "x")) == read_pprof(pprof(every, "x"))


texts = st.text(max_size=6)
frames = st.tuples(texts, st.integers(-1, 2**31 - 1), texts, st.sampled_from([0, 1, 2]))


@pytest.mark.slow
@given(
    st.lists(frames, min_size=1, max_size=8, unique_by=lambda row: row[:3]),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 7), st.integers(0, 2**61)), max_size=30),
    texts,
)
def test_any_names_and_any_values(
    rows: list[tuple[str, int, str, int]], tree: list[tuple[int, int, int]], title: str
) -> None:
    """Names can be any text, and values anything that fits into 64 bits."""
    parents = [0] + [min(parent, place) for place, (parent, _, _) in enumerate(tree)]
    numbers = [0] + [frame % len(rows) for _, frame, _ in tree]
    values = [value // max(len(tree), 1) for _, _, value in tree]
    stacks = stacks_of_nodes(parents, numbers, [[value, 1] for value in values])
    expected: dict[tuple[Frame, ...], Counter[int]] = {}
    for node in range(1, len(parents)):
        way: list[Frame] = []
        at = node
        while at:
            file, line, function, _ = rows[numbers[at]]
            way.append((file, max(line, 0), function or "?"))
            at = parents[at]
        sums = expected.setdefault(tuple(way), Counter())
        sums[0] += values[node - 1]
        sums[1] += 1
    samples = Samples(stacks, FrameNames(listed(rows)))
    _, got, read_title = read_speedscope(speedscope(samples, title))
    assert read_title == title
    assert got == {stack: (sums[0], sums[1]) for stack, sums in expected.items()}
    negative = replace(samples, stacks=replace(stacks, values=-stacks.values))
    whole = fields(gzip.decompress(pprof(negative, title)))
    totals = [
        [number - (number >> 63 << 64) for number in varints(dict(fields(value))[2])]
        for field, value in whole
        if field == 2
    ]
    assert totals == (-stacks.values.T).tolist()


def test_stacks_of_a_damaged_archive_are_refused() -> None:
    names = FrameNames(listed([("a.py", 1, "f", 0)]))
    for parents, numbers in (([0, 1], [0, 0]), ([0, 0], [0, 9])):
        with pytest.raises(InconsistentError):
            Samples(stacks_of_nodes(parents, numbers, [[1, 1]]), names).unrolled()


# --- the command line ----------------------------------------------------------------------------------------------


def test_missing_folder_is_reported(sample: Path, tmp_path: Path) -> None:
    for option in ("--snapviewer", "--speedscope", "--pprof"):
        done = run("export", sample, option, tmp_path / "nowhere" / "out", status=1)
        assert f"out can't be written: there is no folder {tmp_path / 'nowhere'}" in done.stderr


@pytest.mark.slow
def test_command_line(sample: Path, tmp_path: Path) -> None:
    found = oracle.allocations(oracle.load(sample), 0)
    moments = max(moment for each in found for moment in (each.start, each.end or 0))
    alive = oracle.live_bytes(found, moments)
    sets = {
        "peak": oracle.alive(found, alive.index(max(alive))),
        "end": oracle.alive(found, moments),
        "all": list(range(len(found))),
    }
    for at, rows in sets.items():
        target = tmp_path / f"{at}.pb.gz"
        assert run("export", sample, "--pprof", target, "--at", at).stdout == f"{target}\n"
        types, sums, title = read_pprof(target.read_bytes())
        kind = "alloc" if at == "all" else "inuse"
        assert types == [(f"{kind}_space", "bytes"), (f"{kind}_objects", "count")]
        assert sums == expected_sums(found, rows)
        assert title.startswith(sample.name)
    target = tmp_path / "large.json"
    run("export", sample, "--speedscope", target, "--filter", "size>1MiB")
    large = [row for row in sets["peak"] if found[row].size > 2**20]
    assert read_speedscope(target.read_bytes())[1] == expected_sums(found, large)
    assert sorted(path.name for path in tmp_path.glob("*.partial*")) == []
    assert (
        "no device 9" in run("export", sample, "--pprof", tmp_path / "none", "--device", 9, status=1).stderr
    )
    assert run("export", sample, "--pprof", tmp_path / "none" / "x", status=1).stderr.count("\n") == 1
    assert "required" in run("export", sample, status=2).stderr
    empty = tmp_path / "empty"
    nothing = run("export", sample, "--pprof", empty, "--filter", "size>1TiB", status=1).stderr
    assert "Nothing matches size>1TiB" in nothing
    freed = tmp_path / "freed.pickle"
    place = frame("/a/b.py", 1, "f")
    trace = [event("alloc", 4096, 512, place), event("free_completed", 4096, 512, place)]
    freed.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}, 4))
    for option in ("--pprof", "--speedscope"):
        nothing = run("export", freed, option, empty, "--at", "end", status=1).stderr
        assert "Nothing is live at the end, so nothing is written" in nothing
        assert not empty.exists()
    zipped = tmp_path / "out.zip"
    assert "whole trace" in run("export", sample, "--snapviewer", zipped, "--at", "end", status=2).stderr
    assert not zipped.exists()
