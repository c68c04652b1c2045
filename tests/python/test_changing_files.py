"""A file that changes while it is read ends in a result or an error, whatever changes and when."""

import os
import subprocess
import sys

import pytest
from tests.python.conftest import ROOT
from tests.python.tries import tries

CORPUS = ROOT / "tests" / "fuzz" / "corpus" / "file"
# memray's captures are read by memray itself, in a process of its own
FILES = sorted(path for path in CORPUS.iterdir() if not path.name.endswith(".memray.bin"))
MOMENTS = tries(6)
"""Of each file's; ``python -m tests.fuzz.changing`` takes all, which is some minutes' work."""


@pytest.mark.slow
def test_reading_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.changing", "--most", str(MOMENTS), *FILES],
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
    assert int(count) >= 3.4 * MOMENTS * len(FILES)
    # some changes are seen, some make no difference any more
    assert {"-> ChangedFileError", "-> DamagedSnapshotError"} & set(lines)
