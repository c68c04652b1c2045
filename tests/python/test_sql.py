"""The tables for SQL against the columns, and the restrictions of queries."""

import contextlib
import csv
import io
import json
import operator
import pickle
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from tests.python.archived import source_lines
from tests.python.conftest import ROOT, event, frame, real_profiles, real_programs
from tests.python.counted import some
from tests.python.profile_reading import FIXTURES
from tests.python.recordings import TORCH
from tests.python.replays.torch import allocations, live_bytes, load

from memlens import cli
from memlens.cli.query_rows import csv_value, print_rows
from memlens.errors import BadRequestError
from memlens.model.info import ProfileInfo
from memlens.store.artefacts import SEAL_BYTES
from memlens.store.files.cache import Cache
from memlens.store.manifest import ArchiveError
from memlens.store.snapshot import Snapshot
from memlens.store.tables import fill as tables
from memlens.store.tables.schema import FILE_NAMES
from memlens.views.sql.confined import FUNCTIONS
from memlens.views.sql.heap import AGGREGATES, HEAP_FUNCTIONS, SCALARS
from memlens.views.sql.pages import SqlError, SqlSort
from memlens.views.sql.query import TABLES, SqlSession
from memlens.views.sql.schema import schema
from memlens.views.trace.picture.live import live

NEVER = 2**32 - 1
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "'; DROP TABLE events; --",
    "=cmd|'/c calc'!A1",
    "a\x00b\u202e\n",
    "%s\ud7ff",
]

Asked = Callable[..., list[list[Any]]]


@pytest.fixture
def session(opened: Callable[[Path], Snapshot]) -> Iterator[Callable[[Path], SqlSession]]:
    made: list[SqlSession] = []

    def make(path: Path) -> SqlSession:
        snapshot = opened(path)
        tables.fill(snapshot, lambda *_: None)
        made.append(SqlSession(Snapshot.open(snapshot.archive)))
        return made[-1]

    yield make
    for each in made:
        each.close()


def all_rows(session: SqlSession, query: str) -> list[tuple[Any, ...]]:
    return list(session.stream(query)[1])


def hostile_file(folder: Path) -> Path:
    """Names that are markup, SQL, formulas and control characters; an address and a stream above 2**63; two devices."""
    names = [frame(f"/x/{name}.py", number + 1, name) for number, name in enumerate(HOSTILE)]
    high = 2**64 - 4096
    first = [event("alloc", high + number, 100 + number, one, names[0], time_us=50 + number, stream=2**64 - 1)
             for number, one in enumerate(names)]  # fmt: skip
    second = [
        event("free_completed", 4096, 7, names[1], time_us=9),
        event("alloc", 8192, 11, names[2], time_us=10, pool_id=(3, 4)),
        {**event("oom", 0, 2**40, names[3], time_us=12), "device_free": 5},
        event("alloc", 8192, 13, names[4], time_us=15),
        event("free_requested", 8192, 13, names[4], time_us=16),
    ]  # fmt: skip
    blocks = [{"address": 65536 + at, "size": size, "requested_size": size - 12, "state": state, "frames": []}
              for at, size, state in ((0, 512, "active_allocated"), (512, 1536, "inactive"))]  # fmt: skip
    segment = {"device": 1, "address": 65536, "total_size": 2048, "allocated_size": 512, "active_size": 512,
               "requested_size": 500, "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0),
               "is_expandable": False, "frames": [], "blocks": blocks}  # fmt: skip
    marks = [{"stage": "START", "name": "ProfilerStep#1", "device": 1, "time_us": 11}]
    path = folder / "hostile.pickle"
    path.write_bytes(pickle.dumps({"segments": [segment], "device_traces": [first, second],
                                   "external_annotations": marks}, protocol=4))  # fmt: skip
    return path


def check_against_columns(snapshot: Snapshot, session: SqlSession) -> None:
    """Every row of events and allocations, computed from the columns."""
    manifest = snapshot.manifest
    number = 0
    for info in some(snapshot.timeline.devices):
        device = snapshot.device(info.device)
        times = None if device.time is None else device.time.tolist()
        address, size, stream, owner = (
            column.tolist()
            for column in (device.event_address, device.event_size, device.event_stream, device.event_owner)
        )
        answered = all_rows(session, "SELECT event, moment, time_us, action, size_bytes, live_bytes, allocation, "
                        f"stack, stream, address FROM events WHERE device = {info.device} ORDER BY event")  # fmt: skip
        assert answered == [
            (number + row, row + 1, None if times is None else times[row], manifest.actions[device.event_action[row]],
             size[row], int(device.live[row + 1]),
             None if owner[row] == NEVER else owner[row] + device.first_allocation, int(device.event_stack[row]),
             str(manifest.streams[stream[row]]), hex(address[row]))
            for row in range(info.events)
        ]  # fmt: skip
        number += info.events
        answered = all_rows(session, "SELECT allocation, size_bytes, start_moment, end_moment, live_at_peak, stack, "
                        "address, start_time_us, lifetime_us, state FROM allocations "
                        f"WHERE device = {info.device} ORDER BY allocation")  # fmt: skip
        expected = []
        for row in range(info.allocations):
            start, end = int(device.start[row]), int(device.end[row])
            began = times[start - 1] if times is not None and start else None
            freed = end != NEVER
            life = times[end - 1] - began if times is not None and freed and began is not None else None
            state = "freed" if freed else "pending_free" if device.flags[row] & 2 else "live"
            expected.append((
                device.first_allocation + row, int(device.size[row]), start, end if freed else None,
                int(start <= info.peak_moment < end), int(device.stack[row]), hex(int(device.address[row])), began,
                life, state,
            ))  # fmt: skip
        assert answered == expected
        peak = (
            all_rows(session, f"SELECT sum(size_bytes) FROM live_at_peak WHERE device = {info.device}")[0][0]
            or 0
        )
        assert peak == info.peak_bytes
        for moment in np.linspace(0, info.events, 7, dtype=int).tolist():
            rows = live(snapshot, info.device, moment, 0, 1_000).rows
            answered = all_rows(
                session, f"SELECT allocation, size_bytes, file, line FROM live_at({info.device}, {moment})"
            )
            assert sorted(answered) == sorted(
                (row.allocation, row.size_bytes, *((row.label.file, row.label.line) if row.label else (None, None)))
                for row in rows
            )  # fmt: skip


@pytest.mark.parametrize("which", ["sample", "hostile"])
def test_the_tables_agree_with_the_columns(
    which: str,
    sample: Path,
    tmp_path: Path,
    opened: Callable[[Path], Snapshot],
    session: Callable[[Path], SqlSession],
) -> None:
    path = sample if which == "sample" else hostile_file(tmp_path)
    snapshot = opened(path)
    made = session(path)
    check_against_columns(snapshot, made)
    assert all_rows(made, "SELECT count(*) FROM survivors") == all_rows(
        made, "SELECT count(*) FROM allocations WHERE end_moment IS NULL AND start_moment > 0"
    )
    lines = [(file, line, figures[0], figures[2]) for file, line, _, _, figures in source_lines(snapshot)]
    lines.sort(key=lambda row: (-row[3], -row[2]))
    answered = all_rows(made, "SELECT file, line, total_bytes, live_at_peak_bytes FROM lines")
    assert sorted(answered) == sorted(lines)
    # by_line has what stacks are charged to, so that no line stands first for what it only calls
    charged: dict[tuple[Any, ...], list[int]] = {}
    for file, line, *figures in all_rows(
        made, "SELECT file, line, total_bytes, live_at_peak_bytes FROM stacks JOIN frames USING (frame)"
    ):
        sums = charged.setdefault((file, line), [0, 0])
        sums[:] = map(operator.add, sums, figures)
    answered = all_rows(made, "SELECT file, line, total_bytes, live_at_peak_bytes FROM by_line")
    assert sorted(answered) == sorted((*place, *sums) for place, sums in charged.items())
    assert answered == sorted(answered, key=lambda row: (-row[3], -row[2]))
    for stack in range(0, len(snapshot.stacks.node), 7):
        frames = all_rows(made, f"SELECT frame FROM stack_frames WHERE stack = {stack} ORDER BY level")
        assert [row[0] for row in frames] == snapshot.stack_frame_ids(stack)
        assert all_rows(made, f"SELECT depth FROM stacks WHERE stack = {stack}") == [(len(frames),)]


# check_against_columns holds every row of a made trace
@pytest.mark.slow
@pytest.mark.parametrize("path", [*TORCH, *real_programs("*.pickle")], ids=lambda path: path.stem)
def test_real_files_have_the_same_peaks_in_sql(path: Path, session: Callable[[Path], SqlSession]) -> None:
    made = session(path)
    snapshot = load(path)
    traces = [] if isinstance(snapshot, list) else snapshot.get("device_traces", [])
    expected = {
        device: max(
            live_bytes(allocations(snapshot, device), len(traces[device]) if device < len(traces) else 0)
        )
        for (device,) in all_rows(made, "SELECT device FROM devices")
    }
    answered = dict(all_rows(made, "SELECT device, peak_bytes FROM devices"))
    live = dict(all_rows(made, "SELECT device, sum(size_bytes) FROM live_at_peak GROUP BY device"))
    assert expected
    for device, peak in expected.items():
        assert answered[device] == peak
        assert live.get(device, 0) == peak
    # blocks tile their segments, on every device
    assert all_rows(made, "SELECT segment, total_bytes, sum(b.size_bytes) AS tiled FROM segments JOIN blocks AS b "
                    "USING (segment) GROUP BY segment HAVING tiled <> total_bytes") == []  # fmt: skip
    assert all_rows(made, "SELECT count(*) FROM blocks WHERE segment IS NULL") == [(0,)]


def test_devices_segments_annotations_and_a_set_per_row(
    tmp_path: Path, session: Callable[[Path], SqlSession]
) -> None:
    made = session(hostile_file(tmp_path))
    assert all_rows(made, "SELECT file FROM frames WHERE line = 3") == [(f"/x/{HOSTILE[2]}.py",)]
    assert all_rows(made, "SELECT DISTINCT stream, address FROM events WHERE device = 0 LIMIT 1") == [
        (str(2**64 - 1), hex(2**64 - 4096))
    ]
    assert all_rows(made, "SELECT pool FROM events WHERE device = 1 AND moment = 2") == [("3:4",)]
    assert all_rows(made, "SELECT segment, device, state, size_bytes, address FROM blocks") == [
        (0, 1, "active_allocated", 512, "0x10000"), (0, 1, "inactive", 1536, "0x10200")
    ]  # fmt: skip
    assert all_rows(made, "SELECT device, time_us, moment, stage, name FROM annotations") == [
        (1, 2, 2, "START", "ProfilerStep#1")
    ]
    assert all_rows(made, "SELECT e.device, name, value FROM notes JOIN events AS e USING (event)") == [
        (1, "device_free", 5)
    ]
    # the argument comes from another table, whichever SQLite reads first
    per_event = all_rows(made, "SELECT e.moment, sum(l.size_bytes) FROM live_at(e.device, e.moment) AS l, events AS e "
                         "WHERE e.device = 1 GROUP BY e.event")  # fmt: skip
    assert per_event == all_rows(
        made, "SELECT moment, live_bytes FROM events WHERE device = 1 AND live_bytes > 0"
    )
    # a filter narrows the rows, and doesn't move the peak
    every = "SELECT allocation, size_bytes FROM live_at(1, NULL{})"
    sizes = all_rows(made, every.format(""))
    largest = max(size for _, size in sizes)
    some = all_rows(made, every.format(f", 'size<{largest}'"))
    assert some == [row for row in sizes if row[1] < largest]
    assert 0 < len(some) < len(sizes)
    assert all_rows(made, every.format(", 'module:nothing'")) == []
    by_time = "SELECT count(*) FROM live_at_time(1, {})"
    assert [all_rows(made, by_time.format(at))[0][0] for at in (-1, 0, 1, 3, 6, "NULL")] == [2, 1, 2, 2, 2, 2]


PROFILES = [
    *(FIXTURES / name for name in ("service.heaptrack.zst", "go-heap.debug1.txt", "tracemalloc.pickle")),
    *real_profiles(
        "pprof/go-heap.pb.gz", "heaptrack/heaptrack.sqlite.zst", "public/parca/profile-with-labels.pb.gz"
    ),
]
OF_ALL = {"stacks", "stack_frames", "frames", "lines", "by_line"}
OF_PROFILES = {"value_types", "samples", "sample_values", "labels", "values"}
OF_GRAPHS = {"objects", "refs", "types", "roots", "strings", "threads", "thread_frames", "variables"}
HEAP = ROOT / "tests" / "fuzz" / "corpus" / "file" / "small.heapsnapshot"
"""A heap dump with allocation stacks."""


@pytest.mark.parametrize("path", [None, *PROFILES, HEAP], ids=lambda path: path.name if path else "trace")
def test_every_example_runs_and_every_column_is_described(
    path: Path | None,
    sample: Path,
    opened: Callable[[Path], Snapshot],
    session: Callable[[Path], SqlSession],
) -> None:
    """Each model has its own tables, and a file with queries about these."""
    info = opened(path or sample).info
    made = session(path or sample)
    reported = schema(info, ["unread", "realms"] if path == HEAP else [])
    described = {table.name.strip('"'): table for table in reported.tables}
    of_traces = {*TABLES, "live_at", "live_at_time", "what_if"} - OF_PROFILES - OF_GRAPHS
    of_heap = OF_GRAPHS | {*HEAP_FUNCTIONS} if path == HEAP else set()
    assert described.keys() == (of_traces if path is None else OF_ALL | OF_PROFILES | of_heap)
    # a file's own tables come before those that most files have
    own = [name for name in described if name not in OF_ALL]
    assert list(described)[: len(own)] == own
    if path == HEAP:
        assert list(described)[: len(of_heap)] == [name for name in described if name in of_heap]
    for name, table in described.items():
        answer = made.ask(f'SELECT * FROM "{name}"', limit=1)
        assert [column.name for column in answer.columns] == [column.name for column in table.columns]
        assert all(column.description for column in table.columns), table
        assert table.description
    assert len(reported.examples) >= (10 if path is None else 6)
    for example in reported.examples:
        answer = made.ask(example.query)
        assert answer.columns, example.title
        if not any(
            words in example.title
            for words in (
                "-of-memory",
                "reserved",
                "before recording",
                "nothing reads",
                "the frame of the page",
            )
        ):
            assert answer.rows, example.title
    if isinstance(info, ProfileInfo):
        titles = [example.title for example in reported.examples]
        assert ("What each label comes to" in titles) == bool(info.labels)
        assert ("Sizes of blocks" in titles) == info.has_sizes
        total = info.values[info.default_value].total
        by_file = next(example for example in reported.examples if "by file" in example.title)
        assert 0 < sum(int(row[2] or 0) for row in made.ask(by_file.query).rows) <= total


ATTEMPTS = """
ATTACH 'other.db' AS other
DETACH main
INSERT INTO frames VALUES (1, 'x', 1, 'x', 'user')
UPDATE frames SET line = 1
DELETE FROM events
REPLACE INTO frames VALUES (1, 'x', 1, 'x', 'user')
CREATE TABLE x (y)
CREATE TEMP TABLE x (y)
CREATE TEMP VIEW x AS SELECT 1
CREATE TEMP TRIGGER x AFTER INSERT ON frames BEGIN SELECT 1; END
CREATE VIRTUAL TABLE temp.x USING fts5(y)
CREATE INDEX x ON frames (line)
DROP TABLE events
ALTER TABLE events RENAME TO e
ANALYZE
REINDEX
VACUUM
VACUUM INTO 'copy.db'
BEGIN
COMMIT
SAVEPOINT x
PRAGMA journal_mode = WAL
PRAGMA writable_schema = 1
PRAGMA query_only = 0
PRAGMA user_version = 9
PRAGMA temp_store_directory = '/tmp'
PRAGMA hard_heap_limit = 1
PRAGMA wal_checkpoint
SELECT load_extension('x.so')
SELECT fts5(1)
SELECT readfile('/etc/passwd')
SELECT writefile('x', 'y')
SELECT edit('x')
SELECT zeroblob(1000000000)
SELECT randomblob(1000000000)
SELECT * FROM pragma_journal_mode('wal')
SELECT * FROM pragma_database_list
SELECT * FROM sqlite_dbpage
SELECT * FROM dbstat
SELECT * FROM carray(1, 1)
SELECT * FROM fsdir('/')
SELECT count(*) FROM dbstat
SELECT count(*) FROM DBSTAT AS events
SELECT count(*) FROM sqlite_dbpage
SELECT count(*) FROM pragma_database_list
SELECT count(*) FROM Pragma_journal_mode
SELECT count(*) FROM sqlite_stmt
SELECT count(*) FROM carray(1, 1)
SELECT * FROM generate_series(1, 10)
SELECT 1; DELETE FROM events
SELECT 1; SELECT 2
WITH x AS (SELECT 1) INSERT INTO frames SELECT 1, 'x', 1, 'x', 'user'
EXPLAIN DELETE FROM events
SELECT printf('%.*c', 100000000, 'x')
SELECT group_concat(file || function, '') FROM frames, events
""".strip().splitlines()


@pytest.mark.slow
def test_a_query_can_only_read(sample: Path, session: Callable[[Path], SqlSession]) -> None:
    made = session(sample)
    folder = next(iter(made._snapshot.archive.parent.iterdir()))

    def files() -> dict[str, tuple[int, int]]:
        return {file.name: (file.stat().st_size, file.stat().st_mtime_ns) for file in folder.iterdir()}

    before, refused = files(), []
    for query in ATTEMPTS:
        with contextlib.suppress(SqlError):
            made.ask(query)
            continue
        refused.append(query)
        assert files() == before, query
        assert made.ask("SELECT count(*) FROM events").rows == [[13_798]], query
    assert refused == ATTEMPTS


def test_every_allowed_function_exists_in_sqlite() -> None:
    known = {row[0] for row in apsw.Connection(":memory:").execute("SELECT name FROM pragma_function_list")}
    assert not FUNCTIONS - known - {*AGGREGATES, *SCALARS, "regexp"}
    assert not {
        name for name in FUNCTIONS if any(word in name for word in ("load", "file", "edit", "blob", "fts"))
    }


def test_errors_are_reported_with_their_position(sample: Path, session: Callable[[Path], SqlSession]) -> None:
    made = session(sample)
    for query, offset in (("SELECT 'ö', nix FROM events", 12), ("SELEC 1", 0), ("SELECT 1;\nSELECT 2", 10)):
        with pytest.raises(SqlError) as caught:
            made.ask(query)
        assert (caught.value.offset, caught.value.code) == (offset, "sql")
    # names are compared with those of the tables that the query has
    for query, near in (
        ("SELECT sise_bytes FROM allocations", "size_bytes"),
        ("SELECT a.Lifetime FROM allocations AS a", "lifetime_us"),
        ("SELECT 1 FROM alocations", "allocations"),
        ("SELECT uper('x')", "upper"),
        ("SELECT moment FROM live_at_peak", "end_moment or start_moment?"),
        ("SELECT siz FROM allocations", "size_bytes"),
        ("SELECT a.line_number FROM by_line AS a", "line?"),
        ("SELECT zzz FROM allocations", ""),
        ("SELECT zzz FROM allocations, events", ""),
    ):
        for asked in (made.ask, made.needs):
            with pytest.raises(SqlError) as caught:
                asked(query)
            # the most similar name comes first
            assert (
                caught.value.advice.text.startswith(f"Did you mean {near}")
                if near
                else caught.value.advice.text.startswith("The table allocations has allocation, ")
                if "," not in query
                else not caught.value.advice.text
            )
    for query in ("", " -- nothing\n ;", "SELECT '\ud800'", "SELECT 1\0"):
        with pytest.raises(SqlError):
            made.ask(query)
    for query in ("SELECT * FROM live_at(9)", "SELECT * FROM live_at(0, -1)", "SELECT * FROM live_at('x')",
                  "SELECT * FROM live_at(0, 1, 2)", "SELECT * FROM live_at(0, 1, 'nix:1')",
                  "SELECT * FROM what_if('x')", "SELECT * FROM what_if(0, 1)",
                  "SELECT * FROM what_if(0, 'nix:1')"):  # fmt: skip
        with pytest.raises(BadRequestError):
            made.ask(query)
    counted = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 9) SELECT count(*) FROM c, EVENTS"
    assert made.ask(counted).rows == [[9 * 13_798]]
    assert made.ask("SELECT 1 -- that's all; really\n;; /* yes */").rows == [[1]]


def test_pages_requested_in_any_order_make_the_whole_result(
    sample: Path, session: Callable[[Path], SqlSession]
) -> None:
    made = session(sample)
    query = "SELECT allocation, size_bytes, size_bytes FROM allocations ORDER BY lifetime_us, allocation -- the end"
    whole = made.ask(query, limit=10_000)
    assert (len(whole.rows), whole.more) == (4_740, False)
    assert [column.type for column in whole.columns] == ["integer"] * 3
    parts: list[list[Any]] = []
    while True:
        part = made.ask(query, len(parts), 1_000)
        parts += part.rows
        assert part.more == (len(parts) < 4_740) == made.has_more
        if not part.more:
            break
    assert parts == whole.rows
    # another query between two pages, and a page from the middle
    made.ask(query, 0, 10)
    made.ask("SELECT 1")
    assert made.ask(query, 10, 20).rows == whole.rows[10:30]
    sorted_rows = made.ask(query, 100, 50, SqlSort(1, descending=True)).rows
    assert [row[1] for row in sorted_rows] == sorted((int(row[1] or 0) for row in whole.rows), reverse=True)[
        100:150
    ]
    for sort in (SqlSort(3), SqlSort(-1)):
        with pytest.raises(SqlError):
            made.ask(query, sort=sort)


def test_values_are_sent_as_javascript_can_represent_them(
    sample: Path, session: Callable[[Path], SqlSession]
) -> None:
    answer = session(sample).ask("SELECT 9007199254740993, 9007199254740992, 1e999, x'00ff', NULL, 1.5, "
                                 "printf('%.*c', 5000, 'y'), hex(1) "
                                 "UNION ALL SELECT 1, 1, 1, 1, NULL, 1, 'z', NULL")  # fmt: skip
    first = answer.rows[0]
    assert first[:6] == ["9007199254740993", 9007199254740992, "Inf", "x'00ff'", None, 1.5]
    assert len(str(first[6])) == 4_000
    assert [column.type for column in answer.columns] == [
        "integer", "integer", "real", "mixed", "none", "real", "text", "text"
    ]  # fmt: skip


def test_a_query_that_takes_too_much_memory_ends(
    sample: Path, session: Callable[[Path], SqlSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memlens.views.sql.confined.MOST_MEMORY_BYTES", 64 << 20)
    made = session(sample)
    began = time.monotonic()
    with pytest.raises(SqlError, match="64 MiB of memory"):
        made.ask("SELECT a.event, b.event, a.address || b.address FROM events AS a, events AS b ORDER BY 3")
    assert time.monotonic() - began < 20
    assert apsw.memory_used() < 128 << 20
    assert made.ask("SELECT 1").rows == [[1]]


def test_tables_appear_complete_and_count_for_the_cache(
    sample: Path, cache: Cache, opened: Callable[[Path], Snapshot], monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = opened(sample)
    archive = snapshot.archive
    with pytest.raises(ArchiveError):
        SqlSession(Snapshot.open(archive))

    def interrupted(_stage: str, fraction: float) -> None:
        assert not [file for file in archive.iterdir() if file.name.endswith(".db") and "sql" in file.name]
        if fraction > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tables.fill(snapshot, interrupted, ["events"])
    assert not [file for file in archive.iterdir() if file.name.startswith("sql")]
    # leftovers of a killed process are removed when the cache is examined or the tables are made
    for name in FILE_NAMES.values():
        (archive / f"{name}.partial-999999999").write_bytes(b"x" * 100)
    cache.evict()
    assert not [file for file in archive.iterdir() if file.name.startswith("sql")]
    tables.fill(snapshot, lambda *_: None)
    assert tables.are_filled(snapshot.origin)
    # tables of another version or another archive are rebuilt
    assert not tables.are_filled(snapshot.origin._replace(checksum="0" * 16))
    newer = {part: table._replace(version=table.version + 1) for part, table in tables.TABLES.items()}
    monkeypatch.setattr(tables, "TABLES", newer)
    assert not tables.are_filled(snapshot.origin)
    tables.fill(snapshot, lambda *_: None)
    assert tables.are_filled(snapshot.origin)
    snapshot.close()
    size = sum(file.stat().st_size for file in archive.iterdir())
    without = size - sum((archive / name).stat().st_size for name in FILE_NAMES.values())
    assert Cache(cache.folder, size, spared_s=0).find(sample) == archive
    Cache(cache.folder, size).evict()
    assert archive.exists()
    Cache(cache.folder, (size + without) // 2, spared_s=0).evict()
    assert not archive.exists()


def test_the_command_prints_tables_json_and_csv(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        status = cli.main(["sql", *arguments, "--cache-dir", str(tmp_path / "cache")])
        return status, *capsys.readouterr()

    query = "SELECT allocation, size_bytes AS s, size_bytes AS s, file FROM live_at_peak ORDER BY 1"
    status, out, err = run(str(sample), query, "--json")
    rows = json.loads(out)
    assert (status, err, len(rows)) == (0, "", 234)
    assert run(str(sample), "--json", query) == (0, out, "")
    with pytest.raises(SystemExit):
        run(str(sample), "--json", query, query)
    assert "unrecognized arguments: SELECT" in capsys.readouterr().err
    assert list(rows[0]) == ["allocation", "s", "s_2", "file"]
    status, out, err = run(str(sample), "SELECT allocation FROM allocations")
    assert (status, len(out.splitlines()), err) == (
        0,
        1_002,
        "There are more rows than 1,000: use --limit.\n",
    )
    path = hostile_file(tmp_path)
    status, out, err = run(
        str(path), "SELECT function, -line AS minus, file FROM frames ORDER BY line", "--csv"
    )
    read = list(csv.reader(io.StringIO(out)))
    assert [row[0] for row in read[1:]] == [
        f"'{name}" if name.startswith("=") else name.replace("; --", ";' --") for name in HOSTILE
    ]
    assert [row[1] for row in read[1:]] == ["-1", "-2", "-3", "-4", "-5"]
    status, out, err = run(str(path), "SELECT function FROM frames ORDER BY line")
    assert "a\N{SYMBOL FOR NULL}b\N{REPLACEMENT CHARACTER}\N{SYMBOL FOR LINE FEED}" in out
    assert run(str(path), "DROP TABLE events")[0] == 1
    status, out, err = run(str(path), "SELECT nix FROM events")
    assert status == 1
    assert err.startswith(
        f"memlens: {path}: no such column: nix (at character 8). The table events has event, "
    )
    status, out, err = run(str(path), "--schema")
    assert "live_at(device, moment, filter)" in out
    assert "-- What filled the memory at the peak" in out
    status, out, err = run(str(FIXTURES / "service.heaptrack.zst"), "--schema")
    assert (status, err) == (0, "")
    assert "live_at(" not in out
    assert "sample_values: " in out
    assert "name = 'peak_bytes'" in out


def test_damaged_tables_are_reported_and_rebuilt(
    sample: Path, tmp_path: Path, opened: Callable[[Path], Snapshot]
) -> None:
    snapshot = opened(sample)
    tables.fill(snapshot, lambda *_: None)
    numbers = {"objects": "object", "refs": "ref", "strings": "string"}
    for part, name in FILE_NAMES.items():
        database = snapshot.archive / name
        whole = database.read_bytes()
        seal = whole[-SEAL_BYTES:]
        database.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096 - len(seal)) + seal)
        with pytest.raises(ArchiveError), closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
            session.ask(
                f"SELECT sum({numbers.get(part, 'stack')}) FROM {'stacks' if part == 'base' else part}"
            )
        for damaged in (whole[:100], whole[:100] + b"\xff" * 8_192):
            database.write_bytes(damaged + seal)
            with pytest.raises(ArchiveError):
                SqlSession(Snapshot.open(snapshot.archive))
        # a file without its seal counts as missing, and is rebuilt
        database.write_bytes(whole[: -len(seal)])
        tables.fill(snapshot, lambda *_: None)
        assert database.read_bytes()[-len(seal) : -8] == seal[:-8]


@pytest.mark.parametrize("before", ["", " ", "\u00a0", "\t", "\u200b", "\ufeff ", "\n"])
@pytest.mark.parametrize("start", "=+-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b")
def test_no_text_is_a_formula_of_a_spreadsheet(start: str, before: str) -> None:
    ends_cell = "'" if before in ("\t", "\n") else ""
    assert csv_value(f"{before}{start}1") == f"'{before}{ends_cell}{start}1"
    assert csv_value(f"a{before}{start}1") == f"a{before}{ends_cell}{start}1"


def test_no_character_without_ink_hides_a_formula() -> None:
    for character in map(chr, range(sys.maxunicode + 1)):
        if character.isspace() or unicodedata.category(character) in ("Cc", "Cf"):
            assert csv_value(f"{character}=1").startswith("'"), repr(character)
            assert csv_value(f"a;{character}=1").startswith("a;'"), repr(character)


@pytest.mark.parametrize("separator", [";", "|", "\t", "\n", "\r\n"])
def test_no_part_of_a_text_is_a_formula_where_spreadsheets_separate_by_other_signs(separator: str) -> None:
    for formula in ("=1+1", " +1", "\u200b@f()", "\uff1d1"):
        assert csv_value(f"a{separator}{formula}").endswith(f"{separator[-1]}'{formula}")
        assert csv_value(f"a{separator}{formula}").replace("'", "") == f"a{separator}{formula}"
    assert csv_value(f"a{separator}b = 1") == f"a{separator}b = 1"


def test_a_table_holds_few_long_values_in_memory(capsys: pytest.CaptureFixture[str]) -> None:
    """A thousand rows say how wide its columns are, unless they are long: a row may have 500 megabytes."""
    seen = ""

    def rows() -> Iterator[tuple[str, ...]]:
        nonlocal seen
        for number in range(60):
            yield (f"row {number} ".ljust(5_000, "x"),) * 20
        seen = capsys.readouterr().out

    print_rows([f"c{number}" for number in range(20)], rows(), "table", None)
    assert seen.count("row 0 ") == 20
