"""The heat of lines, lines that move while files are edited, files that changed since the run, notebooks."""

import json
import pickle
import re
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.python.lsp_client import LspClient
from tests.python.server_harness import find_source, open_view, problem_of, snapshot_of, write_snapshot

from memlens.packs.ruby.tests import ruby_files
from memlens.server.protocol.settings import Settings
from memlens.sources.cells import murmur2
from memlens.store.snapshot import Snapshot
from memlens.views.lines.totals import line_values

pytest_plugins = ("tests.python.server_fixtures",)

SAMPLES = Path(__file__).parents[2] / "samples"
FOREIGN = "/elsewhere/project/code/train.py"


def document(path: Path, cell: str | None = None) -> dict[str, Any]:
    return {"path": str(path), "cell": cell}


def heat_of(server: LspClient, path: Path, cell: str | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.request("memlens/lineHeat", {"document": document(path, cell)})[
        "files"
    ]
    return found


def lines_of(server: LspClient, path: Path, cell: str | None = None) -> list[int]:
    return [line["line"] for file in heat_of(server, path, cell) for line in file["lines"]]


def moved(server: LspClient, path: Path, what: str, *edits: tuple[int, int, int]) -> None:
    names = ("line", "removed", "added")
    reported = [dict(zip(names, edit, strict=True)) for edit in edits]
    server.request("memlens/linesMoved", {"path": str(path), "what": what, "edits": reported})


def kept_snapshot(path: Path, stacks: dict[tuple[tuple[str, int, str], ...], int]) -> Path:
    """One allocation per stack (file, line, function; innermost first), all live at the end."""
    trace = [
        {
            "action": "alloc",
            "addr": 4096 * (number + 1),
            "size": size,
            "stream": 0,
            "time_us": number,
            "frames": [{"filename": file, "line": line, "name": name} for file, line, name in stack],
        }
        for number, (stack, size) in enumerate(stacks.items())
    ]
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
    return path


@pytest.mark.slow
def test_heat_equals_a_plain_sum(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    source = workspace / "code" / "train.py"
    native = ("??", 0, "at::_ops::mm::call(at::Tensor)")
    own, other = (FOREIGN, 10, "step"), ("/opt/conda/lib/python3.12/threading.py", 3, "run")
    stacks: dict[tuple[tuple[str, int, str], ...], int] = {
        (native, own, (FOREIGN, 30, "main")): 1 << 20,
        (other, own, (FOREIGN, 30, "main")): 1 << 21,
        (own, own, (FOREIGN, 30, "main")): 1 << 22,
        ((FOREIGN, 30, "main"),): 1 << 23,
        (native,): 1 << 24,
    }
    open_view(server, kept_snapshot(tmp_path / "a.pickle", stacks))
    inclusive: dict[int, int] = defaultdict(int)
    itself: dict[int, int] = defaultdict(int)
    innermost_of: dict[int, int] = defaultdict(int)
    for stack, size in stacks.items():
        for line in {line for file, line, _ in stack if file == FOREIGN}:
            inclusive[line] += size
        mine = next((frame for frame in stack if frame[0] == FOREIGN), None)
        if mine is not None:
            itself[mine[1]] += size
        innermost = next((frame for frame in stack if frame[1]), None)
        if innermost is not None and innermost[0] == FOREIGN:
            innermost_of[innermost[1]] += size
    (file,) = heat_of(server, source)
    assert file["title"] == "a.pickle"
    assert file["most_live_at_peak_bytes"] == file["most_total_bytes"] == max(inclusive.values())
    assert {line["line"]: line["live_at_peak_bytes"] for line in file["lines"]} == inclusive
    assert {line["line"]: line["total_bytes"] for line in file["lines"]} == inclusive
    assert {line["line"]: line["self_live_at_peak_bytes"] for line in file["lines"]} == itself
    assert {line["line"]: line["self_total_bytes"] for line in file["lines"]} == itself
    assert file["attribution"] == "mine"
    assert [line["function"] for line in file["lines"]] == ["step", "main"]
    assert all(line["changed"] is None for line in file["lines"])
    assert heat_of(server, workspace / "code" / "other.py") == []
    documents = [document(source), document(workspace / "code" / "other.py"), document(source, "x = 1")]
    known = server.request("memlens/knownDocuments", {"documents": documents})["known"]
    assert known == [True, False, False]
    for path, what in (("a\0b", "contains a NUL character"), ("\ud800", "can't be written in UTF-8")):
        problem = problem_of(server, "memlens/lineHeat", {"document": {"path": path, "cell": None}})
        assert problem["code"] == "bad-request"
        assert what in problem["message"]


@pytest.mark.slow
def test_heat_of_several_snapshots_is_separate(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    source = workspace / "code" / "train.py"
    open_view(server, write_snapshot(tmp_path / "a.pickle", 400))
    second = open_view(server, write_snapshot(tmp_path / "b.pickle", 800), "v2")
    first_file, second_file = heat_of(server, source)
    assert (first_file["title"], second_file["title"]) == ("a.pickle", "b.pickle")
    # line 10 never frees
    assert [file["lines"][0]["live_at_peak_bytes"] for file in (first_file, second_file)] == [51_200, 102_400]
    server.request("memlens/close", {"snapshot": second["snapshot"], "view": "v2"})
    assert [file["title"] for file in heat_of(server, source)] == ["a.pickle"]


@pytest.mark.slow
def test_lines_are_followed_while_a_file_is_edited(
    server: LspClient, tmp_path: Path, workspace: Path
) -> None:
    source = workspace / "code" / "train.py"
    snapshot = open_view(server, write_snapshot(tmp_path / "a.pickle"))["snapshot"]
    assert lines_of(server, source) == [10, 11, 30]
    moved(server, source, "edited", (1, 0, 3), (14, 1, 0))
    assert lines_of(server, source) == [13, 32]
    hover = server.hover(source, 13)
    assert hover is not None
    assert "102,400" not in hover
    assert "51,200 bytes" in hover
    assert server.hover(source, 10) is None
    found = server.request("memlens/lineTargets", {"document": document(source), "line": 13})["targets"]
    assert [target["line"] for target in found] == [10]
    place = {"snapshot": snapshot, "file": FOREIGN}
    opened = server.request("memlens/source", {**place, "line": 30})
    assert (opened["line"], opened["changed"]) == (32, None)
    gone = server.request("memlens/source", {**place, "line": 11})
    assert "deleted" in gone["changed"]["message"]

    # a later run used the current text
    open_view(server, write_snapshot(tmp_path / "b.pickle"), "v2")
    assert [[line["line"] for line in file["lines"]] for file in heat_of(server, source)] == [
        [13, 32],
        [10, 11, 30],
    ]
    moved(server, source, "edited", (1, 3, 0))
    moved(server, source, "discarded")
    assert lines_of(server, source) == [10, 11, 30] * 2
    moved(server, source, "edited", (1, 0, 1))
    moved(server, source, "saved")
    moved(server, source, "edited", (1, 0, 1))
    moved(server, source, "discarded")
    assert lines_of(server, source) == [11, 12, 31] * 2
    moved(server, source, "reloaded")
    assert lines_of(server, source) == [10, 11, 30] * 2


def test_a_file_that_changed_since_the_run_is_marked(
    server: LspClient, tmp_path: Path, workspace: Path
) -> None:
    source = workspace / "code" / "train.py"
    snapshot = open_view(server, write_snapshot(tmp_path / "a.pickle"))["snapshot"]
    assert all(line["changed"] is None for line in heat_of(server, source)[0]["lines"])
    code = "# new\n" * 12 + "def main():\n" + "    pass\n" * 20 + "\n\ndef step():\n" + "    pass\n" * 3
    source.write_text(code)
    sentence = "The file has changed since the run: `step` is now at line 36"
    changed = {line["line"]: line["changed"] for line in heat_of(server, source)[0]["lines"]}
    assert changed[10] == changed[11] == {"message": sentence, "lines": [36]}
    assert changed[30] is None
    hover = server.hover(source, 10)
    assert hover is not None
    assert "The file has changed since the run" in hover.replace("\\", "")
    assert "[Go to line 36](command:memlens.goToLine?" in hover
    assert "Line 10 as it ran:" in hover
    assert "**51,200" not in hover
    answer = server.request("memlens/source", {"snapshot": snapshot, "file": FOREIGN, "line": 10})
    assert answer["line"] == 10
    assert answer["changed"]["lines"] == [36]
    # its line moves with further edits
    moved(server, source, "edited", (20, 0, 4))
    assert heat_of(server, source)[0]["lines"][0]["changed"]["lines"] == [40]

    source.write_text("def main():\n" + "    pass\n" * 40)
    moved(server, source, "reloaded")
    changed = {line["line"]: line["changed"] for line in heat_of(server, source)[0]["lines"]}
    assert changed[10] == {
        "message": "The file has changed since the run: `step` is not in it any more",
        "lines": [],
    }


CELL = "import torch\n\ndef build():\n    return torch.zeros(1024)\n\nx = build()"


def notebook(*cells: tuple[str, int | None]) -> str:
    made: list[dict[str, Any]] = [
        {"cell_type": "code", "source": text, "execution_count": count, "outputs": [], "metadata": {}}
        for text, count in cells
    ]
    title = {"cell_type": "markdown", "source": "# Title", "metadata": {}}
    return json.dumps({"cells": [title, *made], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_a_frame_of_a_notebook_leads_to_its_cell(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    book = workspace / "book.ipynb"
    book.write_text(notebook(("y = 1", 1), (CELL, 2)))
    file = f"/tmp/ipykernel_114/{murmur2(CELL.encode())}.py"
    frames = ((file, 4, "build"), (file, 6, "<module>"))
    opened = open_view(server, kept_snapshot(tmp_path / "a.pickle", {frames: 4096}))
    assert find_source(server, file)["how"] == "cell"
    params: dict[str, Any] = {
        "snapshot": opened["snapshot"],
        "file": file,
        "line": 4,
        "open_notebooks": [],
    }
    answer = server.request("memlens/cell", params)
    found = {"path": str(book), "index": 2, "line": 4, "title": "import torch"}
    assert answer == {"cells": [found], "candidates": [], "reason": "none", "notebooks": 1}

    (line, _) = heat_of(server, book, CELL)[0]["lines"]
    assert (line["line"], line["live_at_peak_bytes"], line["self_live_at_peak_bytes"]) == (4, 4096, 4096)
    assert heat_of(server, book, CELL + "#") == []
    assert heat_of(server, book) == []
    hover = server.request("memlens/cellHover", {"document": document(book, CELL), "line": 6})["markdown"]
    assert "Total allocated: **4 KiB (4,096 bytes)**" in hover
    targets = server.request("memlens/lineTargets", {"document": document(book, CELL), "line": 4})["targets"]
    assert targets == [
        {"snapshot": opened["snapshot"], "path": opened["info"]["path"], "file": file, "line": 4}
    ]

    # the user is asked about the same code in two places, and edited code is never guessed
    copy = workspace / "copy.ipynb"
    copy.write_text(notebook((CELL, 7)))
    shown = {
        "path": str(book),
        "cells": [{"index": 2, "text": CELL.replace("1024", "2048"), "execution_count": 2}],
    }
    answer = server.request("memlens/cell", {**params, "open_notebooks": [shown]})
    assert [cell["path"] for cell in answer["cells"]] in ([], [str(copy)])
    server.add_folder(tmp_path)
    assert [cell["path"] for cell in server.request("memlens/cell", params)["cells"]] == [
        str(book),
        str(copy),
    ]
    copy.unlink()
    answer = server.request("memlens/cell", {**params, "open_notebooks": [shown]})
    assert answer["cells"] == []
    assert answer["reason"] == "function"
    assert [(cell["path"], cell["index"]) for cell in answer["candidates"]] == [(str(book), 2)]


def test_ipython_names_contain_the_execution_count(server: LspClient, workspace: Path) -> None:
    (workspace / "book.ipynb").write_text(notebook(("y = 1", 11), ("\nx = 1", 12)))
    params = {"snapshot": "", "line": 1, "open_notebooks": []}
    # the hash of "x = 1\n", as IPython 7.16.3 has it
    exact = server.request("memlens/cell", {**params, "file": "<ipython-input-12-e139f73e3432>"})
    assert [(cell["index"], cell["line"]) for cell in exact["cells"]] == [(2, 2)]
    edited = server.request("memlens/cell", {**params, "file": "<ipython-input-11-e139f73e3433>"})
    assert edited["cells"] == []
    assert edited["reason"] == "execution_count"
    assert [cell["index"] for cell in edited["candidates"]] == [1]
    problem = problem_of(server, "memlens/cell", {**params, "file": "train.py"})
    assert (problem["code"], problem["message"]) == (
        "bad-request",
        "train.py is not the name of a notebook's cell",
    )


def test_a_line_without_a_function_is_left_alone(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    content = snapshot_of(40)
    for event in content["device_traces"][0]:
        event["frames"] = [{**event["frames"][0], "name": "<lambda>"}]
    path = tmp_path / "a.pickle"
    path.write_bytes(pickle.dumps(content))
    open_view(server, path)
    hover = server.hover(workspace / "code" / "train.py", 10)
    assert hover is not None
    assert not re.search("changed since", hover)


JETBRAINS = Path(__file__).parents[2] / "docs" / "jetbrains"


def test_the_template_for_jetbrains_has_what_lsp4ij_and_the_server_read() -> None:
    template = json.loads((JETBRAINS / "template.json").read_text("utf-8"))
    assert all(command.endswith(" lsp") for command in template["programArgs"].values())
    patterns = []
    for mapping in template["fileTypeMappings"]:
        assert mapping["languageId"]
        patterns += mapping["fileType"]["patterns"]
    assert all(re.fullmatch(r"\*\.\w+", pattern) for pattern in patterns)
    assert len(patterns) == len(set(patterns))
    # nothing is misspelt, which the server would ignore; and the page says what each means
    settings = json.loads((JETBRAINS / "settings.json").read_text("utf-8"))
    described = re.findall(
        r"^\| (`\w+`(?:, `\w+`)*) \|", (JETBRAINS / "README.md").read_text("utf-8"), re.MULTILINE
    )
    named = {name for row in described for name in re.findall(r"\w+", row)}
    assert set(settings) <= named <= set(Settings.__struct_fields__)
    # all that LSP4IJ imports from a folder
    assert {path.name for path in JETBRAINS.iterdir()} == {"README.md", "settings.json", "template.json"}


@pytest.mark.slow
def test_the_settings_that_lsp4ij_pushes_after_the_start_show_figures_and_none_take_them_away(
    workspace: Path, cache_folder: Path
) -> None:
    kept_snapshot(workspace / "snapshot.pickle", {((FOREIGN, 10, "step"),): 3 << 20})
    with LspClient() as client:
        client.start(workspace, {"cache_directory": str(cache_folder)})
        settings = json.loads((JETBRAINS / "settings.json").read_text("utf-8"))
        client.notify("workspace/didChangeConfiguration", {"settings": settings})
        client.wait_for("memlens/snapshotsChanged", lambda p: p["open"] == 1)
        for nothing in ({}, None, {"code_lens": "yes"}):
            client.notify("workspace/didChangeConfiguration", {"settings": nothing})
        hover = client.hover(workspace / "code" / "train.py", 10)
        assert hover is not None
        assert "3 MiB" in hover
        client.notify("workspace/didChangeConfiguration", {"settings": {"snapshots": []}})
        client.wait_for("memlens/snapshotsChanged", lambda p: p["open"] == 0)
        assert client.end() == 0


@pytest.mark.slow
def test_a_snapshot_that_a_setting_names_shows_in_hovers(
    workspace: Path, cache_folder: Path, tmp_path: Path
) -> None:
    kept_snapshot(workspace / "named.pickle", {((FOREIGN, 10, "step"),): 3 << 20})
    settings = {
        "cache_directory": str(cache_folder),
        "snapshots": ["${workspaceFolder}/named.pickle", str(tmp_path / "none.pickle")],
    }
    with LspClient() as client:
        client.start(workspace, settings)
        client.wait_for("memlens/snapshotsChanged", lambda p: p["open"] == 1)
        assert "none.pickle" in client.wait_for("window/showMessage", lambda p: p["type"] == 1)["message"]
        hover = client.hover(workspace / "code" / "train.py", 10)
        assert hover is not None
        assert "3 MiB" in hover
        client.notify("workspace/didChangeConfiguration", {"settings": {**settings, "snapshots": []}})
        client.wait_for("memlens/snapshotsChanged", lambda p: p["open"] == 0)
        assert client.end() == 0


def test_lines_of_a_profile_are_those_of_the_value_that_its_view_shows(
    server: LspClient, workspace: Path, opened: Callable[[Path], Snapshot]
) -> None:
    for name in ("words.pb.gz", "words.py"):
        shutil.copy(SAMPLES / name, workspace / name)
    profile, source = workspace / "words.pb.gz", workspace / "words.py"
    snapshot = open_view(server, profile)["snapshot"]

    def heat(value: int) -> dict[str, Any]:
        shown = [{"snapshot": snapshot, "value": value}]
        params = {"document": document(source), "shown": shown}
        (file,) = server.request("memlens/lineHeat", params)["files"]
        found: dict[str, Any] = file
        return found

    direct = opened(profile)
    by_line = line_values(direct, heat(0)["file"])
    most = int(direct.line_values.value[0].max())
    counts = {
        line: (each.total, each.itself)
        for line, values in by_line.items()
        for each in values
        if each.value == 0
    }
    objects, plain = heat(0), heat(1)
    assert plain == heat_of(server, source)[0]
    assert (plain["peak"]["words"], objects["peak"]["words"]) == ("in use", "allocations in use")
    assert objects["peak"] == objects["total"] == {"words": "allocations in use", "unit": "count"}
    assert objects["most_live_at_peak_bytes"] == most
    assert [line["line"] for line in objects["lines"]] == [line["line"] for line in plain["lines"]]
    assert {
        line["line"]: (line["live_at_peak_bytes"], line["self_live_at_peak_bytes"])
        for line in objects["lines"]
    } == {line["line"]: counts.get(line["line"], (0, 0)) for line in plain["lines"]}
    assert sum(map(sum, counts.values())) > 0
    assert heat(7) == plain


def test_lines_of_a_heap_dump_say_what_of_them_is_live(
    server: LspClient, tmp_path: Path, workspace: Path
) -> None:
    (workspace / "app").mkdir()
    program = workspace / "app" / "cache.rb"
    program.write_text("\n" * 20)
    dump = tmp_path / "dump.json"
    dump.write_bytes(ruby_files.small())
    open_view(server, dump)
    (file,) = server.request("memlens/lineHeat", {"document": document(program)})["files"]
    assert file["peak"] == file["total"] == {"words": "live", "unit": "bytes"}
    assert {line["line"]: line["live_at_peak_bytes"] for line in file["lines"]} == {12: 80, 13: 40}
