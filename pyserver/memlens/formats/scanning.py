"""Runs a kernel's scanner over a mapped file, some megabytes at a time."""

from typing import Protocol

from memlens.formats.containers import Source
from memlens.progress import Report

_STEP_BYTES = 8 << 20
_OK, _MORE = 0, 1


class Scanner(Protocol):
    """What the kernels that can stop on their way have in common; a status other than OK and MORE is an error."""

    @property
    def offset(self) -> int:
        """How far it has come; what is before it is not looked at again."""

    def run(self, limit: int) -> int:
        """Go on to about the byte ``limit``, and give a status."""


def run_through(scanner: Scanner, source: Source, report: Report, start: int = 0) -> int:
    """Run ``scanner`` from the byte ``start`` to where it ends, and give its status: 0, or its number of an error.

    ``report`` gets ``("reading", fraction)``; pages behind the scanner are given back to the system.
    """
    status, done = _MORE, start
    while status == _MORE:
        done += _STEP_BYTES
        status = scanner.run(done)
        source.release(scanner.offset)
        if status == _MORE:
            report("reading", done / source.length)
    if status == _OK:
        report("reading", 1.0)
    return status
