"""The worked cases in docs/: every command runs on the dumps that they name, and prints what they show."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.python import gcdump_files
from tests.python.conftest import ROOT
from tests.python.test_findings_of_heaps import java_heap, v8_heap

from memlens.cli import main

PAGES = ("node", "java", "dotnet", "ruby", "python-heap")
PROGRAM = ROOT / "tests" / "fixtures" / "heap" / "src" / "sessions.py"
DUMPS = [*PROGRAM.parents[1].glob("*.zst"), *PROGRAM.parents[1].glob("*.gcdump")]


@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_the_docs_show(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, data in (
        ("before.heapsnapshot", v8_heap(has=False)), ("app.heapsnapshot", v8_heap(has=True)),
        ("during.heapsnapshot", v8_heap(has=True)),
        ("before.hprof", java_heap(has=False)), ("app.hprof", java_heap(has=True)),
        ("app.gcdump", gcdump_files.small()),
        *((dump.name, dump.read_bytes()) for dump in DUMPS),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    if page == "python-heap":
        library = {**os.environ, "PYTHONPATH": str(ROOT / "pyserver")}
        subprocess.run([sys.executable, PROGRAM, "sessions.pyheap"], check=True, env=library)
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    asked = 0
    for block in re.findall(r"^```(?:js|ruby|python)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for command, shown in re.findall(
            r"^\$ memlens (?!dump )(.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE
        ):
            capsys.readouterr()
            assert main([*shlex.split(command), "--cache-dir", str(tmp_path / "cache")]) == 0
            printed = iter(capsys.readouterr().out.splitlines())
            for line in shown.splitlines():
                # the lines occur in this order, with others in between, and "..." matches anything
                pattern = re.compile(".*".join(map(re.escape, line.split("..."))))
                assert line == "..." or any(pattern.search(each) for each in printed), (command, line)
            asked += 1
    assert asked >= 3
