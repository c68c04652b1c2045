"""Each small recording of ``tests/fixtures/profiles``, from its file to its program's lines, by the command line."""

import json
from pathlib import Path

import pytest
from tests.python.profile_reading import FIXTURES

from memlens.cli import main

RECORDINGS = [path for path in sorted(FIXTURES.iterdir()) if path.is_file() and path.suffix != ".py"]
WITHOUT_LINES = (
    "service.tcmalloc.heap", "service.tcmalloc.pb.gz", "service.jemalloc.heap", "service.raw.heaptrack.zst",
)  # fmt: skip
"""They have addresses, and no binaries beside them."""
# the program of each recording, and a line of it that holds memory
PROGRAMS = {
    "index.memray.bin": ("index.py", "line = "),
    "go-heap.debug1.txt": ("words.go", 'line := strings.Join(words, " ")'),
    "ledger.dhat.json": ("ledger.cpp", "char *note = new char[64];"),
    "massif.out.ledger": ("ledger.cpp", "char *note = new char[64];"),
    "service.heaptrack.zst": ("service.cpp", None),
    "orders.pb.gz": ("orders.go", "lines = append(lines, strings.Repeat"),
    "orders.before.pb.gz": ("orders.go", "lines = append(lines, strings.Repeat"),
    "orders.debug1.txt.zst": ("orders.go", "lines = append(lines, strings.Repeat"),
    "orders.difference.pb.gz": ("orders.go", "lines = append(lines, strings.Repeat"),
    "orders-cpu.pb.gz": ("orders.go", "own.total(time.Now()"),
    "tracemalloc.pickle": ("index.py", "line = "),
    "sessions.jfr.zst": ("Sessions.java", "Session session = new Session("),
    "words.heapprofile": ("words.js", "function lineOf"),
}


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.name) for path in RECORDINGS if path.name not in WITHOUT_LINES],
)
def test_a_recording_leads_to_the_lines_of_its_program(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, kept = PROGRAMS[path.name]
    assert main(["lines", str(path), "--json", "--cache-dir", str(tmp_path)]) == 0
    rows = json.loads(capsys.readouterr().out)["lines"]
    source = (FIXTURES / "src" / program).read_text("utf-8").splitlines()
    mine = {
        source[row["line"] - 1].strip(): row
        for row in rows
        if Path(row["file"]).name == program and row["line"]
    }
    assert mine
    signed = path.name == "orders.difference.pb.gz"
    assert signed or all(row["total"] >= row["itself"] >= 0 for row in mine.values())
    assert kept is None or any(text.startswith(kept) and row["total"] > 0 for text, row in mine.items())
