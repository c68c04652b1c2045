"""Each command is declared in its module, and lists have every command, but none of Memlens's own."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT
from tests.python.counted import some

from memlens.cli.command_line import COMMANDS, INTERNAL, as_help, module_name, names_in, summary

FLEET = module_name(COMMANDS, "fleet")
MODULES = [
    module_name(folder, name)
    for folder in (COMMANDS, INTERNAL, FLEET)
    for name in names_in(folder)
    if folder != COMMANDS or name != "fleet"
]
WITHOUT_EXAMPLE = {"record", "run"}
"""What these need isn't in the project."""


@pytest.mark.parametrize("name", MODULES)
def test_a_command_is_declared_in_its_module(name: str) -> None:
    module: Any = import_module(name)
    assert summary(name) == as_help(module.__doc__.partition("\n")[0])
    assert summary(name).endswith((".", "left out."))
    assert callable(module.add_arguments)
    assert callable(module.run)
    word = name.rpartition(".")[2].replace("_", "-")
    if name.rpartition(".")[0] == COMMANDS:
        assert bool(module.EXAMPLES) == (word not in WITHOUT_EXAMPLE)
        assert all(line.startswith(f"memlens {word}") for line in module.EXAMPLES)


@pytest.mark.parametrize("wrong", ["tabels", "examin", "querys", "readers", "linse"])
def test_a_misspelt_command_offers_what_there_is(wrong: str) -> None:
    said = memlens(wrong, status=2).stderr
    assert f"'{wrong}' is not one of {', '.join(names_in(COMMANDS))}" in said
    offered = said.partition("; did you mean ")[2].partition("?")[0].split(" or ")
    assert {*offered} <= {*names_in(COMMANDS), ""}
    assert ("lines" in offered) == (wrong == "linse")


@pytest.mark.parametrize(("words", "folder"), [([], COMMANDS), (["fleet"], FLEET)])
def test_help_lists_every_command_and_none_of_memlens_s_own(words: list[str], folder: str) -> None:
    listed = re.findall(r"^    ([a-z-]+)(?:  .*)?$", memlens(*words, "--help").stdout, re.MULTILINE)
    assert listed == names_in(folder)


@pytest.mark.parametrize("words", [["info", "samples/train.pickle"], ["--help"]])
def test_only_the_command_that_runs_is_imported(words: list[str], tmp_path: Path) -> None:
    # which reads the file
    given = [*words, "--cache-dir", str(tmp_path)] if words[0] == "info" else words
    program = (
        f"import sys, contextlib; from memlens.cli import main\n"
        f"with contextlib.suppress(SystemExit): main({given})\n"
        f"print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    modules = {*done.stderr.split()}
    # each is a fifth of the time of a quick command
    assert not modules & {"asyncio", "numpy.ma"}
    imported = {name for name in modules if name.startswith(f"{COMMANDS}.")}
    assert imported == ({f"{COMMANDS}.info"} if words[0] == "info" else set())


@pytest.mark.parametrize("pattern", ["samples/*.p*", "pyserver/memlens/packs/*/tests/example.*"])
def test_masked_arrays_are_never_imported(pattern: str, tmp_path: Path) -> None:
    """NumPy's functions of sets import them, which takes a quarter of the time in which a small file is read."""
    lines = [
        [command, str(file), "--cache-dir", str(tmp_path)]
        for file in some(sorted(ROOT.glob(pattern)), 2)
        for command in ("info", "lines", "findings", "flame")
    ]
    program = (
        f"import sys; from memlens.cli import main\n"
        f"for line in {lines}: main(line)\n"
        f"sys.exit('numpy.ma' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_no_thread_waits_for_matrices() -> None:
    program = (
        "import os, sys; from memlens.__main__ import main\n"
        "sys.argv = ['memlens', '--version']\n"
        "try: main()\n"
        "finally: print(len(os.listdir('/proc/self/task')), 'numpy' in sys.modules)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == "1 True", done.stderr
