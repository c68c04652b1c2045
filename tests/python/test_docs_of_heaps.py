"""The worked cases in docs/: every command runs on the dumps that they name, and prints what they show."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.python.conftest import ROOT
from tests.python.heap_archives import archived
from tests.python.recordings import PACKS
from tests.python.test_findings_of_heaps import java_heap, v8_heap

from memlens.cli import main
from memlens.packs.dotnet.tests import gcdump_files
from memlens.store.snapshot import Snapshot
from memlens.store.tables import fill as tables
from memlens.views.sql.pages import SqlError
from memlens.views.sql.query import SqlSession

PAGES = ("node", "java", "dotnet", "ruby", "python-heap")
PROGRAM = ROOT / "tests" / "fixtures" / "heap" / "src" / "sessions.py"
RECORDING = ROOT / "tests" / "fixtures" / "profiles" / "sessions.jfr.zst"
DUMPS = [*PROGRAM.parents[1].glob("*.zst"), *PACKS.glob("*/tests/sessions.*")]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_the_docs_show(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, data in (
        ("before.heapsnapshot", v8_heap(has=False)), ("app.heapsnapshot", v8_heap(has=True)),
        ("during.heapsnapshot", v8_heap(has=True)),
        ("before.hprof", java_heap(has=False)), ("app.hprof", java_heap(has=True)),
        ("app.gcdump", gcdump_files.small()),
        (RECORDING.name, RECORDING.read_bytes()),
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
            r"^\$ memlens (?!dump |record )(.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE
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


def test_what_other_viewers_ask_in_their_language(tmp_path: Path) -> None:
    (path,) = (dump for dump in DUMPS if dump.name == "sessions.hprof.zst")
    snapshot = archived(path, tmp_path)
    tables.fill(snapshot, lambda *_: None)
    text = (ROOT / "docs" / "sql.md").read_text("utf-8")
    rows = re.findall(r"^\| (.*) \| `(SELECT .*)` \|$", text.partition("know OQL")[2], re.MULTILINE)
    with closing(snapshot), closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
        for theirs, query in rows:
            of_class = "FROM types" in query  # the only one with a static field
            own = query.replace("com.example.Order", f"shop.Sessions{'' if of_class else '$Session'}")
            own = own.replace("'state'", "'user'").replace("'number'", "'user'")
            assert list(session.stream(own)[1]), own
            if not theirs.startswith("`"):
                continue
            with pytest.raises(SqlError) as caught:
                list(session.stream(theirs.strip("`"))[1])
            (asked_of,) = re.findall(r"[a-z]+\.[a-z]+\.\w+", theirs)
            assert f"FROM objects WHERE type = '{asked_of}'" in str(caught.value.advice)
        with pytest.raises(SqlError) as caught:
            session.stream("SELECT object FROM main.objects WHERE WHERE")
        assert "syntax error" in str(caught.value)
    assert len(rows) == 8
