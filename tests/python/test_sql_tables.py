"""The pages written for SQL, read by SQLite: against rows inserted by statements, and SQLite's integrity check."""

import pickle
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from tests.python.conftest import event, frame, real_files, real_profiles
from tests.python.profile_reading import FIXTURES
from tests.python.test_sql import hostile_file

from memlens.kernels.base import sqlite_trees as kernel
from memlens.kernels.base.sqlite_trees import Texts
from memlens.store.artefacts import SEAL_BYTES
from memlens.store.snapshot import Snapshot
from memlens.store.tables import fill as tables
from memlens.store.tables.database_file import Column, Inserts, Rows, Trees, add_computed, connect
from memlens.store.tables.packed_pages import NewPages, StoredPages, packed, uri
from memlens.store.tables.schema import FILE_NAMES, statements
from memlens.views.sql.query import SqlSession

READING = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
LOWEST, HIGHEST = -(2**63), 2**63 - 1
SCHEMA = """
    CREATE TABLE numbered (number INTEGER PRIMARY KEY, a INTEGER, b INTEGER, twice AS (2 * b), text TEXT);
    CREATE TABLE keyed (a INTEGER, b INTEGER, text TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;
    CREATE INDEX by_text ON numbered (text, a);
    CREATE INDEX some_by_b ON numbered (b) WHERE a IS NOT NULL;
    CREATE INDEX keyed_by_text ON keyed (text);
"""


def checked(database: apsw.Connection, schema: str = "main") -> None:
    assert database.execute(f"PRAGMA {schema}.integrity_check").fetchall() == [("ok",)]


def contents(archive: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows with their types, each file checked."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for name in FILE_NAMES.values():
        with closing(apsw.Connection(uri(archive / name), flags=READING)) as database:
            add_computed(database, str, str)
            checked(database)
            names: list[Any] = database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table'"
            ).fetchall()
            for (table,) in names:
                rows = database.execute(f"SELECT * FROM {table}").fetchall()
                found[table] = [(*row, *map(type, row)) for row in rows]
            indexes = database.execute(
                "SELECT name, tbl_name FROM sqlite_schema WHERE type = 'index'"
            ).fetchall()
            found[f"indexes of {name}"] = sorted(indexes)
    return found


def counted(archive: Path) -> dict[str, tuple[str, str]]:
    """What the planner is told of each index of the long tables, and what SQLite finds by reading all of it."""
    found: dict[str, tuple[str, str]] = {}
    for name in FILE_NAMES.values():
        with closing(apsw.Connection(":memory:")) as database:
            with closing(apsw.Connection(uri(archive / name), flags=READING)) as stored:
                database.deserialize("main", stored.serialize("main"))
            told: dict[str, str] = dict(
                database.execute("SELECT idx, stat FROM sqlite_stat1 WHERE idx NOT NULL")
            )
            database.pragma("analysis_limit", 0)
            database.execute("ANALYZE")
            whole: dict[str, str] = dict(
                database.execute("SELECT idx, stat FROM sqlite_stat1 WHERE idx NOT NULL")
            )
        found |= {index: (told[index], whole[index]) for index in told if index in LONG_INDEXES}
    return found


LONG_INDEXES = {
    "events_by_action", "allocations_by_stack", "allocations_at_peak", "allocations_left", "allocations_before_trace",
    "samples_by_stack", "stack_frames_by_frame", "objects_by_dominator", "objects_by_id", "refs_by_source",
    "refs_by_target",
}  # fmt: skip
FILES = [
    "sample",
    "hostile",
    *sorted(
        path for path in FIXTURES.iterdir() if path.suffix in {".zst", ".txt", ".pickle", ".out", ".json"}
    ),
    *real_files("*medium_512_inf*", "verl*", "niu__forward_memory_snapshot_100*"),
    *real_profiles(
        "pprof/go-heap.pb.gz", "heaptrack/heaptrack.sqlite.zst", "public/parca/profile-with-labels.pb.gz"
    ),
]


@pytest.mark.parametrize("which", FILES, ids=lambda path: path if isinstance(path, str) else path.name[:40])
def test_pages_equal_inserted_rows(
    which: str | Path,
    sample: Path,
    tmp_path: Path,
    opened: Callable[[Path], Snapshot],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = (
        {"sample": sample, "hostile": hostile_file(tmp_path)}.get(which, which)
        if isinstance(which, str)
        else which
    )
    snapshot = opened(Path(path))
    tables.fill(snapshot, lambda *_: None)
    written, known = contents(snapshot.archive), counted(snapshot.archive)
    assert all(told == whole for told, whole in known.values())
    tables.remove(snapshot.archive)
    monkeypatch.setattr(tables, "_LONGEST_TEXT_BYTES", -1)
    tables.fill(snapshot, lambda *_: None)
    inserted = contents(snapshot.archive)
    assert counted(snapshot.archive) == known
    # of short tables statistics are from samples, which depend on where pages end
    for found in (written, inserted):
        for name in ("sqlite_stat1", "sqlite_stat4"):
            found.pop(name, None)
    assert written.keys() == inserted.keys()
    for name, rows in inserted.items():
        assert written[name] == rows, name
    assert {each.name for each in statements() if each.kind == "TABLE"} < written.keys()


def test_names_too_long_for_a_page_are_whole(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    long = "segment_" + "x" * 5_000
    names = frame("/a.py", 1, "f")
    events = [event("alloc", 4096, 8, names), event(long, 8192, 16, names), event("alloc", 12_288, 8, names)]
    path = tmp_path / "long.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [events]}, protocol=4))
    snapshot = opened(path)
    tables.fill(snapshot, lambda *_: None)
    contents(snapshot.archive)
    with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
        rows = list(session.stream("SELECT action, count(*) FROM events GROUP BY 1")[1])
    assert sorted(rows) == [("alloc", 2), (long, 1)]


def table(seed: int, count: int, longest: int) -> tuple[dict[str, Column], Texts]:
    """Columns with values of every length, NULLs and texts, including the empty one."""
    random = np.random.default_rng(seed)
    # values of every number of bits, and their neighbours
    shifts = random.integers(0, 64, count)
    numbers = (np.uint64(1) << shifts.astype(np.uint64)).view(np.int64) * random.choice([-1, 1], count)
    numbers = numbers + random.integers(-1, 2, count)
    numbers[: min(count, 4)] = [LOWEST, HIGHEST, 0, -1][:count]
    texts = Texts(
        [None, "", "ö" * (longest // 2), *(chr(97 + n % 26) * (n * longest // 20) for n in range(20))]
    )
    missing = (random.random(count) < 0.2).astype(np.uint8)
    columns: dict[str, Column] = {
        "a": (numbers, missing, None),
        "b": (random.permutation(numbers), None, None),
        "text": (random.integers(0, len(texts), count), None, texts),
    }
    return columns, texts


def batches(count: int, columns: dict[str, Column], rows: int = 1_000) -> Iterator[Rows]:
    for start in range(0, count, rows):
        part = slice(start, min(start + rows, count))
        chosen = {
            name: None
            if column is None
            else (column[0][part].copy(), None if column[1] is None else column[1][part], column[2])
            for name, column in columns.items()
        }
        yield Rows(part.stop - part.start, chosen, start - 500)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "longest"),
    [(0, 10), (1, 10), (2, 800), (5, 800), (6, 800), (60, 10), (1_000, 800), (8_000, 800), (100_000, 4)],
)
def test_trees_of_every_size_are_valid(tmp_path: Path, count: int, longest: int) -> None:
    """Rows in the order of each key, which SQLite itself computes from rows inserted by statements."""
    columns, _ = table(count, count, longest)
    one, two = NewPages(tmp_path / "written.db"), NewPages(tmp_path / "inserted.db")
    for pages in (one, two):
        with closing(connect(pages)) as database:
            database.execute(SCHEMA)
    keys = Rows(count, {"a": (np.arange(count) // 3 - 7, None, None), "b": (np.arange(count) % 3, None, None),
                        "text": columns["text"]})  # fmt: skip
    with Inserts(two) as filler:
        filler.fill("numbered", batches(count, columns))
        filler.fill("keyed", [keys])
    with closing(connect(two)) as database:
        in_order = {
            "by_text": database.execute("SELECT number FROM numbered ORDER BY text, a, number").fetchall(),
            "some_by_b": database.execute(
                "SELECT number FROM numbered WHERE a IS NOT NULL ORDER BY b, number"
            ).fetchall(),
        }
        keyed = database.execute("SELECT a, b FROM keyed ORDER BY text, a, b").fetchall()
    with Trees(one) as filler:
        filler.fill("numbered", batches(count, columns))
        filler.fill("keyed", [keys])
        for name, found in in_order.items():
            numbers = np.array(found, np.int64).reshape(-1)
            chosen: dict[str, Column] = {"rowid": (numbers, None, None)}
            for column in columns:
                values, missing, texts = columns[column] or (numbers, None, None)
                chosen[column] = (
                    values[numbers + 500],
                    None if missing is None else missing[numbers + 500],
                    texts,
                )
            filler.fill(name, [Rows(len(numbers), chosen)])
        pairs = np.array(keyed, np.int64).reshape(-1, 2)
        values, _, texts = columns["text"] or (pairs, None, None)
        of_keys: dict[str, Column] = {
            "a": (pairs[:, 0].copy(), None, None), "b": (pairs[:, 1].copy(), None, None),
            "text": (values[(pairs[:, 0] + 7) * 3 + pairs[:, 1]], None, texts),
        }  # fmt: skip
        filler.fill("keyed_by_text", [Rows(len(pairs), of_keys)])
    with closing(connect(one)) as database:
        checked(database)
        database.execute("ATTACH ? AS inserted", (two.uri,))
        for name in ("numbered", "keyed"):
            rows = database.execute(f"SELECT * FROM main.{name}").fetchall()
            assert len(rows) == count
            assert rows == database.execute(f"SELECT * FROM inserted.{name}").fetchall()
        # and the database is writable, with trees that can be rebalanced
        database.execute("DELETE FROM numbered WHERE number % 3 = 0; DELETE FROM keyed WHERE b = 1")
        database.execute("INSERT INTO numbered SELECT number + 1000000, b, a, text FROM numbered")
        checked(database)
    for pages in (one, two):
        pages.close()


def test_no_tree_uses_the_lock_page(tmp_path: Path) -> None:
    empty = bytes(kernel.PAGE_BYTES)
    with packed(tmp_path / "large.db") as pages:
        with closing(connect(pages)) as database:
            database.execute(SCHEMA)
        # an empty gibibyte, which takes no space
        pages.put(kernel.LOCK_PAGE - 11, empty)
        columns, _ = table(1, 20_000, 4)
        with Trees(pages) as filler:
            filler.fill("numbered", batches(20_000, columns))
        assert pages.page(kernel.LOCK_PAGE - 1) == empty
        assert pages.page(kernel.LOCK_PAGE).startswith(b"\r")
        with closing(connect(pages)) as database:
            numbers = database.execute("SELECT number, b FROM numbered").fetchall()
            assert columns["b"] is not None
            assert numbers == list(zip(range(-500, 19_500), columns["b"][0].tolist(), strict=True))
            assert database.execute("PRAGMA page_count").get == len(pages)


@pytest.mark.parametrize("filler", [Trees, Inserts])
def test_no_table_is_ever_on_disk_uncompressed(filler: type[Trees | Inserts], tmp_path: Path) -> None:
    """Also where SQLite's cache is far too small for an index that is filled in another order."""
    seen: list[int] = []
    path, count = tmp_path / "tables.db", 100_000
    of_rows = np.random.default_rng(1).permutation(count)
    columns: dict[str, Column] = {
        "a": (np.arange(count), None, None),
        "b": (of_rows, None, None),
        "text": None,
    }

    def watched(rows: Iterator[Rows]) -> Iterator[Rows]:
        for each in rows:
            seen.append(sum(one.stat().st_size for one in tmp_path.iterdir()))
            yield each

    with packed(path) as pages:
        with closing(connect(pages)) as database:
            database.execute(
                "CREATE TABLE numbered (number INTEGER PRIMARY KEY, a INTEGER, b INTEGER, text TEXT)"
            )
            database.execute("CREATE INDEX by_b ON numbered (b, a)")
        made = filler(pages)
        if isinstance(made, Inserts):
            made._database.pragma("cache_size", 64)
        with made:
            made.fill("numbered", watched(batches(count, columns)))
            if filler is Trees:
                order = np.argsort(of_rows)
                by_b: dict[str, Column] = {
                    "b": (np.arange(count), None, None),
                    "a": (order, None, None),
                    "rowid": (order - 500, None, None),
                }
                made.fill("by_b", [Rows(count, by_b)])
        with closing(connect(pages)) as database:
            checked(database)
            found = database.execute("SELECT count(*), sum(a), sum(b) FROM numbered").fetchall()
            assert found == [(count, count * (count - 1) // 2, count * (count - 1) // 2)]
        whole = len(pages) * kernel.PAGE_BYTES
    assert max(seen) <= path.stat().st_size < whole * 0.8


def test_a_scan_reads_what_single_pages_are(tmp_path: Path) -> None:
    """In any order, from the middle of what a thread has read ahead, and up to the end."""
    path, random = tmp_path / "pages.db", np.random.default_rng(2)
    with packed(path) as pages:
        for number in range(300):
            pages.put(number, random.bytes(kernel.PAGE_BYTES) if number % 7 else bytes(kernel.PAGE_BYTES))
        for number in random.integers(0, 300, 200).tolist():
            pages.put(number, bytes([number % 256]) * kernel.PAGE_BYTES)
        expected = [pages.page(number) for number in range(300)]
    with path.open("ab") as file:
        file.write(bytes(SEAL_BYTES))
    stored = StoredPages(path)
    order = [
        *range(300),
        *range(50, 60),
        *range(10, 200, 3),
        *random.integers(0, 300, 300).tolist(),
        *range(299, 0, -1),
    ]
    assert all(stored.page(number) == expected[number] for number in order)
    stored.close()
    data = bytearray(path.read_bytes())
    largest = max(range(300), key=stored._sizes.__getitem__)
    data[stored._begins[largest] + 40] ^= 1
    path.write_bytes(data)
    damaged = StoredPages(path)
    with pytest.raises(apsw.CorruptError):
        [damaged.page(number) for number in range(300)]
    damaged.close()


def test_rows_too_large_for_a_page_are_refused() -> None:
    texts = Texts(["x" * 1_000, None])
    assert (len(texts), texts.longest_bytes, texts.texts) == (2, 1_000, ["x" * 1_000, None])
    number = np.zeros(1, np.int64)
    for values in (number, number + 2, number - 1):
        with pytest.raises(ValueError, match="record"):
            kernel.Tree(2, has_rowids=True).add([(values, None, texts)], 1)
    wrong: list[list[Column]] = [[], [None] * 33, [(number, None, None)]]
    for columns in wrong:
        with pytest.raises(ValueError, match="columns"):
            kernel.Tree(2, has_rowids=True).add(columns, 2)
    with pytest.raises(ValueError, match="the same length"):
        kernel.Tree(2, has_rowids=True).add([(number, np.zeros(2, np.uint8), None)], 1)


def test_rows_are_sorted_by_all_bits_and_stably() -> None:
    random = np.random.default_rng(1)
    for bits in (0, 1, 11, 12, 40, 64):
        keys = random.integers(0, 2**64, 5_000, np.uint64)
        keys = (keys >> np.uint64(64 - bits) if bits else np.zeros_like(keys)).astype(np.uint64)
        keys[::3] = keys[0]
        order = random.permutation(5_000).astype(np.uint32)[:4_000]
        expected = order[np.argsort(keys[order], kind="stable")]
        kernel.sort_rows(keys, order, np.empty_like(order))
        assert np.array_equal(order, expected)
    with pytest.raises(IndexError):
        kernel.sort_rows(keys, np.array([5_000], np.uint32), np.empty(1, np.uint32))


def test_stacks_that_are_not_a_tree_are_refused() -> None:
    nodes, frames = np.array([2, 0, 1], np.uint32), np.array([0, 7, 5], np.uint32)
    good = np.array([0, 0, 1], np.uint32)
    for parents, fits in ((good, True), (np.array([0, 2, 1], np.uint32), False), (good[:2], False)):
        levels = [np.empty(3, np.int64) for _ in range(3)]
        by_frame = np.empty(8, np.int64), np.empty(3, np.uint32), np.empty(3, np.uint32)
        works: list[tuple[Callable[..., None], tuple[Any, ...]]] = [
            (kernel.stack_levels, (nodes, parents, frames, 10, 9, *levels)),
            (kernel.stacks_by_frame, (nodes, parents, frames, 9, *by_frame)),
        ]
        for work, arguments in works:
            if fits:
                work(*arguments)
            else:
                with pytest.raises(IndexError):
                    work(*arguments)
        if fits:
            assert [each.tolist() for each in levels] == [[10, 10, 12], [0, 1, 0], [5, 7, 7]]
            assert by_frame[0].tolist() == [0, 0, 0, 0, 0, 1, 1, 3]
            assert [each.tolist() for each in by_frame[1:]] == [[0, 0, 2], [0, 1, 0]]
    with pytest.raises(IndexError):
        kernel.stacks_by_frame(nodes, good, frames, 9, np.empty(7, np.int64), *by_frame[1:])
