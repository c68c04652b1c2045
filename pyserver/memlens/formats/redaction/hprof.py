"""Heap dumps of Java and Android: numbers become zeros, and texts that name nothing the letter x.

The mark is a text that nothing refers to, the first record of the file.
"""

import numpy as np

from memlens.formats.containers import Source
from memlens.formats.hprof import header_of, mark_record
from memlens.formats.redacted import CONTENTS, Removed
from memlens.formats.redaction.hprof_names import rename
from memlens.formats.redaction.output import Output, pour
from memlens.formats.scanning import run_through
from memlens.kernels.readers import hprof as kernel
from memlens.kernels.readers import hprof_redaction, hprof_survey
from memlens.progress import Report, part_of

_HEAD_BYTES = 64
_TEXT = 0x01
_SURVEYED = 0.4
"""The share of the work that is done when the file has been looked through."""


def redact(
    source: Source, output: Output, removed: Removed, report: Report, mapping: list[str] | None = None
) -> int | None:
    """Write the dump; return the offset where it breaks, None if it is whole.

    With a list for the lines of a ``mapping``, what is the program's own also gets other names.
    """
    header = header_of(source.head(_HEAD_BYTES))
    source.unpack()
    records = kernel.Records(source.data, header.start, header.id_bytes, header.time_ms)
    _checked(run_through(records, source, part_of(report, 0.0, _SURVEYED / 2), header.start))
    dump = hprof_redaction.Redaction(records, header.start, removed == CONTENTS)
    survey = part_of(report, _SURVEYED / 2, _SURVEYED)
    while dump.stage != hprof_survey.WRITE:
        _checked(run_through(dump, source, survey, header.start))
    kept = np.sort(np.asarray(dump.take_kept(), np.uint64))
    if mapping is None:
        dump.keep(kept)
    else:
        mapping += rename(dump, records, source, kept)
    output.write(source.data[: header.start])
    output.write(mark_record(removed, header.id_bytes))
    write = part_of(report, _SURVEYED, 1.0)
    for _ in pour(dump, output):
        source.release(dump.offset)
        write("writing", dump.offset / max(source.length, 1))
    if dump.broken_at >= 0:
        return dump.broken_at
    if records.ended == kernel.ENDED_WHOLE:
        return None
    if records.offset < source.length:
        # the beginning of a record, so that readers see that the dump breaks off here
        output.write(bytes([_TEXT]))
    return records.offset


def _checked(status: int) -> None:
    if status != kernel.OK:
        raise MemoryError
