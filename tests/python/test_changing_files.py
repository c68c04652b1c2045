"""A file that changes while it is read ends in a result or an error, whatever changes and when."""

import os
import subprocess
import sys

import pytest
from tests.python.conftest import ROOT

CORPUS = ROOT / "tests" / "fuzz" / "corpus" / "file"
# memray's captures are read by memray itself, in a process of its own
FILES = sorted(path for path in CORPUS.iterdir() if not path.name.endswith(".memray.bin"))
PARTS = 4
MOMENTS = 6
"""Of each file's; ``python -m tests.fuzz.changing`` takes all, which is some minutes' work."""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_reading_ends(part: int) -> None:
    files = FILES[part::PARTS]
    assert files
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.changing", "--most", str(MOMENTS), *files],
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
    assert int(count) >= 20 * len(files)
    # some changes are seen, some make no difference any more
    assert {"-> ChangedFileError", "-> DamagedSnapshotError"} & set(lines)
