"""A file that changes while it is read ends in a result or an error, whatever changes and when."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.python.conftest import ROOT
from tests.python.test_corpus import REPEATED
from tests.python.tries import tries

from memlens.errors import FileError
from memlens.formats.containers import open_source
from memlens.store.manifest import SourceFile

CORPUS = ROOT / "tests" / "fuzz" / "corpus" / "file"
FILES = sorted(path for path in CORPUS.iterdir() if tries(3) > 1 or path.name not in REPEATED)
READINGS = tries(15)
"""Of each file; ``python -m tests.fuzz.changing`` takes all, which is some minutes' work."""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("looked", ["resolve", "is_file"])
def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(
    looked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.pickle"
    file.write_bytes(b"x")
    look = getattr(Path, looked)

    def replaced(path: Path, **options: bool) -> object:
        found = look(path, **options)
        if path == file and look(file, **options):
            file.unlink()
            os.mkfifo(file)
        return found

    monkeypatch.setattr(Path, looked, replaced)
    if looked == "resolve":
        assert SourceFile.of(file).sample == ""
        return
    with pytest.raises(FileError, match="not a regular file"), open_source(file, tmp_path, lambda *_: None):
        pass


@pytest.mark.slow
def test_reading_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.changing", "--most", str(READINGS), *FILES],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-3:], done.stderr[-2000:])
    word, count = lines[-1].split()
    assert word == "done"
    assert int(count) >= 0.8 * READINGS * len(FILES)
    # some changes are seen, some make no difference any more
    assert {"-> ChangedFileError", "-> DamagedSnapshotError"} & set(lines)
