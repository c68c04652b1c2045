"""Runs a kernel's scanner over a mapped file, a few megabytes at a time."""

from typing import Protocol

from memlens.formats.containers import Source
from memlens.progress import Report

_STEP_BYTES = 8 << 20
_OK, _MORE = 0, 1


class Scanner(Protocol):
    """The interface of scanners that can pause; a status other than OK and MORE is an error."""

    @property
    def offset(self) -> int:
        """The offset before which the scanner will not read again."""

    def run(self, limit: int) -> int:
        """Continue to about the byte ``limit``, and return a status."""


def run_through(scanner: Scanner, source: Source, report: Report, start: int = 0) -> int:
    """Run ``scanner`` from the byte ``start`` to its end, and return its status: 0, or the number of its error.

    ``report`` gets ``("reading", fraction)``; pages that the scanner has read are released.
    """
    status, done = _MORE, start
    while status == _MORE:
        done += _STEP_BYTES
        status = scanner.run(done)
        source.release(scanner.offset, start)
        if status == _MORE:
            report("reading", done / source.length)
    if status == _OK:
        report("reading", 1.0)
    return status
