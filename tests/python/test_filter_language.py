"""The language of filters: every term of its table is one that files have, and help, page and offers are made of it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT
from tests.python.heap_files import small_heap

from memlens.cli import filter_page as page
from memlens.cli.arguments import parser
from memlens.views.graph import filters as object_filters
from memlens.views.graph.filters import FIELDS as OBJECT_FIELDS
from memlens.views.selection import filters, profile_filters
from memlens.views.selection.filters import terms_of
from memlens.views.selection.language import ALLOCATIONS, OBJECTS, RULES

FILES = {
    "timeline": ("lines", ROOT / "samples" / "train.pickle"),
    "profile": ("lines", ROOT / "samples" / "words.pb.gz"),
    "graph": ("types", ROOT / "tests" / "fixtures" / "heap" / "sessions.hprof.zst"),
}
REFUSED = (
    # what these files don't have is refused by name
    "pool:1.0", "heap:", "finding:", "in:", "query:", "since:", "until:", "realm:", "is:detached", "allocated-by:",
    "stack:", "retained-by:",
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


def _commands_with_filters() -> Iterator[tuple[str, str]]:
    """Each command that takes a filter, and its option."""
    commands = next(
        action.choices for action in parser("", alone=False)._actions if isinstance(action.choices, dict)
    )
    for name, command in commands.items():
        for action in command._actions:
            if action.choices is None and action.metavar in ("TEXT", "FILTER"):
                yield from (
                    (name, option) for option in action.option_strings if option in ("--filter", "--of")
                )


ONLY: dict[str, str] = {
    "findings": "graph", "types": "graph", "paths": "graph", "threads": "graph", "images": "graph",
    "steps": "timeline",
}  # fmt: skip
"""Commands about one kind of file."""


@pytest.mark.parametrize(("command", "option"), list(_commands_with_filters()))
def test_every_command_answers_every_term(
    command: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a process of its own: what filters have from above them is what the command itself adds."""
    dump = tmp_path / "dump.heapsnapshot"
    dump.write_bytes(small_heap().data())
    more = {"export": ["--speedscope", tmp_path / "out.json", "--force"], "picture": ["--of", "flame"]}
    files = [(model, path) for model, (_, path) in FILES.items() if ONLY.get(command, model) == model]
    files += [("graph", dump)] if ONLY.get(command, "graph") == "graph" else []
    for model, path in files:
        for entry in OBJECTS if model == "graph" else ALLOCATIONS:
            for term in (entry.examples or (entry.begins,))[:1] if model in entry.models else ():
                tables: tuple[dict[Any, Any], ...] = (object_filters.ABOVE, profile_filters.ABOVE)
                for added in tables:
                    for name in tuple(added):
                        monkeypatch.delitem(added, name)
                done = memlens(command, path, *more.get(command, []), f"{option}={term}", status=None)
                assert done.returncode in (0, 1), (term, done.stderr)
                assert bool(done.returncode) == ("memlens: " in done.stderr), (term, done.stderr)
                assert "Internal error" not in done.stderr, term


@pytest.mark.parametrize(
    "term", ["finding:leak", 'query:"SELECT object FROM objects"', "in:dump.heapsnapshot"]
)
@pytest.mark.parametrize("command", ["paths", "types"])
def test_terms_that_need_more_are_answered_in_processes_of_their_own(
    command: str, term: str, tmp_path: Path
) -> None:
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
    files = (str(tmp_path / "filter.md"), str(tmp_path / "terms.ts"))
    assert page.main([*files, "--check"]) == 1
    assert page.main([*files]) == 0
    assert page.main([*files, "--check"]) == 0
    Path(files[1]).write_text("", "utf-8")
    assert page.main([*files, "--check"]) == 1
    assert "terms.ts is stale: run `npm run contract`" in capsys.readouterr().err
    scripts = json.loads((ROOT / "package.json").read_text("utf-8"))["scripts"]
    assert (
        "memlens.cli.filter_page docs/filter.md webview/src/shell/filter-terms.gen.ts" in scripts["contract"]
    )
