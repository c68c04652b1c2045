"""Heap graphs in traces of Perfetto: the objects of an Android process, by the data source android.java_hprof.

Source: ``protos/third_party/android/art/heap_graph.proto`` of Perfetto, ``perfetto_hprof.cc`` of ART, and for what the
file leaves to its readers ``heap_graph_tracker.cc`` of Perfetto's trace processor: which class declares the fields of
references, that objects of the zygote and of boot images are never collected, and the native memory that a cleaner
frees.
The file has neither texts of strings nor numbers, and of threads only the one that ran out of memory.

A graph is in many packets of one sequence. A trace may have graphs of several processes, or of several times.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memlens.arrays import rows_of
from memlens.formats import several
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.scanning import run_through
from memlens.formats.warnings import counted_warnings
from memlens.model.frames import Frames
from memlens.model.graph import MOST_BYTES, Column, Facts, Graph, Threads, no_frames
from memlens.model.info import FileWarning
from memlens.model.profile import Profile
from memlens.packs.android.deobfuscation import Deobfuscation
from memlens.packs.android.failure import Failure, failure_at
from memlens.packs.android.kernels import perfetto as kernel
from memlens.packs.android.objects import KINDS, ROOT_KINDS, SPACES, Assembly
from memlens.packs.android.packets import DAMAGED, Buffer, Message, messages_of, of_kind
from memlens.packs.android.types import TYPE_KINDS, Names
from memlens.packs.jvm.obfuscation import mapping_for
from memlens.progress import Report
from memlens.texts import phrase

KIND = "perfetto"

_MOST_EXPANSION = 200
"""How many times its size a trace may become without its compression."""


class _Dump(NamedTuple):
    """The messages of one heap graph in their order. ``is_whole``: whether the first, the last and all between are
    there.
    """

    pid: int
    messages: list[Message]
    is_whole: bool


def sniff(head: bytes) -> bool:
    """Whether the first bytes are those of a trace."""
    return kernel.sniff(head)


def read(source: Source, _scratch: Path, report: Report) -> Graph | Profile:
    """Read a heap graph, with the samples of native memory that the trace has besides, or these alone.

    ``report`` gets ``("reading", fraction)``.

    Raises :class:`NotASnapshotError`, :class:`DamagedSnapshotError`, :class:`BadRequestError` or MemoryError.
    """
    source.unpack()
    packets = kernel.Packets(source.data)
    if run_through(packets, source, lambda stage, done: report(stage, done / 2)) == kernel.NO_MEMORY:
        raise MemoryError
    with memoryview(source.data) as whole:
        messages = list(messages_of(whole, rows_of(packets.take("packets")), _MOST_EXPANSION * len(whole)))
        dumps = _dumps(messages)
        cut = source.truncated or packets.status != kernel.OK
        cut = cut or any(each.has == DAMAGED for each in messages)
        processes, renames = _processes(messages), Deobfuscation(of_kind(messages, kernel.MAPPING))
        sampled = any(each.has == kernel.PROFILE for each in messages)
        if sampled and not dumps:
            return _samples(messages, source, processes, renames, cut=cut)
        dump, number = _chosen(dumps, source.dump, cut=cut)
        natives = _natives(messages, source, processes, renames, cut=cut) if sampled else None
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
        names = Names(_parts(dump, parts), renames)
        process = processes.get(dump.pid, "")
        failure = _failure(messages, dump)
    names.rename(mapping_for(names.classes, source.path, source.tools.source_folders))
    assembly = Assembly(objects, names)
    report("reading", 0.9)
    if not len(assembly.ids):
        raise DamagedSnapshotError(phrase("The heap graph has no objects"), offset=dump.messages[0].start)
    if float(assembly.shallow.sum(dtype=np.float64)) >= MOST_BYTES:
        raise DamagedSnapshotError(phrase("The objects' sizes add up to more than any machine's memory"))
    truncated = cut or not dump.is_whole or damaged > 0
    threads, frames = (Threads(), no_frames()) if failure is None else failure.threads(names.mapping)
    if natives is not None:
        # one list, in which the thread's come last
        threads.frames = threads.frames + np.uint32(len(natives.frames.frames))
        natives.frames = frames = Frames(
            [*natives.frames.frames, *frames.frames], natives.frames.starts, natives.frames.sequence
        )
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
        outside=natives,
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


def _dumps(messages: list[Message]) -> list[_Dump]:
    """The heap graphs, in the order of their ends."""
    found: list[_Dump] = []
    open_: dict[int, list[Message]] = {}

    def end(parts: list[Message], *, is_last: bool) -> None:
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


def _chosen(dumps: list[_Dump], dump: int | None, *, cut: bool) -> tuple[_Dump, int]:
    if not dumps:
        if cut:
            raise DamagedSnapshotError(phrase("The trace is truncated before a heap graph"))
        raise NotASnapshotError(
            phrase(
                "The trace has neither a heap dump nor samples of native memory: nothing was recorded by the data "
                "sources android.java_hprof and android.heapprofd"
            ),
            advice=phrase(
                "Record with Perfetto's tools/java_heap_dump or tools/heap_profile, -n NAME-OF-THE-APP"
            ),
        )
    number = several.chosen(dump, len(dumps))
    return dumps[number], number


def _parts(dump: _Dump, rows: list[Column]) -> Iterator[tuple[Buffer, int, int, int]]:
    """The types and names of a heap graph: the bytes, the number of the field, where its bytes begin and end."""
    for message, parts in zip(dump.messages, rows, strict=False):
        for field, start, end in parts.tolist():
            yield message.data, field, start, end


def _natives(
    messages: list[Message], source: Source, processes: dict[int, str], renames: Deobfuscation, *, cut: bool
) -> Profile | None:
    """The samples of native memory beside a heap graph, where there are any."""
    try:
        return _samples(messages, source, processes, renames, cut=cut)
    except NotASnapshotError:
        return None


def _samples(
    messages: list[Message], source: Source, processes: dict[int, str], renames: Deobfuscation, *, cut: bool
) -> Profile:
    """The samples of native memory. Raises :class:`NotASnapshotError` if there are none."""
    # imported here, because it takes long and every file of another kind is looked at by this module
    from memlens.packs.android.native_heap import reader

    return reader.read(KIND, messages, source, processes, renames, cut=cut)


def _processes(messages: list[Message]) -> dict[int, str]:
    """The names of processes by their ids, the first of several."""
    names: dict[int, str] = {}
    for data, start, end in of_kind(messages, kernel.PROCESSES):
        for field, process in kernel.fields_of(data, start, end):
            if field != 1 or not isinstance(process, bytes):
                continue
            said = kernel.fields_of(process, 0, len(process))
            pid = next((value for number, value in said if number == 1 and isinstance(value, int)), None)
            words = [value for number, value in said if number == 3 and isinstance(value, bytes)]
            if pid is not None:
                names.setdefault(pid, words[0].decode("utf-8", "replace") if words else "")
    return names


def _failure(messages: list[Message], dump: _Dump) -> Failure | None:
    """The allocation for which a process ran out of memory: from the last packet before its heap graph, or else the
    first.
    """
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
            "Damaged packets of the heap graph: {packets}. Objects left out because of that: "
            "{objects}, and those after them in the same packets.",
            packets=damaged,
            objects=objects.broken,
        )
        warnings.append(FileWarning("broken-packets", said))
    return warnings
