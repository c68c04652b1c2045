"""Running the programs that write dumps."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from memlens.dumping.errors import DumpError
from memlens.texts import phrase

POLL_S = 0.1
"""How often it is looked how far a dump is."""


class Said(NamedTuple):
    """What a program printed to stdout and stderr, and its exit status."""

    text: str
    status: int

    @property
    def last(self) -> str:
        """The last line that isn't blank."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return lines[-1] if lines else f"exit status {self.status}"


def run(
    command: list[str],
    file: Path,
    report: Callable[[int], None],
    environment: Mapping[str, str] | None = None,
) -> Said:
    """Run a program that writes ``file``, and report its size meanwhile; the program ends with this function."""
    with tempfile.TemporaryFile() as output:
        try:
            running = subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {})},
            )
        except OSError as error:
            raise DumpError(
                phrase("{program} can't be started: {reason}", program=command[0], reason=str(error)),
                advice=phrase("Check that it is installed and that you may run it."),
            ) from error
        with running:
            try:
                while True:
                    try:
                        status = running.wait(POLL_S)
                        break
                    except subprocess.TimeoutExpired:
                        report(size_of(file))
            except BaseException:
                running.kill()
                raise
        output.seek(0)
        return Said(output.read().decode(errors="replace"), status)


def size_of(file: Path) -> int:
    """Return how much of a file is written; 0 before it exists."""
    try:
        return file.stat().st_size
    except OSError:
        return 0
