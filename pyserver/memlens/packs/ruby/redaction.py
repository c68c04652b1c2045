"""Heap dumps of Ruby: the text of strings and symbols becomes ``null``, names and files stay, or become others.

Addresses are random, and lines and each object's references are in a random order (see the kernel). The mark is the
first line: an empty category of roots.
"""

import tempfile
from pathlib import Path

from memlens.formats.containers import Source
from memlens.formats.redacted import Wanted
from memlens.formats.redaction.output import Output, pour
from memlens.formats.scanning import run_through
from memlens.packs.ruby.kernels import ruby_redaction
from memlens.packs.ruby.own_names import in_json, own_names
from memlens.packs.ruby.reader import in_lines, mark_line
from memlens.progress import Report, part_of

_SURVEYED = 0.3
"""The fraction of the work that the survey of the file takes."""


def redact(
    source: Source, output: Output, wanted: Wanted, report: Report, mapping: list[str] | None = None
) -> int | None:
    """Write the dump; return the offset where it breaks, None if it is whole."""
    with in_lines(source, Path(tempfile.gettempdir())) as plain:
        lines = ruby_redaction.Lines(plain.data, wanted.keeps_shared)
        if run_through(lines, plain, part_of(report, 0.0, _SURVEYED)) != ruby_redaction.OK:
            raise MemoryError
        own = None if mapping is None else own_names(plain.data)
        if own is not None:
            lines.rename(in_json(own))
        output.write(mark_line(wanted.removed))
        write = part_of(report, _SURVEYED, 1.0)
        for _ in pour(lines, output):
            plain.release(plain.length)
            write("writing", lines.written / max(plain.length, 1))
        if lines.has_failed:
            raise MemoryError
        if mapping is not None and own is not None:
            mapping += own.mapping()
        return source.length if lines.is_cut or plain.truncated else None
