"""Which snapshots can be compared: those of one kind, by a value that both have."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT
from tests.python.recordings import DOTNET
from tests.python.test_findings_of_heaps import java_heap, v8_heap

from memlens.errors import BadRequestError
from memlens.packs.go.tests.pprof_files import Builder
from memlens.store.models import profile_of
from memlens.store.snapshot import Snapshot
from memlens.views.compare.heaps import pair_of, series
from memlens.views.compare.kinds import check_comparable, common_values
from memlens.views.compare.rows import compare
from memlens.views.compare.sides import side_of
from memlens.views.selection.sets import AllocationSet

TRACE, PROFILE = ROOT / "samples" / "train.pickle", ROOT / "samples" / "words.pb.gz"
Opened = Callable[[Path], Snapshot]


@pytest.fixture
def of_each_kind(opened: Opened, tmp_path: Path) -> dict[str, Snapshot]:
    made = {"app.heapsnapshot": v8_heap(has=True), "app.hprof": java_heap(has=True)}
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)
    paths = [TRACE, PROFILE, *(tmp_path / name for name in made)]
    return {path.name: opened(path) for path in paths}


KINDS = {
    "train.pickle": "a trace of allocations",
    "words.pb.gz": "a profile",
    "app.heapsnapshot": "a heap dump of JavaScript",
    "app.hprof": "a heap dump of Java",
}


def test_different_kinds_are_refused_with_what_each_is(of_each_kind: dict[str, Snapshot]) -> None:
    for name, kind in KINDS.items():
        for other, other_kind in KINDS.items():
            infos = of_each_kind[name].info, of_each_kind[other].info
            if name == other:
                check_comparable(*infos)
                continue
            with pytest.raises(BadRequestError) as caught:
                check_comparable(infos[0], infos[0], infos[1])
            assert str(caught.value) == (
                f"{name} is {kind} and {other} is {other_kind}, so they can't be compared. "
                f"Compare {name} with another{kind.removeprefix('a')}."
            )


def test_whatever_compares_refuses_them(of_each_kind: dict[str, Snapshot]) -> None:
    trace, profile = of_each_kind["train.pickle"], of_each_kind["words.pb.gz"]
    sides = [side_of(trace, AllocationSet(0)), side_of(profile, AllocationSet(0))]
    with pytest.raises(BadRequestError, match="can't be compared"):
        compare(sides[0], sides[1])
    dumps = [of_each_kind["app.heapsnapshot"], of_each_kind["app.hprof"]]
    for question in (lambda: pair_of(dumps[0], dumps[1]), lambda: series(dumps)):
        with pytest.raises(BadRequestError, match="heap dump of JavaScript and app"):
            question()
    dump = DOTNET
    for arguments in ((dump, TRACE), (TRACE, dump, "--by", "line"), (PROFILE, PROFILE, dump)):
        assert "can't be compared" in memlens("compare", *arguments, status=1).stderr
    refused = memlens("flame", TRACE, "--diff", PROFILE, status=1).stderr
    assert "words.pb.gz is a profile, so they can't be compared" in refused


def test_values_are_compared_with_those_that_measure_the_same(opened: Opened) -> None:
    fixtures = ROOT / "tests" / "fixtures" / "profiles"
    words = profile_of(opened(PROFILE).info)
    names = [value.name for value in words.values]
    assert common_values([words, words], None) == [1, 1]
    assert common_values([words, words], "inuse_objects") == [0, 0]
    files = (
        "go-heap.debug1.txt",
        "massif.out.ledger",
        "tracemalloc.pickle",
        "words.heapprofile",
        "ledger.dhat.json",
    )
    refused = 0
    for path in (fixtures / name for name in files):
        other = profile_of(opened(path).info)
        wanted = words.values[1]
        alike = [
            number
            for number, value in enumerate(other.values)
            if value.unit == "bytes" and (value.name == wanted.name or value.meaning == wanted.meaning)
        ]
        if alike:
            assert common_values([words, other], None)[1] in alike
        else:
            refused += 1
            with pytest.raises(BadRequestError, match=f"words.pb.gz has {wanted.name}, which {path.name}"):
                common_values([words, other], None)
    assert 0 < refused < len(files)
    with pytest.raises(BadRequestError, match=f"no value weight.*{names[0]}"):
        common_values([words, words], "weight")


def taken_at(path: Path, seconds: int) -> Path:
    """A profile that says when it was taken; 0 for one that doesn't."""
    builder = Builder(("inuse_space", "bytes"))
    builder.message["time_nanos"] = seconds * 10**9
    builder.sample([builder.location(("main.fill", "/src/main.go", 4))], 1000 + seconds)
    path.write_bytes(builder.bytes())
    return path


def test_an_order_that_contradicts_the_recordings_is_said(tmp_path: Path) -> None:
    first, second = taken_at(tmp_path / "b.pb", 1000), taken_at(tmp_path / "a.pb", 1019)
    unknown = taken_at(tmp_path / "c.pb", 0)
    for before, after, note in (
        (first, second, ""),
        (second, first, "note: a.pb was recorded 19 s after b.pb, but is compared as the earlier one.\n"),
        (second, unknown, ""),
        (unknown, first, ""),
    ):
        done = memlens("compare", before, after)
        assert (done.returncode, done.stderr) == (0, note)
    assert "taken 1970-01-01 00:16:40 UTC" in memlens("info", first).stdout
    assert "taken" not in memlens("info", unknown).stdout
