"""From source lines to snapshots and back: hovers, code lenses, and the local files of foreign paths."""

import json
import pickle
import re
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import frame
from tests.python.heap_files import HeapFile
from tests.python.hprof_files import BYTE, OBJECT, Dump
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import find_source, open_view, snapshot_of, wait_until, write_snapshot

from memlens.sources import binding
from memlens.sources.paths import parse

pytest_plugins = ("tests.python.server_fixtures",)

SAMPLES = Path(__file__).parents[2] / "samples"
HEAPS = Path(__file__).parents[1] / "fixtures" / "heap"
FILE = "/elsewhere/project/code/train.py"


@pytest.mark.slow
def test_hover_shows_what_a_line_allocated(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    source = workspace / "code" / "train.py"
    assert server.hover(source, 11) is None, "nothing is open yet"
    open_view(server, write_snapshot(tmp_path / "a.pickle", 4_000))
    text = server.hover(source, 11)
    assert text is not None
    assert "Total allocated: **0.98 MiB (1,024,000 bytes)** in 1,000 allocations" in text
    assert "Largest: 1 KiB (1,024 bytes)" in text
    assert server.hover(source, 12) is None
    outer = server.hover(source, 30)
    assert outer is not None
    assert "1,536,000 bytes" in outer
    assert "By the line itself (my code): 0 bytes in 0 allocations, live at peak 0 bytes" in outer
    leaking = server.hover(source, 10)
    assert leaking is not None
    assert (
        "By the line itself (my code): 500 KiB (512,000 bytes) in 1,000 allocations, live at peak 500 KiB (512,000"
        in leaking
    )
    elsewhere = workspace / "code" / "other.py"
    elsewhere.write_text("x\n")
    assert server.hover(elsewhere, 11) is None

    second = open_view(server, write_snapshot(tmp_path / "b.pickle", 400), "v2")
    text = server.hover(source, 11)
    assert text is not None
    assert "**a\\.pickle**" in text
    assert "**b\\.pickle**" in text
    server.request("memlens/close", {"snapshot": second["snapshot"], "view": "v2"})
    text = server.hover(source, 11)
    assert text is not None
    assert "pickle**" in text.replace("b\\.pickle", "")


@pytest.mark.slow
def test_hover_agrees_with_the_command_line(server: LspClient, tmp_path: Path) -> None:
    sample = Path(shutil.copy(SAMPLES / "train.pickle", tmp_path))
    for source in SAMPLES.glob("*.py"):
        shutil.copy(source, tmp_path)
    server.add_folder(tmp_path)
    open_view(server, sample)
    rows = json.loads(memlens("lines", sample, "--json", "--cache-dir", tmp_path / "c2").stdout)["lines"]
    ours = [row for row in rows if (tmp_path / Path(row["file"]).name).exists()]
    assert ours
    for row in ours:
        text = server.hover(tmp_path / Path(row["file"]).name, row["line"])
        assert text is not None, row
        figures = [int(figure.replace(",", "")) for figure in re.findall(r"([\d,]+) bytes", text)]
        assert row["total_bytes"] in figures
        assert row["live_at_peak_bytes"] in figures
        assert row["self_total_bytes"] in figures


def test_names_in_a_snapshot_are_text(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    evil = "](command:workbench.action.quit) <img src=x onerror=f(1)> $(bug) https://x.example **b** `c`\n# h"
    content = snapshot_of(40)
    for event in content["device_traces"][0]:
        event["frames"] = [{**event["frames"][0], "name": evil}]
    path = tmp_path / "[x](command:y) <b>.pickle"
    path.write_bytes(pickle.dumps(content))
    open_view(server, path)
    text = server.hover(workspace / "code" / "train.py", 10)
    assert text is not None
    links = re.findall(r"(?<!\\)\]\(([^)]*)\)", text)
    assert len(links) == 1
    assert links[0].startswith("command:memlens.showLine?%5B")
    before_link = text[: text.index("[Show these")]
    assert "<" not in before_link
    assert not re.search(
        r"(?<!\\)[`\[\]()_#$:]",
        re.sub(r"\(([\d,]+ bytes)\)|allocated:|peak:|Largest:|itself \(my code\):", "", before_link),
    )
    assert "\n#" not in before_link


def test_hover_can_be_switched_off(
    server: LspClient, tmp_path: Path, workspace: Path, cache_folder: Path
) -> None:
    open_view(server, write_snapshot(tmp_path / "a.pickle"))
    source = workspace / "code" / "train.py"
    assert server.hover(source, 10)
    settings = {"cache_directory": str(cache_folder), "hover": False}
    server.notify("workspace/didChangeConfiguration", {"settings": settings})
    assert server.hover(source, 10) is None


def test_findings_are_said_above_their_lines_and_first_in_the_hover(
    server: LspClient, tmp_path: Path, cache_folder: Path
) -> None:
    sample = Path(shutil.copy(SAMPLES / "train.pickle", tmp_path))
    source = Path(shutil.copy(SAMPLES / "train.py", tmp_path))
    server.add_folder(tmp_path)
    open_view(server, sample)
    document = {"textDocument": {"uri": source.as_uri()}}
    lenses = server.request("textDocument/codeLens", document)
    said = {lens["range"]["start"]["line"] + 1: lens["command"]["title"] for lens in lenses}
    leaking = 1 + next(
        n for n, line in enumerate(source.read_text().splitlines()) if "predictions.append" in line
    )
    assert said[leaking] == "About 3 MiB more after every step · 15 MiB live at peak"
    params = {"document": {"path": str(source), "cell": None}}
    assert server.request("memlens/lineFindings", params)["lines"] == sorted(said)
    assert lenses[0]["command"]["command"] == "memlens.showLine"
    text = server.hover(source, leaking)
    assert text is not None
    assert text.startswith("**Grows by step:** train\\.py\\:46")
    assert "**15 MiB" in text.partition("---")[2]
    assert "is charged" not in text
    settings = {"cache_directory": str(cache_folder), "findings": False}
    server.notify("workspace/didChangeConfiguration", {"settings": settings})
    assert server.request("textDocument/codeLens", document) == []


def test_code_lenses_are_above_functions(
    server: LspClient, tmp_path: Path, workspace: Path, cache_folder: Path
) -> None:
    open_view(server, write_snapshot(tmp_path / "a.pickle", 4_000))
    document = {"textDocument": {"uri": (workspace / "code" / "train.py").as_uri()}}
    assert server.request("textDocument/codeLens", document) == []
    server.notify(
        "workspace/didChangeConfiguration",
        {"settings": {"cache_directory": str(cache_folder), "code_lens": True}},
    )
    lenses = server.request("textDocument/codeLens", document)
    assert [lens["range"]["start"]["line"] + 1 for lens in lenses] == [9, 29]
    assert lenses[0]["command"]["title"] == "501 KiB live at peak, line 10 most"
    assert lenses[1]["command"]["title"] == "501 KiB live at peak, 0 B by itself (my code)"
    assert lenses[0]["command"]["command"] == "memlens.showLine"
    assert lenses[0]["command"]["arguments"][0]["line"] == 10
    settings = {"cache_directory": str(cache_folder), "code_lens": True, "measure": "total"}
    server.notify("workspace/didChangeConfiguration", {"settings": settings})
    lenses = server.request("textDocument/codeLens", document)
    assert lenses[0]["command"]["title"] == "1.46 MiB in 2,000 allocations, line 11 most"
    assert lenses[1]["command"]["title"] == "1.46 MiB in 2,000 allocations, 0 B by itself (my code)"
    server.notify("workspace/didChangeConfiguration", {"settings": {**settings, "attribution": "any"}})
    lenses = server.request("textDocument/codeLens", document)
    assert lenses[1]["command"]["title"] == "1.46 MiB in 2,000 allocations, 0 B by itself (any code)"
    text = server.hover(workspace / "code" / "train.py", 10)
    assert text is not None
    assert "By the line itself (any code): " in text
    assert lenses[0]["command"]["arguments"][0]["line"] == 11


def test_lines_of_forward_stacks_are_marked(
    server: LspClient, tmp_path: Path, workspace: Path, cache_folder: Path
) -> None:
    content = snapshot_of(40)
    text = '  File "/job/code/train.py", line 10, in step\n    x\n'
    for each in content["device_traces"][0]:
        each["frames"], each["forward_frames"] = [frame("??", 0, "at::native::mm()")], [text]
    path = tmp_path / "a.pickle"
    path.write_bytes(pickle.dumps(content))
    open_view(server, path)
    source = workspace / "code" / "train.py"
    hover = server.hover(source, 10)
    assert hover is not None
    assert "what this line allocated, in step (forward)" in hover
    assert (
        "*No stack was recorded on this line: it is known from the forward stacks of backward operators.*"
        in hover
    )
    (file,) = server.request("memlens/lineHeat", {"document": {"path": str(source), "cell": None}})["files"]
    assert [(line["line"], line["source"]) for line in file["lines"]] == [(10, "forward")]
    settings = {"cache_directory": str(cache_folder), "code_lens": True, "measure": "total"}
    server.notify("workspace/didChangeConfiguration", {"settings": settings})
    (lens,) = server.request("textDocument/codeLens", {"textDocument": {"uri": source.as_uri()}})
    assert lens["command"]["title"].endswith(" allocations (forward)")


def test_a_line_has_targets_to_show(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    path = write_snapshot(tmp_path / "a.pickle")
    opened = open_view(server, path)
    document = {"path": str(workspace / "code" / "train.py"), "cell": None}
    params = {"document": document, "line": 10}
    assert server.request("memlens/lineTargets", params)["targets"] == [
        {
            "snapshot": opened["snapshot"],
            "path": str(path),
            "file": "/elsewhere/project/code/train.py",
            "line": 10,
        }
    ]
    assert server.request("memlens/lineTargets", {**params, "line": 5})["targets"] == []
    for bad in (
        {**params, "line": 2**70},
        {**params, "document": {"path": "/a\0b.py", "cell": None}},
        {**params, "document": {"path": "/a\ud800.py", "cell": None}},
    ):
        with pytest.raises(RpcError) as caught:
            server.request("memlens/lineTargets", bad)
        assert "internal" not in str(caught.value.data)
    for bad in ({"file": "\ud800.py", "line": 3}, {"file": "a.py", "line": 2**70}):
        with pytest.raises(RpcError) as caught:
            server.request("memlens/line", {"snapshot": opened["snapshot"], **bad})
        assert "internal" not in str(caught.value.data)


@pytest.mark.slow
def test_source_is_found_in_the_documented_order(
    own_server: LspClient, workspace: Path, cache_folder: Path
) -> None:
    foreign = "/elsewhere/project/code/train.py"
    here = workspace / "code" / "train.py"
    assert (find_source(own_server, foreign)["how"], find_source(own_server, foreign)["path"]) == (
        "suffix",
        str(here),
    )
    assert find_source(own_server, str(here))["how"] == "exact"
    assert find_source(own_server, "code/train.py")["how"] == "exact"

    other = workspace / "copy" / "train.py"
    other.parent.mkdir()
    other.write_text("x\n")
    mappings = {"/elsewhere/project/code": "${workspaceFolder}/copy"}
    settings = {"cache_directory": str(cache_folder), "path_mappings": mappings}
    own_server.notify("workspace/didChangeConfiguration", {"settings": settings})
    assert (find_source(own_server, foreign)["how"], find_source(own_server, foreign)["path"]) == (
        "mapping",
        str(other),
    )

    gone = find_source(own_server, "/elsewhere/project/code/gone.py")
    assert gone["how"] == "none"
    assert gone["path"] is None
    assert gone["looked_for"] == str(workspace / "copy" / "gone.py")
    assert find_source(own_server, "<string>")["how"] == "none"


def test_the_user_is_asked_once_about_a_tie(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    for name in ("a", "b"):
        (workspace / name).mkdir()
        (workspace / name / "net.py").write_text("x\n" * 20)
    foreign = "/job/net.py"
    found = find_source(server, foreign)
    assert found["how"] == "ambiguous"
    assert found["candidates"] == [
        str(workspace / "a" / "net.py"),
        str(workspace / "b" / "net.py"),
    ]
    open_view(server, write_snapshot(tmp_path / "a.pickle", file=foreign))
    text = server.hover(workspace / "b" / "net.py", 10)
    assert text is not None
    assert "could equally be 1 other file here" in text

    server.request("memlens/remember", {"file": foreign, "path": str(workspace / "b" / "net.py")})
    found = find_source(server, foreign)
    assert (found["how"], found["path"]) == (
        "remembered",
        str(workspace / "b" / "net.py"),
    )
    wait_until(lambda: server.hover(workspace / "a" / "net.py", 10) is None)
    text = server.hover(workspace / "b" / "net.py", 10)
    assert text is not None
    assert "could equally" not in text
    with pytest.raises(RpcError):
        server.request("memlens/remember", {"file": foreign, "path": str(workspace / "none.py")})


@pytest.mark.slow
def test_the_client_is_asked_for_files_if_it_supports_that(workspace: Path, cache_folder: Path) -> None:
    asked: list[list[str]] = []

    def find_files(params: Any) -> Any:
        asked.append(params["names"])
        return {"paths": [str(workspace / "code" / "train.py"), "/not/asked/for.py"]}

    with LspClient() as client:
        client.handlers["memlens/findFiles"] = find_files
        client.start(workspace, {"cache_directory": str(cache_folder)}, find_files=True)
        for _ in range(3):
            assert find_source(client, "/x/y/train.py")["path"] == str(workspace / "code" / "train.py")
        assert asked == [["train.py"]]


@pytest.mark.slow
def test_a_snapshot_of_many_files_does_not_delay_others(
    workspace: Path, cache_folder: Path, tmp_path: Path
) -> None:
    many = 20_000
    snapshot = snapshot_of(4)
    snapshot["device_traces"] = [
        [
            {
                "action": "alloc",
                "addr": 0x7F0000000000 + number * 4096,
                "size": 4096 if number == many - 1 else 512,
                "stream": 0,
                "time_us": 1_000_000 + number,
                "frames": [{"filename": f"/e/{number}/file{number}.py", "line": 3, "name": "f"}],
            }
            for number in range(many)
        ]
    ]
    hostile = tmp_path / "many.pickle"
    hostile.write_bytes(pickle.dumps(snapshot, protocol=4))
    largest = workspace / f"file{many - 1}.py"
    largest.write_text("a\nb\nc\n")
    source = workspace / "code" / "train.py"
    asked: list[list[str]] = []
    answered = threading.Event()

    def find_files(params: Any) -> Any:
        asked.append(params["names"])
        if any(name.startswith("file") for name in params["names"]):
            answered.wait(60)
        return {"paths": [str(source), str(largest)]}

    with LspClient() as client:
        client.handlers["memlens/findFiles"] = find_files
        client.start(workspace, {"cache_directory": str(cache_folder)}, find_files=True)
        try:
            open_view(client, write_snapshot(tmp_path / "a.pickle"))
            assert client.hover(source, 11) is not None
            open_view(client, hostile, "v2")
            wait_until(lambda: len(asked) > 1)
            position = {"textDocument": {"uri": source.as_uri()}, "position": {"line": 10, "character": 4}}
            assert client.request("textDocument/hover", position, limit_s=15) is not None
        finally:
            answered.set()
        wait_until(lambda: client.hover(largest, 3) is not None)
        searched = [name for names in asked for name in names if name.startswith("file")]
        assert largest.name in searched[:200], "the files that hold the most come first"
        assert len(searched) <= 2_000


def test_network_shares_are_never_accessed(
    server: LspClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows would send the user's credentials to the machine named in a path."""
    beside = tmp_path / "beside.py"
    beside.write_text("x\n")
    assert find_source(server, str(beside))["how"] == "exact"
    # POSIX permits two slashes to mean a share; on Linux it is the same file
    assert find_source(server, f"/{beside}")["how"] == "none"
    looked_at: list[Path] = []
    monkeypatch.setattr(binding, "is_file", looked_at.append)
    for text in (r"\\evil\share\train.py", "//evil/share/train.py", r"\\?\UNC\evil\share\train.py"):
        foreign = parse(text)
        assert foreign is not None
        with monkeypatch.context() as windows:
            windows.setattr("os.name", "nt")
            assert binding._known(foreign, [], None, []) is None
    assert looked_at == []


def test_only_files_are_ever_found(server: LspClient, workspace: Path) -> None:
    (workspace / "folder.py").mkdir()
    assert find_source(server, "/x/folder.py")["how"] == "none"
    assert find_source(server, str(workspace))["how"] == "none"
    assert find_source(server, "/dev/zero")["how"] == "none"


def test_classes_and_functions_have_the_sums_of_their_objects(
    server: LspClient, tmp_path: Path, workspace: Path, cache_folder: Path
) -> None:
    settings = {"cache_directory": str(cache_folder), "code_lens": True, "findings": False}
    server.notify("workspace/didChangeConfiguration", {"settings": settings})
    heap = HeapFile()
    root = heap.node("synthetic", "")
    everything = heap.node("object", "global", 100)
    heap.edge(root, "shortcut", "global", everything)
    closures = [heap.node("closure", "step", 64) for _ in range(3)]
    shared, script = heap.node("code", "step", 40), heap.node("hidden", FILE, 8)
    heap.edge(closures[0], "internal", "shared", shared)
    heap.edge(shared, "internal", "script", script)
    for number, closure in enumerate(closures):
        heap.edge(everything, "element", number, closure)
    heap.locations = [(closure, 5, 8, 0) for closure in closures]
    for number in range(20):
        item = heap.node("object", "Session", 48)
        heap.edge(everything, "property", f"s{number}", item)
        heap.edge(item, "property", "data", heap.node("array", "", 1_000))
        heap.locations.append((item, 5, 28, 0))
    (tmp_path / "a.heapsnapshot").write_bytes(heap.data())
    opened = open_view(server, tmp_path / "a.heapsnapshot", "v1")
    (tmp_path / "sessions.hprof.zst").write_bytes((HEAPS / "sessions.hprof.zst").read_bytes())
    (workspace / "Sessions.java").write_text((HEAPS / "src" / "Sessions.java").read_text("utf-8"), "utf-8")
    java = open_view(server, tmp_path / "sessions.hprof.zst", "v2")

    def lenses(path: Path) -> list[tuple[int, str]]:
        found = server.request("textDocument/codeLens", {"textDocument": {"uri": path.as_uri()}})
        return [(lens["range"]["start"]["line"] + 1, lens["command"]["title"]) for lens in found]

    source = workspace / "code" / "train.py"
    assert lenses(source) == [
        (9, "3 closures, 240 B retained, 192 B shallow"), (29, "20 instances, 20.5 KiB retained, 20.5 KiB shallow"),
    ]  # fmt: skip
    text = server.hover(source, 29)
    assert text is not None
    assert "instances of the type Session" in text
    assert "- Objects: **20**" in text
    (file,) = server.request("memlens/lineHeat", {"document": {"path": str(source), "cell": None}})["files"]
    assert [(line["line"], line["live_at_peak_bytes"]) for line in file["lines"]] == [(9, 240), (29, 20_960)]
    assert file["peak"]["words"] == "retained"
    asked = {"snapshot": opened["snapshot"], "file": FILE, "line": 29}
    kind = server.request("memlens/heapAt", asked)["type"]
    rows = server.request("memlens/heapType", {"snapshot": opened["snapshot"], "kind": kind})
    assert rows["type"]["type"] == "Session"
    closures_filter = server.request("memlens/heapAt", {**asked, "line": 9})["filter"]
    of = {"filter": closures_filter, "order": "count", "reverse": False, "by": "kind", "package": None}
    listed = server.request(
        "memlens/heapTypes", {"snapshot": opened["snapshot"], **of, "offset": 0, "limit": 9}
    )
    assert listed["objects"] == 3, "not another function called step"
    # V8 records the constructor's line; the class has a separate line
    text = source.read_text("utf-8")
    lines = text.splitlines()
    source.write_text("\n".join([*lines[:20], "class Session {", *lines[21:]]), "utf-8")
    for line, answers in ((21, True), (20, False), (22, False)):
        assert ("instances of the type Session" in (server.hover(source, line) or "")) is answers
    source.write_text(text, "utf-8")
    # a dump has only the names of Java's classes
    declared = workspace / "Sessions.java"
    lines = declared.read_text("utf-8").splitlines()
    at = next(number for number, line in enumerate(lines, 1) if "class Session " in line)
    assert lenses(declared) == [(at, "400 instances, 3.07 MiB retained, 9.38 KiB shallow")]
    asked = {"snapshot": java["snapshot"], "file": str(declared), "line": at}
    assert server.request("memlens/heapAt", asked)["type"] is not None


def test_a_class_that_several_loaders_have_is_one_definition(
    server: LspClient, tmp_path: Path, workspace: Path, cache_folder: Path
) -> None:
    settings = {"cache_directory": str(cache_folder), "code_lens": True}
    server.notify("workspace/didChangeConfiguration", {"settings": settings})
    dump = Dump()
    dump.klass(0x10, "java/lang/Object")
    dump.klass(0x20, "web/Loader", 0x10)
    at = iter(range(0x1000, 0x100000, 0x10))
    loaders = [dump.instance(next(at), 0x20) for _ in range(3)]
    # one of the two is the bootstrap loader's as well
    own = {"web/Cart": loaders, "web/Row": [0, *loaders]}
    for name, of_loaders in own.items():
        for loader in of_loaders:
            made = dump.klass(next(at), name, 0x10, [("data", OBJECT)], loader=loader)
            for _ in range(2):
                data = dump.numbers(next(at), BYTE, bytes(1000))
                dump.add(0xFF, "P", dump.instance(next(at), made, "P", data))
    (tmp_path / "web.hprof").write_bytes(dump.end())
    opened = open_view(server, tmp_path / "web.hprof", "v1")
    (workspace / "web").mkdir()
    source = workspace / "web" / "Cart.java"
    source.write_text("package web;\nclass Cart { }\nclass Row { }\n", "utf-8")
    found = server.request("textDocument/codeLens", {"textDocument": {"uri": source.as_uri()}})
    said = [(lens["range"]["start"]["line"] + 1, lens["command"]["title"]) for lens in found]
    # 24 B and 1,024 B each, with references of 8 bytes
    assert sorted(said) == [
        (2, "6 instances of 3 types, 6.14 KiB retained, 144 B shallow"),
        (3, "8 instances of 4 types, 8.19 KiB retained, 192 B shallow"),
    ]
    assert "instances of 3 types called web\\.Cart" in (server.hover(source, 2) or "")
    for line, objects in ((2, 6), (3, 8)):
        asked = {"snapshot": opened["snapshot"], "file": str(source), "line": line}
        wanted = server.request("memlens/heapAt", asked)
        of = {"filter": wanted["filter"], "order": "count", "reverse": False, "by": "kind", "package": None}
        listed = server.request(
            "memlens/heapTypes", {"snapshot": opened["snapshot"], **of, "offset": 0, "limit": 9}
        )
        assert (wanted["type"], listed["objects"]) == (None, objects)
