"""Reads recordings of Java Flight Recorder, and of async-profiler in the same format, into profiles.

What is read: samples of allocations (``jdk.ObjectAllocationSample``; of older virtual machines and async-profiler
``ObjectAllocationInNewTLAB`` and ``OutsideTLAB``), a sample of the objects that are still alive with what holds them
(``jdk.OldObjectSample``, ``profiler.LiveObject``), native memory that async-profiler sampled (``profiler.Malloc``,
``profiler.Free``), how many objects of each type a collection counted, and how the heap and the process grew. Whatever
else a recording has, as command lines, environment and properties, is neither kept nor shown.

Sources: ``metadata.xml`` (the events), ``leakprofiler/`` (old objects) of OpenJDK's HotSpot; ``flightRecorder.cpp`` of
async-profiler.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memlens.arrays import I64, U32, Mask
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.warnings import counted_warnings
from memlens.model.distinct import grouped
from memlens.model.info import FileWarning, ValueType
from memlens.model.profile import LABEL_DTYPE, Column, Profile, sums_fit
from memlens.packs.jvm.flight.chunks import MAGIC, Chunk, chunks
from memlens.packs.jvm.flight.code import CODE_CONSTANTS, ChunkCode, Code
from memlens.packs.jvm.flight.counts import COUNT_EVENTS, Counts, TypeCounts
from memlens.packs.jvm.flight.first_samples import FIRST_EVENTS, FirstSamples, Samples
from memlens.packs.jvm.flight.heap import HEAP_CONSTANTS, HEAP_EVENTS, HeapOverTime
from memlens.packs.jvm.flight.kept import KEPT_CONSTANTS, KEPT_EVENTS, Batch, KeptObjects
from memlens.packs.jvm.flight.labels import AGE, HELD_BY, ROOT, THREAD, TYPE
from memlens.packs.jvm.flight.native import NATIVE_EVENTS, Blocks, NativeMemory
from memlens.packs.jvm.flight.thread_totals import ThreadTotals
from memlens.progress import Report
from memlens.texts import in_a_row, phrase, plural
from memlens.units import format_bytes

KIND = "jfr"

_SAMPLED = "jdk.ObjectAllocationSample"
_OLDER = (
    ("jdk.ObjectAllocationInNewTLAB", "tlabSize"),
    ("jdk.ObjectAllocationOutsideTLAB", "allocationSize"),
)
_ALLOCATION = ("startTime", "eventThread", "stackTrace", "objectClass")
_EVENTS = {
    _SAMPLED: (*_ALLOCATION, "weight"),
    **{name: (*_ALLOCATION, size) for name, size in _OLDER},
    **KEPT_EVENTS,
    **HEAP_EVENTS,
    **NATIVE_EVENTS,
    **COUNT_EVENTS,
    **FIRST_EVENTS,
}
_CONSTANTS = {**CODE_CONSTANTS, **KEPT_CONSTANTS, **HEAP_CONSTANTS}
_RESOLUTION_NS = 10_000_000
"""What was allocated by the same stack within so long is one row."""

_MOST_TIMES, _MANY_ROWS = 4_096, 1 << 20
"""Beyond so many rows, it is one row within a longer time: of that there are so many in the recording, which is more
than a curve over time shows."""

_LEAST_COUNTED = 0.1
"""Counted by thread at the least, as a share of the samples, for that to be said."""

_MOST_THREADS = 3
"""Threads that are named with what each allocated."""

_MOST_WEIGHT = 2**48
"""Bytes of one sample; more are damage."""

KEPT = ValueType("kept_samples", "count", "end", phrase("Sampled objects still alive"))
KEPT_BYTES = ValueType("kept_bytes", "bytes", "other", phrase("Sampled objects still alive, bytes"))
HELD = ValueType("held_samples", "count", "other", phrase("Still alive, by what holds them"))
NATIVE = ValueType("native_bytes", "bytes", "live", phrase("Native memory not freed (samples)"))
NATIVE_COUNT = ValueType("native_count", "count", "live", phrase("Sampled native allocations not freed"))
NATIVE_ALLOCATED = ValueType(
    "native_total_bytes", "bytes", "other", phrase("Native memory allocated (samples)")
)
COUNTED_BYTES = ValueType("heap_bytes", "bytes", "live", phrase("In the heap after a collection, by type"))
COUNTED = ValueType("heap_count", "count", "live", phrase("Objects after a collection, by type"))
ALLOCATED = ValueType("allocated_bytes", "bytes", "total", phrase("Allocated (estimated)"))


def sniff(head: bytes) -> bool:
    """Whether the file begins with the header of a chunk."""
    return head[:4] == MAGIC


def read(source: Source, _scratch: Path, report: Report) -> Profile:
    """Read a recording: see :class:`memlens.formats.Reader`."""
    recording = _Recording(source.length)
    start = None
    for chunk in chunks(source, _EVENTS, _CONSTANTS, report):
        start = chunk.header.start_ns if start is None else start
        recording.add(chunk)
    return recording.profile(start or 0)


class _Rows:
    """Samples of allocations: what each chunk has, with those of the same stack, labels and time added up."""

    def __init__(self) -> None:
        self._parts: list[dict[str, I64 | U32]] = []
        self._resolution_ns = _RESOLUTION_NS
        self._most = _MANY_ROWS

    def __bool__(self) -> bool:
        return bool(self._parts)

    def clear(self) -> None:
        """Forget all."""
        self._parts.clear()

    def add(self, samples: Samples) -> None:
        """Take the samples of a chunk."""
        if not len(samples.sizes):
            return
        self._parts.append(self._merged(samples))
        if sum(len(part["time"]) for part in self._parts) <= self._most:
            return
        size, time = self.column("size"), self.column("time")
        while self._resolution_ns * _MOST_TIMES < int(time.max()) - int(time.min()):
            self._resolution_ns *= 2
        whole = {name: self.column(name).astype(np.uint32) for name in samples.columns}
        self._parts = [self._merged(Samples(size, time, whole))]
        self._most = max(_MANY_ROWS, 2 * len(self._parts[0]["time"]))

    def _merged(self, samples: Samples) -> dict[str, I64 | U32]:
        """Sum what has the same columns at about the same time."""
        sizes, times, columns = samples
        first_time = times.min() // self._resolution_ns
        kinds = grouped((times // self._resolution_ns - first_time, *columns.values()))
        part: dict[str, I64 | U32] = {name: column[kinds.first] for name, column in columns.items()}
        return {**part, "size": _sums(sizes, kinds.of_rows), "time": times[kinds.first]}

    def column(self, name: str) -> I64:
        """A column of all chunks."""
        if not self._parts:
            return np.empty(0, np.int64)
        return np.concatenate([part[name] for part in self._parts]).astype(np.int64)


class _Samples(NamedTuple):
    """Distinct samples: the stack, the labels' texts and the sums of each, and the sample of each row."""

    stacks: I64
    labels: dict[str, I64]
    sums: I64
    of_rows: I64


class _Recording:
    """Collects the chunks of a recording."""

    def __init__(self, file_bytes: int) -> None:
        self._code = Code(file_bytes)
        self._kept = KeptObjects(self._code, file_bytes)
        self._heap = HeapOverTime()
        self._native = NativeMemory()
        self._counts = TypeCounts(self._code)
        self._totals = ThreadTotals()
        self._sampled, self._older = _Rows(), _Rows()
        self._firsts = FirstSamples()
        self._unfinished = 0

    def add(self, chunk: Chunk) -> None:
        """Take a chunk."""
        code = self._code.of(chunk)
        self._unfinished += chunk.cut > 0 or not chunk.header.is_whole
        sampled = _samples(chunk, code, _SAMPLED, "weight")
        if sampled is not None:
            threads = chunk.events[_SAMPLED]["eventThread"]
            self._sampled.add(self._firsts.without(chunk, threads, sampled))
        if self._sampled or self._firsts:
            # newer virtual machines write both where both are switched on, of the same allocations
            self._older.clear()
        else:
            for name, size in _OLDER:
                older = _samples(chunk, code, name, size)
                if older is not None:
                    self._older.add(older)
        self._kept.add(chunk, code)
        self._heap.add(chunk)
        self._native.add(chunk, code)
        self._counts.add(chunk, code)
        self._totals.add(chunk, code, _SAMPLED, "weight")

    def profile(self, start_ns: int) -> Profile:
        """Return all of it. Raises NotASnapshotError for a recording that has nothing about memory."""
        firsts = self._firsts.limited()
        if firsts is not None:
            self._sampled.add(firsts)
        rows = self._sampled or self._older
        sizes, labels = rows.column("size"), {TYPE: rows.column("type"), THREAD: rows.column("thread")}
        allocated = _distinct(rows.column("stack"), labels, sizes)
        batch, survived = self._kept.last, self._kept.survivors()
        values = [] if batch is None or survived is None else _alive(batch, survived)
        if self._native:
            values += _native(self._native.blocks())
        has_stacks = bool(values) and bool(values[0].samples.stacks.any())
        if self._counts.last is not None:
            values += _counted(self._counts.last)
        values.append(_Value(ALLOCATED, allocated, allocated.sums))
        parts = [values[0].samples, *(each.samples for each in values[1:])]
        parts = [
            part for number, part in enumerate(parts) if not any(part is each for each in parts[:number])
        ]
        ends = np.cumsum([len(part.stacks) for part in parts])
        columns = [np.zeros(int(ends[-1]), np.int64) for _ in values]
        for column, value in zip(columns, values, strict=True):
            number = next(number for number, part in enumerate(parts) if part is value.samples)
            column[ends[number] - len(value.amounts) : ends[number]] = value.amounts
        first = int(ends[-1]) - len(allocated.stacks)
        times = self._heap.times(start_ns, rows.column("time"), first + allocated.of_rows, sizes)
        if batch is None and not (
            rows or self._native or self._counts.last or (times is not None and times.series)
        ):
            raise NotASnapshotError(
                phrase(
                    "The recording has no samples of allocations, no objects that are still alive and no sizes of "
                    "the heap"
                ),
                advice=phrase("Record with settings=profile, as docs/java.md says."),
            )
        return Profile(
            KIND, self._code.frames(), [each.kind for each in values], 0 if has_stacks else len(values) - 1,
            np.concatenate([part.stacks for part in parts]).astype(np.uint32), columns,
            tree=self._code.tree(), labels=self._labels(parts), strings=self._code.strings(), times=times,
            settings={"written_ms": (start_ns if batch is None else batch.time_ns) // 1_000_000},
            warnings=list(self._warnings(has_stacks=has_stacks)),
            # chains of references have no lines, and would all be collapsed
            is_mixed=False,
        )  # fmt: skip

    def _labels(self, parts: list[_Samples]) -> Column:
        rows, start = [np.empty(0, LABEL_DTYPE)], 0
        for samples in parts:
            for name, numbers in samples.labels.items():
                known = np.flatnonzero(numbers)
                labels = np.zeros(len(known), LABEL_DTYPE)
                labels["sample"], labels["key"] = start + known, self._code.text(name)
                if name == AGE:
                    labels["number"], labels["unit"] = numbers[known], self._code.text("milliseconds")
                else:
                    labels["text"] = numbers[known]
                rows.append(labels)
            start += len(samples.stacks)
        return np.concatenate(rows)

    def _thread_totals(self) -> Iterator[FileWarning]:
        totals = self._totals.largest_first()
        counted = sum(each.counted_bytes for each in totals)
        # threads that ended meanwhile were only read once
        if counted < _LEAST_COUNTED * sum(self._sampled.column("size").tolist()) or not counted:
            return
        names = self._code.strings()
        listed = [
            phrase(
                "{thread} {counted} ({sampled})",
                thread=names[each.name] or phrase("a thread without a name"),
                counted=format_bytes(each.counted_bytes),
                sampled=format_bytes(each.sampled_bytes),
            )
            for each in totals[:_MOST_THREADS]
        ]
        yield FileWarning(
            "counted-by-thread",
            phrase(
                "The virtual machine also counted what threads allocated, {counted} where the samples add up to "
                "{sampled}. By thread, in parentheses by the samples: {threads}.",
                counted=format_bytes(counted),
                sampled=format_bytes(sum(each.sampled_bytes for each in totals)),
                threads=in_a_row(listed, ", "),
            ),
        )

    def _warnings(self, *, has_stacks: bool) -> Iterator[FileWarning]:
        batch, survived = self._kept.last, self._kept.survivors()
        of_profiler = batch is not None and batch.is_of_profiler
        said = phrase(
            "Sampled: the virtual machine estimates allocations from samples, and only some of the "
            "live objects are known, at most 256 unless it was started with another "
            "old-object-queue-size."
        )
        if of_profiler:
            said = phrase(
                "Sampled by async-profiler: allocations are estimated from samples, and only the "
                "live objects that it sampled are known."
            )
        if self._native and not (batch or self._sampled or self._older):
            said = phrase(
                "Sampled by async-profiler: figures are the sums of sampled native allocations, "
                "which is less than was allocated."
            )
        yield FileWarning("sampled", said)
        yield from self._thread_totals()
        if self._firsts.reduced_bytes:
            yield FileWarning(
                "first-samples",
                phrase(
                    "The first sample of a thread also has what the thread had allocated before the recording, {size} "
                    "in all: each counts no more than the largest other one.",
                    size=format_bytes(self._firsts.reduced_bytes),
                ),
            )
        if self._unfinished:
            yield FileWarning(
                "cut-file",
                phrase(
                    "The recording was never finished: its process was killed or still runs. What was written until "
                    "then is shown."
                ),
            )
        yield from counted_warnings(shared_names=self._code.names.cut)
        if batch is None or survived is None:
            return
        young = len(survived) - int(survived.sum())
        if young:
            yield FileWarning(
                "uncollected",
                phrase(
                    plural(
                        young,
                        "{n} sampled object was allocated after the last collection and may be garbage: it is left "
                        "out.",
                        "{n} sampled objects were allocated after the last collection and may be garbage: they are "
                        "left out.",
                    ),
                    n=young,
                ),
            )
        if not has_stacks and survived.any():
            yield FileWarning(
                "no-stacks",
                phrase(
                    "The recording doesn't say where live objects were allocated: record with "
                    "settings=profile."
                ),
            )
        elif of_profiler:
            yield FileWarning(
                "no-chains",
                phrase(
                    "async-profiler doesn't say what holds live objects: a heap dump does, or a "
                    "recording by the virtual machine itself, as docs/java.md says."
                ),
            )
        elif not batch.has_chains:
            yield FileWarning(
                "no-chains",
                phrase(
                    "The recording doesn't say what holds live objects: record with "
                    "path-to-gc-roots=true, as docs/java.md says."
                ),
            )


def _samples(chunk: Chunk, code: ChunkCode, name: str, size: str) -> Samples | None:
    """The samples of a chunk; None if it has no such events."""
    events = chunk.events.get(name)
    if events is None or not len(events.rows):
        return None
    return Samples(
        np.clip(events[size], 0, _MOST_WEIGHT),
        chunk.header.time_ns(events["startTime"]),
        {
            "stack": code.stacks(events["stackTrace"]),
            "type": code.types(events["objectClass"]),
            "thread": code.threads(events["eventThread"]),
        },
    )


class _Value(NamedTuple):
    """A value of the profile: the samples that have it, and how much each has."""

    kind: ValueType
    samples: _Samples
    amounts: I64


def _alive(batch: Batch, survived: Mask) -> list[_Value]:
    """The values of the objects that are alive; none if there are none."""
    if not survived.any():
        return []
    ones = np.ones(int(survived.sum()), np.int64)
    ages = np.maximum(batch.time_ns - batch.allocated_ns, 0) // 1_000_000 + 1
    labels = {
        TYPE: batch.types, THREAD: batch.threads, HELD_BY: batch.holders, ROOT: batch.roots, AGE: ages,
    }  # fmt: skip
    chosen = {name: numbers[survived].astype(np.int64) for name, numbers in labels.items()}
    kept = _distinct(batch.stacks[survived].astype(np.int64), chosen, ones)
    values = [_Value(KEPT, kept, kept.sums)]
    if batch.sizes.any():
        values.append(_Value(KEPT_BYTES, kept, _sums(batch.sizes[survived], kept.of_rows)))
    if batch.has_chains:
        held = _distinct(batch.chains[survived].astype(np.int64), {TYPE: chosen[TYPE]}, ones)
        values.append(_Value(HELD, held, held.sums))
    return values


def _native(blocks: Blocks) -> list[_Value]:
    """The values of native memory."""
    found = _distinct(blocks.stacks, {THREAD: blocks.threads}, blocks.sizes)
    live = np.where(blocks.is_live, blocks.sizes, 0)
    return [
        _Value(NATIVE, found, _sums(live, found.of_rows)),
        _Value(NATIVE_COUNT, found, _sums(blocks.is_live.astype(np.int64), found.of_rows)),
        _Value(NATIVE_ALLOCATED, found, found.sums),
    ]


def _counted(counts: Counts) -> list[_Value]:
    """The values of the objects that a collection counted."""
    found = _distinct(counts.stacks, {TYPE: counts.types}, counts.sizes)
    return [
        _Value(COUNTED_BYTES, found, found.sums),
        _Value(COUNTED, found, _sums(counts.counts, found.of_rows)),
    ]


def _distinct(stacks: I64, labels: dict[str, I64], amounts: I64) -> _Samples:
    """Sum what has the same stack and the same labels."""
    kinds = grouped((stacks, *labels.values()))
    chosen = {name: texts[kinds.first] for name, texts in labels.items()}
    return _Samples(stacks[kinds.first], chosen, _sums(amounts, kinds.of_rows), kinds.of_rows)


def _sums(amounts: I64, of_rows: I64) -> I64:
    """What the rows of each kind add up to; a kind has at least one. Raises :class:`DamagedSnapshotError`."""
    if not sums_fit([amounts]):
        # a wrapped sum may look like a true one
        raise DamagedSnapshotError(phrase("The sum of the values is too large"))
    found = np.zeros(int(of_rows.max(initial=-1)) + 1, np.int64)
    np.add.at(found, of_rows, amounts)
    return found
