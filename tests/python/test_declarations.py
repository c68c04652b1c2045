"""What is declared has its partners, and these have nothing else: docs/dev/declarations.md lists what turns red."""

import json
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
from tests.fuzz.seeds import CORPUS
from tests.python.conftest import ROOT
from tests.python.counted import some

import memlens
from memlens.errors import MemlensError
from memlens.formats import FORMATS, recognised
from memlens.formats.containers import open_source
from memlens.packs import registry
from memlens.server import handlers, protocol, tools
from memlens.server.app import create_server
from memlens.server.tools.table import MODULES
from memlens.server.wire import REQUESTS
from memlens.views.findings import table
from memlens.views.heap.filters import terms
from memlens.views.selection import filters

PACKAGE = Path(memlens.__file__).parent
LINKS = {"memlens.showLine", "memlens.goToLine", "memlens.openRank"}
"""Commands that only links run."""
MANIFEST = json.loads((ROOT / "package.json").read_text("utf-8"))


def sources(*folders: str) -> str:
    """The TypeScript of some folders."""
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.ts*"))]
    return "\n".join(path.read_text("utf-8") for path in paths)


@pytest.mark.slow
def test_every_module_of_questions_and_tools_is_imported_when_the_server_starts() -> None:
    folder = Path(handlers.__path__[0])
    program = "import sys, memlens.server.app; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    prefix = f"{handlers.__name__}."
    assert {name.removeprefix(prefix) for name in loaded if name.startswith(prefix)} == {
        path.stem for path in folder.glob("*.py") if path.stem != "__init__"
    }
    declaring = [
        path.stem
        for path in Path(tools.__path__[0]).glob("*.py")
        if re.search(r"^ *@tool\(", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert {f"{tools.__name__}.{name}" for name in declaring} == {each.__name__ for each in MODULES}


def test_every_message_is_used_and_declared() -> None:
    create_server()
    declared = {*REQUESTS, *protocol.CLIENT_REQUESTS, *protocol.NOTIFICATIONS}
    assert set(re.findall(r"'(memlens/\w+)'", sources("extension/src", "webview/src"))) == declared


def view_commands() -> dict[str, str]:
    """The list of each command of a view; that it does something is a type of its row."""
    return dict(re.findall(r"^  '([\w.]+)': '(\w+)',$", sources("extension/shared"), re.MULTILINE))


def test_every_command_of_the_palette_is_registered_and_has_a_title() -> None:
    messages, extension = sources("extension/shared"), sources("extension/src")
    named = re.findall(r"register(?:TextEditor)?Command\(\s*(?:'memlens\.(\w+)'|([A-Z_]+),)", extension)
    constants = dict(re.findall(r"const ([A-Z_]+) = '(?:memlens\.)?(\w+)';", extension + messages))
    registered = [word or constants[name] for word, name in named]
    registered += view_commands()
    # and the palette's lists of them
    registered += {*view_commands().values()}
    assert len(registered) == len({*registered})
    commands = MANIFEST["contributes"]["commands"]
    assert {each["command"] for each in commands} == {f"memlens.{name}" for name in registered} - LINKS
    menus = MANIFEST["contributes"]["menus"].values()
    offered = [row["command"] for row in chain(*menus, MANIFEST["contributes"]["keybindings"])]
    own = {name for name in offered if name.startswith("memlens.")}
    assert own <= {each["command"] for each in commands}
    titles = [each["title"].strip("%") for each in commands]
    assert len(titles) == len({*titles})
    used = {*re.findall(r'"%([\w.]+)%"', (ROOT / "package.json").read_text("utf-8"))}
    assert used == {*json.loads((ROOT / "package.nls.json").read_text("utf-8"))}


def test_the_palette_has_few_commands() -> None:
    """What a key, a menu or a list of the palette has isn't there a second time."""
    contributes = MANIFEST["contributes"]
    hidden = {each["command"] for each in contributes["menus"]["commandPalette"] if each["when"] == "false"}
    assert len({each["command"] for each in contributes["commands"]} - hidden) <= 23


def test_every_setting_is_read() -> None:
    declared = {
        name.removeprefix("memlens.") for name in MANIFEST["contributes"]["configuration"]["properties"]
    }
    read = {*re.findall(r"'(?:memlens\.)?([a-z][\w.]*)'", sources("extension/src"))}
    assert declared - read == set()


def test_every_pane_and_picture_is_offered() -> None:
    webview = sources("webview/src")
    offered = {*re.findall(r"\bid(?: =|:) '(\w+)'[,;]", webview)}
    # the stacked picture is the scene itself; panes have names by their type, and lists by the contract step
    pictures = {name[8:] for name in view_commands() if name.startswith("picture.")}
    assert pictures - offered == {"stacked"}


def test_every_pane_has_a_test() -> None:
    """A test opens it or looks at its elements, whose classes and ids begin with its name."""
    tests = sources("tests/webview", "tests/views") + "".join(
        path.read_text("utf-8") for path in some((ROOT / "tests/e2e").glob("*.test.mjs"))
    )
    lacking = []
    for pane in some(name[5:] for name in view_commands() if name.startswith("pane.")):
        dashed = re.sub("([A-Z])", r"-\1", pane).lower()
        if not re.search(rf"pane[.-]{pane}\b|rows\('{pane}'|[.#'\"/]{dashed}[-'\"]", tests):
            lacking.append(pane)
    assert lacking == []


def test_every_reader_is_of_a_format_and_every_kind_of_one() -> None:
    readers = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^def sniff\(", path.read_text("utf-8"), re.MULTILINE)
        and "pack_template" not in path.parts
    }
    declared = [form.reader.place for form in registry.formats().values()]
    assert sorted(readers) == sorted(declared)
    kinds = [
        kind
        for path in (PACKAGE / "packs").rglob("*.py")
        for kind in re.findall(r'^KIND = "(.+)"$', path.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(kinds) == len({*kinds})
    assert {*kinds} == {form.kind or form.name for form in registry.formats().values()}


def format_of(path: Path) -> str | None:
    """The format of a file; None if it is of none."""
    try:
        with open_source(path, path.parent, lambda *_: None) as source:
            return recognised(source)
    except MemlensError:
        return None


def test_every_format_has_a_test_and_a_file_to_damage() -> None:
    assert {format_of(path) for path in some(CORPUS.glob("file/*"))} - {None} == {*FORMATS}
    for pack in registry.packs():
        tests = "".join(f"{path.stem[5:]} {path.read_text('utf-8')}" for path in modules_of_tests(pack.name))
        for form in pack.formats:
            words = {form.name, form.kind or form.name, form.reader.place.rpartition(".")[2]}
            assert any(re.search(rf"\b{re.escape(word)}\b", tests) for word in words), form.name


def test_every_format_has_a_row_about_attribution() -> None:
    for pack in registry.packs():
        rows = (PACKAGE / "packs" / pack.name / "attribution.md").read_text("utf-8")
        titled = dict(re.findall(r"^\| `([\w-]+)` \(([^)]*(?:\([^)]*\))?[^)]*)\)", rows, re.MULTILINE))
        assert {form.name for form in pack.formats} == {*titled}, pack.name


def test_every_filter_term_is_described() -> None:
    for entry in some([*filters.ENTRIES, *(entry for term in terms.OBJECTS for entry in term.entries)]):
        assert entry.finds, entry


def modules_of_tests(pack: str) -> list[Path]:
    return sorted((PACKAGE / "packs" / pack / "tests").glob("test_*.py"))


def rules_in(folder: str) -> list[str]:
    """The functions that are rules, by the places of their modules."""
    return [
        f"{'.'.join(path.relative_to(PACKAGE.parent).with_suffix('').parts)}:{name}"
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        for name in re.findall(
            r"^def ([a-z]\w*)\(case: \w+\) -> Iterator\[Ranked\]:", path.read_text("utf-8"), re.MULTILINE
        )
        if "pack_template" not in path.parts
    ]


def test_every_rule_is_in_a_table() -> None:
    listed = [
        f"{rule.find.__module__}:{rule.find.__name__}" for rules in table.RULES.values() for rule in rules
    ]
    assert sorted(listed) == sorted(rules_in("views/findings"))
    declared = {rule.find.place for pack in registry.packs() for rule in pack.rules}
    assert declared == {*rules_in("packs")}


def test_every_rule_is_in_the_docs() -> None:
    page = (ROOT / "docs" / "findings.md").read_text("utf-8")
    tables = re.findall(r"^\| rule \| says something when .*?\n\n", page, re.MULTILINE | re.DOTALL)
    for model, rows in zip(table.RULES, tables, strict=True):
        assert sorted(re.findall(r"^\| `(\w+)`", rows, re.MULTILINE)) == sorted(table.names_of_rules(model))


def test_every_rule_has_a_test() -> None:
    paths = [*(ROOT / "tests/python").glob("test_*.py"), *(PACKAGE / "packs").glob("*/tests/test_*.py")]
    text = "".join(path.read_text("utf-8") for path in paths)
    lacking = [name for name in table.every_rule() if not re.search(rf'"{name}"|def test_{name}_', text)]
    assert lacking == []


def test_findings_have_the_names_that_their_rules_declare() -> None:
    files = [path for path in (PACKAGE / "views" / "findings").rglob("*.py") if path.name != "table.py"]
    files += [path for path in (PACKAGE / "packs").rglob("*.py") if path.name != "__init__.py"]
    text = "\n".join(path.read_text("utf-8") for path in files)
    declared = {name for model in table.RULES for name in table.names_of_rules(model)}
    assert {*re.findall(r'\bmade\(\s*"(\w+)"', text)} <= declared
    assert declared <= {*re.findall(r'"(\w+)"', text)}


def test_how_tos_name_files_and_questions_that_exist() -> None:
    create_server()
    folders = ("docs", "extension", "pyserver", "samples", "scripts", "tests", "webview")
    paths = [
        f"/{path.relative_to(ROOT).as_posix()}" for each in folders for path in (ROOT / each).rglob("*.*")
    ]
    for page in some([ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md", *(ROOT / "docs/dev").glob("*.md")]):
        text = page.read_text("utf-8")
        for name in re.findall(r"`([a-z][\w./-]*\.(?:py|pyx|tsx?|mjs|toml))`", text):
            # those of a pack that the reader makes
            assert "my_tool" in name or any(path.endswith(f"/{name}") for path in paths), (page.name, name)
        assert {*re.findall(r"['\"`](memlens/\w+)['\"`]", text)} <= {*REQUESTS, *protocol.NOTIFICATIONS}
