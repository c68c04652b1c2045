"""Heap dumps of Java's virtual machines and of Android, HPROF 1.0 to 1.0.3: objects, references, roots, stacks.

Source of the format: ``src/hotspot/share/services/heapDumper.cpp`` of OpenJDK and ``runtime/hprof/hprof.cc`` of
Android's ART. Passes over the mapped bytes: the records around heaps (``kernels/hprof.pyx``), where objects are
(``hprof_objects.pyx``), what they refer to, and first elements of arrays (``hprof_references.pyx``).

Rules for facts that are not in the file: sizes of objects are computed from their fields as in Eclipse MAT (Android's
dumps have them); objects on a thread's stack are references of the thread, as in MAT; the classes of ``java.lang.ref``
decide which references don't keep their target alive; and if no class is a root, those of the boot loader are.
"""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from memlens.errors import MemlensError
from memlens.formats import several
from memlens.formats.containers import ChangedFileError, Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.redacted import CONTENTS, VALUES, Removed, mark_graph, mark_of
from memlens.formats.scanning import Scanner, run_through
from memlens.formats.warnings import counted_warnings
from memlens.model.graph import (
    ARRAY_DTYPE,
    MOST_BYTES,
    NONE,
    Facts,
    Graph,
    Objects,
    ReferenceKind,
    References,
    Values,
)
from memlens.model.info import FileWarning
from memlens.model.texts import Texts
from memlens.packs.jvm.fields import Fields
from memlens.packs.jvm.images import Elements, images_of
from memlens.packs.jvm.jruby import add_jruby_frames
from memlens.packs.jvm.kernels import hprof as kernel
from memlens.packs.jvm.kernels import hprof_objects, hprof_references
from memlens.packs.jvm.names import add_names
from memlens.packs.jvm.native import natives_of
from memlens.packs.jvm.obfuscation import mapping_of
from memlens.packs.jvm.roots import HELD_KINDS, ROOT_KINDS, Roots
from memlens.packs.jvm.stacks import Stacks
from memlens.packs.jvm.threads import add_states, mark_out_of_memory
from memlens.packs.jvm.types import TYPE_KINDS, modules_of, types_of
from memlens.progress import Report
from memlens.texts import phrase
from memlens.units import dimensions, format_bytes

KIND = "hprof"

KINDS = (
    ReferenceKind("field", "text"),
    ReferenceKind("static field", "text"),
    ReferenceKind("element", "index"),
    ReferenceKind("class", "none"),
    ReferenceKind("super class", "none"),
    ReferenceKind("class loader", "none"),
    ReferenceKind("signers", "none"),
    ReferenceKind("protection domain", "none"),
    ReferenceKind("constant", "index"),
    ReferenceKind("local variable", "text"),
    ReferenceKind("weak referent", "text", "weak", retains=False),
    ReferenceKind("soft referent", "text", "soft"),
    ReferenceKind("phantom referent", "text", "phantom", retains=False),
    ReferenceKind("finalizer referent", "text", "finalizer", retains=False),
    ReferenceKind("finalizer list", "text", "finalizer", retains=False),
)
"""In the order of the kernel's numbers."""

_MAGIC = b"JAVA PROFILE 1.0"
_VERSIONS = ("1.0", "1.0.1", "1.0.2", "1.0.3")
_HEAD_BYTES = 256
_TEXT, _CPU_SAMPLES = 0x01, 0x0D
_MARK, _LAYOUT, _REDIRECTED = 1, 3, 4
"""Notes of memlens redact in a dump: texts with the largest ids."""
_LAYOUT_NUMBERS = 7
_MOST_NOTED = 100
_MOST_NUMBER = (1 << 31) - 1
_WIDE = 8
_RECORD = phrase("Record the heap with: jmap -dump:format=b,file=FILE PID")
ANDROID = "1.0.3"
_PASSES = (0.05, 0.35, 0.97, 1.0)
"""The share of the work that is done after each pass."""


class Header(NamedTuple):
    """The beginning of a dump. ``time_ms`` is since 1970, ``start`` the offset of the first record."""

    version: str
    id_bytes: int
    time_ms: int
    start: int


def sniff(head: bytes) -> bool:
    """Whether the first bytes are those of a heap dump."""
    return head.startswith(_MAGIC)


def read(source: Source, _scratch: Path, report: Report) -> Graph:
    """Read a dump: see :class:`memlens.formats.Reader`."""
    head = source.head(_HEAD_BYTES)
    header = header_of(head)
    removed = _removed(head, header)
    source.unpack()
    passes = _Passes(source, report)
    records = kernel.Records(source.data, header.start, header.id_bytes, header.time_ms)
    passes.run(records, header.start)
    if not records.dump_count:
        raise _no_heap(source, records, header.start)
    dump = several.chosen(source.dump, records.dump_count)
    objects = hprof_objects.Objects(records, dump, header.version == ANDROID)
    redirected = None
    if removed is not None:
        layout = _numbers_noted(records, _LAYOUT)
        if header.id_bytes == _WIDE and len(layout) == _LAYOUT_NUMBERS:
            objects.lay_out(*(min(each, _MOST_NUMBER) for each in layout))
        redirected = next(iter(_numbers_noted(records, _REDIRECTED)), None)
    passes.run(objects, objects.offset)
    if not objects.count:
        raise DamagedSnapshotError(phrase("The dump has no objects before it ends"), offset=objects.offset)
    mapping = mapping_of(objects, source.path, source.tools.source_folders)
    if len(mapping):
        mapping.rename(objects)
    stacks = Stacks(records, mapping, source.length)
    roots = Roots(objects, stacks)
    references = hprof_references.References(objects, roots.locals, removed is not None)
    passes.run(references, references.offset)
    arrays = hprof_references.Arrays(references)
    passes.run(arrays, header.start)
    graph = _graph(header, source, references, arrays, stacks, roots)
    graph.warnings += mapping.warnings()
    mark_graph(graph, removed, redirected=redirected)
    return graph


class _Passes:
    """Runs scanners one after the other, and reports progress over all of them."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report
        self.done = 0

    def run(self, scanner: Scanner, start: int) -> None:
        before = _PASSES[self.done - 1] if self.done else 0.0
        part = _PASSES[self.done] - before
        status = run_through(
            scanner, self.source, lambda stage, fraction: self.report(stage, before + part * fraction), start
        )
        self.done += 1
        if status == kernel.NO_MEMORY:
            raise MemoryError
        if status == kernel.CHANGED:
            raise ChangedFileError(phrase("{path} was written while it was read", path=self.source.path))
        if status == kernel.TOO_MANY:
            raise DamagedSnapshotError(
                phrase("The dump has more objects than can be numbered"), offset=scanner.offset
            )


def mark_record(removed: Removed, id_bytes: int) -> bytes:
    """Return the first record of a dump from which something was removed: a text with an id that nothing refers to."""
    return _note_record(_MARK, mark_of(removed), id_bytes)


def layout_record(layout: Sequence[int]) -> bytes:
    """Return a record with the numbers for :meth:`Objects.lay_out`, for a dump with ids of 8 bytes."""
    return _note_record(_LAYOUT, " ".join(str(int(each)) for each in layout), _WIDE)


def redirected_record(count: int, id_bytes: int) -> bytes:
    """Return a record with the number of redirected references."""
    return _note_record(_REDIRECTED, str(count), id_bytes)


def _note_record(note: int, text: str, id_bytes: int) -> bytes:
    said = text.encode()
    return struct.pack(">BII", _TEXT, 0, id_bytes + len(said)) + _note_id(note, id_bytes) + said


def _note_id(note: int, id_bytes: int) -> bytes:
    return ((1 << 8 * id_bytes) - note).to_bytes(id_bytes, "big")


def _numbers_noted(records: kernel.Records, note: int) -> list[int]:
    """The numbers that ``memlens redact`` has written into a dump."""
    said = records.text(int.from_bytes(_note_id(note, records.id_bytes), "big"))
    if len(said) > _MOST_NOTED:
        return []
    return [int(each) for each in said.split() if each.isascii() and each.isdigit()]


def _removed(head: bytes, header: Header) -> Removed | None:
    """Return what was removed from a dump; None if it has no such record."""
    marks = {each: mark_record(each, header.id_bytes) for each in (VALUES, CONTENTS)}
    return next((each for each, mark in marks.items() if head[header.start :].startswith(mark)), None)


def header_of(head: bytes) -> Header:
    """Return a dump's header. Raises :class:`DamagedSnapshotError` or :class:`NotASnapshotError`."""
    name, end, rest = head.partition(b"\0")
    version = name.removeprefix(b"JAVA PROFILE ").decode("ascii", "replace")
    if not end or len(rest) < 12:
        raise DamagedSnapshotError(phrase("The dump is truncated within its header"))
    if version not in _VERSIONS:
        raise NotASnapshotError(
            phrase(
                "The dump has version {version} of its format, which is not supported: Memlens reads 1.0 to 1.0.3",
                version=version[:20],
            )
        )
    id_bytes, time_ms = struct.unpack_from(">IQ", rest)
    if id_bytes not in (4, 8):
        raise DamagedSnapshotError(
            phrase("The dump's ids have {id_bytes} bytes, not 4 or 8", id_bytes=id_bytes),
            offset=len(name) + 1,
        )
    return Header(version, id_bytes, time_ms, len(name) + 1 + 12)


def _no_heap(source: Source, records: kernel.Records, start: int) -> MemlensError:
    """The error for a file without a heap, whose records begin at ``start``."""
    if source.length <= start and not source.truncated:
        return NotASnapshotError(
            phrase("Nothing was recorded: the file ends after its header"),
            advice=phrase(
                "The program may have ended before it wrote its heap, or the disk was full. {advice}",
                advice=_RECORD,
            ),
        )
    if source.truncated or records.ended != kernel.ENDED_WHOLE:
        return DamagedSnapshotError(phrase("The dump is truncated before its heap"), offset=records.offset)
    if records.has(_CPU_SAMPLES):
        return NotASnapshotError(
            phrase("The file has no heap, only the record of a CPU profiler"), advice=_RECORD
        )
    return NotASnapshotError(phrase("The dump ends before its heap"), advice=_RECORD)


def _graph(
    header: Header,
    source: Source,
    references: hprof_references.References,
    arrays: hprof_references.Arrays,
    stacks: Stacks,
    roots: Roots,
) -> Graph:
    objects, records = references.objects, references.objects.records
    rows = roots.rows(references)
    threads = roots.threads(rows)
    numbers, shallow, names, serials = (np.asarray(column) for column in references.take_objects())
    starts, targets, kinds, labels = (np.asarray(column) for column in references.take_references())
    if float(shallow.sum(dtype=np.float64)) >= MOST_BYTES:
        raise DamagedSnapshotError(phrase("The objects' sizes add up to more than any machine's memory"))
    values = Values(*(np.asarray(column) for column in references.take_values()))
    ids = np.asarray(references.take_ids())
    truncated = source.truncated or objects.ended != kernel.ENDED_WHOLE or records.ended != kernel.ENDED_WHOLE
    declared = header.version == ANDROID
    numbers, types = types_of(references, numbers)
    spaces, space = roots.spaces(len(ids))
    allocated = stacks.of_objects(serials)
    stored = References(starts, targets, kinds, labels)
    fields = Fields(numbers, types, stored, values, records.text_at, records.named)
    mark_out_of_memory(threads, stacks.frames)
    add_jruby_frames(threads, stacks, fields, names)
    frames, places = stacks.finish(types)
    warnings = [_cut(source, objects)] if truncated else []
    warnings += _warnings(references)
    warnings += counted_warnings(missing_roots=roots.missing, circular_classes=objects.circular_classes)
    add_states(threads, records.named, fields)
    natives, impossible = natives_of(fields, android=declared)
    warnings += counted_warnings(
        impossible_natives=impossible, shared_stacks=stacks.left_out, shared_names=stacks.names.cut
    )
    elements = Elements(source.data, objects.elements)
    images = images_of(fields, elements)
    for image, width, height in images[["object", "width", "height"]].tolist():
        names[image] = records.named(dimensions(width, height))
    known = threads.rows[threads.rows["object"] != NONE]
    names[known["object"]] = known["name"]
    add_names(names, fields, elements, records.text_at, records.named)
    types.module = modules_of(references, types, numbers, names)
    units, ends = records.take_texts()
    return Graph(
        KIND,
        Objects(numbers, shallow, ids, names, stack=allocated, space=space),
        types,
        stored,
        KINDS,
        rows,
        Texts(np.asarray(units), np.asarray(ends)[1:]),
        type_kinds=TYPE_KINDS,
        root_kinds=ROOT_KINDS,
        held_kinds=HELD_KINDS,
        spaces=spaces,
        frames=frames,
        places=places,
        values=values,
        arrays=np.asarray(arrays.take()).view(ARRAY_DTYPE),
        threads=threads,
        natives=natives,
        images=images,
        facts=Facts(id_bytes=header.id_bytes, sizes_inferred=not declared, truncated=truncated),
        settings=_settings(header, references),
        warnings=warnings,
    )


def _settings(header: Header, references: hprof_references.References) -> dict[str, Any]:
    objects = references.objects
    records = objects.records
    return {
        "format_version": header.version,
        "dump": objects.dump + 1,
        "dumps": records.dump_count,
        # 0 where memlens redact has removed it
        **(
            {"written_ms": header.time_ms + records.dump_micros(objects.dump) // 1000}
            if header.time_ms
            else {}
        ),
        "reference_bytes": objects.oop_bytes,
        "object_header_bytes": objects.header_bytes,
        "object_alignment_bytes": objects.alignment,
    }


def _cut(source: Source, objects: hprof_objects.Objects) -> FileWarning:
    """Say where the file is truncated; everything before that was read."""
    records = objects.records
    if objects.ended != kernel.ENDED_WHOLE or records.offset >= source.length:
        offset, ended = objects.offset, objects.ended
    else:
        offset, ended = records.offset, records.ended
    if ended == kernel.ENDED_UNKNOWN_TAG:
        why = phrase("The dump has an unknown record at byte {n} of {all}", n=offset, all=source.length)
    elif ended == kernel.ENDED_BAD_TYPE:
        why = phrase(
            "The dump has a field of an unknown type at byte {n} of {all}", n=offset, all=source.length
        )
    else:
        why = phrase("The dump is truncated at byte {n} of {all}", n=offset, all=source.length)
    said = phrase(
        "{why}: the objects and roots after it are missing, so what seems unreachable or retained may not be.",
        why=why,
    )
    return FileWarning("cut-file", said)


def _warnings(references: hprof_references.References) -> list[FileWarning]:
    objects = references.objects
    dumps = objects.records.dump_count
    warnings = []
    if dumps > 1:
        said = phrase(
            "The file has {n} dumps; this is number {number}. To read another: memlens ingest FILE --dump NUMBER",
            n=dumps,
            number=objects.dump + 1,
        )
        warnings.append(FileWarning("several-dumps", said))
    if not objects.declares_sizes:
        said = phrase(
            "The file has no sizes of objects. They are inferred from fields, with references of {n} "
            "bytes{compressed}, headers of {header} and objects aligned to {alignment}",
            n=objects.oop_bytes,
            compressed=phrase(" (compressed)") if objects.compressed else "",
            header=format_bytes(objects.header_bytes),
            alignment=format_bytes(objects.alignment),
        )
        if objects.arrays_fitting:
            said = phrase(
                "{what}: {n} of {all} arrays then end where the next object begins.",
                what=said,
                n=objects.arrays_fitting,
                all=objects.arrays_compared,
            )
        else:
            said = phrase("{what}; no array shows whether that is right.", what=said)
        warnings.append(FileWarning("inferred-sizes", said))
    warnings += counted_warnings(
        dangling=references.dangling,
        duplicate_ids=objects.duplicates,
        short_instances=references.short_instances,
        unknown_classes=references.unknown_classes,
        shortened_texts=references.shortened_texts,
        unknown_records=objects.records.unknown_records,
    )
    return warnings
