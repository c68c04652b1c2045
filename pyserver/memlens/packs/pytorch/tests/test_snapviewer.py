"""SnapViewer's archives: Memlens' exports read by SnapViewer's rules, and SnapViewer's own."""

import io
import json
import pickle
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.python.conftest import event, frame, real_programs
from tests.python.counted import some
from tests.python.recordings import CUDA
from tests.python.replays.torch import Alloc, allocations, load
from tests.python.tries import tries

from memlens.errors import BadRequestError, MemlensError
from memlens.ingest import ingest
from memlens.packs.pytorch import export
from memlens.packs.pytorch import snapviewer as reader
from memlens.store.files.cache import Cache
from memlens.store.files.output import Output
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.lines.stack import stack_frames
from memlens.views.selection.sets import AllocationSet
from memlens.views.tables.groups import Branch, groups

NEVER = 2**32 - 1
Opened = Callable[[Path], Snapshot]


def steps_of(found: list[Alloc]) -> list[tuple[int, list[int], list[int]]]:
    """Size, timesteps and offsets of each allocation, drawn as SnapViewer's converter draws: one action after another.

    Written from convert_snap.py's ``process_alloc_data``; which allocation lives when is the oracle's.
    """
    actions = [(alloc.start, 1, i) for i, alloc in enumerate(found) if alloc.start]
    actions += [(alloc.end, 0, i) for i, alloc in enumerate(found) if alloc.end is not None]
    current: list[int] = []
    drawn: list[tuple[int, list[int], list[int]]] = [(alloc.size, [], []) for alloc in found]
    total = step = 0
    for i, alloc in enumerate(found):
        if not alloc.start:
            current.append(i)
            drawn[i][1].append(0)
            drawn[i][2].append(total)
            total += alloc.size
    for _, is_alloc, i in sorted(actions):
        size = found[i].size
        if is_alloc:
            current.append(i)
            drawn[i][1].append(step)
            drawn[i][2].append(total)
            total += size
            step += 1
            continue
        at = current.index(i)
        del current[at]
        drawn[i][1].append(step)
        drawn[i][2].append(drawn[i][2][-1])
        for above in current[at:]:
            _, times, offsets = drawn[above]
            times += [step, step + 3]
            offsets += [offsets[-1], offsets[-1] - size]
        step += 4 if current[at:] else 1
        total -= size
    for i in current:
        drawn[i][1].append(step)
        drawn[i][2].append(drawn[i][2][-1])
    return drawn


def read_as_snapviewer(path: Path, folder: Path) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    """Check the requirements of its renderer: non-negative integers, as many rows as polygons, no empty polygon."""
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == ["allocations.json", "elements.db"]
        archive.extractall(folder)
    polygons = json.loads((folder / "allocations.json").read_text())
    database = sqlite3.connect(folder / "elements.db")
    rows = database.execute(
        "SELECT idx, size, start_time, end_time, callstack FROM allocs ORDER BY idx"
    ).fetchall()
    database.close()
    assert len(polygons) == len(rows)
    for polygon in polygons:
        assert len(polygon["timesteps"]) == len(polygon["offsets"]) >= 2
        assert polygon["timesteps"] == sorted(polygon["timesteps"])
        assert min(*polygon["timesteps"], *polygon["offsets"], polygon["size"]) >= 0
    return polygons, rows


def one_line(name: str) -> str:
    return name.replace("\n", " ")


def call_stack(snapshot: Snapshot, stack: int) -> str:
    frames = enumerate(stack_frames(snapshot, stack))
    return "\n".join(f"({level}) {f.file or '??'}:{f.line}:{one_line(f.function)}" for level, f in frames)


def events_of(device: Device) -> list[tuple[int, int, bool]]:
    """Allocations and frees in order: the device's moment, the row, and whether it is a free."""
    starts, ends = device.start.tolist(), device.end.tolist()
    found = [(start, row, False) for row, start in enumerate(starts) if start]
    found += [(end, row, True) for row, end in enumerate(ends) if end != NEVER]
    return sorted(found, key=lambda each: (each[0], not each[2], each[1]))


def check_round_trip(path: Path, folder: Path, opened: Opened, snapshot_data: Any) -> None:
    snapshot = opened(path)
    for info in some(snapshot.timeline.devices):
        if not info.events or not info.allocations:
            with pytest.raises(BadRequestError):
                export.snapviewer(snapshot, info.device, Output(folder / "none.zip"), lambda *_: None)
            continue
        device = snapshot.device(info.device)
        out = folder / f"{path.stem}-{info.device}.zip"
        export.snapviewer(snapshot, info.device, Output(out, force=True), lambda *_: None)
        polygons, rows = read_as_snapviewer(out, folder / f"{path.stem}-{info.device}")
        if snapshot_data is not None:
            expected = steps_of(allocations(snapshot_data, info.device))
            assert [(p["size"], p["timesteps"], p["offsets"]) for p in polygons] == expected
        # SnapViewer's peak: the top of the highest polygon
        assert max(max(p["offsets"]) + p["size"] for p in polygons) == info.peak_bytes
        for number, row in enumerate(rows):
            times = polygons[number]["timesteps"]
            assert row[:4] == (number, polygons[number]["size"], times[0], times[-1])
            assert row[4] == call_stack(snapshot, int(device.stack[number]))
        # read the export
        again = opened(out)
        (back,) = again.timeline.devices
        other = again.device(0)
        assert (back.allocations, back.peak_bytes, back.live_at_end_bytes, back.live_at_end_count) == (
            info.allocations, info.peak_bytes, info.live_at_end_bytes, info.live_at_end_count
        )  # fmt: skip
        assert other.size.tolist() == device.size.tolist()
        assert [each[1:] for each in events_of(other)] == [each[1:] for each in events_of(device)]
        assert (other.start == 0).tolist() == (device.start == 0).tolist()
        for sampled in range(0, info.allocations, max(info.allocations // 50, 1)):
            mine, theirs = (
                [(f.file, f.line, f.function) for f in stack_frames(one, int(of.stack[sampled]))]
                for one, of in ((snapshot, device), (again, other))
            )
            # a frame without a file has only a name
            assert [one_line(each[2]) for each in mine] == [each[2] for each in theirs]
            assert [each[:2] for each in mine if each[0]] == [each[:2] for each in theirs if each[0]]
        assert "snapviewer" in {warning.code for warning in again.info.warnings}


def test_the_sample_there_and_back(sample: Path, tmp_path: Path, opened: Opened) -> None:
    check_round_trip(sample, tmp_path, opened, load(sample))


@pytest.mark.parametrize("path", [CUDA, *real_programs("*.pickle")], ids=lambda path: path.stem)
def test_real_files_there_and_back(path: Path, tmp_path: Path, opened: Opened) -> None:
    if path.stat().st_size > 1_000_000:
        pytest.skip("the drawing of the test takes allocations times live ones")
    check_round_trip(path, tmp_path, opened, load(path))


def test_lives_in_exports_of_memlens(tmp_path: Path, opened: Opened) -> None:
    """Live before the trace, an address used twice, freed by the last event, alone at the end; names with colons."""
    one, two = frame("C:\\a b.py", 3, "f:12:g"), frame("/x/(3) y.py", 4, "operator()\n(1) z")
    traces = {
        "reused": [
            event("free_completed", 16, 7, one), event("alloc", 32, 5, two, one), event("alloc", 32, 6, one),
            event("alloc", 64, 8, two), event("free_completed", 32, 6), event("free_completed", 64, 8),
        ],
        "alone": [event("alloc", 32, 5, one)],
        "gone": [event("alloc", 32, 5, one), event("free_completed", 32, 5, one)],
        "before": [event("free_completed", 32, 5, one), event("free_completed", 16, 5, two), event("snapshot", 0, 0)],
    }  # fmt: skip
    for name, trace in traces.items():
        path = tmp_path / f"{name}.pickle"
        path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}, protocol=4))
        check_round_trip(path, tmp_path, opened, load(path))


def write_zip(path: Path, polygons: Any, rows: list[tuple[Any, ...]], schema: str | None = None) -> Path:
    database = sqlite3.connect(":memory:")
    database.executescript(
        schema or "CREATE TABLE allocs (idx INTEGER PRIMARY KEY, size INTEGER, start_time INTEGER, end_time INTEGER, "
        "callstack TEXT)"
    )  # fmt: skip
    database.executemany("INSERT INTO allocs VALUES (?, ?, ?, ?, ?)", rows)
    database.commit()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("large/allocations.json", json.dumps(polygons))
        archive.writestr("large/elements.db", database.serialize())
    database.close()
    return path


def polygon(size: int, *steps: int) -> dict[str, Any]:
    return {"elem": 0, "timesteps": list(steps), "offsets": [0] * len(steps), "size": size, "color": 0}


def test_archives_of_snapviewer_itself(tmp_path: Path, opened: Opened) -> None:
    """As the converter writes them: without allocations from before, and with stacks paired by position."""
    # live before: 10 and 20; free 10 (everything above moves down: 4 steps), alloc 30, alloc 40, free 20
    polygons = [
        polygon(10, 0, 0),
        polygon(20, 0, 0, 3, 6),
        polygon(30, 4, 6, 9, 10),
        polygon(40, 5, 6, 9, 10),
    ]
    rows = [
        (i, p["size"], 0, 0, f"(0) C:\\m.py:{i + 1}:f{i}\n(1) ??:0:at::g") for i, p in enumerate(polygons)
    ]
    snapshot = opened(write_zip(tmp_path / "a.zip", polygons, rows))
    (info,) = snapshot.timeline.devices
    device = snapshot.device(0)
    assert snapshot.info.kind == "snapviewer-archive"
    assert device.start.tolist() == [0, 0, 2, 3]
    assert device.end.tolist() == [1, 4, NEVER, NEVER]
    assert (info.peak_bytes, info.live_at_start_bytes, info.live_at_end_bytes) == (90, 30, 70)
    assert {warning.code for warning in snapshot.info.warnings} >= {"snapviewer", "stacks-unsure"}
    frames = stack_frames(snapshot, int(device.stack[2]))
    assert [(f.file, f.line, f.function, f.kind) for f in frames] == [
        ("C:\\m.py", 3, "f2", "user"), ("", 0, "at::g", "native")
    ]  # fmt: skip
    # the first event is an allocation: what it starts was not live before
    snapshot = opened(write_zip(tmp_path / "b.zip", [polygon(5, 0, 2), polygon(6, 1, 2)], [
        (0, 5, 0, 2, ""), (1, 6, 1, 2, "(0) a.py:1:f")]))  # fmt: skip
    assert snapshot.device(0).start.tolist() == [1, 2]
    assert "no-stacks" in {warning.code for warning in snapshot.info.warnings}
    # whether it was freed is unknown
    snapshot = opened(write_zip(tmp_path / "c.zip", [polygon(5, 0, 1)], [(0, 5, 0, 1, "")]))
    assert snapshot.device(0).end.tolist() == [NEVER]
    assert "end-unsure" in {warning.code for warning in snapshot.info.warnings}


def test_an_archive_without_segments_is_grouped_by_pool(tmp_path: Path, opened: Opened) -> None:
    polygons = [polygon(10, 0, 2), polygon(20, 1, 2)]
    rows = [(0, 10, 0, 2, "(0) a.py:1:f"), (1, 20, 1, 2, "(0) a.py:2:f")]
    snapshot = opened(write_zip(tmp_path / "a.zip", polygons, rows))
    assert "segments" not in snapshot.manifest.columns
    answer = groups(
        snapshot, Branch(AllocationSet(0, "live", None, None), ["pool"]), "bytes", 0, 9, descending=True
    )
    assert [(group.name.text, group.bytes, group.count) for group in answer.rows] == [
        ("Pool not in the file", 30, 2)
    ]


ROW = (0, 5, 0, 1, "")


VIRTUAL_SCHEMA = "CREATE VIRTUAL TABLE allocs USING fts5(idx, size, start_time, end_time, callstack)"
VIEW_SCHEMA = """
CREATE TABLE real (a, b, c, d, e);
CREATE VIEW allocs AS SELECT 0 AS idx, 5 AS size, 0 AS start_time, 1 AS end_time, '' AS callstack;
CREATE TRIGGER written INSTEAD OF INSERT ON allocs BEGIN SELECT 1; END;
"""


def damaged(folder: Path) -> dict[str, Path]:
    good = [polygon(5, 0, 1)]
    made = {
        "another size": write_zip(folder / "1.zip", good, [(0, 6, 0, 1, "")]),
        "fewer rows": write_zip(folder / "2.zip", [*good, *good], [ROW]),
        "more rows": write_zip(folder / "3.zip", good, [ROW, (1, 5, 0, 1, "")]),
        "negative": write_zip(folder / "4.zip", [polygon(-5, 0, 1)], [(0, -5, 0, 1, "")]),
        "backwards": write_zip(folder / "5.zip", [polygon(5, 3, 1)], [ROW]),
        "no steps": write_zip(folder / "6.zip", [polygon(5)], [ROW]),
        "enormous": write_zip(folder / "7.zip", [polygon(2**62, 0, 1)] * 2, [(i, 2**62, 0, 1, "") for i in (0, 1)]),
        "words": write_zip(folder / "8.zip", [{**good[0], "timesteps": ["a", "b"]}], [ROW]),
        "nothing": write_zip(folder / "9.zip", [], []),
        "a view": write_zip(folder / "10.zip", good, [(0, 0, 0, 0, "")], VIEW_SCHEMA),
        "a virtual table": write_zip(folder / "11.zip", good, [ROW], VIRTUAL_SCHEMA),
    }  # fmt: skip
    whole = made["another size"].read_bytes()
    made["cut"] = folder / "cut.zip"
    made["cut"].write_bytes(whole[: len(whole) // 2])
    made["no database"] = folder / "one.zip"
    with zipfile.ZipFile(made["no database"], "w") as archive:
        archive.writestr("allocations.json", "[]")
    made["no json"] = folder / "json.zip"
    with zipfile.ZipFile(made["no json"], "w") as archive:
        archive.writestr("allocations.json", "[{")
        archive.writestr("elements.db", b"SQLite format 3\0")
    made["a bomb"] = folder / "bomb.zip"
    with zipfile.ZipFile(made["a bomb"], "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("allocations.json", b" " * 40_000_000)
        archive.writestr("elements.db", b"")
    return made


def test_damaged_archives_are_rejected(tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memlens.packs.pytorch.snapviewer.MOST_EXPANSION", 100)
    for what, path in damaged(tmp_path).items():
        with pytest.raises(MemlensError) as caught:
            ingest(path, cache, lambda *_: None)
        assert caught.value.code in ("damaged", "not-a-snapshot"), what
        assert caught.value.message.text, what
        assert not list(cache.folder.iterdir()), what


def test_zip_files_with_changed_bytes(tmp_path: Path, cache: Cache, sample: Path, opened: Opened) -> None:
    whole = io.BytesIO()
    path = tmp_path / "out.zip"
    export.snapviewer(opened(sample), None, Output(path), lambda *_: None)
    whole.write(path.read_bytes())
    data = np.frombuffer(whole.getvalue(), np.uint8)
    random = np.random.default_rng(1)
    refused = 0
    for _ in range(tries(60)):
        broken = data.copy()
        places = random.integers(4, len(data), 40)
        broken[places] = random.integers(0, 256, 40)
        path.write_bytes(broken.tobytes())
        try:
            ingest(path, cache, lambda *_: None)
        except MemlensError:  # any other exception fails the test
            refused += 1
    assert refused > tries(20)


def directory_of(entries: int) -> bytes:
    """A zip of entries without contents, all of one name."""
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 0, 0, 0, 0, 1, 0) + b"a"
    entry = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    size = entries * len(entry)
    counts = (min(entries, 0xFFFF),) * 2
    return local + entry * entries + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, *counts, size, len(local), 0)


@pytest.mark.parametrize(
    ("entries", "error"), [(65, "a and 62 more"), (1000, "a and 997 more"), (1_000_000, "many other files")]
)
def test_zip_of_many_files_is_rejected(entries: int, error: str, tmp_path: Path, cache: Cache) -> None:
    path = tmp_path / "many.zip"
    path.write_bytes(directory_of(entries))
    with pytest.raises(MemlensError, match=error):
        ingest(path, cache, lambda *_: None)


def test_allocations_are_limited_while_they_are_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_MOST_ALLOCATIONS", 10_000)
    given = 0

    def endless() -> Iterator[bytes]:
        nonlocal given
        yield b"["
        while True:
            given += 1000
            assert given < 100_000, "more was unpacked than is allowed"
            yield b'{"timesteps":[0],"size":0},' * 1000

    with pytest.raises(reader.DamagedArchiveError, match="more than 10,000"):
        reader._lives(endless())


@given(st.data())
@settings(max_examples=tries(100), deadline=None)
def test_json_in_any_chunks(data: st.DataObject) -> None:
    polygons: list[dict[str, Any]] = [
        {**polygon(n, n, n + 2), "of": {"a": [{"b": "}, {"}]}, "note": "[{}]"}
        for n in data.draw(st.lists(st.integers(0, 99), min_size=1, max_size=8))
    ]
    text = json.dumps(polygons, indent=data.draw(st.sampled_from([None, 1]))).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    lives = reader._lives(iter(pieces))
    assert lives.size.tolist() == [each["size"] for each in polygons]
    assert lives.last_step.tolist() == [each["timesteps"][-1] for each in polygons]
    with pytest.raises(MemlensError):
        reader._lives(iter([text[:-1]]))


def test_database_that_unpacks_to_too_much_is_rejected(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_LEAST_DATABASE_BYTES", 1 << 20)
    path = tmp_path / "database.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("allocations.json", json.dumps([polygon(5, 0, 1)]))
        archive.writestr("elements.db", b"\0" * 40_000_000)
    with pytest.raises(MemlensError, match="unpacks to more than"):
        ingest(path, cache, lambda *_: None)


def test_traces_too_large_for_snapviewer_are_rejected(
    sample: Path, tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MOST_POINTS", 1_000)
    with pytest.raises(export.TooLargeError):
        export.snapviewer(opened(sample), None, Output(tmp_path / "out.zip"), lambda *_: None)
    with pytest.raises(BadRequestError):
        export.snapviewer(opened(sample), 9, Output(tmp_path / "out.zip"), lambda *_: None)
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(("out", "tmp"))]
