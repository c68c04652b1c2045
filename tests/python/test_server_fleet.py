"""What the server answers about the summaries of a fleet."""

import base64
import importlib.util
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.python.lsp_client import LspClient
from tests.python.server_harness import problem_of, write_snapshot

from memlens.fleet.database import Database
from memlens.fleet.tables import CurveRow, PeakRow, SnapshotRow, Summary

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


def test_what_is_no_fleet_is_a_sentence(server: LspClient, tmp_path: Path) -> None:
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
    asked = {"path": path, "snapshot": 3, "folder": str(tmp_path / "copies")}
    problem = problem_of(server, "memlens/fleetFetch", asked)
    assert problem["code"] == "missing-package"
    assert "memlens[fleet]" in problem["advice"]
    assert not list((tmp_path / "copies").rglob("partial-*"))
