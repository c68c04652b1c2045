"""Heap dumps of Python processes: by which interpreter, and what it may answer."""

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.python import test_dumping
from tests.python.command_line import memlens
from tests.python.test_dumping import Start, types_in

from memlens import dump, remote_dump
from memlens.dumping.errors import DumpError
from memlens.packs.python import dumping
from memlens.packs.python.tests.test_python_heap import NEWER, WAITING
from memlens.programs import is_ours
from memlens.remote_dump import RemoteDumpError

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
start = test_dumping.start
"""The fixture."""


def test_root_runs_no_program_of_another_user(tmp_path: Path, start: Start) -> None:
    """The process's own Python, which may be any program that somebody has called so."""
    theirs = tmp_path / "python3.14"
    shutil.copy(shutil.which("sleep") or "", theirs)
    for each in (tmp_path, theirs):
        each.chmod(0o755)
    running = subprocess.Popen([theirs, "600"])
    try:
        assert dumping._own_interpreter(running.pid) == str(theirs)
        # the file that was started is gone, and another is in its place
        theirs.unlink()
        shutil.copy(shutil.which("sleep") or "", theirs)
        theirs.chmod(0o757)
        with pytest.raises(DumpError, match="other users can change"):
            dumping._own_interpreter(running.pid)
    finally:
        running.kill()
        running.wait()
    if os.geteuid() == 0:
        os.chown(theirs, 65534, 65534)
        theirs.chmod(0o755)
        assert not is_ours(theirs)
    assert is_ours(Path("/bin/sh"))


def test_what_another_process_says_of_its_dump(tmp_path: Path) -> None:
    status, other = tmp_path / "status", tmp_path / "other"
    other.write_text('{"cost": [1, 2, 3, 0.5, null]}')
    wrong = ('{"cost": [1, "\\u001b", 3, 0.5, 4]}', '{"cost": 7}', "[]", "x")
    puts: list[Callable[[], object]] = [partial(status.write_text, text) for text in wrong]
    puts += [partial(os.link, other, status), partial(status.symlink_to, other), partial(os.mkfifo, status)]
    for put in (*puts, status.mkdir):
        put()
        with pytest.raises(RemoteDumpError, match="otherwise than it should"):
            remote_dump._answer(os.getpid(), status, 5)
        if status.is_dir():
            status.rmdir()
        status.unlink(missing_ok=True)
    other.rename(status)
    assert remote_dump._answer(os.getpid(), status, 5) == dump.Cost(1, 2, 3, 0.5, None)


@pytest.mark.skipif(not NEWER, reason="needs a python3.14, or MEMLENS_TEST_PYTHON314")
def test_a_dump_of_python_by_its_own_interpreter(tmp_path: Path, start: Start) -> None:
    (tmp_path / "program.py").write_text(WAITING)
    process, out = start(NEWER, tmp_path / "program.py"), tmp_path / "service.heap"
    done = memlens("dump", process.pid, out, status=None)
    if "ptrace" in done.stderr:
        pytest.skip("this machine doesn't allow a process to trace another")
    assert "stood still for" in done.stdout, done.stderr
    assert types_in(out)["__main__.Session"] == 300
