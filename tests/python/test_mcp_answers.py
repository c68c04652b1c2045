"""The questions of docs/language-models.md, asked of real files by MCP's official client, and each answer's figures
against a second reading of the file.

The client is that of ``.cache/mcp``, which ``npm test`` installs; without it these tests are skipped.
"""

import json
import re
import subprocess
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.python import recordings
from tests.python.conftest import DATA, ROOT, real_heaps, real_profiles
from tests.python.heap_files import HeapFile
from tests.python.replays import pprof
from tests.python.replays import torch as replay
from tests.python.replays.torch import Alloc
from tests.python.test_findings_of_heaps import v8_heap

from memlens.packs.pytorch.tests.test_replay import ran_out

PYTHON = ROOT / ".cache" / "mcp" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="no .cache/mcp: see the head of this file")

TRACE, PROFILE = ROOT / "samples" / "train.pickle", ROOT / "samples" / "words.pb.gz"

PAGE = (ROOT / "docs" / "language-models.md").read_text("utf-8")
QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    question: (name, json.loads(arguments))
    for question, name, arguments in re.findall(
        r"^\| (.+?) \| `(memlens_\w+) (\{[^`]+\})`", PAGE, re.MULTILINE
    )
}
Figures = dict[Any, int]


class Official:
    """The official client, which starts the server by itself."""

    def __init__(self, folder: Path, *options: str, allowed: Sequence[Path] | None = None) -> None:
        """The server may read ``allowed``, and if that is None the folder and all files of tests."""
        every = [folder, ROOT, *([DATA] if DATA.is_dir() else [])]
        roots = [f"--root={each}" for each in (every if allowed is None else allowed)]
        server = [sys.executable, "-m", "memlens", "mcp", "--cache-dir", str(folder / "cache"), *roots]
        self.process = subprocess.Popen(
            [PYTHON, ROOT / "tests" / "python" / "mcp_official.py", *options, "--", *server],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, text=True,
        )  # fmt: skip
        self.agreed = self._read()

    def _read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the client has ended"
        return json.loads(line)

    def _asked(self, name: str, arguments: dict[str, Any]) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"name": name, "arguments": arguments}) + "\n")
        self.process.stdin.flush()
        return self._read()

    def call(self, name: str, **arguments: Any) -> Any:
        answer = self._asked(name, arguments)
        assert not answer["is_error"], answer["text"]
        return json.loads(answer["text"])

    def failure(self, name: str, **arguments: Any) -> str:
        answer = self._asked(name, arguments)
        assert answer["is_error"], answer["text"]
        text: str = answer["text"]
        return text

    def close(self) -> None:
        self.process.communicate(timeout=60)
        assert self.process.returncode == 0


def sessions(count: int) -> bytes:
    """A page with so many sessions, each with a text of its own."""
    heap = HeapFile()
    cache = heap.node("object", "Cache", 40)
    heap.edge(heap.node("synthetic", ""), "property", "cache", cache)
    heap.nodes.insert(0, heap.nodes.pop())
    heap.edges.insert(0, heap.edges.pop())
    heap.edges[0] = [("property", "cache", 1)]
    for number in range(count):
        session = heap.node("object", "Session", 2_000 + 8 * number)
        heap.edge(1, "element", number, session)
    return heap.data()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("questions")
    (made / "app.heapsnapshot").write_bytes(v8_heap(has=True))
    for number, count in enumerate((5, 30, 90), 1):
        (made / f"{number}.heapsnapshot").write_bytes(sessions(count))
    (made / "ran-out.pickle").write_bytes(ran_out()[0])
    (made / "samples").symlink_to(ROOT / "samples", target_is_directory=True)
    return made


@pytest.fixture(scope="module", params=[(), ("--legacy",)], ids=["2026-07-28", "session"])
def client(folder: Path, request: pytest.FixtureRequest) -> Iterator[Official]:
    client = Official(folder, *request.param)
    yield client
    client.close()


# ---- a second reading of the files -----------------------------------------------------------------------------

EVENTS: list[dict[str, Any]] = replay.traces_of(replay.load(TRACE))[0]
ALLOCATIONS: list[Alloc] = replay.allocations(replay.load(TRACE), 0)
LIVE = replay.live_bytes(ALLOCATIONS, len(EVENTS))
PEAK = LIVE.index(max(LIVE))
TIMES = [event["time_us"] - EVENTS[0]["time_us"] for event in EVENTS]


def own_line(alloc: Alloc) -> tuple[str, int] | None:
    """The innermost line of the program itself; None where a stack has none."""
    for raw in alloc.frames:
        frame = replay.frame_of(raw)
        if frame.file and "site-packages" not in frame.file and frame.line:
            return frame.file, frame.line
    return None


def alive(moment: int) -> list[Alloc]:
    return [ALLOCATIONS[number] for number in replay.alive(ALLOCATIONS, moment)]


def by_line(allocs: list[Alloc]) -> Figures:
    found: Counter[Any] = Counter()
    for alloc in allocs:
        line = own_line(alloc)
        if line is not None:
            found[line] += alloc.size
    return dict(found)


def of_rows(answer: Any, figure: str = "bytes") -> Figures:
    return {
        (row["place"]["file"], row["place"]["line"]): row[figure]
        for row in answer["rows"]
        if row.get("place", {}).get("line")
    }


def until(time_us: int) -> int:
    """The number of events until a time."""
    return bisect_right(TIMES, time_us)


class Heap:
    """A V8 heap snapshot, by its own header."""

    def __init__(self, path: Path) -> None:
        raw = path.read_bytes()
        data = json.loads(zstandard.decompress(raw) if path.suffix == ".zst" else raw)
        meta, strings = data["snapshot"]["meta"], data["strings"]
        self.nodes = [
            dict(zip(meta["node_fields"], row, strict=True))
            for row in rows(data["nodes"], len(meta["node_fields"]))
        ]
        kinds = meta["node_types"][0]
        edges = iter(rows(data["edges"], len(meta["edge_fields"])))
        self.targets: list[list[int]] = []
        for node in self.nodes:
            node["kind"], node["text"] = kinds[node["type"]], strings[node["name"]]
            self.targets.append(
                [next(edges)[2] // len(meta["node_fields"]) for _ in range(node["edge_count"])]
            )

    def of_type(self, name: str) -> list[int]:
        return [at for at, node in enumerate(self.nodes) if node["kind"] == "object" and node["text"] == name]

    def retained(self, at: int) -> int:
        """What no root reaches without an object, itself included."""
        seen, todo = {0}, [0]
        while todo:
            for target in self.targets[todo.pop()]:
                if target not in seen and target != at:
                    seen.add(target)
                    todo.append(target)
        return sum(node["self_size"] for number, node in enumerate(self.nodes) if number not in seen)


def rows(numbers: list[int], width: int) -> list[list[int]]:
    return [numbers[start : start + width] for start in range(0, len(numbers), width)]


# ---- what each answer must say ---------------------------------------------------------------------------------


def fills_at_the_peak(answer: Any, _: Path) -> None:
    (device,) = answer["file"]["devices"]
    assert (device["events"], device["allocations"]) == (len(EVENTS), len(ALLOCATIONS))
    assert (device["peak_bytes"], device["peak_moment"]) == (LIVE[PEAK], PEAK)
    assert device["live_at_end_bytes"] == LIVE[-1]


def modules_hold(answer: Any, _: Path) -> None:
    assert answer["at"]["events"] == PEAK
    assert sum(row["bytes"] for row in answer["rows"]) == LIVE[PEAK]


def live_at_end(answer: Any, _: Path) -> None:
    assert answer["at"]["events"] == len(EVENTS)
    assert of_rows(answer) == by_line(alive(len(EVENTS)))


def live_after_a_time(answer: Any, _: Path) -> None:
    moment = until(300_000)
    assert answer["at"] == {"events": moment, "time_us": TIMES[moment - 1]}
    assert answer["bytes"] == LIVE[moment]
    assert of_rows(answer) == by_line(alive(moment))


def survived(answer: Any, _: Path) -> None:
    born = [alloc for alloc in alive(6000) if alloc.start > 4000]
    assert (answer["at"]["events"], answer["to"]["events"], answer["kind"]) == (4000, 6000, "survived")
    assert (answer["bytes"], answer["count"]) == (sum(alloc.size for alloc in born), len(born))


def callers_of_a_line(answer: Any, _: Path) -> None:
    found: Counter[tuple[Any, ...]] = Counter()
    total = 0
    for alloc in alive(PEAK):
        stack = [replay.frame_of(raw) for raw in alloc.frames]
        places = [(frame.file, frame.line) for frame in stack]
        if ("train.py", 46) in places:
            total += alloc.size
            outermost = len(places) - 1 - places[::-1].index(("train.py", 46))
            for depth in range(1, 4):
                if len(places) > outermost + depth:
                    found[tuple(places[outermost + 1 : outermost + 1 + depth])] += alloc.size
    assert answer["bytes"] == total > 0

    def walk(level: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], int]]:
        for row in level:
            here = (*path, (row["file"], row["line"]))
            yield here, row["bytes"]
            yield from walk(row["rows"], here)

    assert dict(walk(answer["rows"], ())) == dict(found)


def callees_of_a_function(answer: Any, _: Path) -> None:
    read = pprof.read(PROFILE)
    value = read.names.index("inuse_space")
    found: Counter[str] = Counter()
    ends = 0
    sums = read.sums()
    for node, values in zip(sums.stacks.tolist(), sums.values.tolist(), strict=True):
        names = [frame.function for frame in sums.tree.stack(node)]
        if "serve" not in names:
            continue
        outermost = len(names) - 1 - names[::-1].index("serve")
        if outermost == 0:
            ends += values[value]
        else:
            found[names[outermost - 1]] += values[value]
    assert {row["function"]: row["amount" if "amount" in row else "bytes"] for row in answer["rows"]} == dict(
        found
    )
    assert answer["ends_bytes"] == ends
    assert answer["bytes"] == ends + sum(found.values()) > 0


def expandable(answer: Any, _: Path) -> None:
    recorded, replayed = answer["rows"]
    assert answer["calibration"]["exact"]
    assert "out_of_memory" in recorded
    assert "out_of_memory" not in replayed
    assert replayed["peak_reserved_bytes"] == ran_out()[1].peak


def steps(answer: Any, _: Path) -> None:
    found = answer["steps"]["rows"]
    assert len(found) > 3
    for step in found:
        first, last = step["from_moment"], step["to_moment"]
        assert step["peak_bytes"] == max(LIVE[first : last + 1])
        assert (step["live_at_start_bytes"], step["live_at_end_bytes"]) == (LIVE[first], LIVE[last])
    ends = answer["growth"]["moments"]
    assert {row["frame"]["line"] for row in answer["growth"]["rows"]} >= {46}
    for row in answer["growth"]["rows"]:
        place = row["frame"]["file"], row["frame"]["line"]
        assert row["points"] == [by_line(alive(moment)).get(place, 0) for moment in ends]


def allocation(answer: Any, _: Path) -> None:
    found = answer["allocation"]
    alloc = next(each for each in ALLOCATIONS if each.start == found["start_moment"])
    assert (found["size_bytes"], int(found["address"], 16)) == (alloc.size, alloc.addr)
    assert found.get("end_moment") == alloc.end
    assert [(frame["function"], frame["line"]) for frame in answer["frames"]] == [
        (frame.function, frame.line) for frame in map(replay.frame_of, alloc.frames)
    ]
    alike = [each for each in ALLOCATIONS if each.frames == alloc.frames]
    assert answer["same_stack"]["total_bytes"] == sum(each.size for each in alike)


def functions_of_a_profile(answer: Any, _: Path) -> None:
    read = pprof.read(PROFILE)
    value = read.names.index("inuse_space")
    inclusive: Counter[str] = Counter()
    sums = read.sums()
    for node, values in zip(sums.stacks.tolist(), sums.values.tolist(), strict=True):
        for name in {frame.function for frame in sums.tree.stack(node)}:
            inclusive[name] += values[value]
    assert {row["name"]["function"]: row["bytes"] for row in answer["rows"]} == dict(inclusive)


def two_runs(answer: Any, _: Path) -> None:
    assert answer["total"]["before_bytes"] == answer["total"]["after_bytes"] == LIVE[PEAK]
    assert answer["grown"]["rows"] == answer["shrunk"]["rows"] == 0


def two_moments(answer: Any, _: Path) -> None:
    first, last = until(200_000), until(500_000)
    assert (answer["before_at"]["events"], answer["after_at"]["events"]) == (first, last)
    assert (answer["total"]["before_bytes"], answer["total"]["after_bytes"]) == (LIVE[first], LIVE[last])
    before, after = by_line(alive(first)), by_line(alive(last))
    different = {
        place: after.get(place, 0) - before.get(place, 0)
        for place in {*before, *after}
        if before.get(place, 0) != after.get(place, 0)
    }
    found = {
        ((row.get("after") or row["before"])["file"], (row.get("after") or row["before"])["line"]): row[
            "difference_bytes"
        ]
        for row in answer["rows"]
        if row["difference_bytes"] and (row.get("after") or row["before"])["line"]
    }
    assert found == different


def three_dumps(answer: Any, folder: Path) -> None:
    heaps = [Heap(folder / f"{number}.heapsnapshot") for number in (1, 2, 3)]
    first = answer["types"][0]
    for row in answer["types"]:
        if row["type"] in ("Session", "Cache"):
            objects = [heap.of_type(row["type"]) for heap in heaps]
            assert row["counts"] == [len(each) for each in objects]
            assert row["retained_bytes"] == [
                sum(map(heap.retained, each)) for heap, each in zip(heaps, objects, strict=True)
            ]
            assert row["grows"]
    assert first["type"] in ("Session", "Cache")
    assert answer["objects"] == [len(heap.nodes) for heap in heaps]


def types_retain(answer: Any, folder: Path) -> None:
    heap = Heap(folder / "app.heapsnapshot")
    found = {row["type"]: row for row in answer["rows"]}
    for name in ("Window", "Cache", "Bus"):
        (at,) = heap.of_type(name)
        assert (found[name]["count"], found[name]["retained_bytes"]) == (1, heap.retained(at))


def sessions_are_alive(answer: Any, folder: Path) -> None:
    heap = Heap(folder / "app.heapsnapshot")
    assert (answer["explained"], answer["unreachable"]) == (len(heap.of_type("Session")), 0)
    (window,) = heap.of_type("Window")
    (cache,) = heap.of_type("Cache")
    assert cache in heap.targets[window]
    assert set(heap.of_type("Session")) <= set(heap.targets[cache])
    assert [row["type"] for row in answer["rows"]][:2] == ["Window", "Cache"]


def sessions_waste(answer: Any, folder: Path) -> None:
    heap = Heap(folder / "app.heapsnapshot")
    members = heap.of_type("Session")
    assert answer["objects"] == len(members)
    texts = {target for at in members for target in heap.targets[at]}
    assert answer["retained_objects"] == len(members) + len(texts)
    assert answer["retained_bytes"] == sum(heap.nodes[at]["self_size"] for at in {*members, *texts})
    # all texts are alike, so all but one of them are superfluous
    assert any(each["figure"]["amount"] == (len(texts) - 1) * 400 for each in answer["findings"])


def one_object(answer: Any, folder: Path) -> None:
    heap = Heap(folder / "app.heapsnapshot")
    (at,) = [number for number, node in enumerate(heap.nodes) if node["id"] == 405]
    found = answer["object"]
    assert (found["id"], found["shallow_bytes"]) == (405, heap.nodes[at]["self_size"])
    assert found["retained_bytes"] == heap.retained(at)


def tables(answer: Any, _: Path) -> None:
    assert {"allocations", "by_line"} <= {re.split(r"\W", table["name"])[0] for table in answer["tables"]}


CHECKS: dict[str, Callable[[Any, Path], None]] = {
    "What fills the memory at the peak?": fills_at_the_peak,
    "Which modules hold it?": modules_hold,
    "What is live at the end, and from which lines?": live_at_end,
    "What was live after 0.3 seconds?": live_after_a_time,
    "What was allocated between events 4000 and 6000 and is still there at 6000?": survived,
    "Who calls line 46 of train.py?": callers_of_a_line,
    "Which callees of `serve` allocate the most?": callees_of_a_function,
    "What grows from step to step?": steps,
    "Would expandable segments have got its memory?": expandable,
    "Where was allocation 1000 made?": allocation,
    "Which functions of the profile allocate the most, with what they call?": functions_of_a_profile,
    "What got worse since yesterday's run?": two_runs,
    "What changed between 0.2 and 0.5 seconds of one run?": two_moments,
    "What grew over these three dumps?": three_dumps,
    "Which types retain the most?": types_retain,
    "Why are all these sessions alive?": sessions_are_alive,
    "What of the sessions' memory is wasted?": sessions_waste,
    "What does object @405 hold?": one_object,
    "Anything else": tables,
}


def test_every_question_of_the_page_is_checked() -> None:
    assert set(CHECKS) == set(QUESTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_has_the_figures_of_a_second_reading(client: Official, folder: Path, question: str) -> None:
    name, arguments = QUESTIONS[question]
    if "limit" in client.agreed["tools"][name]["properties"] and name in ("memlens_top", "memlens_compare"):
        # every row is compared
        arguments = {**arguments, "limit": 100}
    CHECKS[question](client.call(name, **arguments), folder)


def test_the_client_and_the_server_agree(client: Official) -> None:
    assert client.agreed["protocol"] in ("2026-07-28", "2025-11-25")
    assert {name for name, _ in QUESTIONS.values()} == set(client.agreed["tools"])
    assert "memlens_summary" in client.agreed["instructions"]


# ---- files of programs that were not made for tests ------------------------------------------------------------

DUMPS = real_heaps("v8/cdmcp_heap-1*", "v8/cdmcp_heap-2*", "v8/cdmcp_heap-3*") or recordings.LEAK
GO = real_profiles("pprof/go-heap-base.pb.gz", "pprof/go-heap-mid.pb.gz", "pprof/go-heap.pb.gz") or [
    recordings.GO_BEFORE, recordings.GO, recordings.GO,
]  # fmt: skip
HEAPTRACK = real_profiles("heaptrack/heaptrack.python-ast.zst") or [recordings.HEAPTRACK]


@pytest.mark.slow
@pytest.mark.skipif(not DUMPS, reason="needs Node.js")
def test_a_series_of_real_dumps(client: Official) -> None:
    heaps = [Heap(path) for path in DUMPS]
    answer = client.call("memlens_series", paths=list(map(str, DUMPS)), limit=100)
    assert answer["objects"] == [len(heap.nodes) for heap in heaps]
    if DUMPS is not recordings.LEAK:
        assert answer["types"][0]["type"] == "NewObject"
    checked = 0
    for row in answer["types"]:
        counts = [len(heap.of_type(row["type"])) for heap in heaps]
        # of plain objects those with the same keys are a type
        if any(counts) and row["type"] != "Object":
            assert row["counts"] == counts
            checked += 1
    assert checked > 5


@pytest.mark.slow
def test_a_series_of_real_profiles_of_one_process(client: Official) -> None:
    answer = client.call(
        "memlens_series",
        paths=list(map(str, GO)),
        by="function",
        value="inuse_space",
        any_code=True,
        limit=100,
    )
    expected: list[Counter[str]] = []
    totals = []
    for path in GO:
        read = pprof.read(path)
        value, sums = read.names.index("inuse_space"), read.sums()
        own: Counter[str] = Counter()
        for node, values in zip(sums.stacks.tolist(), sums.values.tolist(), strict=True):
            own[sums.tree.stack(node)[0].function] += values[value]
        expected.append(own)
        totals.append(sum(own.values()))
    assert answer["total_bytes"] == totals
    assert len(answer["rows"]) > 5
    for row in answer["rows"]:
        assert row["bytes"] == [each[row["place"]["function"]] for each in expected]
    grown = answer["rows"][0]["bytes"]
    assert grown[-1] - grown[0] == max(
        expected[-1][name] - expected[0][name]
        for name in expected[-1]
        if expected[0][name] <= expected[1][name] <= expected[2][name]
    )


@pytest.mark.slow
def test_a_moment_of_a_profile_is_a_time_and_never_a_bin(client: Official) -> None:
    path = str(HEAPTRACK[0])
    at_time = client.call("memlens_top", path=path, at="0.5 s")
    bins = at_time["at"]["bins"]
    assert at_time["at"]["time_us"] <= 500_000
    assert (at_time["value"], at_time["unit"]) == ("live", "bytes")
    assert client.call("memlens_top", path=path, at=f"{bins} bins") == at_time
    later = client.call("memlens_top", path=path, at=f"{bins + 1} bins")
    assert later["at"]["time_us"] > 500_000
    flow = {
        kind: client.call("memlens_top", path=path, at=f"{bins} bins", to=f"{bins + 1} bins", kind=kind)[
            "bytes"
        ]
        for kind in ("allocated", "freed")
    }
    assert later["bytes"] == at_time["bytes"] + flow["allocated"] - flow["freed"]
