"""Makes the archive of a heap dump without its findings, which no peer makes: ``python archive.py FILE FOLDER``.

It has names, references, dominators, retained sizes and the compact tree, like that of ``memlens ingest``.
"""

import functools
import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "pyserver"))


def run() -> int:
    """Run the command, which imports as ``python -m memlens`` does: without garbage collection."""
    gc.disable()
    from memlens.cli import main
    from memlens.cli.commands import ingest as command
    from memlens.ingest import ingest

    vars(command)["ingest"] = functools.partial(ingest, ahead=False)
    return main(["ingest", sys.argv[1], "--cache-dir", sys.argv[2], "--progress", "none"])


sys.exit(run())
