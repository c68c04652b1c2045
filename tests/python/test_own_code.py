"""Whose line the headline names, on small files of each ecosystem with the right value written by hand."""

from pathlib import Path

import pytest
from tests.python.conftest import DATA

from memlens.cli import main

FAULTS = DATA / "faults"

HEADLINES = {
    "02-*/dhat-heap.json": "book.rs:7 book::fill() 7 MiB (70%); book.rs:17 book::parse() 3 MiB (30%)",
    "03-*/ledger.pb.gz": "book.rs:7 book::fill() 15 MiB (75%); book.rs:17 book::parse() 5 MiB (25%)",
    "04-*/build.pb.gz": "store.go:16 store.Fill() 40 MiB (100%)",
    "05-*/heaptrack.plain.1.gz": "book.rs:24 patterns::{{closure}}() 2 MiB (100%)",
    "05-*/massif.out.rust": "book.rs:7 book::fill() 1000 B (100%)",
    "08-*/develop.pickle": "model.py:10 10 MiB (33%); model.py:11 10 MiB (33%); model.py:12 10 MiB (33%)",
    "08-*/installed.pickle": "model.py:10 10 MiB (33%); model.py:11 10 MiB (33%); model.py:12 10 MiB (33%)",
    "12-*/goroot.pb.gz": "load.go:12 main.load() 30 MiB (100%)",
    "12-*/mise.pb.gz": "load.go:12 main.load() 30 MiB (100%)",
}


@pytest.mark.skipif(not FAULTS.is_dir(), reason=f"there are no files at {FAULTS}")
@pytest.mark.parametrize(("name", "held"), HEADLINES.items(), ids=HEADLINES)
def test_the_headline_names_the_programs_own_line(
    name: str, held: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (path,) = FAULTS.glob(name)
    assert main(["findings", str(path), "--cache-dir", str(tmp_path)]) == 0
    assert f"Held by {held}." in capsys.readouterr().out


@pytest.mark.skipif(not FAULTS.is_dir(), reason=f"there are no files at {FAULTS}")
def test_gems_are_libraries(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (path,) = FAULTS.glob("11-*/heap.json")
    assert main(["lines", str(path), "--cache-dir", str(tmp_path)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    own = [row[4] for row in rows if len(row) == 6 and ".rb:" in row[4] and row[-1] != "(library)"]
    libraries = [row[4] for row in rows if row[-1:] == ["(library)"]]
    assert own == ["/app/app/models/order.rb:4"]
    assert len(libraries) == 4


SENTENCES = {
    "09-*/dotnet.pb.gz": "Alloc size: 320 MiB. Most in Orders.cs:10 Acme.Orders.Load() 300 MiB (94%); ",
    "18-*/go49171.pb.gz": "Allocated in total, as a difference: 0 B. Grew most: main.go:483 main.startSpan() 512 KiB.",
    "18-*/one.hprof": "1 byte[] holds only zeros, 1 MiB (100% of the reachable heap). Allocate it when",
}


@pytest.mark.skipif(not FAULTS.is_dir(), reason=f"there are no files at {FAULTS}")
@pytest.mark.parametrize(("name", "sentence"), SENTENCES.items(), ids=SENTENCES)
def test_what_is_said(name: str, sentence: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (path,) = FAULTS.glob(name)
    assert main(["findings", str(path), "--cache-dir", str(tmp_path)]) == 0
    assert sentence in capsys.readouterr().out
