"""``memlens check`` and ``memlens baseline``: limits, what they are compared with, and what is written of them."""

import json
import os
import pickle
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt
from tests.python.command_line import memlens
from tests.python.conftest import ROOT, event, frame
from tests.python.counted import some
from tests.python.graph_reading import followed, load, plainly, type_names
from tests.python.graphs import WEAK
from tests.python.hostile_names import NAMES
from tests.python.replays import torch as oracle
from tests.python.test_reports import MADE_OF_TEXT

from memlens.cli.command_line import commands
from memlens.cli.source_lines import source_line
from memlens.export.check.sarif import RULES
from memlens.views.check.answers import LimitLine, LimitName
from memlens.views.check.baseline import VERSION

TRACE = ROOT / "samples" / "train.pickle"
PROFILE = ROOT / "samples" / "words.pb.gz"
LEAKY = ROOT / "tests" / "fixtures" / "profiles" / "ledger.dhat.json"
HEAP = ROOT / "tests" / "fixtures" / "heap" / "sessions.hprof.zst"
RECORDING = ROOT / "tests" / "fixtures" / "profiles" / "sessions.jfr.zst"
KIB, MIB = 1 << 10, 1 << 20
KEPT, EXCEEDED, UNCHECKED = 0, 1, 2
SQL = "SELECT file, line, SUM(size_bytes) AS bytes FROM live_at_peak GROUP BY file, line"


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, the current folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def checked(*words: object, status: int) -> Any:
    return json.loads(memlens("check", *words, "--json", status=status).stdout)


def events_of_steps(
    steps: int, kept: int, file: str = "/src/app/loop.py", name: str = "keep"
) -> dict[str, Any]:
    """A trace of steps, each of which keeps so many bytes on line 7 and frees the rest."""
    trace: list[dict[str, Any]] = []
    for step in range(steps):
        trace.append(event("alloc", step + 1, kept, frame(file, 7, name)))
        for line in range(10, 20):
            place = frame(file, line, "work")
            trace.append(event("alloc", 100 + line, MIB, place))
            trace.append(event("free_completed", 100 + line, MIB, place))
    for number, each in enumerate(trace):
        each["time_us"] = number
    return {"segments": [], "device_traces": [trace]}


def saved(path: Path, data: object) -> Path:
    path.write_bytes(pickle.dumps(data, 4))
    return path


def figures_by_hand() -> dict[tuple[Path, str], int]:
    """What each limit is about, from other readings of the files."""
    allocations = oracle.allocations(oracle.load(TRACE), 0)
    live = oracle.live_bytes(allocations, max(each.end or each.start for each in allocations))
    points = json.loads(LEAKY.read_bytes())["pps"]
    graph = load(HEAP)
    small, names = plainly(graph, followed(graph, ())), type_names(graph)
    sessions = {
        number for number, name in enumerate(names) if name.partition(" ")[0] == "shop.Sessions$Session"
    }

    def reachable_bytes(left_out: set[int]) -> int:
        seen = set(left_out)
        stack = [each for each in graph.roots["object"].tolist() if each not in seen]
        while stack:
            number = stack.pop()
            if number not in seen:
                seen.add(number)
                stack += [target for target, kind in small.edges[number] if kind != WEAK]
        return sum(small.shallow[each] for each in seen - left_out)

    return {
        (TRACE, "max-peak"): max(live),
        (TRACE, "max-leaked"): live[-1],
        # train.py keeps predictions of 12 batches of 64 x 1,024 floats in each of 6 steps
        (TRACE, "max-growth-per-step"): 3 * MIB,
        (LEAKY, "max-peak"): sum(each["gb"] for each in points),
        (LEAKY, "max-leaked"): sum(each["eb"] for each in points),
        (HEAP, "max-peak"): reachable_bytes(set()),
        (HEAP, "max-retained type:=shop.Sessions$Session"): reachable_bytes(set())
        - reachable_bytes(sessions),
    }


def test_figures_are_those_of_other_readings_and_limits_hold_to_the_byte() -> None:
    for (file, limit), amount in some(figures_by_hand().items()):
        name, *of = limit.split(" ", 1)
        for bound, status in ((amount, KEPT), (amount - 1, EXCEEDED)):
            (found,) = checked(file, f"--{name}", *of, bound, status=status)["results"]
            assert (found["amount"], found["most"]) == (amount, bound), (file.name, limit)
            assert bool(found["lines"]) == (status == EXCEEDED), (file.name, limit)


def test_a_query_is_a_limit(project: Path) -> None:
    rows = json.loads(memlens("sql", TRACE, SQL, "--json").stdout)
    most = max(row["bytes"] for row in rows)
    assert checked(TRACE, "--max-sql", SQL, most, status=KEPT)["results"][0]["amount"] == most
    (found,) = checked(TRACE, "--max-sql", SQL, "8MiB", status=EXCEEDED)["results"]
    above = sorted((-row["bytes"], row["file"], row["line"]) for row in rows if row["bytes"] > 8 * MIB)
    assert [(-each["amount"], each["file"], each["line"]) for each in found["lines"]] == above
    for query in ("SELECT file FROM frames", "SELECT NULL", "DELETE FROM frames", "SELECT 1 FROM x", "SELEC"):
        (found,) = checked(TRACE, "--max-sql", query, 1, status=UNCHECKED)["results"]
        assert found["status"] == "unchecked", query
    # against a base and against its baseline
    memlens("baseline", TRACE, "-o", project / "base.json", "--max-sql", SQL, 0)
    for base in (TRACE, project / "base.json"):
        checked(TRACE, "--against", base, "--max-sql", SQL, "+0", status=KEPT)
    checked(TRACE, "--against", project / "base.json", "--max-sql", "SELECT 1", "+0", status=UNCHECKED)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (TRACE, ["--max-retained", "type:x", 1]), (TRACE, ["--no-finding", "leak"]),
        (PROFILE, ["--max-leaked", "1TiB"]), (PROFILE, ["--max-growth-per-step", "1TiB"]),
        (PROFILE, ["--no-finding", "leak"]), (PROFILE, ["--no-finding", "growth"]),
        (PROFILE, ["--no-finding", "churn"]),
        (PROFILE, ["--no-finding", "oversized_buffers"]), (PROFILE, ["--no-finding", "temporary_allocations"]),
        (HEAP, ["--max-leaked", "1TiB"]), (HEAP, ["--max-growth-per-step", "1TiB"]), (HEAP, ["--no-finding", "leak"]),
        (HEAP, ["--max-retained", "type:Sesion", "1TiB"]), (HEAP, ["--max-retained", "typ:x", "1TiB"]),
        (HEAP, ["--max-retained", "in:other.hprof", "1TiB"]), (RECORDING, ["--max-retained", "type:x", 1]),
        (RECORDING, ["--no-finding", "grows_by_step"]), (LEAKY, ["--max-growth-per-step", "1TiB"]),
    ],
)  # fmt: skip
def test_what_a_file_does_not_say_is_never_kept(file: Path, words: list[object]) -> None:
    (found,) = checked(file, *words, status=UNCHECKED)["results"]
    assert (found["status"], found["amount"]) == ("unchecked", None)
    assert re.search(r"\w\.$", found["text"]), found["text"]


def test_types_without_a_place_have_their_name(project: Path) -> None:
    """In SARIF the snapshot is their place."""
    dump = Path("arrays.hprof.zst")
    dump.write_bytes((ROOT / "tests" / "fixtures" / "heap" / "ran_out.hprof.zst").read_bytes())
    words = ["--max-retained", "type:=byte[]", 1, "--sarif", "a.sarif"]
    (found,) = checked(dump, *words, status=EXCEEDED)["results"]
    assert [(line["file"], line["line"], line["function"]) for line in found["lines"]] == [("", 0, "byte[]")]
    (result,) = valid_sarif(project / "a.sarif")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == dump.name
    assert "  byte[]\n" in memlens("check", dump, *words[:3], status=EXCEEDED).stdout


def test_that_there_is_none_is_what_a_limit_of_0_asks_for() -> None:
    checked(HEAP, "--max-retained", "type:Nobody", 0, status=KEPT)
    (found,) = checked(HEAP, "--max-retained", "type:Nobody", 1, status=UNCHECKED)["results"]
    assert "Nothing matches type:Nobody" in found["text"]


def test_a_trace_whose_beginning_is_lost_may_have_had_more(project: Path) -> None:
    """Its peak is the least that it can have been: too much is too much, and little proves nothing."""
    data = events_of_steps(4, MIB)
    del data["device_traces"][0][0]
    data["segments"] = [
        {
            "device": 0, "address": 1, "total_size": 2 * MIB, "stream": 0, "segment_type": "small",
            "blocks": [{"address": 1, "size": MIB, "requested_size": MIB, "state": "active_allocated"}],
        }
    ]  # fmt: skip
    data["device_traces"][0] = data["device_traces"][0][-3:]
    path = saved(project / "lost.pickle", data)
    codes = {each["code"] for each in json.loads(memlens("info", path, "--json").stdout)["warnings"]}
    if "start-lost" not in codes:
        data["device_traces"] = [[]]
        saved(path, data)
    checked(path, "--max-peak", 1, status=EXCEEDED)
    (found,) = checked(path, "--max-peak", "1TiB", status=UNCHECKED)["results"]
    assert "or more" in found["text"]


@pytest.mark.parametrize("is_baseline", [False, True])
def test_growth_against_a_base_names_the_line_that_grew(project: Path, *, is_baseline: bool) -> None:
    """Also where the lines have moved and the project was elsewhere."""
    before = saved(project / "before.pickle", events_of_steps(6, MIB))
    later = events_of_steps(6, 2 * MIB, "/home/other/app/loop.py")
    for each in later["device_traces"][0]:
        each["frames"][0]["line"] += 3
    after = saved(project / "after.pickle", later)
    base = before
    if is_baseline:
        base = project / "base.json"
        memlens("baseline", before, "-o", base)
    for name, amounts in {"peak": (7, 13), "leaked": (6, 12), "growth-per-step": (1, 2)}.items():
        for bound, status in (("+50%", EXCEEDED), ("+120%", KEPT), ("+512KiB", EXCEEDED), ("+100MiB", KEPT)):
            (found,) = checked(after, "--against", base, f"--max-{name}", bound, status=status)["results"]
            assert (found["before"] / MIB, found["amount"] / MIB) == amounts
            if status == EXCEEDED:
                (line,) = found["lines"]
                assert (line["line"], line["function"]) == (10, "keep")
                assert line["before"] == line["amount"] / 2
    # less than in the base is kept, and the same is
    for one, other in ((before, after), (before, before)):
        checked(one, "--against", other, "--max-peak", "+0", "--max-leaked", "+0%", status=KEPT)
    assert memlens("check", after, "--max-peak", "+5%", status=UNCHECKED).stderr.endswith("--against BASE.\n")
    (found,) = checked(PROFILE, "--against", base, "--max-peak", "+5%", status=UNCHECKED)["results"]
    assert "is of another format" in found["text"]


def test_what_is_exceeded_outweighs_what_is_not_checked(project: Path) -> None:
    damaged = project / "damaged.pickle"
    damaged.write_bytes(TRACE.read_bytes()[:2000])
    found = checked(damaged, TRACE, "--max-peak", 1, status=EXCEEDED)
    assert [each["status"] for each in found] == ["unchecked", "exceeded"]
    assert "damaged.pickle" in found[0]["problem"]
    checked(damaged, TRACE, "--max-peak", "1TiB", status=UNCHECKED)
    assert (
        memlens("check", TRACE, "--max-peak", 1, "--sarif", project / "no" / "x", status=UNCHECKED).stdout
        == ""
    )
    checked(TRACE, "--max-peak", 1, "--max-retained", "type:x", 1, status=EXCEEDED)


def test_findings_are_forbidden_by_their_rule(project: Path) -> None:
    ledger = json.loads(LEAKY.read_bytes())
    for point in ledger["pps"]:
        point.update({name: point[name] * 100 for name in ("tb", "mb", "gb", "eb")})
    leaks = project / "leaks.dhat.json"
    leaks.write_text(json.dumps(ledger), "utf-8")
    for file, rule in ((TRACE, "grows_by_step"), (HEAP, "retains_most"), (leaks, "leak")):
        said = json.loads(memlens("findings", file, "--json").stdout)["findings"]
        (found,) = checked(file, "--no-finding", rule, status=EXCEEDED)["results"]
        expected = [each for each in said if each["rule"] == rule]
        assert found["amount"] == len(expected) > 0
        assert [(line["file"], line["line"]) for line in found["lines"]] == [
            (each["line"]["file"], each["line"]["line"]) for each in expected if each["line"]
        ]
    checked(TRACE, "--no-finding", "out_of_memory", status=KEPT)
    assert "did you mean leak" in memlens("check", TRACE, "--no-finding", "leek", status=UNCHECKED).stderr


# ---- configuration ----


def test_limits_are_written_in_a_file(project: Path) -> None:
    options = ["--max-peak", 1, "--max-peak", "+5%", "--max-leaked", "2GiB", "--no-finding", "out_of_memory",
               "--max-retained", "type:x", "50MiB", "--max-sql", SQL, "1TiB"]  # fmt: skip
    table = f"""
max-peak = [1, "+5%"]
max-leaked = "2GiB"
no-finding = ["out_of_memory"]
max-retained = {{ "type:x" = "50MiB" }}
max-sql = {{ {json.dumps(SQL)} = "1TiB" }}
"""
    expected = memlens("check", TRACE, "--against", TRACE, *options, status=EXCEEDED).stdout
    for name, heading in (("pyproject.toml", "[tool.memlens.check]"), ("memlens.toml", "[check]")):
        (project / name).write_text(f"{heading}{table}", "utf-8")
        assert memlens("check", TRACE, "--against", TRACE, status=EXCEEDED).stdout == expected
    # memlens.toml counts, and in it what isn't among the options
    (project / "pyproject.toml").write_text("[tool.memlens.check]\nmax-peak = 1\n", "utf-8")
    found = checked(TRACE, "--against", TRACE, "--max-peak", "1TiB", status=UNCHECKED)["results"]
    assert [each["limit"] for each in found if each["limit"] == "max-peak"] == ["max-peak"]
    assert len(found) == 5
    memlens("baseline", TRACE, "-o", project / "base.json")
    figures = {each["limit"] for each in json.loads((project / "base.json").read_bytes())["figures"]}
    assert figures == {"max-peak", "max-leaked", "max-growth-per-step", "max-sql"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[check]\nmax-peek = 1", "there is no limit max-peek. Did you mean max-peak"),
        ("[check]\nmax-peak = true", 'Write it as "2GiB"'), ("[check]\nmax-peak = '5%'", "5% is not a limit"),
        ("[check]\nmax-peak = '-1'", "-1 is not a limit"), ("[check]\nmax-peak = 'nan'", "nan is not a limit"),
        ("[check]\nmax-retained = 1", '"FILTER"'), ("[check]\nno-finding = ['leek']", "Did you mean leak"),
        ("[check]\nno-finding = [1]", '["leak"]'), ("[check]\nsarif = 'x'", "there is no limit sarif"),
        ("[check]\nlibraries = 'x'", "no limit libraries"), ("max-peak = 1", "no limit max-peak"),
        ("check = 1", "not a table"), ("[check", "is not TOML"), ("x = " + "[" * 5000, "is not TOML"),
        ("[check]\n", "There is no limit to check"), ("", "There is no limit to check"),
    ],
)  # fmt: skip
def test_a_wrong_configuration_is_refused(project: Path, text: str, said: str) -> None:
    (project / "memlens.toml").write_text(text, "utf-8")
    done = memlens("check", TRACE, status=UNCHECKED)
    assert said in done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


def test_a_configuration_is_a_regular_file_and_only_reads(project: Path) -> None:
    (project / "memlens.toml").symlink_to("/dev/zero")
    assert "can't be read" in memlens("check", TRACE, "--max-peak", 1, status=UNCHECKED).stderr
    (project / "memlens.toml").unlink()
    (project / "memlens.toml").mkdir()
    assert "can't be read" in memlens("check", TRACE, "--max-peak", 1, status=UNCHECKED).stderr
    (project / "memlens.toml").rmdir()
    if sys.platform != "win32":
        os.mkfifo(project / "memlens.toml")
        assert "can't be read" in memlens("check", TRACE, "--max-peak", 1, status=UNCHECKED).stderr
        (project / "memlens.toml").unlink()
    other = project / "other.hprof.zst"
    other.write_bytes(HEAP.read_bytes())
    (project / "memlens.toml").write_text(
        f"""
[check.max-retained]
"in:{other}" = 0
"query:(ATTACH '{project}/made' AS x)" = 0
[check.max-sql]
"SELECT load_extension('x')" = 1
"ATTACH '{project}/made' AS x" = 1
"SELECT readfile('/etc/passwd')" = 1
"SELECT writefile('made', 'x')" = 1
"PRAGMA journal_mode" = 1
"SELECT 1; SELECT 2" = 1
""",
        "utf-8",
    )
    before = sorted(project.iterdir())
    found = checked(HEAP, status=UNCHECKED)["results"]
    assert [each["status"] for each in found] == ["unchecked"] * 8
    assert sorted(project.iterdir()) == before


# ---- baselines ----


@pytest.mark.parametrize("file", [TRACE, PROFILE, LEAKY, HEAP, RECORDING], ids=lambda path: path.name)
def test_a_baseline_stands_for_its_file(project: Path, file: Path) -> None:
    base = project / "base.json"
    memlens("baseline", file, "-o", base, "--max-retained", "type:Session", 0)
    assert base.stat().st_size < 6 * KIB
    found = json.loads(base.read_bytes())
    assert found["memlens_baseline"] == VERSION
    for figure in some(found["figures"]):
        of = [figure["of"]] if "of" in figure else []
        for against in (base, file):
            checked(file, "--against", against, f"--{figure['limit']}", *of, "+0", status=KEPT)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"memlens_baseline": VERSION + 1}, "was written by a newer Memlens"),
        ({"memlens_baseline": "x"}, "The baseline is damaged"), ({"figures": 1}, "The baseline is damaged"),
        ({"model": "x"}, "The baseline is damaged"),
    ],
)  # fmt: skip
def test_a_baseline_that_cannot_be_read_is_refused(
    project: Path, change: dict[str, object], said: str
) -> None:
    base = project / "base.json"
    memlens("baseline", TRACE, "-o", base)
    base.write_text(json.dumps(json.loads(base.read_bytes()) | change, indent=1), "utf-8")
    done = memlens("check", TRACE, "--against", base, "--max-peak", "+5%", status=UNCHECKED)
    assert said in done.stderr
    assert done.stdout == ""
    base.write_text("{}", "utf-8")
    memlens("check", TRACE, "--against", base, "--max-peak", "+5%", status=UNCHECKED)
    said = memlens("check", TRACE, "--against", "none.json", "--max-peak", "+5%", status=UNCHECKED).stderr
    assert said.startswith("memlens: There is no base none.json. Make it")


def test_no_contents_are_written() -> None:
    """Findings quote the most copied strings."""
    quoted = json.loads(memlens("findings", HEAP, "--json").stdout)["findings"]
    names = {each["rule"] for each in quoted}
    words = [word for name in sorted(names) for word in ("--no-finding", name)]
    memlens(
        "check", HEAP, *words, "--sarif", "a.sarif", "--junit", "a.xml", "--markdown", "a.md", status=None
    )
    memlens("baseline", HEAP, "-o", "base.json")
    query = (
        "SELECT name AS file, 1 AS line, 2 AS n FROM objects WHERE type = 'java.lang.String' AND name <> ''"
    )
    assert json.loads(memlens("sql", HEAP, query, "--json").stdout)
    (found,) = checked(HEAP, "--max-sql", query, 1, status=EXCEEDED)["results"]
    assert found["lines"] == []
    secrets = [
        text
        for text in re.findall(r"“([^”]{4,})” \d", json.dumps(quoted, ensure_ascii=False))
        if "…" not in text
    ]
    for name in ("a.sarif", "a.xml", "a.md", "base.json"):
        written = Path(name).read_text("utf-8")
        assert not [secret for secret in secrets if f"“{secret}”" in written]


# ---- what is written ----


@pytest.fixture
def hostile(project: Path) -> Path:
    """A trace in which every name is hostile: files, functions, and the file's own."""
    trace = []
    for number, each in enumerate(NAMES):
        name = each[:300].encode("utf-8", "replace").decode()
        trace.append(event("alloc", number + 1, MIB, frame(name, number + 1, name), time_us=number))
        trace.append(event("alloc", 900 + number, MIB, frame(f"/src/{name}.py", 5, name), time_us=number))
    return saved(project / "[a](x) ]]> {0}.pickle", {"segments": [], "device_traces": [trace]})


def valid_sarif(path: Path) -> list[dict[str, Any]]:
    """The results of a log with the parts that SARIF 2.1.0 and GitHub require."""
    data = path.read_bytes()
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", data)
    log = json.loads(data)
    assert log.keys() == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run.keys() == {"tool", "columnKind", "invocations", "results"}
    driver = run["tool"]["driver"]
    assert driver["name"]
    assert driver["version"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] == (not invocation["toolExecutionNotifications"])
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] == "error"
        text = result["message"]["text"]
        assert 0 < len(text) <= 1_100
        assert "](" not in text
        assert not re.search(r"\{\d+\}", text)
        (location,) = result["locations"]
        artifact = location["physicalLocation"]["artifactLocation"]
        # RFC 3986: a relative one has no scheme and no authority, and leads out of nowhere
        assert re.fullmatch(r"(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+", artifact["uri"].removeprefix("file:///"))
        if "uriBaseId" in artifact:
            assert artifact["uriBaseId"] == "%SRCROOT%"
            assert ".." not in artifact["uri"].split("/")
            assert not artifact["uri"].startswith("/")
        else:
            assert artifact["uri"].startswith("file:///")
        assert location["physicalLocation"].get("region", {"startLine": 1})["startLine"] > 0
    return run["results"]


def test_hostile_names_are_inert(hostile: Path, project: Path) -> None:
    words = ["--max-peak", 1, "--max-leaked", 1, "--max-retained", "]]> [a](b)", 1, "--top", 500]
    outputs = ["--sarif", "a.sarif", "--junit", "a.xml", "--markdown", "a.md"]
    printed = memlens("check", hostile.name, *words, *outputs, status=EXCEEDED).stdout
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", printed)
    assert len(valid_sarif(project / "a.sarif")) > len(NAMES)
    (suite,) = ET.fromstring((project / "a.xml").read_bytes())
    assert [len(case.findall("failure")) for case in suite] == [1, 1, 0]
    assert suite.get("errors") == "1"
    assert {element.tag for element in suite.iter()} == {"testsuite", "testcase", "failure", "error"}
    for failure in some(list(suite.iter("failure"))):
        assert len((failure.text or "").split("\n")) > len(NAMES)
    tokens = MarkdownIt("commonmark").enable("table").parse((project / "a.md").read_text("utf-8"))
    assert {token.type.rpartition("_")[0] or token.type for token in tokens} <= {
        "inline", "heading", "table", "thead", "tbody", "tr", "th", "td", "paragraph", "bullet_list", "list_item",
        "blockquote",
    }  # fmt: skip
    for inline in some([token.children for token in tokens if token.children]):
        assert {each.type for each in inline} <= {"text", "text_special", "code_inline"}
        outside = "\0".join(each.content for each in inline if each.type != "code_inline")
        assert not MADE_OF_TEXT.findall(outside)


def test_lines_are_named_from_the_project(project: Path) -> None:
    """Where they are below it, or a copy of the project was elsewhere; other files as they are."""
    (project / "app").mkdir()
    (project / "app" / "ein käse.py").write_text("x\n", "utf-8")
    outside = project.parent / "outside.py"
    outside.write_text("x\n", "utf-8")
    places = {
        str(project / "app" / "ein käse.py"): ("app/ein%20k%C3%A4se.py", True),
        "/build/7/app/ein käse.py": ("app/ein%20k%C3%A4se.py", True),
        str(outside): (outside.as_uri(), False),
        "/nowhere/x.py": ("file:///nowhere/x.py", False),
        "src/other.py": ("src/other.py", True),
        "C:\\work\\x.py": ("file:///C%3A/work/x.py", False),
    }
    for number, (file, expected) in enumerate(places.items()):
        path = saved(project / f"{number}.pickle", events_of_steps(4, 20 * MIB, file))
        memlens(
            "check", path.name, "--max-peak", 1, "--top", 1, "--sarif", f"{number}.sarif", status=EXCEEDED
        )
        (result,) = valid_sarif(project / f"{number}.sarif")
        physical = result["locations"][0]["physicalLocation"]
        assert (physical["artifactLocation"]["uri"], "uriBaseId" in physical["artifactLocation"]) == expected
        assert physical["region"] == {"startLine": 7}


def test_a_result_without_lines_is_at_the_snapshot(project: Path) -> None:
    path = saved(
        project / "bare.pickle", {"segments": [], "device_traces": [[event("alloc", 1, MIB, time_us=1)]]}
    )
    memlens("check", path.name, "--max-peak", 1, "--sarif", "a.sarif", status=EXCEEDED)
    (result,) = valid_sarif(project / "a.sarif")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "bare.pickle"
    memlens("check", path.name, "--max-peak", 1, "--sarif", "a.sarif", status=UNCHECKED)
    memlens("check", path.name, "--max-peak", 1, "--sarif", "a.sarif", "--force", status=EXCEEDED)
    for words in (["--sarif", "x", "--junit", "x"], ["--sarif", path.name, "--force"]):
        memlens("check", path.name, "--max-peak", 1, *words, status=UNCHECKED)
    assert not (project / "x").exists()


def test_lines_for_people_are_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    words = ["--max-peak", 1, "--max-leaked", "1GiB", "--no-finding", "leak", "--no-finding", "grows_by_step"]
    printed = memlens("check", TRACE, *words, status=EXCEEDED).stdout
    assert "EXCEEDED: max-peak 1." in printed
    assert "NOT CHECKED: no-finding leak." in printed
    assert max(map(len, printed.splitlines()[1:])) <= 80


def test_the_page_shows_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COLUMNS", raising=False)
    page = (ROOT / "docs" / "check.md").read_text("utf-8")
    (shown,) = re.findall(r"^\$ memlens (.*)\n((?:.+\n)*)```", page, re.MULTILINE)
    assert memlens(*shown[0].split(), status=EXCEEDED).stdout.startswith(shown[1])


def test_every_limit_is_an_option_a_key_and_a_rule() -> None:
    (options,) = (group for group in commands()["check"]._action_groups if group.title == "limits")
    names = {name.removeprefix("--") for action in options._group_actions for name in action.option_strings}
    assert names == {*RULES} == {*get_args(LimitName)}
    page = (ROOT / "docs" / "check.md").read_text("utf-8")
    assert {*re.findall(r"^\| `--([a-z-]+)", page, re.MULTILINE)} == names
    # in the configuration, and misspelt, each is named as it is spelt
    for name in some(names):
        Path("memlens.toml").write_text(f"[check]\n{name}x = 1\n", "utf-8")
        assert f"Did you mean {name}" in memlens("check", TRACE, status=UNCHECKED).stderr
        Path("memlens.toml").unlink()
        assert f"did you mean --{name}?" in memlens("check", TRACE, f"--{name}x", 1, status=UNCHECKED).stderr


def test_a_frame_that_is_named_by_its_line_is_named_once() -> None:
    """As in profiles without functions."""
    for function, shown in (("leak.py:6", ""), ("leak.py:7", " leak.py:7"), ("f", " f")):
        assert LimitLine("/app/leak.py", 6, function, 1, "bytes").place == f"/app/leak.py:6{shown}"
        assert (
            "".join(piece.text for piece in source_line("/app/leak.py", 6, function))
            == f"/app/leak.py:6{shown}"
        )
