"""No command runs code of the folder that it is started in, and every child is started in one place.

The folder has a module for each name that Memlens, its libraries or Python itself imports at some time; each leaves a
mark where it is run.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from tests.python.conftest import ROOT
from tests.python.mcp_client import McpClient

from memlens import programs

SOURCES = ROOT / "pyserver" / "memlens"
STARTS = re.compile(r"\.(?:run|Popen|call|check_output|create_subprocess_exec)\(")
MARK = "import os\nopen(os.environ['MEMLENS_TEST_MARK'], 'a').write(__file__ + '\\n')\nraise ImportError('hostile')\n"
OTHERS = (
    "apsw", "cachetools", "cattrs", "distributed", "fsspec", "lsprotocol", "memlens", "memray", "msgspec", "numpy",
    "platformdirs", "pyarrow", "pygls", "regex", "sitecustomize", "usercustomize", "websockets", "zstandard",
)  # fmt: skip
PROGRAMS = (
    "uname",
    "sh",
    "gcc",
    "cc",
    "ld",
    "ldconfig",
    "objdump",
    "lscpu",
    "file",
    "git",
    "java",
    "node",
    "ps",
    "which",
)
"""What libraries start by their bare names."""
LEFT_OUT = {"os", "site", "encodings", "codecs", "io", "abc", "stat", "posixpath", "genericpath", "ntpath"}
"""What Python imports before it runs anything; it has no path yet when these are imported, or has them frozen."""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder in which everything that could be imported is a stranger's."""
    folder = tmp_path / "project"
    (folder / "memlens").mkdir(parents=True)
    for name in {*OTHERS, *sys.stdlib_module_names} - LEFT_OUT - set(sys.builtin_module_names):
        (folder / f"{name}.py").write_text(MARK)
    for name in ("__init__", "__main__"):
        (folder / "memlens" / f"{name}.py").write_text(MARK)
    strange_programs(folder)
    (folder / "hostile.pth").write_text("import msgspec\n")
    (folder / "hostile.py").write_text(MARK)
    (folder / "hostile-1.0.dist-info").mkdir()
    (folder / "hostile-1.0.dist-info" / "entry_points.txt").write_text(
        "[memlens.packs]\nhostile = hostile:PACK\n"
    )
    shutil.copy(ROOT / "samples" / "train.pickle", folder)
    shutil.copy(ROOT / "samples" / "words.pb.gz", folder / "ranks.pb.gz")
    return folder


def strange_programs(folder: Path) -> None:
    """Programs that leave a mark."""
    for name in PROGRAMS:
        (folder / name).write_text('#!/bin/sh\necho "$0" >> "$MEMLENS_TEST_MARK"\n')
        (folder / name).chmod(0o755)


def environment(folder: Path, **further: str) -> dict[str, str]:
    """The environment of a user who has no archives yet."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    return {
        **kept,
        "PATH": os.pathsep.join((".", "", kept["PATH"])),
        "MEMLENS_TEST_MARK": str(folder / "mark"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        **further,
    }


def program() -> list[str]:
    """The installed command."""
    return [str(Path(sysconfig.get_path("scripts")) / "memlens")]


def run(hostile: Path, arguments: list[str], **further: str) -> None:
    """Run the installed command in the folder: it succeeds, and runs nothing of it."""
    done = subprocess.run(
        [*program(), *arguments],
        cwd=hostile,
        env=environment(hostile.parent, **further),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert not (hostile.parent / "mark").exists(), (hostile.parent / "mark").read_text()
    assert done.returncode == 0, done.stderr


COMMANDS = [
    ["info", "train.pickle"],
    ["findings", "train.pickle"],
    ["sql", "train.pickle", "SELECT count(*) FROM allocations"],
    ["compare", "train.pickle", "train.pickle", "--at", "end"],
    ["dump"],
    ["report", "ranks.pb.gz", "--markdown"],
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        *(pytest.param(None, words, id=f"plain-{words[0]}") for words in COMMANDS),
        # what leaves it out is done with before a command is known
        pytest.param(f"{os.pathsep}/nowhere", COMMANDS[0], id="empty-entry"),
    ],
)
def test_no_command_imports_from_its_folder(arguments: list[str], path: str | None, hostile: Path) -> None:
    if path is not None:
        # from there Python itself imports what it starts with, and Memlens, before that has a say
        shutil.rmtree(hostile / "memlens")
        for name in {*sys.stdlib_module_names, "memlens", "sitecustomize", "usercustomize"}:
            (hostile / f"{name}.py").unlink(missing_ok=True)
    run(hostile, arguments, **({} if path is None else {"PYTHONPATH": path}))


@pytest.mark.skipif(sys.platform == "win32", reason="scripts of a shell")
def test_no_command_starts_a_program_of_its_folder(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    strange_programs(project)
    run(project, ["diagnostics"])


@pytest.mark.slow
def test_a_model_that_asks_about_a_file_runs_nothing_of_its_folder(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in environment(hostile.parent).items():
        monkeypatch.setenv(name, text)
    with McpClient(hostile) as client:
        answer = client.call("memlens_summary", path=str(hostile / "train.pickle"))
    assert "train.pickle" in json.dumps(answer)
    assert not (hostile.parent / "mark").exists(), (hostile.parent / "mark").read_text()


@pytest.mark.slow
def test_a_fleet_runs_nothing_of_the_folder_that_it_is_started_in(hostile: Path) -> None:
    python = ROOT / ".cache" / "fleet"
    if not python.exists():
        pytest.skip("the packages of fleets aren't installed")
    snapshots = hostile / "snapshots"
    snapshots.mkdir()
    shutil.copy(hostile / "train.pickle", snapshots)
    run(hostile, ["fleet", "snapshots", "--out", "out.fleet", "--workers", "1"], PYTHONPATH=str(python))


def test_children_are_started_in_one_place() -> None:
    """``sys.executable`` is used only there, and where it is printed."""
    found = set()
    files = [file for file in SOURCES.rglob("*.py") if "tests" not in file.parts[len(SOURCES.parts) :]]
    assert len(files) > 300
    for file in files:
        text = file.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "executable" in text else ():
            if isinstance(node, ast.Attribute) and node.attr == "executable":
                found.add(file.relative_to(SOURCES).as_posix())
    assert found == {
        "child.py",
        "cli/commands/diagnostics.py",
        "server/requirements.py",
    }


@pytest.mark.parametrize("windows", [False, True])
def test_programs_are_never_those_of_the_working_directory(
    windows: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows, and a ``PATH`` with a relative or an empty entry, would begin with them."""
    elsewhere = tmp_path / "bin"
    for folder in (tmp_path / "project", elsewhere):
        folder.mkdir()
        for name in ("jcmd", "jcmd.exe", "powershell", "powershell.exe", "ps"):
            (folder / name).write_text("#!/bin/sh\n")
            (folder / name).chmod(0o755)
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setattr(programs, "_is_windows", lambda: windows)
    monkeypatch.setenv("PATHEXT", ".COM;.EXE")
    monkeypatch.setenv("PATH", os.pathsep.join(("", ".", "../project", str(elsewhere))))
    name = "jcmd.exe" if windows else "jcmd"
    assert programs.program("jcmd") == elsewhere / name
    assert programs.program("java") is None
    assert programs.program("jcmd", ".") is None
    monkeypatch.setenv("PATH", "")
    assert programs.program("jcmd") is None


def test_every_program_is_started_by_its_path() -> None:
    """A bare name as the first word of a command would be looked up by the system."""
    bare = []
    for file in SOURCES.rglob("*.py"):
        # packs have their tests, and the programs of these, beside them
        if "tests" in file.parts[len(SOURCES.parts) :]:
            continue
        text = file.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if STARTS.search(text) else ():
            match node:
                case ast.Call(
                    func=ast.Attribute(
                        attr="run" | "Popen" | "call" | "check_output" | "create_subprocess_exec"
                    ),
                    args=[ast.List(elts=[ast.Constant(value=str()), *_]), *_],
                ):
                    bare.append(f"{file.name}:{node.lineno}")
                # a word alone may be anything where the function isn't the library's
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="subprocess" | "asyncio")),
                    args=[ast.Constant(value=str()), *_],
                ):
                    bare.append(f"{file.name}:{node.lineno}")
    assert not bare
