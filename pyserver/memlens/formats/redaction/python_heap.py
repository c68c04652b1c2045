"""Memlens' own heap dumps of Python: texts of strings, bytes and numbers become empty, as ``--no-texts`` leaves them.

The mark is a note, the last record before the end.
"""

import struct

from memlens.dump import MAGIC, VERSION
from memlens.formats.containers import Source
from memlens.formats.python_heap import REMOVED, START, check_version
from memlens.formats.redacted import CONTENTS, Wanted
from memlens.formats.redaction.output import Output, pour
from memlens.formats.scanning import run_through
from memlens.kernels.readers import python_redaction as kernel
from memlens.progress import Report, part_of

_SURVEYED = 0.5


def redact(source: Source, output: Output, wanted: Wanted, report: Report) -> int | None:
    """Write the dump; return the offset where it breaks, None if it is whole."""
    source.unpack()
    pointer_bytes = check_version(source)
    dump = kernel.Dump(source.data, START, wanted.removed == CONTENTS, wanted.keeps_time)
    while dump.stage != kernel.WRITE:
        if run_through(dump, source, part_of(report, 0.0, _SURVEYED), START) != kernel.OK:
            raise MemoryError
    write = part_of(report, _SURVEYED, 1.0)
    output.write(MAGIC + struct.pack("<II", VERSION, 4 if pointer_bytes == 4 else 8))
    for _ in pour(dump, output):
        source.release(dump.offset)
        write("writing", dump.offset / source.length)
    for text in (REMOVED, wanted.removed):
        output.write(struct.pack("<cI", b"S", len(text)) + text.encode())
    output.write(struct.pack("<cII", b"N", dump.texts + 1, dump.texts + 2))
    if not dump.is_whole:
        return dump.end
    output.write(struct.pack("<cQ", b"E", dump.objects))
    return None
