"""The README and the pages in docs/ are true."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT
from tests.python.counted import some

from memlens.cli.commands import mcp
from memlens.fleet.database import FILE_NAME
from memlens.formats import FORMATS
from memlens.server import app

ATTRIBUTION = (ROOT / "docs" / "attribution.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
PAGES = {
    path: path.read_text("utf-8") for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
TEXT = "\n".join(PAGES.values())
SETTINGS = PAGES[ROOT / "docs" / "settings.md"]
MANIFEST = json.loads((ROOT / "package.json").read_text("utf-8"))
TEXTS = json.loads((ROOT / "package.nls.json").read_text("utf-8"))
LINES = {
    path: lines
    for path, text in PAGES.items()
    if (
        lines := [
            shlex.split(line)[1:]
            for block in re.findall(r"^```.*?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
            for line in re.findall(r"^memlens .*$", block, re.MULTILINE)
        ]
    )
}
"""The commands of each page's blocks, in order; the worked cases are tested elsewhere."""


def test_every_command_is_in_a_block() -> None:
    assert ROOT / "docs" / "command-line.md" in LINES
    assert sum(map(len, LINES.values())) == len(re.findall(r"^memlens ", TEXT, re.MULTILINE))


@pytest.mark.slow
@pytest.mark.parametrize("page", LINES, ids=lambda page: page.name)
def test_a_page_runs_in_order_in_one_folder(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a reader would run it, so that no command is refused for what an earlier one wrote."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    for name in ("samples", "tests/fixtures"):
        shutil.copytree(ROOT / name, folder / name)
    monkeypatch.chdir(folder)
    # servers have the arguments, and no client
    served: list[str] = []
    monkeypatch.setattr(app, "main", lambda: served.append("lsp"))
    monkeypatch.setattr(mcp, "serve", lambda *_, **_options: served.append("mcp") or 0)
    for arguments in LINES[page]:
        said = memlens(*arguments).stdout
        assert said or served.pop() == arguments[0], arguments


@pytest.mark.slow
@pytest.mark.parametrize("server", ["lsp", "mcp"])
def test_a_server_ends_without_a_client(server: str) -> None:
    command = [sys.executable, "-m", "memlens", server]
    subprocess.run(command, stdin=subprocess.DEVNULL, timeout=60, check=True)


def test_an_untrusted_workspace_sets_nothing_that_names_a_program_or_a_place() -> None:
    properties = MANIFEST["contributes"]["configuration"]["properties"]
    # numbers, switches and enumerations are harmless; free text may be a path
    free = {
        name
        for name, described in properties.items()
        if described["type"] not in ("boolean", "number") and "enum" not in described
    }
    assert {"memlens.interpreter", "memlens.symbols.folders", "memlens.pathMappings"} <= free
    limits = MANIFEST["capabilities"]["untrustedWorkspaces"]
    assert limits["supported"] == "limited"
    assert set(limits["restrictedConfigurations"]) == free


def test_mentioned_settings_and_commands_exist() -> None:
    known = set(MANIFEST["contributes"]["configuration"]["properties"])
    named = set(re.findall(r"`(memlens\.[a-z]\w*(?:\.\w+)?)`", TEXT)) - {
        "memlens.dump", "memlens.dump.heap", "memlens.toml"
    }  # fmt: skip
    assert named
    assert named <= known
    listed = re.findall(r"^\| `(memlens\.[\w.]+)` \| .* \| (yes|) ?\|$", SETTINGS, re.MULTILINE)
    assert {name for name, _ in listed} == known
    limits = MANIFEST["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert {name for name, word in listed if word == "yes"} == set(limits)
    titles = {
        f"{command['category']}: {TEXTS[command['title'].strip('%')]}"
        for command in MANIFEST["contributes"]["commands"]
    }
    named = set(re.findall(r'"(Memlens: [^"]+)"', TEXT))
    assert named
    assert named <= titles


def test_files_that_open_by_themselves() -> None:
    patterns = {
        editor["priority"]: {entry["filenamePattern"] for entry in editor["selector"]}
        for editor in MANIFEST["contributes"]["customEditors"]
        if editor["viewType"].startswith("memlens.snapshot")
    }
    (fleet,) = (
        each for each in MANIFEST["contributes"]["customEditors"] if each["viewType"] == "memlens.fleet"
    )
    assert fleet["selector"] == [{"filenamePattern": FILE_NAME}]
    assert f"`{FILE_NAME}`" in PAGES[ROOT / "docs" / "fleet.md"]
    assert {"*.pickle", "*.pb.gz", "*.heapsnapshot", "massif.out.*", "heaptrack.*.zst"} <= patterns["default"]
    # "Open With..." and "Reopen Editor With..." have it for every file
    assert patterns["option"] == {"*"}
    formats = PAGES[ROOT / "docs" / "formats.md"]
    assert all(f"`{pattern}`" in formats for pattern in patterns["default"])
    # and the explorer's menu has all of them, including those that need "Open With..."
    assert all(f"`{pattern}`" in formats for pattern in ("*.json", "*.html", "*.out", "*.pb"))
    # where an ending is also that of other files, by a word
    others = {"memory.json", "snapshot.html", "mem.out", "heap.pb", "dump.zip", "dhat-heap.json", "heapdump"}
    others |= {f"rank0.{name}.{packed}" for name in ("pickle", "pkl") for packed in ("gz", "zst")}
    others |= {
        "memory_snapshot.json.gz",
        "jeprof.1.0.f.heap",
        "alloc.4711",
        "trace.perfetto-trace",
        "heap.bin",
    }
    strange = (
        "package.json",
        "index.html",
        "a.out",
        "api.pb",
        "src.zip",
        "Makefile",
        "train.py",
        "data.bin",
        "LICENSE",
    )
    menu = {entry["command"]: entry["when"] for entry in MANIFEST["contributes"]["menus"]["explorer/context"]}
    for command in ("memlens.openAsSnapshot", "memlens.compareSelected"):
        names = re.search(r"resourceFilename =~ /(.+)/i$", menu[command])
        assert names is not None
        for pattern in patterns["default"] | others:
            assert re.search(names[1], pattern.replace("*", "1")), (command, pattern)
        assert [name for name in strange if re.search(names[1], name)] == []


def slug(heading: str) -> str:
    """Return the anchor of a heading, as GitHub and VS Code make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_mentioned_scripts_and_files_exist() -> None:
    for script in some(re.findall(r"`?npm (?:run )?(\w+)", README)):
        assert script in MANIFEST["scripts"]
    checked = 0
    for page, text in PAGES.items():
        for link in re.findall(r"\]\(([^)]+)\)", text):
            checked += 1
            if link.startswith("https://"):
                continue
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            assert target.is_file(), (page.name, link)
            if anchor and target in PAGES:
                headings = re.findall(r"^#+ (.+)$", PAGES[target], re.MULTILINE)
                assert anchor in map(slug, headings), (page.name, link)
    assert checked > 100
    promised = re.findall(
        r"`((?:tests|pyserver|scripts)/[\w./-]+)`", (ROOT / "SECURITY.md").read_text("utf-8")
    )
    assert not [name for name in some(promised) if not (ROOT / name).exists()]


def test_the_readme_is_short_and_leads_to_every_page() -> None:
    assert len(README.splitlines()) <= 150
    links = set(re.findall(r"\]\((docs/[^)]+)\)", TEXT)) | {
        f"docs/{link}" for link in re.findall(r"\]\((\w[\w-]*\.md)", TEXT)
    }
    assert {f"docs/{path.name}" for path in PAGES if path.parent == ROOT / "docs"} <= links


def test_terms_are_distinguished() -> None:
    """No term occurs twice in the table."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]* \|$", PAGES[ROOT / "docs" / "terms.md"], re.MULTILINE)
    terms = [term for row in rows if row != "term" and set(row) != {"-"} for term in row.split(", ")]
    assert len(terms) > 30
    assert len(terms) == len(set(terms))


def test_every_format_has_a_row_about_attribution() -> None:
    table = ATTRIBUTION.split("## What each format attributes")[1].split("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in table.splitlines()
        if line.startswith("| `")
    ]
    assert {row[0].split("`")[1] for row in rows} == set(FORMATS)
    for module, words in FORMATS.items():
        assert any(row[0].startswith(f"`{module}` ({words})") for row in rows), module
    for row in rows:
        assert len(row) == 4
        assert all(row), row
        assert re.search("recorded|inferred|estimated|unknown", row[3]), row


def test_every_figure_has_a_kind() -> None:
    table = ATTRIBUTION.split("## What each figure on the screen is")[1]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in table.splitlines()
        if line.startswith("| ")
    ]
    assert len(rows) > 25
    for row in rows[2:]:
        assert len(row) == 3
        assert re.search("recorded|computed|inferred|estimated|unknown", row[2]), row


def test_the_manifest_has_no_duplicate_keys() -> None:
    """A duplicate key would silently replace the first one."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), keys
        return dict(pairs)

    json.loads((ROOT / "package.json").read_text("utf-8"), object_pairs_hook=unique)
