"""Questions about a fleet's summaries against sums made by hand; none of them needs the engine."""

import json
import re
import statistics
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT
from tests.python.fleet_summaries import RANKS, made, row_of

from memlens.errors import BadRequestError
from memlens.fleet.database import Database, open_fleet
from memlens.fleet.place import natural, url_of
from memlens.fleet.questions.curves import curves
from memlens.fleet.questions.growth import growth
from memlens.fleet.questions.heat_map import heat_map
from memlens.fleet.questions.lines import line, lines
from memlens.fleet.questions.ooms import ooms
from memlens.fleet.questions.peaks import DEVIATIONS, LEAST_SHARE, peaks
from memlens.fleet.run import default_folder
from memlens.fleet.summary import rank_of, summary_of
from memlens.fleet.tables import (
    SNAPSHOTS,
    TABLES,
    LineRow,
    columns_of,
)
from memlens.packs.ruby.tests import ruby_files
from memlens.remote_files import place_of
from memlens.store.snapshot import Snapshot


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    with closing(Database(folder, "/job")) as database:
        # files aren't numbered in the order of their names
        for number, rank in enumerate(reversed(range(RANKS))):
            database.put(row_of(number, f"rank{rank}.pickle", made(rank)), made(rank))
        database.put(row_of(99, "rank99.pickle", None, "It breaks off."), None)
    return folder


def test_peaks(folder: Path) -> None:
    with closing(open_fleet(folder)) as fleet:
        answer = peaks(fleet)
    amounts = {rank: made(rank).peak_bytes or 0 for rank in range(RANKS)}
    median = statistics.median_low(amounts.values())
    deviation = statistics.median_low(abs(amount - median) for amount in amounts.values())
    assert (answer.median_bytes, answer.deviation_bytes) == (median, deviation)
    assert [row.rank for row in answer.rows] == sorted(amounts, key=lambda rank: -amounts[rank])
    least = max(DEVIATIONS * deviation, LEAST_SHARE * median)
    assert (
        {row.rank for row in answer.rows if row.outlier}
        == {7}
        == {rank for rank, amount in amounts.items() if abs(amount - median) > least}
    )
    middle = made(next(rank for rank, amount in amounts.items() if amount == median))
    here = {(row.file, row.line): row.peak_bytes for row in made(7).lines}
    there = {(row.file, row.line): row.peak_bytes for row in middle.lines}
    differences = {place: here[place] - there[place] for place in here if here[place] != there[place]}
    assert [(row.file, row.line, row.difference_bytes) for row in answer.rows[0].lines] == [
        (*place, differences[place])
        for place in sorted(differences, key=lambda place: -abs(differences[place]))[:5]
    ]
    assert answer.rows[0].lines[0].function == "layer12"
    assert [(each.name, each.problem) for each in answer.problems] == [("rank99.pickle", "It breaks off.")]
    for sort in ("name", "rank", "time"):
        with closing(open_fleet(folder)) as fleet:
            assert [row.rank for row in peaks(fleet, sort).rows][:3] == (
                [0, 1, 2] if sort != "time" else [11, 10, 9]
            )


def test_lines(folder: Path) -> None:
    of_lines: dict[tuple[str, int], dict[int, LineRow]] = defaultdict(dict)
    for rank in range(RANKS):
        for row in made(rank).lines:
            of_lines[row.file, row.line][rank] = row
    with closing(open_fleet(folder)) as fleet:
        moments: tuple[tuple[Literal["peak", "end"], str], ...] = (
            ("peak", "peak_bytes"),
            ("end", "end_bytes"),
        )
        for at, figure in moments:
            answer = lines(fleet, at)
            assert [(row.file, row.line) for row in answer] == sorted(
                (place for place in of_lines if place[1]),
                key=lambda place: (-max(getattr(row, figure) for row in of_lines[place].values()), place),
            )
            for found in answer:
                amounts = {
                    rank: getattr(each, figure) for rank, each in of_lines[found.file, found.line].items()
                }
                assert (found.snapshots, found.least_bytes, found.most_bytes, found.sum_bytes) == (
                    RANKS, min(amounts.values()), max(amounts.values()), sum(amounts.values()),
                )  # fmt: skip
                assert abs(found.median_bytes - statistics.median(amounts.values())) <= 1
                assert amounts[int(found.most_name[4:-7])] == found.most_bytes
        assert [row.function for row in lines(fleet, search="MODEL 13")] == ["layer13"]
        one = line(fleet, "model.py:12")
        assert [(each.rank, each.peak_bytes) for each in one] == [
            (rank, of_lines["job/model.py", 12][rank].peak_bytes) for rank in range(RANKS)
        ]
        # a path's suffix consists of whole components
        for wrong in ("odel.py:12", "model.py:99", "model.py", ":12"):
            with pytest.raises(BadRequestError):
                line(fleet, wrong)


def test_ooms(folder: Path) -> None:
    with closing(open_fleet(folder)) as fleet:
        answer = ooms(fleet)
    # rank 7 began 1,000 us later than rank 3 and ran out 20 us earlier in its own time
    assert [(each.rank, each.after_first_us) for each in answer] == [(3, 0), (7, 980)]


def test_growth(folder: Path) -> None:
    with closing(open_fleet(folder)) as fleet:
        answer = growth(fleet)
        some = growth(fleet, kinds=("line",), match="rank[0-4].pickle")
    assert answer.snapshots == [f"rank{rank}.pickle" for rank in range(RANKS)]
    leak = next(row for row in answer.rows if row.line == 14)
    assert leak.points == [1000 * rank * rank for rank in range(RANKS)]
    assert leak.slope_bytes == pytest.approx(np.polyfit(np.arange(RANKS), leak.points, 1)[0])
    assert (leak.rises, leak.first_bytes, leak.last_bytes) == (11, 0, 121_000)
    held = next(row for row in answer.rows if row.kind == "type")
    assert (held.name, held.file, held.points) == (
        "Session",
        "job/app.py",
        [77 * rank for rank in range(RANKS)],
    )
    assert all(row.slope_bytes > 0 for row in answer.rows)
    assert next(row for row in some.rows if row.line == 14).points == [0, 1000, 4000, 9000, 16000]
    with closing(open_fleet(folder)) as fleet, pytest.raises(BadRequestError):
        growth(fleet, match="rank0.pickle")


def test_curves(folder: Path) -> None:
    with closing(open_fleet(folder)) as fleet:
        by_start, by_clock, by_step = (curves(fleet, align, 8) for align in ("start", "clock", "step"))
    assert [curve.rank for curve in by_start.curves] == [*range(RANKS)]
    for curve in by_start.curves:
        peak = made(curve.rank or 0).peak_bytes or 0
        assert curve.highest_bytes == [peak * (number + 1) // 8 for number in range(8)]
    # rank r begins 250 r us after the first; all is 2830 us long
    assert (by_clock.x0, by_clock.x1) == (1_700_000_000_000_000, 1_700_000_000_002_830)
    for curve in by_clock.curves:
        begin = 250 * (curve.rank or 0)
        columns = [value is not None for value in curve.highest_bytes]
        assert columns == [
            begin < (number + 1) * 2830 / 8 and begin + 80 > number * 2830 / 8 for number in range(8)
        ]
    assert by_step.unit == "steps"
    for curve in by_step.curves:
        rank = curve.rank or 0
        assert curve.highest_bytes == [rank, 1000 + rank, 2000 + rank if rank % 2 else None]


def test_sql(folder: Path) -> None:
    def asked(query: str) -> Any:
        return json.loads(memlens("fleet", "sql", folder, query, "--json").stdout)

    assert asked("SELECT count(*) AS n, max(peak_bytes) AS most FROM snapshots") == [
        {"n": RANKS + 1, "most": made(7).peak_bytes}
    ]
    assert asked(
        "WITH t AS (SELECT file, sum(peak_bytes) AS b FROM lines GROUP BY 1) SELECT file FROM t WHERE b > 0"
    ) == [{"file": "job/model.py"}]
    for refused in (
        "ATTACH 'x' AS y", "DELETE FROM names", "SELECT load_extension('x')", "PRAGMA query_only = 0",
        "SELECT 1; SELECT 2", "CREATE TEMP TABLE x (y)", "SELECT writefile('x', 'y')", "",
    ):  # fmt: skip
        done = memlens("fleet", "sql", folder, refused, status=1)
        assert done.stderr.startswith("memlens: ")
        assert "Internal" not in done.stderr
    schema = memlens("fleet", "sql", folder, "--schema").stdout
    assert all(f"\n    {column.name} " in schema for table in TABLES for column in columns_of(table))


def test_questions_print_tables(folder: Path) -> None:
    """Each question prints a table, and its JSON is the answer."""
    for question in ("peaks", "lines", "ooms", "growth", "curves"):
        printed = memlens("fleet", question, folder).stdout
        assert "rank7.pickle" in printed or question == "growth"
        json.loads(memlens("fleet", question, folder, "--json").stdout)
    assert memlens("fleet", "lines", folder, "model.py:12").stdout.count("rank") == RANKS


@pytest.mark.parametrize(
    ("name", "rank"),
    [("rank12.pickle", 12), ("run3/rank_007.pickle", 7), ("snapshot-4-of-8/Rank-2.pkl", 2), ("heap.0042.hprof", None),
     ("heap_0042.hprof", 42), ("memory__9ab7a6.pickle", None), ("a/17/b.pb.gz", None), ("node1_rank3_2.pickle", 3)],
)  # fmt: skip
def test_ranks(name: str, rank: int | None) -> None:
    assert rank_of(name) == rank


def test_names() -> None:
    names = [f"rank{rank}.pickle" for rank in range(120)]
    assert sorted(sorted(names), key=natural) == names
    assert default_folder("s3://bucket/jobs/17") == Path("17.fleet")
    assert default_folder("gs://bucket/job/*.pickle") == Path("job.fleet")
    assert place_of("file:///a/b").path == "/a/b"
    for refused in ("http://host/x", "s3://bucket/x?X-Amz-Signature=1", "ssh://me:pw@host/x"):
        with pytest.raises(BadRequestError):
            place_of(refused)


def test_summaries_contain_no_data(opened: Callable[[Path], Snapshot], tmp_path: Path) -> None:
    """The summary of a dump contains no text of the program's memory, although findings quote such texts."""
    secret = "what-only-the-program-knows"
    texts = [0x1000 + 64 * number for number in range(200)]
    path = tmp_path / "heap.json"
    path.write_bytes(
        ruby_files.made(
            ruby_files.root("vm", *texts),
            *(ruby_files.line(text, "STRING", memsize=20_000, value=secret, bytesize=27) for text in texts),
        )
    )
    snapshot = opened(path)
    from memlens.views.findings.ahead import findings

    assert any(secret in each.text for each in findings(snapshot, None, 100).findings), "no finding quotes it"
    summary = snapshot.ask(summary_of)
    assert summary.findings
    assert secret not in msgspec.json.encode(summary).decode()


def test_documented_schema() -> None:
    """docs/fleet.md has every column of every table with its type and description."""
    text = (ROOT / "docs" / "fleet.md").read_text()
    for table in (SNAPSHOTS, *TABLES):
        section = re.search(rf"^### `{table}`\n(.*?)(?=^#|\Z)", text, re.DOTALL | re.MULTILINE)
        assert section is not None, table
        documented = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", section[1], re.MULTILINE)
        assert documented == [
            (column.name, column.type + (", NULL" if column.optional else ""), column.description)
            for column in columns_of(table)
        ]
    assert list(TABLES) == re.findall(r"^### `(\w+)`", text, re.MULTILINE)[1:]


def test_the_heat_map_has_curves_by_name_and_the_files_that_were_not_read(folder: Path) -> None:
    with closing(open_fleet(folder)) as fleet:
        found, plain = heat_map(fleet, "step", 40), curves(fleet, "step", 40)
    assert [row.name for row in found.rows] == [
        *(f"rank{rank}.pickle" for rank in range(RANKS)),
        "rank99.pickle",
    ]
    values = np.frombuffer(found.highest_bytes, "<f4").reshape(len(found.rows), found.columns)
    for row, curve in zip(values, plain.curves, strict=False):
        assert [None if np.isnan(value) else int(value) for value in row] == curve.highest_bytes
    assert np.isnan(values[-1]).all()
    assert np.isnan(values[0]).any()
    assert not np.isnan(values[1]).any()
    assert (found.rows[-1].problem, found.rows[-1].peak_bytes, found.outliers) == ("It breaks off.", None, 1)
    assert [row.rank for row in found.rows if row.outlier] == [7]
    assert [row.rank for row in found.rows if row.ooms] == [3, 7]


def test_where_the_file_of_a_name_is(tmp_path: Path) -> None:
    (tmp_path / "rank0.pickle").touch()
    for named in (str(tmp_path), f"{tmp_path}/*.pickle", f"{tmp_path}/rank0.pickle", f"file://{tmp_path}"):
        assert url_of(place_of(named), "rank0.pickle") == str(tmp_path / "rank0.pickle")
    assert url_of(place_of("s3://bucket/job/"), "a/b.pickle") == "s3://bucket/job/a/b.pickle"
    assert url_of(place_of("s3://bucket/job/*/b.pickle"), "a/b.pickle") == "s3://bucket/job/a/b.pickle"
    for name in ("../b.pickle", "/etc/passwd", ""):
        with pytest.raises(BadRequestError, match="not a file below"):
            url_of(place_of("s3://bucket/job"), name)
