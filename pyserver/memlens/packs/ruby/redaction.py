"""Heap dumps of Ruby: the text of strings and symbols becomes ``null``, names and files stay, or become others. What an
object refers to is in a random order, as that of an array may be the order of a value.

The mark is the first line: roots of a category that has none.
"""

import tempfile
from pathlib import Path

from memlens.formats.containers import Source
from memlens.formats.redacted import Wanted
from memlens.formats.redaction.output import Output, pour
from memlens.packs.ruby.kernels import ruby_redaction
from memlens.packs.ruby.own_names import in_json, own_names
from memlens.packs.ruby.reader import in_lines, mark_line
from memlens.progress import Report


def redact(
    source: Source, output: Output, wanted: Wanted, report: Report, mapping: list[str] | None = None
) -> int | None:
    """Write the dump; return the offset where it breaks, None if it is whole."""
    with in_lines(source, Path(tempfile.gettempdir())) as plain:
        lines = ruby_redaction.Lines(plain.data, wanted.keeps_shared)
        own = None if mapping is None else own_names(plain.data)
        if own is not None:
            lines.rename(in_json(own))
        output.write(mark_line(wanted.removed))
        for _ in pour(lines, output):
            plain.release(lines.offset)
            report("writing", lines.offset / max(plain.length, 1))
        if lines.has_failed:
            raise MemoryError
        if mapping is not None and own is not None:
            mapping += own.mapping()
        return source.length if lines.is_cut or plain.truncated else None
