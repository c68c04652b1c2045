"""Makes the dump beside it anew: ``python -m memlens.packs.ruby.tests.make``, in pyserver; Ruby is needed.

Paths are relative to this folder, so that nothing shows where the dump was made.
"""

import subprocess
import tempfile
from pathlib import Path

import zstandard

HERE = Path(__file__).resolve().parent


def make() -> None:
    """The heap of ``src/sessions.rb``, and Ruby's own counts of it."""
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / "dump.json"
        counts = "sessions.ruby.counts.txt"
        # without gems the paths of installed ones are not in the heap, and what is evaluated has no absolute path
        program = 'eval(File.read("src/sessions.rb"), TOPLEVEL_BINDING, "src/sessions.rb")'
        subprocess.run(["ruby", "--disable=gems", "-e", program, dump, counts], check=True, cwd=HERE)
        (HERE / "sessions.ruby.json.zst").write_bytes(zstandard.compress(dump.read_bytes(), 19))


if __name__ == "__main__":
    make()
