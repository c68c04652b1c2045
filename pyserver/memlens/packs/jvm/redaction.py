"""Heap dumps of Java and Android: numbers become zeros, and texts that name nothing go, or become the letter x.

A record whose length isn't that of its kind is damage, and so is an object of a class that the file doesn't have.

Ids are drawn anew, and objects written in another order (see the kernel ``hprof_order``). The mark is a text that
nothing refers to, the first record of the file; others say how objects are laid out, and how many references changed.
"""

import struct

import numpy as np

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.redacted import CONTENTS, Wanted
from memlens.formats.redaction.output import Output, pour
from memlens.formats.scanning import run_through
from memlens.packs.jvm.hprof import ANDROID, Header, header_of, layout_record, mark_record, redirected_record
from memlens.packs.jvm.kernels import hprof as kernel
from memlens.packs.jvm.kernels import hprof_objects, hprof_redaction, hprof_survey
from memlens.packs.jvm.redacted_names import Named, hidden_numbers, number_hidden, rename, rename_threads
from memlens.progress import Report, part_of
from memlens.texts import phrase

_HEAD_BYTES = 64
_TEXT = 0x01
_WIDE = 8
_SAMPLE_BYTES = 16 << 20
"""Of a heap, enough to show how objects are laid out; all of it is in memory at once."""
_SURVEYED = 0.4
"""The share of the work that is done when the file has been looked through."""


def redact(
    source: Source, output: Output, wanted: Wanted, report: Report, mapping: list[str] | None = None
) -> int | None:
    """Write the dump; return the offset where it breaks, None if it is whole.

    With a list for the lines of a ``mapping``, what is the program's own also gets other names.
    """
    header = header_of(source.head(_HEAD_BYTES))
    source.unpack()
    records = kernel.Records(source.data, header.start, header.id_bytes, header.time_ms)
    _checked(run_through(records, source, part_of(report, 0.0, _SURVEYED / 2), header.start))
    dump = hprof_redaction.Redaction(records, header.start, wanted.removed == CONTENTS, wanted.keeps_shared)
    survey = part_of(report, _SURVEYED / 2, _SURVEYED)
    while dump.stage != hprof_survey.WRITE:
        _checked(run_through(dump, source, survey, header.start))
    kept = np.sort(np.asarray(dump.take_kept(), np.uint64))
    # before classes are moved out of the records
    layout = b"" if wanted.keeps_shared else _layout(source, records, header)
    named = Named(dump, records)
    hidden = str if wanted.keeps_shared else hidden_numbers(named)
    if mapping is not None:
        mapping += rename(dump, named, source, kept, hidden)
    else:
        if not wanted.keeps_shared:
            number_hidden(dump, named, hidden)
        if wanted.keeps_threads:
            dump.keep(kept)
        else:
            rename_threads(dump, named, source, kept)
    if (dump.damaged_at >= 0 or records.ended != kernel.ENDED_WHOLE) and not wanted.allows_damage:
        # nothing has to be written to know it
        return records.offset if dump.damaged_at < 0 else dump.damaged_at
    if not dump.objects:
        raise DamagedSnapshotError(phrase("The dump has no objects before it ends"), offset=records.offset)
    dump.keeps_time = wanted.keeps_time
    version = f"JAVA PROFILE {header.version}\0".encode()
    output.write(version + struct.pack(">IQ", header.id_bytes, header.time_ms if wanted.keeps_time else 0))
    output.write(mark_record(wanted.removed, header.id_bytes))
    output.write(layout)
    write = part_of(report, _SURVEYED, 1.0)
    for _ in pour(dump, output):
        source.release(source.length)
        write("writing", dump.written / max(source.length, 1))
    if not wanted.keeps_shared:
        output.write(redirected_record(dump.redirected, header.id_bytes))
    if dump.damaged_at < 0 and records.ended == kernel.ENDED_WHOLE:
        return None
    # the beginning of a record, so that readers see that the dump breaks off here
    output.write(bytes([_TEXT]))
    return records.offset if dump.damaged_at < 0 else dump.damaged_at


def _layout(source: Source, records: kernel.Records, header: Header) -> bytes:
    """The record that says how objects are laid out, which new ids don't show."""
    if header.id_bytes != _WIDE or header.version == ANDROID:
        return b""
    objects = hprof_objects.Objects(records, 0, False)
    status = objects.run(objects.offset + _SAMPLE_BYTES)
    _checked(objects.finish() if status == kernel.MORE else status)
    source.release(objects.offset)
    return layout_record(objects.layout)


def _checked(status: int) -> None:
    if status != kernel.OK:
        raise MemoryError
