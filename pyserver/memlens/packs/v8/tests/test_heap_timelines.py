"""When objects were allocated: recordings of V8 that looked at the heap again and again."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from tests.python.conftest import DATA
from tests.python.graph_reading import load, outcome
from tests.python.heap_archives import archived
from tests.python.heap_files import small_heap
from tests.python.recordings import TRACKED

from memlens.cli import main
from memlens.errors import BadRequestError
from memlens.packs.v8.recorded import ALLOCATED_FIELD
from memlens.store.models import graph_of
from memlens.store.objects.moments import allocated_us
from memlens.views.heap.filters.filters import chosen
from memlens.views.heap.listing.moments import moments

REAL = DATA / "heap" / "v8" / "alloctrack_node24.heapsnapshot.zst"
RECORDED = [
    (path, *expected)
    for path, *expected in [*((path, "Row", 250, 2) for path in TRACKED), (REAL, "Order", 3_000, 5)]
    if path.exists()
]
"""Recordings with a class, how many of its objects have a time at the least, and how many times."""
SAMPLES = [0, 5, 1_000_000, 9, 2_500_000, 20, 3_000_000, 12]
"""Objects have the ids 1, 3, 5 …; the last moment has a lower id than the one before."""


def test_each_object_belongs_to_the_interval_of_its_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "small.heaptimeline"
    path.write_bytes(small_heap().data(samples=SAMPLES))
    with closing(archived(path, tmp_path)) as snapshot:
        ids = snapshot.objects.id
        expected = np.where(ids <= 5, -1, np.where(ids <= 9, 1_000_000, np.where(ids <= 20, 2_500_000, -1)))
        assert allocated_us(snapshot.objects, slice(None)).tolist() == expected.tolist()
        found = chosen(snapshot, "since:2")
        assert found is not None
        assert np.flatnonzero(found.mask(snapshot)).tolist() == np.flatnonzero(expected >= 2e6).tolist()
        within = chosen(snapshot, "since:1 until:2.5")
        assert within is not None
        assert (
            np.flatnonzero(within.mask(snapshot)).tolist() == np.flatnonzero(expected == 1_000_000).tolist()
        )
        for wrong in ("since:x", "since:-1", "since:1,2", "since<3", "until:x", "until>3"):
            with pytest.raises(BadRequestError):
                chosen(snapshot, wrong)
    cache = ["--cache-dir", str(tmp_path / "cache")]
    for since, until, count in (("0", "9", 7), ("2", "9", 5), ("0", "2.5", 2), ("9", "10", 0)):
        assert main(["types", str(path), "--since", since, "--until", until, "--json", *cache]) == 0
        assert sum(row["count"] for row in _rows(capsys)) == count
    assert main(["types", str(path), "--since", "0", "--search", "sess", *cache]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("Session, defined at /home/me/app/leak.js:3")
    query = "SELECT allocated_us, count(*) FROM objects GROUP BY allocated_us ORDER BY allocated_us"
    assert main(["sql", str(path), query, "--csv", *cache]) == 0
    counts = {value: int((expected == value).sum()) for value in (-1, 1_000_000, 2_500_000)}
    assert capsys.readouterr().out.split() == [
        "allocated_us,count(*)", *(f"{'' if value < 0 else value},{counts[value]}" for value in counts),
    ]  # fmt: skip


def _rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, int]]:
    answer = json.loads(capsys.readouterr().out)
    found: list[dict[str, int]] = answer["types"]
    return found


def test_what_is_alive_and_what_was_allocated_over_time(tmp_path: Path) -> None:
    path, heap = tmp_path / "small.heaptimeline", small_heap()
    header = heap.sections()["snapshot"] | {ALLOCATED_FIELD: [9_999, 500, 3_000]}
    path.write_bytes(heap.data(samples=SAMPLES, snapshot=header))
    with closing(archived(path, tmp_path)) as snapshot:
        objects = snapshot.objects
        times = allocated_us(objects, slice(None))
        shallow = objects.shallow.astype(np.int64)
        found = moments(snapshot, "since:1 type:(array),Session")
        bins = range(len(found.live_bytes))
        assert found.bin_us * len(bins) > 3_000_000
        of_bins = [(times >= b * found.bin_us) & (times < (b + 1) * found.bin_us) for b in bins]
        assert found.live_bytes == [int(shallow[mask].sum()) for mask in of_bins]
        assert found.live_objects == [int(mask.sum()) for mask in of_bins]
        assert found.before_bytes + sum(found.live_bytes) == int(shallow.sum())
        assert found.before_objects + sum(found.live_objects) == len(times)
        named = chosen(snapshot, "type:(array),Session")
        assert named is not None
        fits = named.mask(snapshot)
        assert found.fitting_bytes == [int(shallow[mask & fits].sum()) for mask in of_bins]
        assert moments(snapshot, "until:2").fitting_bytes is None
        # what was there before isn't of any time
        assert found.allocated_bytes is not None
        assert {at: size for at, size in enumerate(found.allocated_bytes) if size} == {
            1_000_000 // found.bin_us: 500, 2_500_000 // found.bin_us: 3_000,
        }  # fmt: skip
    bad: list[object] = [[-1], [2**60], ["1"], {}]
    for wrong in bad:
        assert outcome(path, heap.data(samples=SAMPLES, snapshot=header | {ALLOCATED_FIELD: wrong})), wrong
    path.write_bytes(heap.data(samples=SAMPLES))
    with closing(archived(path, tmp_path / "other")) as snapshot:
        assert moments(snapshot, "").allocated_bytes is None


def test_a_dump_without_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "small.heapsnapshot"
    path.write_bytes(small_heap().data())
    assert main(["types", str(path), "--since", "1", "--cache-dir", str(tmp_path / "cache")]) == 1
    assert "doesn't say when its objects were allocated" in capsys.readouterr().err
    for samples in ([1], [0, 1, 2], [0, -1], [0, 2**70]):
        assert outcome(path, small_heap().data(samples=samples)), samples


@pytest.mark.parametrize(
    ("path", "kind", "least", "moments_least"), RECORDED, ids=lambda value: getattr(value, "name", "")
)
def test_a_recording(path: Path, kind: str, least: int, moments_least: int, tmp_path: Path) -> None:
    """Programs that keep rows in some steps: every 60 ms ten times, or two in 200 ms."""
    graph = load(path)
    data = path.read_bytes()
    file = json.loads(zstandard.ZstdDecompressor().decompressobj().decompress(data) if path == REAL else data)
    assert file["snapshot"]["meta"]["trace_node_fields"] == [
        "id", "function_info_index", "count", "size", "children",
    ]  # fmt: skip
    # what is charged to V8's own root has no frame
    counts, sizes = _below(file["trace_tree"][4])
    assert graph.allocated is not None
    assert graph.allocated.sum(axis=1).tolist() == [sizes, counts]
    assert len(graph.samples) > moments_least
    with closing(archived(path, tmp_path)) as snapshot:
        types = graph.types.name.tolist()
        (order,) = (number for number, name in enumerate(types) if graph.texts[name] == kind)
        orders = np.flatnonzero(snapshot.objects.type == order)
        orders = orders[snapshot.objects.shallow[orders] > 0]
        times = allocated_us(snapshot.objects, slice(None))[orders]
        known = times[times >= 0]
        assert len(known) > least
        assert len(np.unique(known)) >= moments_least
        assert 100_000 < int(known.max()) - int(known.min()) < 60_000_000
        assert int((times < 0).sum()) < 1_000
        allocations = graph_of(snapshot.info).allocations
        assert allocations is not None
        totals = {value.name: value.total for value in allocations.values}
        assert (totals["allocated_bytes"], totals["allocated_objects"]) == (sizes, counts)
        assert moments(snapshot, "").before_objects < len(graph.objects)


def _below(children: list[Any]) -> tuple[int, int]:
    """The objects and the bytes of nodes of the trace, and of all below them."""
    counts, sizes = sum(children[2::5]), sum(children[3::5])
    for more in map(_below, children[4::5]):
        counts, sizes = counts + more[0], sizes + more[1]
    return counts, sizes
