"""The ``memlens`` command in this process, where a process for each would prove nothing more and cost half a second.

As a program it does the same for tests in other languages: a line of JSON with ``arguments``, ``cwd`` and ``env`` on
stdin is answered by a line with the exit status and what was printed.
"""

import contextlib
import io
import json
import os
import sys
from typing import NamedTuple

from memlens.cli import main


class Done(NamedTuple):
    """How a command ended and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def memlens(*arguments: object, status: int | None = 0) -> Done:
    """Run a command, which must exit with ``status`` unless that is None."""
    # as in a process: text over bytes, to which JSON is written directly
    out, errors = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape", newline="")
        for _ in range(2)
    )
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            code = main([*map(str, arguments)])
        except SystemExit as end:
            code = int(end.code or 0)
    texts = []
    for stream in (out, errors):
        stream.flush()
        stream.seek(0)
        texts.append(stream.read())
    done = Done(code, *texts)
    assert status in (None, done.returncode), done.stderr
    return done


def serve() -> None:
    """Answer commands on stdin until its end."""
    for line in sys.stdin:
        request = json.loads(line)
        os.chdir(request["cwd"])
        os.environ.update(request["env"])
        print(json.dumps(memlens(*request["arguments"], status=None)._asdict()), flush=True)


if __name__ == "__main__":
    serve()
