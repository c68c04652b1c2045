"""``memlens.open`` and its questions: the figures of the command line, and the examples of docs/python.md."""

import json
import re
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import memlens as command
from tests.python.conftest import DATA, ROOT, real_programs
from tests.python.counted import perhaps, some

import memlens
from memlens.api.table import table_of
from memlens.cli.api_page import COLUMNS

SAMPLE = ROOT / "samples" / "train.pickle"
PROFILE = ROOT / "samples" / "words.pb.gz"
HEAP = ROOT / "tests" / "fixtures" / "heap" / "sessions.hprof.zst"
OTHER_HEAP = ROOT / "tests" / "fixtures" / "heap" / "ran_out.hprof.zst"
PAGE = ROOT / "docs" / "python.md"
QUERY = "SELECT file, line, SUM(size_bytes) AS bytes FROM live_at_peak GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 9"


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def asked(*arguments: object) -> Any:
    """What a command prints with ``--json``, without the rule of attribution that it adds."""
    found = json.loads(command(*arguments, "--json").stdout)
    if isinstance(found, dict):
        found.pop("attribution", None)
    return found


def rows_in(data: Any) -> list[dict[str, Any]]:
    """The rows of an answer."""
    return next(data[name] for name in ("rows", "lines", "types", "findings") if name in data)


def heap_at(path: Path, *, values: bool = False) -> memlens.Heap:
    heap = memlens.open(path, values=values)
    assert isinstance(heap, memlens.Heap)
    return heap


Question = Callable[[Any], memlens.Table]

TRACE: list[tuple[Question, tuple[object, ...]]] = [
    (lambda trace: trace.findings(), ("findings",)),
    (lambda trace: trace.lines(), ("lines",)),
    (lambda trace: trace.lines(sort="total", top=7, any_code=True),
     ("lines", "--sort", "total", "--top", 7, "--any-code")),
    (lambda trace: trace.lines(at="peak"), ("lines", "--at", "peak")),
    (lambda trace: trace.lines("end", by="function"), ("lines", "--at", "end", "--by", "function")),
    (lambda trace: trace.live(by="module"), ("lines", "--by", "module")),
    (lambda trace: trace.live("100 events", by="stream", device=0),
     ("lines", "--by", "stream", "--at", "100 events", "--device", 0)),
    (lambda trace: trace.compare(trace, at="end", by="file", inclusive=True),
     ("compare", None, "--at", "end", "--by", "file", "--inclusive", "--top", 10_000)),
    (lambda trace: trace.what_if(), ("what-if",)),
]  # fmt: skip
PROFILED: list[tuple[Question, tuple[object, ...]]] = [
    (lambda profile: profile.findings(top=2), ("findings", "--top", 2)),
    (lambda profile: profile.lines(), ("lines",)),
    (lambda profile: profile.lines(value="inuse_objects", any_code=True),
     ("lines", "--value", "inuse_objects", "--any-code")),
    (lambda profile: profile.live(by="package", value="inuse_objects"),
     ("lines", "--by", "package", "--value", "inuse_objects")),
    (lambda profile: profile.compare(profile, by="function"),
     ("compare", None, "--by", "function", "--top", 10_000)),
]  # fmt: skip
DUMPED: list[tuple[Question, tuple[object, ...]]] = [
    (lambda heap: heap.findings(), ("findings",)),
    (lambda heap: heap.lines(), ("lines",)),
    (lambda heap: heap.types(), ("types", "--top", 10_000)),
    (lambda heap: heap.types("shallow", matching="held-by:Sessions", search="[]", top=3),
     ("types", "--order", "shallow", "--filter", "held-by:Sessions", "--search", "[]", "--top", 3)),
    (lambda heap: heap.paths("type:Sessions$Session", top=8),
     ("paths", "--of", "type:Sessions$Session", "--top", 8)),
    (lambda heap: heap.compare(memlens.open(OTHER_HEAP, values=True)), ("compare", OTHER_HEAP, "--top", 10_000)),
]  # fmt: skip


def documented_columns(question: Question) -> list[list[str]]:
    """The columns that the page of the API lists for the method that a question calls."""
    (kinds,) = (COLUMNS[name] for name in question.__code__.co_names if name in COLUMNS)
    return [table_of([], kind).columns for kind in kinds.values()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "question", "arguments"),
    [(path, *each) for path, asks in ((SAMPLE, TRACE), (PROFILE, PROFILED), (HEAP, DUMPED)) for each in asks],
    ids=lambda each: "-".join(map(str, each)) if isinstance(each, tuple) else None,
)
def test_the_figures_are_those_of_the_command_line(
    path: Path, question: Question, arguments: tuple[object, ...]
) -> None:
    name, *options = arguments
    printed = asked(name, path, *(path if option is None else option for option in options))
    with memlens.open(path, values=True) as snapshot:
        table = question(snapshot)
    said = dict(table.data)
    if "lines" in printed and "rows" in said:
        said["lines"] = said.pop("rows")
    assert json.loads(json.dumps(said)) == printed
    assert len(table) == len(rows_in(printed))
    if name == "findings" and path == PROFILE:
        assert [*table] == []
        return
    for row, own in zip(table, some(rows_in(printed)), strict=True):
        shared = [column for column in table.columns if not isinstance(own.get(column, {}), dict)]
        assert len(shared) > 2
        assert table.columns in documented_columns(question)
        assert {column: row[column] for column in shared} == {column: own[column] for column in shared}


GROWS = """import tracemalloc
kept, once = [], []
tracemalloc.start(5)
once.append(bytes(700_000))
for number in range(3):
    if number:
        once.clear()
    kept.append(bytes(100_000))
    tracemalloc.take_snapshot().dump(f"{number}.tracemalloc")
"""
APPENDS = 8


def bytes_of_own_lines(snapshot: Path, file: str) -> Counter[Any]:
    """What each line of a file has allocated or called for, by Python's own reader."""
    sums: Counter[Any] = Counter()
    for trace in tracemalloc.Snapshot.load(str(snapshot)).traces:
        own = [frame.lineno for frame in trace.traceback if frame.filename == file]
        if own:
            sums[own[-1]] += trace.size
    return sums


@pytest.mark.slow
def test_a_series_has_the_figures_of_its_files_and_first_what_grows_throughout(tmp_path: Path) -> None:
    (tmp_path / "grows.py").write_text(GROWS, encoding="utf-8")
    subprocess.run([sys.executable, "grows.py"], cwd=tmp_path, check=True)
    paths = [tmp_path / f"{number}.tracemalloc" for number in range(3)]
    table = memlens.series([memlens.open(path) for path in paths])
    assert json.loads(json.dumps(table.data)) == asked("compare", *paths, "--top", 10_000)
    by_line = [bytes_of_own_lines(path, str(tmp_path / "grows.py")) for path in paths]
    for row in some(row for row in table if row["file"] == str(tmp_path / "grows.py")):
        assert [row[f"bytes_{number}"] for number in (1, 2, 3)] == [of[row["line"]] for of in by_line]
    assert (table[0]["line"], table[0]["grows"]) == (APPENDS, True)
    assert table.types["bytes_3"] == "integer"
    assert table.types["grows"] == "boolean"
    printed = command("compare", *paths).stdout.splitlines()
    assert printed[0].split() == ["1", "2", "3", "difference", "place", "(self", "by", "my", "code)"]
    assert printed[1].endswith("grows.py:8, grows throughout")
    with pytest.raises(memlens.MemlensError, match="two snapshots or more"):
        memlens.series([memlens.open(paths[0])])
    assert "no rows by stack" in command("compare", *paths, "--by", "stack", status=2).stderr


@pytest.mark.slow
def test_a_series_of_heap_dumps_is_by_type() -> None:
    dumps = [heap_at(path) for path in (HEAP, OTHER_HEAP, HEAP)]
    table = memlens.series(dumps, search="String", top=5)
    assert table.data == asked("compare", HEAP, OTHER_HEAP, HEAP, "--search", "String", "--top", 5)
    for row in some(table):
        assert row["retained_bytes_1"] == row["retained_bytes_3"]
        assert row["count_1"] == row["count_3"]
        assert not row["grows"]
    with pytest.raises(memlens.MemlensError, match="as a whole"):
        memlens.series(dumps, at="peak")


@pytest.mark.slow
@pytest.mark.parametrize("path", [SAMPLE, PROFILE, HEAP], ids=lambda path: path.name)
def test_rows_of_queries_are_those_of_the_command_line(path: Path) -> None:
    queries = {
        SAMPLE: QUERY,
        PROFILE: "SELECT name, unit, total, name FROM value_types",
        HEAP: "SELECT object, type, name, NULL AS unknown, retained_bytes / 3.0 AS third FROM objects LIMIT 200",
    }
    with memlens.open(path, values=True) as snapshot:
        found = snapshot.sql(queries[path])
    assert [*found] == asked("sql", path, queries[path])
    if path == HEAP:
        assert found.types == {
            "object": "integer", "type": "text", "name": "text", "unknown": "none", "third": "real",
        }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("path", real_programs("silmont__bf16*", "flexgen__1.3b*", "verl__mem*"))
def test_lines_of_real_traces_are_those_of_the_command_line(path: Path) -> None:
    with memlens.open(path) as trace:
        assert isinstance(trace, memlens.Trace)
        assert trace.findings().data == asked("findings", path)
        assert [*trace.lines(top=50)] == asked("lines", path, "--top", 50)["lines"]


@pytest.mark.slow
def test_other_real_files_open_by_their_model() -> None:
    """One small file of each folder of real files, whatever it holds."""
    for folder in perhaps(sorted(each for each in DATA.glob("*") if each.is_dir())):
        files = sorted(
            (each for each in folder.iterdir() if each.is_file()), key=lambda each: each.stat().st_size
        )
        known = next((each for each in files if command("info", each, status=None).returncode == 0), None)
        if known is None or known.stat().st_size > 20 << 20:
            continue
        info = asked("info", known)
        with memlens.open(known) as snapshot:
            names = {memlens.Trace: "timeline", memlens.Profile: "profile", memlens.Heap: "graph"}
            assert names[type(snapshot)] == info["model"], known
            assert (
                snapshot.headline == asked("findings", known)["headline"]["text"] or info["model"] == "graph"
            )


@pytest.mark.slow
def test_contents_of_strings_are_left_out() -> None:
    query = (
        "SELECT id, name FROM objects WHERE type = 'java.lang.String' AND length(name) > 8 AND distance > 0 "
        "ORDER BY object LIMIT 1"
    )
    with heap_at(HEAP, values=True) as quoting, heap_at(HEAP) as discreet:
        (row,) = quoting.sql(query)
        number, text = row["id"], row["name"]
        assert isinstance(number, int)
        assert isinstance(text, str)
        # the condition itself isn't answered
        assert [*discreet.sql(query)] == []
        assert discreet.sql(f"SELECT name FROM objects WHERE id = {number}")["name"] == [None]
        assert text in quoting.paths(number)["name"]
        hidden = discreet.paths(number)
        assert [step["type"] for step in hidden] == quoting.paths(number)["type"]
        assert text not in json.dumps([[*hidden], hidden.data, discreet.paths(f"@{number}").data])
        assert hidden["retained_bytes"] == quoting.paths(number)["retained_bytes"]


@pytest.mark.slow
def test_what_cannot_be_answered_says_so(tmp_path: Path) -> None:
    with heap_at(HEAP) as heap:
        with pytest.raises(
            memlens.MemlensError, match=r"no allocation stacks, which are needed for live\(\)"
        ):
            heap.live()
        with pytest.raises(memlens.MemlensError, match=r"needed for lines\(\)"):
            heap.lines(by="file")
        with pytest.raises(memlens.MemlensError, match="as a whole"):
            heap.compare(heap, at="end")
        with pytest.raises(memlens.MemlensError, match="no such table: allocation"):
            heap.sql("SELECT * FROM allocation")
    with pytest.raises(memlens.MemlensError, match="is closed"):
        heap.types()
    with memlens.open(SAMPLE) as trace:
        with pytest.raises(memlens.MemlensError, match=r"file:modle\.py"):
            trace.lines(matching="file:modle.py")
        with pytest.raises(memlens.MemlensError, match="A trace"):
            trace.lines(value="inuse_space")
    with pytest.raises(memlens.MemlensError, match=r"missing\.pickle"):
        memlens.open(tmp_path / "missing.pickle")


@pytest.mark.slow
def test_an_archive_that_is_damaged_is_made_again(tmp_path: Path) -> None:
    with memlens.open(SAMPLE, cache_dir=tmp_path) as trace:
        before = [*trace.lines()]
    (manifest,) = tmp_path.glob("*/manifest.json")
    manifest.write_bytes(manifest.read_bytes()[:-9])
    with memlens.open(SAMPLE, cache_dir=tmp_path) as trace:
        assert [*trace.lines()] == before


def test_importing_memlens_imports_nothing_else() -> None:
    """The server and each command start with it, before they have left out the folder that they were started in."""
    code = "import sys; before = {*sys.modules}; import memlens; print(*{*sys.modules} - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["memlens"]
    assert all(hasattr(memlens, name) for name in some(memlens.__all__))
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        _ = memlens.opne  # pyrefly: ignore[missing-attribute]


@pytest.mark.slow
def test_the_examples_of_the_page_run_in_order(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    for number, block in enumerate(
        some(re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL))
    ):
        exec(compile(block, f"{PAGE.name}, block {number + 1}", "exec"), names)
    said = capsys.readouterr().out
    assert "train.py:46 (remember) keeps more after every step" in said
    assert "Grows by step 15728640 train.py 46" in said
    assert "needed for lines()" in said
