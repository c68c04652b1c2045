"""The folder of a fleet's summaries: who may write to it, when rows are durable, and what is left at the end."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.python.command_line import memlens
from tests.python.fleet_cluster import HAS_PACKAGES, PACKAGES
from tests.python.fleet_summaries import made, row_of

from memlens.errors import BadRequestError
from memlens.fleet.database import FILE_NAME, Database, open_fleet, reading
from memlens.fleet.questions.peaks import peaks
from memlens.fleet.run import written
from memlens.fleet.schema import FleetError
from memlens.fleet.tables import SCHEMA_VERSION
from memlens.store.files.disk import FullDiskError

LINUX = sys.platform == "linux"


def names(folder: Path) -> list[object]:
    with closing(open_fleet(folder)) as fleet:
        return [name for (name,) in fleet.execute("SELECT name FROM snapshots ORDER BY snapshot")]


def put(database: Database, rank: int) -> None:
    database.put(row_of(rank, f"rank{rank}.pickle", made(rank)), made(rank))


def test_folders_without_summaries(tmp_path: Path) -> None:
    assert "There are no summaries" in memlens("fleet", "peaks", tmp_path, status=1).stderr
    assert "name too long" in memlens("fleet", "peaks", tmp_path / ("long" * 100), status=1).stderr
    (tmp_path / FILE_NAME).write_bytes(b"nothing of a database" * 100)
    with pytest.raises(FleetError):
        open_fleet(tmp_path)
    with pytest.raises(FleetError):
        Database(tmp_path, "/job")
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_a_database_that_is_damaged_inside(tmp_path: Path) -> None:
    """Readers and writers get a sentence, without a traceback."""
    with closing(Database(tmp_path, "/job")) as database:
        for rank in range(30):
            put(database, rank)
        connection = database._connection
        roots: list[Any] = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE tbl_name <> 'fleet'"
        ).fetchall()
        page_bytes = connection.pragma("page_size")
    # the schema's pages are intact
    with (tmp_path / FILE_NAME).open("r+b") as file:
        for (page,) in roots:
            if page:
                file.seek((page - 1) * page_bytes)
                file.write(b"\xff" * page_bytes)
    for question in ("peaks", "lines", "ooms", "growth", "curves"):
        said = memlens("fleet", question, tmp_path, status=1).stderr
        assert said.startswith(f"memlens: The summaries in {tmp_path} are damaged: ")
    said = memlens("fleet", "sql", tmp_path, "SELECT * FROM snapshots", status=1).stderr
    assert said.startswith("memlens: ")
    assert "Traceback" not in said

    def write() -> None:
        with written(tmp_path, "/job") as database:
            put(database, 99)

    with pytest.raises(FleetError):
        write()
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


ENDLESS = (
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT x AS snapshot, x AS peak_bytes FROM c"
)
FORGED = (
    f"CREATE VIEW endless AS {ENDLESS}",
    # in place of the file's own
    f"DROP VIEW peaks; CREATE VIEW peaks AS {ENDLESS}",
    f"DROP TABLE peaks_rows; CREATE VIEW peaks_rows AS {ENDLESS}",
    "ALTER TABLE snapshots ADD COLUMN more AS (zeroblob(900000000))",
    "CREATE TRIGGER t AFTER INSERT ON snapshots BEGIN DELETE FROM names; END",
    "CREATE VIRTUAL TABLE v USING fts5(x)",
    "DROP INDEX peaks_of",
    "CREATE INDEX more ON peaks_rows (hex(device))",
    "CREATE TABLE more (x)",
    "DROP TABLE names; CREATE TABLE names (number INTEGER PRIMARY KEY, text BLOB)",
)


@pytest.mark.parametrize("forged", FORGED)
def test_tables_that_memlens_does_not_make_are_refused(tmp_path: Path, forged: str) -> None:
    """Whoever sent the file may have written anything: nothing of it is run, by readers and by writers."""
    with closing(Database(tmp_path, "/job")) as database:
        put(database, 0)
    with closing(apsw.Connection(str(tmp_path / FILE_NAME))) as connection:
        connection.execute(forged)
    with (
        pytest.raises(FleetError, match=r"doesn't have the tables of|can't be read"),
        reading(tmp_path) as fleet,
    ):
        peaks(fleet)
    with pytest.raises(FleetError):
        Database(tmp_path, "/job")


@pytest.mark.parametrize(
    "forged",
    [
        "UPDATE snapshots SET peak_bytes = 'much'",
        "UPDATE curves_rows SET highest_bytes = x'00'",
        "UPDATE curves_rows SET unit = 999",
        "UPDATE names SET text = CAST(number AS BLOB)",
        "DELETE FROM fleet",
    ],
)
def test_values_of_other_types_are_damage(tmp_path: Path, forged: str) -> None:
    with closing(Database(tmp_path, "/job")) as database:
        put(database, 0)
    with closing(apsw.Connection(str(tmp_path / FILE_NAME))) as connection:
        connection.execute(forged)
    said = "are damaged: a table has values of another type"
    with pytest.raises(FleetError, match=said), reading(tmp_path):
        # as an answer that such a value breaks
        raise TypeError


@pytest.mark.parametrize("number", [-(1 << 63), 1 << 62, "9e999"])
@pytest.mark.parametrize(
    "column", ["snapshots SET peak_bytes", "lines_rows SET end_bytes", "curves_rows SET to_x"]
)
def test_numbers_that_no_snapshot_has_are_damage(tmp_path: Path, column: str, number: object) -> None:
    with closing(Database(tmp_path, "/job")) as database:
        put(database, 0)
    with reading(tmp_path) as fleet:
        assert peaks(fleet).rows
    with closing(apsw.Connection(str(tmp_path / FILE_NAME))) as connection:
        connection.execute(f"UPDATE {column} = {number}")
    with pytest.raises(FleetError, match="a number that no snapshot has"), reading(tmp_path):
        pass


def test_an_error_that_no_value_explains_is_a_bug(tmp_path: Path) -> None:
    with closing(Database(tmp_path, "/job")) as database:
        put(database, 0)
    with pytest.raises(TypeError), reading(tmp_path):
        raise TypeError


def test_one_place_and_one_process_at_a_time(tmp_path: Path) -> None:
    with closing(Database(tmp_path, "s3://b/job")) as database:
        put(database, 0)
        with pytest.raises(FleetError, match="Another memlens fleet"):
            Database(tmp_path, "s3://b/job")
    with pytest.raises(BadRequestError, match="summaries of s3://b/job"):
        Database(tmp_path, "s3://b/other")
    with closing(Database(tmp_path, "s3://b/job/")) as database:
        put(database, 1)
    assert len(names(tmp_path)) == 2
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_summaries_of_a_newer_version(tmp_path: Path) -> None:
    """They are neither read nor written, and remain unchanged."""
    with closing(Database(tmp_path, "/job")) as database:
        put(database, 0)
        database._connection.pragma("user_version", SCHEMA_VERSION + 1)
    before = (tmp_path / FILE_NAME).read_bytes()
    sentence = f"memlens: The summaries in {tmp_path} are of another version of Memlens."
    for question in (["peaks"], ["sql", "--json"]):
        arguments = [question[0], tmp_path, *(["SELECT 1"] if question[0] == "sql" else [])]
        assert memlens("fleet", *arguments, status=1).stderr.startswith(sentence)
    with pytest.raises(FleetError, match="another version"):
        Database(tmp_path, "/job")
    assert (tmp_path / FILE_NAME).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_nothing_is_left_without_summaries(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for folder in (tmp_path / "there", tmp_path / "new"):
        Database(folder, "/job").close()
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]
    # existing files stay
    with closing(Database(tmp_path / "there", "/job")) as database:
        put(database, 0)
    Database(tmp_path / "there", "/job").close()
    assert names(tmp_path / "there") == ["rank0.pickle"]


def test_a_summary_is_soon_durable_even_if_no_other_follows(tmp_path: Path) -> None:
    """The next file may take minutes: maps show what is finished, and a crash doesn't lose it."""
    with closing(Database(tmp_path, "/job")) as database:
        put(database, 0)
        while not names(tmp_path):
            database.commit_if_due()
            time.sleep(0.01)
        assert names(tmp_path) == ["rank0.pickle"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk."""
    if not LINUX or os.geteuid() != 0:
        pytest.skip("mounts a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


@pytest.mark.skipif(not HAS_PACKAGES, reason="no .cache/fleet: see test_fleet.py")
@pytest.mark.parametrize("at_once", [False, True])
def test_a_full_disk(disk: Path, monkeypatch: pytest.MonkeyPatch, *, at_once: bool) -> None:
    """The error is one sentence; earlier summaries are intact, and the next run continues once there is space."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(PACKAGES)])
    out = disk / "out"
    filling = disk / "filling"
    with closing(Database(out, "/job")) as database:
        put(database, 0)
    with suppress(OSError), filling.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    filling.write_bytes(filling.read_bytes()[: -128 << 10])

    def fill() -> None:
        with written(out, "/job") as database:
            if at_once:
                # pages are written at once, not when they are committed
                database._connection.pragma("cache_size", 1)
                database._connection.pragma("cache_spill", 1)
            for rank in range(1, 1000):
                put(database, rank)

    with pytest.raises(FullDiskError, match="--out"):
        fill()
    kept = names(out)
    assert kept[0] == "rank0.pickle"
    # tables are complete or absent
    assert {path.suffix for path in out.iterdir()} <= {".db", ".parquet"}
    filling.unlink()
    with written(out, "/job") as database:
        for rank in range(len(kept), len(kept) + 3):
            put(database, rank)
    assert len(names(out)) == len(kept) + 3
    assert (out / "snapshots.parquet").is_file()
    assert json.loads(memlens("fleet", "peaks", out, "--json").stdout)["rows"]
