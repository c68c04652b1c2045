"""The language of filters: every term of its table is one that files have, and help, page and offers are made of it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT
from tests.python.heap_files import small_heap
from tests.python.tries import tries

from memlens.cli import filter_page as page
from memlens.cli import pages
from memlens.cli.filter_page import options_with_filters
from memlens.packs import registry
from memlens.views.heap.filters.terms import ENTRIES as OBJECTS
from memlens.views.heap.filters.terms import FIELDS as OBJECT_FIELDS
from memlens.views.heap.filters.terms import OBJECTS as OBJECT_TERMS
from memlens.views.selection import filters
from memlens.views.selection.filters import ENTRIES as ALLOCATIONS
from memlens.views.selection.language import RULES
from memlens.views.selection.terms import terms_of

FILES = {
    "timeline": ("lines", ROOT / "samples" / "train.pickle"),
    "profile": ("lines", ROOT / "samples" / "words.pb.gz"),
    "graph": ("types", ROOT / "tests" / "fixtures" / "heap" / "sessions.hprof.zst"),
}
REFUSED = (
    # what these files don't have is refused by name
    "pool:1.0", "heap:", "finding:", "in:", "query:", "since:", "until:", "realm:", "is:detached", "allocated-by:",
    "stack:", "retained-by:", "recompute:",
)  # fmt: skip


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("model", FILES)
def test_every_example_is_a_filter_of_its_kind_of_file(model: str) -> None:
    command, path = FILES[model]
    tried = 0
    for entry in OBJECTS if model == "graph" else ALLOCATIONS:
        for example in (*entry.examples, *([entry.begins] if entry.begins.startswith("is:") else [])):
            done = memlens(command, path, f"--filter={example}", "--top", 1, status=None)
            tried += 1
            if model not in entry.models:
                assert (
                    "a profile doesn't record that" in done.stderr
                    or "only samples of profiles" in done.stderr
                )
            elif done.returncode:
                assert "Nothing matches" in done.stderr or example.lstrip("-").startswith(REFUSED), (
                    done.stderr
                )
    assert tried > 20


ONLY: dict[str, str] = {
    "findings": "graph", "types": "graph", "paths": "graph", "threads": "graph", "images": "graph",
    "steps": "timeline", "what-if": "timeline",
}  # fmt: skip
"""Commands about one kind of file."""


@pytest.mark.slow
@pytest.mark.parametrize(("command", "option"), options_with_filters())
def test_every_command_answers_every_term(command: str, option: str, tmp_path: Path) -> None:
    """Or a third of them, each another one; above, one command for each kind of file is asked for every example."""
    first, every = options_with_filters().index((command, option)), 3
    dump = tmp_path / "dump.heapsnapshot"
    dump.write_bytes(small_heap().data())
    more = {"export": ["--speedscope", tmp_path / "out.json", "--force"], "picture": ["--of", "flame"]}
    files = [(model, path) for model, (_, path) in FILES.items() if ONLY.get(command, model) == model]
    files += [("graph", dump)] if ONLY.get(command, "graph") == "graph" else []
    for model, path in files:
        for number, entry in enumerate(OBJECTS if model == "graph" else ALLOCATIONS, first):
            chosen = model in entry.models and number % every < tries(every)
            for term in (entry.examples or (entry.begins,))[:1] if chosen else ():
                done = memlens(command, path, *more.get(command, []), f"{option}={term}", status=None)
                assert done.returncode in (0, 1), (term, done.stderr)
                assert bool(done.returncode) == ("memlens: " in done.stderr), (term, done.stderr)
                assert "Internal error" not in done.stderr, term


@pytest.mark.slow
@pytest.mark.parametrize("term", ["finding:leak", 'query:"SELECT object FROM objects" in:dump.heapsnapshot'])
@pytest.mark.parametrize("command", ["paths", "types"])
def test_terms_that_need_more_are_answered_in_processes_of_their_own(
    command: str, term: str, tmp_path: Path
) -> None:
    """Another command may have completed the filters of this one."""
    dump = tmp_path / "dump.heapsnapshot"
    dump.write_bytes(small_heap().data())
    option = "--of" if command == "paths" else "--filter"
    done = subprocess.run(
        [sys.executable, "-m", "memlens", command, dump, f"{option}={term}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if term.startswith("finding:"):
        assert "the heap dump has no such finding" in done.stderr
    else:
        assert (done.returncode, done.stderr) == (0, "")


def test_a_term_has_what_its_models_need() -> None:
    for term in filters.ALLOCATIONS:
        models = {model for entry in term.entries for model in entry.models}
        assert ("timeline" in models) == (term.rows is not None or term.stacks is not None), term.field
        assert ("profile" in models) == (term.samples is not None or term.stacks is not None), term.field
    for row in OBJECT_TERMS:
        assert [row.types, row.objects, row.stacks].count(None) == 2, row.field
        assert bool(row.entries) == (not row.field.startswith("plain-")), row.field
    of_packs = {
        term.begins for form in registry.formats().values() if form.objects for term in form.objects.terms
    }
    assert of_packs == {entry.begins for entry in OBJECTS} & of_packs
    for terms in (filters.ALLOCATIONS, OBJECT_TERMS):
        fields = [term.field for term in terms]
        assert len(fields) == len({*fields})
        for each in terms:
            assert all(entry.field == each.field for entry in each.entries), each.field


def test_a_refused_term_is_answered_with_those_that_profiles_have() -> None:
    said = memlens("lines", FILES["profile"][1], "--filter=stream:0", status=1).stderr
    listed = (
        said.partition("Use plain words, ")[2].strip().removesuffix(".").replace(" and ", ", ").split(", ")
    )
    of_profiles = {
        term.field for term in filters.ALLOCATIONS if term.field and (term.samples or term.stacks) is not None
    }
    assert {each.partition(":")[0] for each in listed} == of_profiles


def test_rules_are_written_as_they_say() -> None:
    for example, _ in RULES:
        assert terms_of(example, (*filters.FIELDS, *OBJECT_FIELDS), ("string",))
    assert [term.values for term in filters.parse("stream:0,1 stack:12,20-25")] == [
        ("0", "1"),
        ("12", "20-25"),
    ]


def test_the_help_is_the_page() -> None:
    text, help_text = memlens("filter").stdout, memlens("filter", "--help").stdout
    assert text in help_text
    assert max(map(len, text.splitlines())) <= 80
    markdown = memlens("filter", "--markdown").stdout
    assert markdown == (ROOT / "docs" / "filter.md").read_text("utf-8") == page.page()
    for entry in (*ALLOCATIONS, *OBJECTS):
        assert entry.begins in text
        assert entry.begins in markdown
        for example in entry.examples:
            assert example in markdown
    assert "memlens filter" in memlens("lines", "--help").stdout


def test_a_stale_page_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    docs, terms = tmp_path / "docs", tmp_path / "terms.ts"
    shutil.copytree(ROOT / "docs", docs, ignore=shutil.ignore_patterns("pictures", "dev"))
    text = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    (docs / "command-line.md").write_text(text.replace("| `info` |", "| `inf` |"), "utf-8")
    assert pages.main([str(docs), str(terms), "--check"]) == 1
    assert pages.main([str(docs), str(terms)]) == 0
    assert (docs / "command-line.md").read_text("utf-8") == text
    assert pages.main([str(docs), str(terms), "--check"]) == 0
    for path in (docs / "command-line.md", terms):
        path.write_text(path.read_text("utf-8").replace("info", "inf").replace("file:", "fil:"), "utf-8")
        assert pages.main([str(docs), str(terms), "--check"]) == 1
        assert f"{path.name} is stale: run `npm run contract`" in capsys.readouterr().err
        assert pages.main([str(docs), str(terms)]) == 0
    scripts = json.loads((ROOT / "package.json").read_text("utf-8"))["scripts"]
    assert "memlens.cli.pages docs webview/src/shell/filter-terms.gen.ts" in scripts["contract"]
