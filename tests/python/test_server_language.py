"""What the server sends to an editor as finished text is in the language that the editor told it at the start.

The pseudo-language puts brackets around each text and accents on its vowels: a word without them is English, unless it
stands for itself (a name, a path, a term of a filter).
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.python import heap_files
from tests.python.conftest import ROOT
from tests.python.lsp_client import LspClient
from tests.python.server_harness import open_view, problem_of, write_snapshot

from memlens.packs.dotnet.tests import gcdump_files
from memlens.server import language
from memlens.server.handlers.libraries import searched_for_classes, searched_in
from memlens.sources.archives import Found
from memlens.texts import phrase

pytest_plugins = ("tests.python.server_fixtures",)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LspClient]:
    """A server in the pseudo-language."""
    texts: dict[str, str] = json.loads((ROOT / "l10n" / "bundle.l10n.qps-ploc.json").read_text("utf-8"))
    with LspClient() as client:
        client.start(tmp_path_factory.mktemp("server"), texts=texts)
        yield client


@pytest.fixture
def foreign(started: LspClient, workspace: Path, cache_folder: Path) -> Iterator[LspClient]:
    """That server, with the workspace and the archives of a test."""
    started.enter(workspace, {"cache_directory": str(cache_folder)})
    yield started
    started.leave()


def english(text: str, *names: str) -> list[str]:
    """The words of a text that aren't translated, apart from what ``names`` match."""
    rest = re.sub("|".join(names), " ", text) if names else text
    return [
        word for word in re.findall(r"[^\W\d_]+", rest) if len(word) > 1 and re.search(r"[aeiouAEIOU]", word)
    ]


def test_a_translation_is_filled_with_values_that_are_translated_too(monkeypatch: pytest.MonkeyPatch) -> None:
    text = phrase("{n} lines of {where}", n=1200, where=phrase("a file ({name})", name="{a}"))
    assert language.spoken(text) == str(text) == "1,200 lines of a file ({a})"
    known = {"{n} lines of {where}": "{where}: {n} Zeilen {mehr}", "a file ({name})": "Datei {name}"}
    monkeypatch.setattr(language, "_texts", known)
    assert language.spoken(text) == "Datei {a}: 1,200 Zeilen {mehr}"
    assert language.spoken(phrase("{n} objects", n=3)) == "3 objects"


@pytest.mark.slow
def test_errors_are_in_the_language_of_the_editor(foreign: LspClient, tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "a.pickle")
    cut = tmp_path / "cut.pickle"
    cut.write_bytes(path.read_bytes()[:-100])
    name = open_view(foreign, path)["snapshot"]
    profile = open_view(foreign, ROOT / "samples/words.pb.gz", "v2")["snapshot"]
    of = {"device": 0, "filter": ""}
    asked: list[tuple[str, dict[str, Any], list[str]]] = [
        ("memlens/open", {"path": str(tmp_path / "none.pickle"), "view": "v3"}, [str(tmp_path), r"none\.pickle"]),
        ("memlens/open", {"path": str(cut), "view": "v3"}, []),
        ("memlens/stack", {"snapshot": name, "allocation": 10**9}, []),
        ("memlens/steps", {"snapshot": profile, **of, "offset": 0, "limit": 9}, []),
        ("memlens/overview", {"snapshot": name, "device": 0, "axis": "event", "columns": 9, "filter": "sice>1"},
         ["sice", *(f"{field}:" for field in ("file", "function", "by", "innermost", "stack", "size", "is", "life"))]),
    ]  # fmt: skip
    for method, params, names in asked:
        problem = problem_of(foreign, method, params)
        assert problem["message"].startswith("["), problem
        assert not english(problem["message"], *names), problem
        assert not english(problem["advice"], *names, r"memlens\.[\w.]+"), problem


@pytest.mark.slow
def test_hovers_and_code_lenses_are_in_the_language_of_the_editor(
    foreign: LspClient, workspace: Path, tmp_path: Path
) -> None:
    foreign.notify(
        "workspace/didChangeConfiguration",
        {"settings": {"code_lens": True, "cache_directory": str(tmp_path / "cache")}},
    )
    open_view(foreign, write_snapshot(tmp_path / "a.pickle"))
    document = {"uri": (workspace / "code" / "train.py").as_uri()}
    hover = foreign.request(
        "textDocument/hover", {"textDocument": document, "position": {"line": 9, "character": 0}}
    )
    names = [r"\(command:[^)]*\)", r"a\\?\.pickle", r"\bstep\b", r"\bmain\b", r"[KM]iB"]
    text = hover["contents"]["value"]
    assert "[Tötål" in text
    assert not english(text, *names), text
    lenses = foreign.request("textDocument/codeLens", {"textDocument": document})
    assert lenses
    for lens in lenses:
        assert lens["command"]["title"].startswith("[")
        assert not english(lens["command"]["title"], *names), lens


@pytest.mark.slow
def test_what_was_searched_for_source_is_in_the_language_of_the_editor(
    foreign: LspClient, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folders = re.escape(str(tmp_path_factory.getbasetemp())) + r"[\w/-]*"
    for name, data, names in (
        ("net.gcdump", gcdump_files.small(), [r"\*?\w*\.cs\b", "Cache"]),
        ("node.heapsnapshot", heap_files.small_heap().data(), [r"[\w/]*leak\.js"]),
    ):
        dump = tmp_path / name
        dump.write_bytes(data)
        snapshot = open_view(foreign, dump)["snapshot"]
        number = 3 if name == "net.gcdump" else 4
        params = {"snapshot": snapshot, "object": number, "type": None}
        listed = foreign.request("memlens/objectSource", params)["looked_for"]
        assert "[bélöw" in listed[-1], listed
        for text in listed:
            assert not english(text, folders, *names), text


def test_archives_that_were_searched_are_named_in_the_language_of_the_editor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts: dict[str, str] = json.loads((ROOT / "l10n" / "bundle.l10n.qps-ploc.json").read_text("utf-8"))
    monkeypatch.setattr(language, "_texts", texts)
    for found in (
        Found([], 0, [], complete=True),
        Found([], 1, [Path("/srv")], complete=True),
        Found([], 1200, [Path(f"/srv{number}") for number in range(9)], complete=False),
    ):
        for searched in (searched_in(found), searched_for_classes(found)):
            text = language.spoken(searched)
            assert text.startswith("[")
            assert not english(text, r"\*-sources\.jar, src\.zip", r"/srv\d?"), text
