"""The shells that are here complete commands, options, their values, files and folders."""

import contextlib
import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.python.command_line import memlens

from memlens.cli.command_line import INTERNAL, names_in

CASES = {
    "lin": "lines",
    "compl": "completion",
    "lines --any": "--any-code",
    "lines --by fi": "file",
    "picture --of sunb": "sunburst",
    "lines leak.p": "leak.pickle",
    "info first.pickle leak.p": "leak.pickle",
    "compare first.pickle leak.p": "leak.pickle",
    "compare first.pickle second.pickle third.pickle leak.p": "leak.pickle",
    "report leak.pickle --before leak.p": "leak.pickle",
    "report leak.pickle -o leak.p": "leak.pickle",
    "fleet pe": "peaks",
    "fleet peaks fol": "folder",
    "fleet peaks folder --so": "--sort",
    "completion z": "zsh",
}
"""Words after the command, the last one unfinished, and how it is completed."""
FOLDERS = ["lines --cache-dir fo", "mcp --root fo", "ingest x --source-folder fo"]
SECONDS = 60
"""How long a shell may take; it takes some tens of milliseconds."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("completion")
    (made / "leak.pickle").touch()
    (made / "folder.pickle").touch()
    (made / "folder").mkdir()
    for shell in ("bash", "zsh", "fish"):
        (made / f"script.{shell}").write_text(memlens("completion", shell).stdout)
    return made


def run(folder: Path, *command: str) -> list[str]:
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
        env={**os.environ, "HOME": str(folder)},
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def of_bash(folder: Path, line: str) -> list[str]:
    script = """
    source script.bash
    COMP_WORDS=(memlens "$@"); COMP_CWORD=$#; COMP_LINE="memlens $*"; COMP_POINT=${#COMP_LINE}
    _shtab_memlens memlens "${@: -1}" "${@: -2:1}"
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    return run(folder, "bash", "--norc", "-c", script, "bash", *line.split(" "))


def of_fish(folder: Path, line: str) -> list[str]:
    rows = run(folder, "fish", "--no-config", "-c", f"source script.fish; complete -C'memlens {line}'")
    return [row.partition("\t")[0].removesuffix("/") for row in rows]


class Zsh:
    """An interactive zsh: only such a one completes."""

    def __init__(self, folder: Path) -> None:
        import pty  # which Windows lacks

        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "HOME": str(folder)})
        self.ask(
            "PS1=; autoload -Uz compinit && compinit -u -D; eval \"$(<script.zsh)\"; echo re''ady\n", "ready"
        )

    def ask(self, typed: str, awaited: str) -> str:
        """Type something, and return what is shown until that has the awaited text."""
        os.write(self.terminal, typed.encode())
        shown, end = "", time.monotonic() + SECONDS
        while not re.search(awaited, shown):
            assert time.monotonic() < end, shown
            if select.select([self.terminal], [], [], 1)[0]:
                shown += os.read(self.terminal, 4096).decode(errors="replace")
        return shown

    def close(self) -> None:
        os.write(self.terminal, b"\x15exit\n")
        with contextlib.suppress(OSError):
            while os.read(self.terminal, 4096):
                pass
        os.close(self.terminal)
        os.waitpid(self.process, 0)


@pytest.fixture(scope="module")
def zsh(folder: Path) -> Iterator[Zsh]:
    if shutil.which("zsh") is None:
        pytest.skip("no zsh")
    shell = Zsh(folder)
    yield shell
    shell.close()


@pytest.mark.parametrize("line", CASES)
@pytest.mark.parametrize(("shell", "complete"), [("bash", of_bash), ("fish", of_fish)])
def test_a_word_is_completed(
    shell: str, complete: Callable[[Path, str], list[str]], line: str, folder: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    assert complete(folder, line)[0] == CASES[line]


@pytest.mark.parametrize("line", [line for line in CASES if CASES[line] != "folder"])
def test_zsh_completes_a_word(line: str, zsh: Zsh) -> None:
    whole = f"memlens {line.rpartition(' ')[0]} {CASES[line]} ".replace("  ", " ")
    zsh.ask(f"memlens {line}\t", re.escape(whole))
    zsh.ask("\x15echo do''ne\n", "done")


@pytest.mark.parametrize("line", FOLDERS)
@pytest.mark.parametrize(("shell", "complete"), [("bash", of_bash), ("fish", of_fish)])
def test_only_folders_are_offered_where_one_is_needed(
    shell: str, complete: Callable[[Path, str], list[str]], line: str, folder: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    assert complete(folder, line) == ["folder"]


def test_commands_of_memlens_s_own_are_not_offered(folder: Path) -> None:
    script = (folder / "script.bash").read_text()
    offered = " ".join(re.findall(r"_subparsers=\((.*)\)", script)).split()
    assert {"findings", "completion", "peaks"} <= {*offered}
    assert not {*names_in(INTERNAL)} & {*offered}


def test_other_shells_are_refused() -> None:
    assert "'tcsh' is not one of bash, zsh, fish" in memlens("completion", "tcsh", status=2).stderr
