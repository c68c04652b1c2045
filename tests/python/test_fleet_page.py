"""docs/fleet.md's way from a job script to the line: its commands are run as printed.

Dask and Memlens are the real ones. PyTorch, ``torchrun`` and Slurm's ``srun`` are stand-ins, which start processes with
the variables and end them with the signals that the real ones do.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT
from tests.python.fleet_cluster import HAS_PACKAGES, environment
from tests.python.server_harness import write_snapshot

pytestmark = pytest.mark.skipif(not HAS_PACKAGES, reason="no .cache/fleet: see test_fleet.py")

PAGE = (ROOT / "docs" / "fleet.md").read_text("utf-8")
RANKS = 3

_TORCH = """
import os, shutil, types

def _dump_snapshot(path):
    shutil.copy(f"{os.environ['RECORDED']}/{os.environ['RANK']}", path)

history = []
memory = types.SimpleNamespace(
    _record_memory_history=lambda max_entries: history.append(max_entries), _dump_snapshot=_dump_snapshot
)
cuda = types.SimpleNamespace(memory=memory)
"""
_TRAIN = """
def train():
    import pathlib, time
    assert torch.history == [200_000]
    begun = pathlib.Path(os.environ["RECORDED"])
    (begun / f"begun{os.environ['RANK']}").touch()
    while len([*begun.glob("begun*")]) < int(os.environ["RANKS"]):
        time.sleep(0.01)
    if os.environ["RANK"] == "1":
        raise MemoryError
    time.sleep(60)
"""
_LAUNCHER = """#!{python}
import argparse, os, subprocess, sys, time

parser = argparse.ArgumentParser()
if os.path.basename(sys.argv[0]) == "torchrun":
    for option in ("--nnodes", "--nproc-per-node", "--rdzv-id", "--rdzv-backend", "--rdzv-endpoint"):
        parser.add_argument(option, required=True)
    parser.add_argument("script")
    command, variable = ["python", parser.parse_args().script], "RANK"
else:
    command, variable = sys.argv[1:], "SLURM_PROCID"
ranks = [
    subprocess.Popen(command, env=os.environ | {{variable: str(rank)}})
    for rank in range(int(os.environ["RANKS"]))
]
while all(rank.poll() is None for rank in ranks):
    time.sleep(0.01)
if any(rank.poll() for rank in ranks):
    for rank in ranks:
        rank.terminate()
for rank in ranks:
    rank.wait(30)
sys.exit(any(rank.returncode for rank in ranks))
"""


def blocks(language: str) -> list[str]:
    """The page's code blocks in a language, from the heading about job scripts to the next one."""
    section = PAGE.split("## From a job script to the line")[1].split("\n## ")[0]
    found = re.findall(r"^```(\w*)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return [text for words, text in found if words == language]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the programs that the scripts need, and each rank's recording."""
    programs, recorded = tmp_path / "bin", tmp_path / "recorded"
    programs.mkdir()
    recorded.mkdir()
    for name, text in {
        "torchrun": _LAUNCHER.format(python=sys.executable),
        "srun": _LAUNCHER.format(python=sys.executable),
        "python": f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n',
        "dask": f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m dask "$@"\n',
    }.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    for rank in range(RANKS):
        write_snapshot(recorded / str(rank), 400 + 400 * rank)
    (tmp_path / "torch.py").write_text(_TORCH)
    (script,) = blocks("python")
    begin, rest = script.split("\n\n", 1)
    (tmp_path / "train.py").write_text(f"{begin}\n{_TRAIN}\n{rest}")
    return tmp_path


def bash(script: str, place: Path, ranks: int) -> int:
    """Run a script of the page in ``place``, and return its status. What it leaves running is ended, as Slurm does."""
    env = environment(RANKS=str(ranks), RECORDED=str(place / "recorded"), SLURM_JOB_ID="17")
    env["PATH"] = f"{place / 'bin'}{os.pathsep}{env['PATH']}"
    process = subprocess.Popen(
        ["bash", "-c", script.replace("/shared", str(place))], cwd=place, env=env, start_new_session=True
    )
    try:
        return process.wait(120)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_a_job_leaves_a_snapshot_of_each_rank(place: Path) -> None:
    """Also those of ranks that are ended since another one has failed."""
    (torchrun,) = (block for block in blocks("") if "torchrun" in block)
    train, _ = blocks("bash")
    for script in (torchrun, train):
        assert bash(script, place, RANKS) == 1
        files = sorted((place / "job17").iterdir())
        assert [file.name for file in files] == [f"rank{rank}.pickle" for rank in range(RANKS)]
        for rank, file in enumerate(files):
            assert file.read_bytes() == (place / "recorded" / str(rank)).read_bytes()
            file.unlink()
        (place / "job17").rmdir()
        for begun in (place / "recorded").glob("begun*"):
            begun.unlink()


@pytest.mark.slow
def test_the_reading_job_leads_to_the_line(place: Path) -> None:
    (place / "recorded").rename(place / "job17")
    for rank in range(RANKS):
        (place / "job17" / str(rank)).rename(place / "job17" / f"rank{rank}.pickle")
    _, script = blocks("bash")
    # two workers are as good as four here
    assert bash(script.replace("--nworkers 4", "--nworkers 2"), place, 1) == 0
    (session,) = (block for block in blocks("") if block.startswith("$ memlens"))
    commands = re.findall(r"^\$ memlens (.*)$", session, re.MULTILINE)
    assert [shlex.split(command)[1] for command in commands] == ["ooms", "peaks", "lines", "curves"]
    said = [
        memlens(
            *shlex.split(command.replace("/shared", str(place)).replace("data.py:118", "train.py:10"))
        ).stdout
        for command in commands
    ]
    assert said[0] == "No snapshot holds an out-of-memory event.\n"
    assert said[1].startswith("3 snapshots, ")
    assert len(re.findall(r"rank\d\.pickle, \S+/train\.py step$", said[2], re.MULTILINE)) == RANKS
    assert said[3].startswith("3 curves over ")
