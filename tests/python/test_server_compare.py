"""Two snapshots compared by the real server: answers, closing and cancelling in between, and what stays open."""

import base64
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.heap_files import HeapFile
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import open_view, problem_of, write_snapshot

from memlens.units import format_bytes

pytest_plugins = ("tests.python.server_fixtures",)

FILE = "/elsewhere/project/code/train.py"
MOVED = "/srv/jobs/7/project/code/train.py"
PEAK = {"device": 0}


@pytest.fixture
def pair(server: LspClient, tmp_path: Path) -> dict[str, Any]:
    """A run and one twice as long whose code is in another folder, opened under two names of one view."""
    one = open_view(server, write_snapshot(tmp_path / "one.pickle", 400), "v1")
    two = open_view(server, write_snapshot(tmp_path / "two.pickle", 800, MOVED), "v1.other")
    return {"snapshot": one["snapshot"], "other": two["snapshot"]}


def table(**more: Any) -> dict[str, Any]:
    return {"of": PEAK, "other_of": PEAK, "other_first": False, "by": "line", "measure": "own", **more}


@pytest.mark.slow
def test_lines_of_two_snapshots_side_by_side(server: LspClient, pair: dict[str, Any]) -> None:
    answer = server.request("memlens/compare", {**pair, **table()})
    kept, last = answer["rows"]
    assert (kept["before"]["file"], kept["after"]["file"]) == (FILE, MOVED)
    assert (kept["before"]["line"], kept["how"]) == (10, "same")
    assert (kept["before_bytes"], kept["after_bytes"]) == (100 * 512, 200 * 512)
    assert (last["before"]["line"], last["difference_bytes"]) == (11, 0)
    assert (
        answer["total"]["after_bytes"] - answer["total"]["before_bytes"]
        == kept["difference_bytes"]
        == 100 * 512
    )
    swapped = server.request("memlens/compare", {**pair, **table(other_first=True)})
    assert [row["difference_bytes"] for row in swapped["rows"]] == [-100 * 512, 0]
    assert swapped["rows"][0]["after"]["file"] == FILE
    for first, rows in ((False, answer["rows"]), (True, swapped["rows"])):
        asked = {**pair, **table(other_first=first), "row": rows[0]["row"]}
        (stack,) = server.request("memlens/compareStacks", asked)["stacks"]
        line = server.request("memlens/line", {"snapshot": pair["snapshot"], "file": FILE, "line": 10})
        assert line["stacks"] == [stack]
    inclusive = server.request("memlens/compare", {**pair, **table(by="function", measure="inclusive")})
    assert {row["after"]["function"]: row["after_bytes"] for row in inclusive["rows"]} == dict.fromkeys(
        ("step", "main", "run"), 200 * 512 + 1024
    )


@pytest.mark.slow
def test_a_flame_graph_of_both(server: LspClient, pair: dict[str, Any]) -> None:
    functions = server.request("memlens/compare", {**pair, **table(by="function", measure="inclusive")})
    reported = {
        row["before"]["function"]: (row["before_bytes"], row["after_bytes"]) for row in functions["rows"]
    }
    part = {"x0": 0.0, "x1": 1.0, "width_px": 800, "first_depth": 0, "rows": 40, "search": ""}
    for first in (False, True):
        tree = {"of": PEAK, "other_of": PEAK, "other_first": first, "options": {}}
        asked = {**pair, "tree": tree}
        whole = server.request("memlens/compareFlame", {**asked, **part})["whole"]
        small, large = 100 * 512 + 1024, 200 * 512 + 1024
        assert (whole["before_bytes"], whole["after_bytes"]) == ((large, small) if first else (small, large))
        rows = server.request("memlens/compareFlameChildren", {**asked, "node": 0, "offset": 0, "limit": 9})
        assert rows["whole"] == whole
        (outermost,) = rows["rows"]
        before, after = outermost["sides"]["before_bytes"], outermost["sides"]["after_bytes"]
        assert ((after, before) if first else (before, after)) == reported[outermost["name"]["function"]]
        found = server.request("memlens/compareFlameSearch", {**asked, "text": "step"})
        own = found["matches"][0]
        details = server.request("memlens/compareFlameNode", {**asked, "node": own["node"]})
        # opened at the local path, wherever the other's code is
        assert {line["file"] for line in details["lines"]} == {FILE}
        assert details["function_sides"] == own["sides"] == found["sides"]
        for shape in ({"scale": "normalised"}, {"width": "after"}, {"width": "before"}):
            made = {**asked, "tree": {**tree, **shape}, **part}
            assert server.request("memlens/compareFlame", made)["whole"] == whole
            drawn = {**asked, "tree": made["tree"], "x0": 0.0, "x1": 1.0, "title": "Both", "theme": "light"}
            svg = server.request("memlens/compareFlameSvg", drawn)["svg"]
            one, two = format_bytes(whole["before_bytes"]), format_bytes(whole["after_bytes"])
            if shape == {"scale": "normalised"}:
                assert f"All: {one} (100.0%) → {two} (100.0%), 0.00 points" in svg
            else:
                sign = "-" if first else "+"
                assert f"All: {one} → {two}, {sign}{format_bytes(large - small)}" in svg
                assert f"{'▼' if first else '▲'} {outermost['name']['function']}" in svg
        assert server.request("memlens/compareFlameNode", {**asked, "node": 0})["stacks"]
    wrong = {**pair, "tree": {**tree, "options": {"focus": 10**6}}, **part}
    assert problem_of(server, "memlens/compareFlame", wrong)["code"] == "bad-request"
    for wrong in ({**asked, "node": 10**6}, {**asked, "other": "gone", "node": 0}):
        code = problem_of(server, "memlens/compareFlameNode", wrong)["code"]
        assert code in ("bad-request", "closed")


@pytest.mark.slow
def test_curves_and_moments_on_one_axis(server: LspClient, pair: dict[str, Any]) -> None:
    asked = {**pair, "device": 0, "other_device": 0, "alignment": {"axis": "event"}}
    curves = server.request("memlens/compareCurves", {**asked, "columns": 801})
    assert curves["extent"] == {"x0": 0.0, "x1": 801.0}
    mine, other = (
        np.frombuffer(base64.b64decode(curves[name]), "<f8") for name in ("highest", "other_highest")
    )
    assert np.isnan(mine).tolist() == [False] * 401 + [True] * 400
    assert mine[:401].tolist() == other[:401].tolist()
    assert np.nanmax(other) == curves["other_peak_bytes"] == 200 * 512 + 1024
    assert other[int(curves["other_peak_x"])] == curves["other_peak_bytes"]
    moments = np.frombuffer(base64.b64decode(curves["moments"]), "<u4").tolist()
    assert moments == [*range(401), *[400] * 400]
    part = server.request("memlens/compareCurves", {**asked, "columns": 10, "x0": 100.0, "x1": 110.0})
    assert np.frombuffer(base64.b64decode(part["highest"]), "<f8").tolist() == mine[100:110].tolist()
    asked["alignment"] = {"axis": "time", "offset": 1000.0}
    moments = server.request("memlens/compareMoments", {**asked, "moments": [0, 200, 400]})
    assert moments == {
        "moments": [0, 100, 300],
        "live_bytes": [int(mine[moment]) for moment in (0, 200, 400)],
        # the other run has not begun yet
        "other_live_bytes": [None, int(other[100]), int(other[300])],
        "inferred_steps": False,
    }
    for wrong in (
        {"columns": 20_000},
        {"columns": 10, "x0": 5.0, "x1": 5.0},
        {"columns": 10, "other_device": 4},
        {"columns": 10, "alignment": {"axis": "event", "by_step": True}},
    ):
        assert problem_of(server, "memlens/compareCurves", {**asked, **wrong})["code"] == "bad-request"


@pytest.mark.slow
def test_a_snapshot_is_compared_with_itself(server: LspClient, pair: dict[str, Any]) -> None:
    itself = {"snapshot": pair["snapshot"], "other": pair["snapshot"]}
    answer = server.request(
        "memlens/compare", {**itself, **table(other_of={"device": 0, "from_moment": 400})}
    )
    assert [row["difference_bytes"] for row in answer["rows"]] == [-1024, 0]


@pytest.mark.slow
def test_closing_one_while_comparing(server: LspClient, pair: dict[str, Any]) -> None:
    """Pending requests are answered or say that it is closed; the other snapshot keeps answering."""
    moments = [{"device": 0, "from_moment": number} for number in range(30)]
    pending = [
        server.send("memlens/compare", {**pair, **table(of=of, by=by)})
        for of in moments
        for by in ("line", "stack")
    ]
    server.request("memlens/close", {"snapshot": pair["other"], "view": "v1.other"})
    codes = set()
    for question in pending:
        try:
            assert question.result()["rows"]
        except RpcError as error:
            codes.add(error.data["code"])
    assert codes <= {"closed"}
    assert problem_of(server, "memlens/compare", {**pair, **table()})["code"] == "closed"
    alone = {"snapshot": pair["snapshot"], "other": pair["snapshot"]}
    assert server.request("memlens/compare", {**alone, **table()})["total"]["rows"] == 2
    server.wait_for("memlens/snapshotsChanged", lambda p: p == {"open": 1})


@pytest.mark.slow
def test_cancelled_and_invalid_requests(server: LspClient, pair: dict[str, Any]) -> None:
    pending = [
        server.send("memlens/compare", {**pair, **table(by=by)})
        for by in ("line", "function", "file", "stack")
    ]
    for question in pending:
        question.cancel()
    for question in pending:
        try:
            question.result()
        except RpcError as error:
            assert error.code == -32800  # noqa: PT017 - an answer that came first is as good
    assert server.request("memlens/compare", {**pair, **table()})["found"] == 2
    for wrong in ({"of": {"device": 5}}, {"other_of": {"device": 0, "from_moment": 10**6}}):
        assert problem_of(server, "memlens/compare", {**pair, **table(**wrong)})["code"] == "bad-request"
    assert problem_of(server, "memlens/compare", {**pair, **table(), "other": "gone"})["code"] == "closed"


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for maps in /proc")
def test_nothing_is_kept_after_a_comparison(
    server: LspClient, pair: dict[str, Any], cache_folder: Path
) -> None:
    for by in ("line", "stack"):
        server.request("memlens/compare", {**pair, **table(by=by)})
    tree = {"of": PEAK, "other_of": PEAK, "other_first": False, "options": {}}
    server.request("memlens/compareFlameNode", {**pair, "tree": tree, "node": 0})
    server.request("memlens/close", {"snapshot": pair["snapshot"], "view": "v1"})
    server.request("memlens/close", {"snapshot": pair["other"], "view": "v1.other"})
    maps = Path(f"/proc/{server.pid}/maps").read_text()
    assert str(cache_folder) not in maps


@pytest.mark.slow
def test_two_heap_dumps_and_a_series(server: LspClient, tmp_path: Path) -> None:
    names = []
    for number, count in enumerate((5, 9, 30)):
        heap = HeapFile()
        root = heap.node("synthetic", "")
        for item in range(count):
            heap.edge(root, "property", f"f{item}", heap.node("object", "Session", 1_000))
        path = tmp_path / f"{number}.heapsnapshot"
        path.write_bytes(heap.data())
        names.append(open_view(server, path, f"v{number}")["snapshot"])
    sides = {"snapshot": names[2], "other": names[0], "other_first": True, "filter": ""}
    found = server.request("memlens/compareHeaps", sides)
    assert (found["matched"], found["after"]["only_objects"], found["before"]["only_objects"]) == (
        "id",
        25,
        0,
    )
    page = {"search": "sess", "order": "retained", "reverse": False, "offset": 0, "limit": 10}
    (row,) = server.request("memlens/compareHeapTypes", {**sides, **page})["rows"]
    assert (row["before_count"], row["after_count"], row["new"]) == (5, 30, 25)
    # of each dump what a query names there
    some = "query:\"SELECT object FROM objects WHERE type = 'Session'\""
    (row,) = server.request("memlens/compareHeapTypes", {**sides, **page, "search": "", "filter": some})[
        "rows"
    ]
    assert (row["type"], row["before_count"], row["after_count"]) == ("Session", 5, 30)
    with pytest.raises(RpcError, match="The filter's query: no such column: nix"):
        server.request("memlens/compareHeaps", {**sides, "filter": 'query:"SELECT nix"'})
    asked = {**sides, "type": "Session", "offset": 20, "limit": 10}
    new = server.request("memlens/compareHeapObjects", asked)
    assert (new["total"], len(new["rows"])) == (25, 5)
    # compared with itself
    itself = server.request("memlens/compareHeaps", {**sides, "other": names[2]})
    assert itself["after"]["only_objects"] == 0
    pair = {"snapshot": names[2], "other": names[0]}
    later, earlier = (
        [each["text"] for each in server.request("memlens/findings", {"snapshot": name})["findings"]]
        for name in (names[2], names[0])
    )
    grown, shrunk = (
        server.request("memlens/compareHeapFindings", {**pair, "other_first": first})["rows"]
        for first in (True, False)
    )
    for rows, before, after in ((grown, earlier, later), (shrunk, later, earlier)):
        assert {row["before"]["text"] for row in rows if row["before"]} >= set(before)
        assert {row["after"]["text"] for row in rows if row["after"]} >= set(after)
    assert [row["difference"] for row in shrunk] == [-row["difference"] for row in grown]
    series = {"snapshot": names[2], "dumps": names, "filter": "", "search": "", "limit": 10}
    rows = {row["type"]: row for row in server.request("memlens/heapSeries", series)["types"]}
    assert (rows["Session"]["counts"], rows["Session"]["grows"]) == ([5, 9, 30], True)
    trace = open_view(server, write_snapshot(tmp_path / "one.pickle", 400), "v9")
    with pytest.raises(RpcError, match="is not a heap dump"):
        server.request("memlens/compareHeaps", {**sides, "other": trace["snapshot"]})
    with pytest.raises(RpcError, match="is not a heap dump"):
        server.request(
            "memlens/compareHeapFindings", {**pair, "other": trace["snapshot"], "other_first": True}
        )
