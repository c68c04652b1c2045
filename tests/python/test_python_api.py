"""``memlens.open`` and its questions: the figures of the command line, and the examples of docs/python.md."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import memlens as command
from tests.python.conftest import DATA, ROOT, real_programs
from tests.python.counted import perhaps, some

import memlens

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
        assert {column: row[column] for column in shared} == {column: own[column] for column in shared}


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
