"""The server's answers about the summaries of a fleet."""

import base64
import importlib.util
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.python.lsp_client import LspClient
from tests.python.server_harness import problem_of, write_snapshot

from memlens.fleet.database import Database
from memlens.fleet.tables import CurveRow, LineRow, PeakRow, SnapshotRow, Summary

pytest_plugins = ("tests.python.server_fixtures",)


def summaries(folder: Path, place: str) -> Path:
    peak = 1 << 30
    summary = Summary(
        model="timeline", kind="made", peak_bytes=peak, peak_unix_us=None, end_bytes=5, lines_left_out=0,
        types_left_out=0, memory_bytes=None, figures=[], peaks=[PeakRow(0, peak, 1, None, None, None, 5, 1, None, 0)],
        curves=[CurveRow(0, 0, "microseconds", 0.0, 10.0, peak, 0), CurveRow(0, 1, "microseconds", 10.0, 20.0, 5, 5)],
        lines=[], steps=[], findings=[], types=[], ooms=[],
    )  # fmt: skip
    with closing(Database(folder, place)) as database:
        row = SnapshotRow(
            3, "rank3.pickle", 3, "ok", None, None, "timeline", "made", 17, None, "1", peak, None, 5, 0, 0, 0, 0,
            "here", 1, 0.5, None,
        )  # fmt: skip
        database.put(row, summary)
    return folder / "memlens-fleet.db"


@pytest.mark.slow
def test_the_heat_map_and_the_file_of_a_rank(server: LspClient, tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    path = str(summaries(tmp_path / "job.fleet", str(job)))
    heat = server.request("memlens/fleetHeat", {"path": path, "columns": 4})
    assert (heat["place"], heat["unit"], heat["x1"], heat["columns"]) == (str(job), "microseconds", 20.0, 4)
    assert [row["name"] for row in heat["rows"]] == ["rank3.pickle"]
    values = np.frombuffer(base64.b64decode(heat["highest_bytes"]), "<f4").tolist()
    assert values == [1 << 30, 1 << 30, 5, 5]

    asked = {"path": path, "snapshot": 3}
    assert server.request("memlens/fleetFile", asked) == {
        "location": str(job / "rank3.pickle"), "name": "rank3.pickle", "remote": False, "size_bytes": 17,
        "found": False,
    }  # fmt: skip
    write_snapshot(job / "rank3.pickle")
    assert server.request("memlens/fleetFile", asked)["found"]
    assert "number 4" in problem_of(server, "memlens/fleetFile", {"path": path, "snapshot": 4})["message"]


SOURCE = """import data


def collate(samples):
    longest = max(map(len, samples))
    return [pad(sample, longest) for sample in samples]


def main():
    collate([])
"""


@pytest.fixture
def job(tmp_path: Path, workspace: Path) -> tuple[Path, Path]:
    """A source file of the workspace, and the summaries of five ranks that name it by two foreign paths."""
    source = workspace / "loader.py"
    source.write_text(SOURCE)
    gib = 1 << 30
    with closing(Database(tmp_path / "job.fleet", "/job")) as database:
        for rank in range(5):
            own = 20 * gib if rank == 3 else (rank + 1) * gib
            file = f"/node{rank % 2}/job/loader.py"
            lines = [
                LineRow(file, 5, "collate", "user", own // 2, 0, own, 4),
                LineRow(file, 6, "collate", "user", own - own // 2, 0, 2 * own, 4),
                LineRow("", 0, "", "", 5 * gib, 5, gib, 1),
            ]
            # not all ranks have each line
            if rank != 4:
                lines.append(LineRow(file, 10, "main", "user", 1 << 20, 0, gib, 1))
            summary = Summary(
                model="timeline", kind="made", peak_bytes=30 * gib, peak_unix_us=None, end_bytes=5, lines_left_out=0,
                types_left_out=0, memory_bytes=None, figures=[], peaks=[], curves=[], lines=lines, steps=[],
                findings=[], types=[], ooms=[],
            )  # fmt: skip
            database.put(
                SnapshotRow(
                    rank, f"rank{rank}.pickle", rank, "ok", None, None, "timeline", "made", 17, None, "1",
                    30 * gib, None, 5, 0, 0, 0, 0, "here", 1, 0.5, None,
                ),
                summary,
            )  # fmt: skip
    return source, tmp_path / "job.fleet" / "memlens-fleet.db"


def hover(server: LspClient, source: Path, line: int) -> str:
    params = {"textDocument": {"uri": source.as_uri()}, "position": {"line": line - 1, "character": 0}}
    answer = server.request("textDocument/hover", params)
    return answer["contents"]["value"].replace("\\", "") if answer else ""


def lenses(server: LspClient, source: Path) -> list[tuple[int, str]]:
    answer = server.request("textDocument/codeLens", {"textDocument": {"uri": source.as_uri()}})
    return [(lens["range"]["start"]["line"] + 1, lens["command"]["title"]) for lens in answer]


def test_hovers_and_lenses_show_the_maximum_over_ranks(server: LspClient, job: tuple[Path, Path]) -> None:
    source, database = job
    assert hover(server, source, 5) == ""
    server.request("memlens/fleetsShown", {"paths": [str(database)]})
    text = hover(server, source, 5)
    assert text.startswith("**job.fleet** · the most over 5 ranks, in collate")
    assert (
        "- Live at peak: **10 GiB (10,737,418,240 bytes)** in [rank3.pickle](command:memlens.openRank?"
        in text
    )
    assert "), median 1.50 GiB of the 5 ranks that have the line" in text
    assert "- Total allocated: **20 GiB (21,474,836,480 bytes)** in [rank3.pickle]" in text
    assert "of the 4 ranks that have the line" in hover(server, source, 10)
    assert hover(server, source, 4) == ""

    # functions over ranks: the sum of their own lines, if that is at least 1% of a rank's peak
    assert lenses(server, source) == []
    configure(server, code_lens=True)
    expected = "at most 20 GiB live at peak by itself in rank3.pickle, median 3 GiB of 5 ranks · job.fleet"
    assert lenses(server, source) == [(4, expected)]
    configure(server, code_lens=True, measure="total")
    assert [line for line, _ in lenses(server, source)] == [4, 9]

    # lines are followed while the file is edited
    edit = {"line": 1, "removed": 0, "added": 2}
    server.request("memlens/linesMoved", {"path": str(source), "what": "edited", "edits": [edit]})
    assert hover(server, source, 5) == ""
    assert hover(server, source, 7) == text
    server.request("memlens/linesMoved", {"path": str(source), "what": "discarded", "edits": []})

    # more ranks are added
    with closing(Database(database.parent, "/job")) as written:
        written.put(
            SnapshotRow(
                9, "rank9.pickle", 9, "ok", None, None, "timeline", "made", 17, None, "1", 99 << 30, None, 5, 0, 0,
                0, 0, "here", 1, 0.5, None,
            ),
            Summary(
                model="timeline", kind="made", peak_bytes=99 << 30, peak_unix_us=None, end_bytes=5,
                lines_left_out=0, types_left_out=0, memory_bytes=None, figures=[], peaks=[], curves=[],
                lines=[LineRow("/node0/job/loader.py", 5, "collate", "user", 90 << 30, 0, 90 << 30, 1)], steps=[],
                findings=[], types=[], ooms=[],
            ),
        )  # fmt: skip
    assert "**90 GiB (96,636,764,160 bytes)** in [rank9.pickle]" in hover(server, source, 5)

    # named by a setting; otherwise closed with the fleet's editor
    configure(server, fleet_figures=False, code_lens=True)
    assert (hover(server, source, 5), lenses(server, source)) == ("", [])
    configure(server)
    server.request("memlens/fleetsShown", {"paths": []})
    assert hover(server, source, 5) == ""
    configure(server, fleets=[str(database.parent)])
    assert "rank9.pickle" in hover(server, source, 5)
    database.write_bytes(b"no database any more" * 1000)
    assert hover(server, source, 5) == ""


def configure(server: LspClient, **settings: object) -> None:
    server.notify("workspace/didChangeConfiguration", {"settings": settings})


def test_a_path_that_is_no_fleet_is_reported(server: LspClient, tmp_path: Path) -> None:
    (tmp_path / "memlens-fleet.db").write_bytes(b"no database" * 100)
    problem = problem_of(server, "memlens/fleetHeat", {"path": str(tmp_path / "memlens-fleet.db")})
    assert problem["code"] == "fleet"
    assert problem["message"].endswith("file is not a database") or "can't be read" in problem["message"]


@pytest.mark.skipif(importlib.util.find_spec("fsspec") is not None, reason="fsspec is installed")
def test_a_file_of_a_store_is_remote_and_fetching_it_needs_the_extra(
    server: LspClient, tmp_path: Path
) -> None:
    path = str(summaries(tmp_path / "job.fleet", "s3://bucket/job"))
    file = server.request("memlens/fleetFile", {"path": path, "snapshot": 3})
    assert (file["location"], file["remote"]) == ("s3://bucket/job/rank3.pickle", True)
    asked = {"path": path, "snapshot": 3, "folder": str(tmp_path / "copies"), "view": "fleet:1"}
    problem = problem_of(server, "memlens/fleetFetch", asked)
    assert problem["code"] == "missing-package"
    assert "pip install fsspec s3fs" in problem["advice"]
    assert not list((tmp_path / "copies").rglob("partial-*"))
