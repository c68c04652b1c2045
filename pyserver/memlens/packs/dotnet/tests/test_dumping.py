"""Heap dumps of .NET processes, by a stand-in for the runtime's tool."""

import sys
from pathlib import Path

import pytest
from tests.python import test_dumping
from tests.python.command_line import memlens
from tests.python.test_dumping import Start, refused

from memlens.dumping import linux
from memlens.dumping.runtimes import Runtime

start = test_dumping.start
"""The fixture."""

TOOL = """#!{python}
import sys
words = sys.argv[1:]
given = dict(zip(words[1::2], words[2::2], strict=True))
if given["--process-id"] == "{fails}":
    sys.exit("[ERROR] unable to connect to Process")
print("Writing gcdump")
with open(given["--output"], "wb") as file:
    file.write(b"what the tool writes")
"""


def test_dumps_are_left_to_the_runtimes_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    """By a stand-in for dotnet-gcdump: which options it gets, and what comes of its answers."""
    (tmp_path / "wait.py").write_text("import time\nprint('ready', flush=True)\ntime.sleep(600)")
    first, second = (start(sys.executable, tmp_path / "wait.py") for _ in range(2))
    # Python under another name would miss its library
    monkeypatch.setattr(linux, "by_program", lambda _program: Runtime("dotnet"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    out = tmp_path / "service.gcdump"
    assert "dotnet tool install" in refused(first.pid, out)
    tool = tmp_path / ".dotnet" / "tools" / "dotnet-gcdump"
    tool.parent.mkdir(parents=True)
    tool.write_text(TOOL.format(python=sys.executable, fails=second.pid))
    tool.chmod(0o700)
    memlens("dump", first.pid, out)
    assert out.read_bytes() == b"what the tool writes"
    assert "unable to connect to Process" in refused(second.pid, tmp_path / "x.gcdump")
    assert not (tmp_path / "x.gcdump").exists()
