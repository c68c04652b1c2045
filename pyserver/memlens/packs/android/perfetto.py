"""Heap graphs in traces of Perfetto: the objects of an Android process, by the data source android.java_hprof.

Source: ``protos/third_party/android/art/heap_graph.proto`` of Perfetto, ``perfetto_hprof.cc`` of ART, and for what the
file leaves to its readers ``heap_graph_tracker.cc`` of Perfetto's trace processor: which class declares the fields of
references, that objects of the zygote and of boot images are never collected, and the native memory that a cleaner
frees.
The file has neither texts of strings nor numbers, and of threads only the one that ran out of memory.

A graph is in many packets of one sequence. A trace may have graphs of several processes, or of several times.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memlens.formats import several
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.scanning import run_through
from memlens.formats.warnings import counted_warnings
from memlens.model.graph import MOST_BYTES, Column, Facts, Graph, Threads, no_frames
from memlens.model.info import FileWarning
from memlens.packs.android.failure import Failure, failure_at, int32
from memlens.packs.android.kernels import perfetto as kernel
from memlens.packs.android.objects import KINDS, ROOT_KINDS, SPACES, Assembly
from memlens.packs.android.types import TYPE_KINDS, Names
from memlens.packs.jvm.obfuscation import mapping_for
from memlens.progress import Report
from memlens.texts import phrase

KIND = "perfetto"

Buffer = bytes | memoryview

_DAMAGED = -1
"""What a packet has whose compressed packets can't be read."""

_MOST_EXPANSION = 200
"""How many times its size a trace may become without its compression."""


class _Message(NamedTuple):
    """A packet's field, as :data:`kernel.PACKET_FORMAT` has it, and the bytes that it is in."""

    data: Buffer
    start: int
    end: int
    sequence: int
    pid: int
    place: int
    continued: bool
    has: int


class _Dump(NamedTuple):
    """The messages of one heap graph in their order. ``is_whole``: whether the first, the last and all between are
    there.
    """

    pid: int
    messages: list[_Message]
    is_whole: bool


def sniff(head: bytes) -> bool:
    """Whether the first bytes are those of a trace."""
    return kernel.sniff(head)


def read(source: Source, _scratch: Path, report: Report) -> Graph:
    """Read a heap graph; ``report`` gets ``("reading", fraction)``.

    Raises :class:`NotASnapshotError`, :class:`DamagedSnapshotError`, :class:`BadRequestError` or MemoryError.
    """
    source.unpack()
    packets = kernel.Packets(source.data)
    if run_through(packets, source, lambda stage, done: report(stage, done / 2)) == kernel.NO_MEMORY:
        raise MemoryError
    with memoryview(source.data) as whole:
        messages = list(_messages(whole, np.asarray(packets.take("packets")), _MOST_EXPANSION * len(whole)))
        dumps = _dumps(messages)
        cut = source.truncated or packets.status != kernel.OK
        cut = cut or any(each.has == _DAMAGED for each in messages)
        dump, number = _chosen(dumps, source.dump, messages, cut=cut)
        objects = kernel.Objects()
        damaged, part_ends = 0, []
        for done, message in enumerate(dump.messages):
            status = objects.add(message.data, message.start, message.end)
            if status == kernel.NO_MEMORY:
                raise MemoryError
            damaged += status != kernel.OK
            part_ends.append(objects.part_count)
            report("reading", 0.5 + 0.3 * done / len(dump.messages))
        parts = np.split(np.asarray(objects.take("parts")), part_ends)
        names = Names(_parts(dump, parts), _mappings(messages))
        process = _process(messages, dump.pid)
        failure = _failure(messages, dump)
    names.rename(mapping_for(names.classes, source.path, source.tools.source_folders))
    assembly = Assembly(objects, names)
    report("reading", 0.9)
    if not len(assembly.ids):
        raise DamagedSnapshotError(phrase("The heap graph has no objects"), offset=dump.messages[0].start)
    if float(assembly.shallow.sum(dtype=np.float64)) >= MOST_BYTES:
        raise DamagedSnapshotError(phrase("The objects' sizes add up to more than any memory has"))
    truncated = cut or not dump.is_whole or damaged > 0
    threads, frames = (Threads(), no_frames()) if failure is None else failure.threads(names.mapping)
    return Graph(
        KIND,
        assembly.objects(),
        assembly.types(),
        assembly.references(),
        KINDS,
        assembly.roots(),
        names.texts.texts(),
        type_kinds=TYPE_KINDS,
        root_kinds=ROOT_KINDS,
        spaces=SPACES,
        natives=assembly.natives(),
        threads=threads,
        frames=frames,
        facts=Facts(id_bytes=8, truncated=truncated),
        settings={
            "process": process, "process_id": dump.pid, "dump": number + 1, "dumps": len(dumps),
            **({} if failure is None else failure.settings()),
        },
        warnings=[
            *_warnings(dumps, dump, number, process, objects, damaged, cut=cut),
            *names.warnings(),
            *counted_warnings(
                dangling=assembly.dangling,
                duplicate_ids=assembly.duplicates,
                unknown_classes=assembly.unknown_classes,
                impossible_natives=assembly.impossible,
                unknown_numbers=objects.impossible,
                missing_roots=assembly.missing_roots,
                missing_superclasses=names.missing_superclasses(),
                missing_fields=assembly.missing_fields,
                unknown_roots=assembly.unknown_roots,
                unknown_spaces=assembly.unknown_spaces,
                circular_classes=names.circle_count(),
            ),
        ],
    )  # fmt: skip


def _messages(data: Buffer, rows: Column, most: int) -> Iterator[_Message]:
    """The packets of a trace that are of interest, those within compressed ones in their place."""
    for start, end, sequence, pid, index, continued, has in rows.tolist():
        if has != kernel.COMPRESSED:
            yield _Message(data, start, end, sequence, int32(pid), index, bool(continued), has)
            continue
        try:
            inflated = zlib.decompressobj().decompress(bytes(data[start:end]), max(most, 1))
        except zlib.error:
            yield _Message(data, start, end, sequence, 0, 0, continued=False, has=_DAMAGED)
            continue
        most -= len(inflated)
        if most <= 0:
            raise DamagedSnapshotError(
                phrase("The trace's compressed packets become larger than any trace"), offset=start
            )
        inner = kernel.Packets(inflated)
        if inner.run(len(inflated)) == kernel.NO_MEMORY:
            raise MemoryError
        found = np.asarray(inner.take("packets"))
        yield from _messages(inflated, found[found["has"] != kernel.COMPRESSED], most)


def _dumps(messages: list[_Message]) -> list[_Dump]:
    """The heap graphs, in the order in which they end."""
    found: list[_Dump] = []
    open_: dict[int, list[_Message]] = {}

    def end(parts: list[_Message], *, is_last: bool) -> None:
        whole = is_last and [each.place for each in parts] == list(range(len(parts)))
        found.append(_Dump(parts[0].pid, parts, whole))

    for each in messages:
        if each.has != kernel.HEAP_GRAPH:
            continue
        parts = open_.setdefault(each.sequence, [])
        # one that isn't whole has no end
        if parts and (parts[0].pid != each.pid or each.place < parts[-1].place):
            end(parts, is_last=False)
            parts = open_[each.sequence] = []
        parts.append(each)
        if not each.continued:
            end(open_.pop(each.sequence), is_last=True)
    for parts in open_.values():
        end(parts, is_last=False)
    return found


def _chosen(
    dumps: list[_Dump], dump: int | None, messages: list[_Message], *, cut: bool
) -> tuple[_Dump, int]:
    if not dumps:
        if cut:
            raise DamagedSnapshotError(phrase("The trace is truncated before a heap graph"))
        if any(each.has == kernel.PROFILE for each in messages):
            raise NotASnapshotError(
                phrase("The trace has no heap dump of Java, only a profile of native memory"),
                advice=phrase("Convert it to pprof: traceconv profile FILE"),
            )
        raise NotASnapshotError(
            phrase("The trace has no heap dump: nothing was recorded by the data source android.java_hprof"),
            advice=phrase("Record one with Perfetto's tools/java_heap_dump -n NAME-OF-THE-APP"),
        )
    number = several.chosen(dump, len(dumps))
    return dumps[number], number


def _parts(dump: _Dump, rows: list[Column]) -> Iterator[tuple[Buffer, int, int, int]]:
    """The types and names of a heap graph: the bytes, the number of the field, where its bytes begin and end."""
    for message, parts in zip(dump.messages, rows, strict=False):
        for field, start, end in parts.tolist():
            yield message.data, field, start, end


def _mappings(messages: list[_Message]) -> Iterator[tuple[Buffer, int, int]]:
    return ((each.data, each.start, each.end) for each in messages if each.has == kernel.MAPPING)


def _process(messages: list[_Message], pid: int) -> str:
    """The name of a process, empty if no packet says it."""
    for each in messages:
        if each.has != kernel.PROCESSES:
            continue
        for field, process in kernel.fields_of(each.data, each.start, each.end):
            if field != 1 or not isinstance(process, bytes):
                continue
            said = kernel.fields_of(process, 0, len(process))
            if (1, pid) in said:
                words = [value for number, value in said if number == 3 and isinstance(value, bytes)]
                return words[0].decode("utf-8", "replace") if words else ""
    return ""


def _failure(messages: list[_Message], dump: _Dump) -> Failure | None:
    """For what a process ran out of memory: the last packet about that before its heap graph, or else the first."""
    begin, found = messages.index(dump.messages[0]), None
    for at, each in enumerate(messages):
        if each.has == kernel.FAILURE and (found is None or at < begin):
            said = failure_at(each.data, each.start, each.end)
            found = said if said is not None and said.pid == dump.pid else found
    return found


def _warnings(
    dumps: list[_Dump],
    dump: _Dump,
    number: int,
    process: str,
    objects: kernel.Objects,
    damaged: int,
    *,
    cut: bool,
) -> list[FileWarning]:
    warnings = []
    if len(dumps) > 1:
        said = phrase(
            "The trace has {n} heap graphs; this is number {number}, of {process}. To read another: "
            "memlens ingest FILE --dump NUMBER",
            n=len(dumps),
            number=number + 1,
            process=process or f"process {dump.pid}",
        )
        warnings.append(FileWarning("several-dumps", said))
    if cut or not dump.is_whole:
        said = phrase(
            "The heap graph is incomplete: packets are missing, so what seems unreachable or retained may not be. "
            "Record with a larger buffer."
        )
        warnings.append(FileWarning("cut-file", said))
    if damaged or objects.broken:
        said = phrase(
            "Damaged packets of the heap graph: {packets}; objects left out for that: {objects}, and those after them "
            "in their packets.",
            packets=damaged,
            objects=objects.broken,
        )
        warnings.append(FileWarning("broken-packets", said))
    return warnings
