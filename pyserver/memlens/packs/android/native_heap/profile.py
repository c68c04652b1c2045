"""Makes a profile of native memory's samples: what is live, what was allocated, and the sizes at the maximum.

Every dump of a heap says for each stack what it allocated and freed since recording began, or with ``dump_at_max``
what of it was live at the maximum; a stack of which nothing changed may not be in it. ART's heap (``com.android.art``)
has allocations alone.

Source: ``src/profiling/memory/bookkeeping.h`` of Perfetto, and ``docs/design-docs/heapprofd-sampling.md`` for what a
sample stands for.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, Mask
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.stacks import Numbers
from memlens.formats.warnings import counted_warnings
from memlens.model.distinct import Grouped, distinct, grouped
from memlens.model.frames import Frames
from memlens.model.info import FileWarning, ValueMeaning, ValueType
from memlens.model.profile import (
    CHANGE_DTYPE,
    LABEL_DTYPE,
    LIVE_BYTES,
    LIVE_COUNT,
    Column,
    Profile,
    ProfileTimes,
    sums_fit,
)
from memlens.packs.android.native_heap.kernels import samples as kernel
from memlens.packs.android.native_heap.tables import Joined
from memlens.texts import Text, phrase, plural
from memlens.units import format_bytes

PROCESS, HEAP = "process", "heap"
"""Names of labels."""

_ART = "com.android.art"
_MALLOC = "libc.malloc"
"""The heap of recorders that name none."""

_MOST_VALUE = 2**48
"""Bytes or allocations of one stack; more are damage."""
_MOST_BINS = 2_000
_MOST_SPAN_NS = 10 * 365 * 86_400 * 10**9
_MOST_NAMED = 100
_FIELDS = ("allocated", "freed", "allocations", "frees")
_ENDED = (
    (kernel.REJECTED, phrase("another session was recording it")),
    (kernel.OVERRAN, phrase("it allocated faster than the recorder could read (record with a larger --shmem-size)")),
    (kernel.CORRUPTED, phrase("the buffer that it shares with the recorder was damaged")),
    (kernel.GUARDRAIL, phrase("the recorder reached its own limit of memory or time")),
)  # fmt: skip
"""Why a process wasn't recorded to its end, by the bits that say so."""


class _Rows(NamedTuple):
    """What the trace has of stacks, a row for each stack in each dump of a heap."""

    sample: I64
    """The profile's sample: a process, a heap and a stack."""
    key: I64
    """Stacks of a heap by the trace's own ids, of which those of equal frames are several."""
    heap: I64
    """A heap of a process, as one recorder saw it."""
    dump: I64
    """Later ones have higher numbers."""
    time_ns: I64
    is_peak: Mask
    has_frees: Mask
    values: dict[str, I64]


class _Changes(NamedTuple):
    """What stacks allocated and freed between two dumps."""

    sample: I64
    time_ns: I64
    has_frees: Mask
    values: dict[str, I64]
    falling: int
    """Rows with a figure below that of an earlier dump."""


def profile_of(
    kind: str, joined: Joined, frames: Frames, processes: Mapping[int, str], warnings: list[FileWarning]
) -> Profile:
    """Return the profile of samples. Raises :class:`NotASnapshotError` or :class:`DamagedSnapshotError`."""
    heaps = joined.heaps
    pids = (heaps["pid"] & 0xFFFFFFFF).tolist()
    known = {pid: _process(pid, processes) for pid in set(pids)}
    names = [known[pid] for pid in pids]
    heap_names = [name or _MALLOC for name in joined.names]
    ended = list(_ended(heaps, names))
    if not len(joined.samples):
        raise NotASnapshotError(
            phrase("The trace has no samples of native memory"),
            advice=ended[0].said
            if ended
            else phrase("Record with Perfetto's tools/heap_profile -n NAME-OF-THE-APP"),
        )
    texts: Numbers[str] = Numbers()
    of_process, of_heap = (
        np.array([texts[text] for text in ["", *of]], np.int64)[1:] for of in (names, heap_names)
    )
    of = joined.samples["heap"].astype(np.int64)
    samples = grouped((of_process[of], of_heap[of], joined.stacks))
    rows, impossible = _rows(joined, samples, of_process, of_heap, np.array(heap_names) == _ART)
    changes = _changes(rows)
    # before they are added up: a wrapped sum may look like a true one
    if not sums_fit([*changes.values.values(), rows.values["peak"], rows.values["peak_count"]]):
        raise DamagedSnapshotError(phrase("The sum of the values is too large"))
    is_sampled = bool((heaps["interval"] != 1).any())
    values, below = _values(rows, changes, len(samples.first), is_sampled=is_sampled)
    times, is_odd = _times(heaps, changes)
    labels = []
    for name, numbers in ((PROCESS, of_process), (HEAP, of_heap)):
        of_samples = np.zeros(len(samples.first), LABEL_DTYPE)
        of_samples["sample"], of_samples["key"] = np.arange(len(samples.first)), texts[name]
        of_samples["text"] = numbers[of[samples.first]]
        labels.append(of_samples)
    return Profile(
        kind, frames, [each for each, _ in values],
        next((number for number, (_, column) in enumerate(values) if column.any()), 0),
        joined.stacks[samples.first].astype(np.uint32), [column for _, column in values],
        labels=np.concatenate(labels), strings={number: text for text, number in texts.items()}, times=times,
        settings={
            "processes": list(dict.fromkeys(names))[:_MOST_NAMED],
            "heaps": list(dict.fromkeys(heap_names))[:_MOST_NAMED],
            "sampling_interval_bytes": distinct(heaps["interval"])[:_MOST_NAMED].tolist(),
        },
        warnings=[
            *_said_of(heaps, heap_names), *ended, *warnings,
            *_falling(changes.falling),
            *counted_warnings(impossible_rows=impossible, impossible_figures=below, impossible_times=is_odd),
        ],
    )  # fmt: skip


def _process(pid: int, processes: Mapping[int, str]) -> str:
    name = processes.get(pid, "")
    return f"{name} ({pid})" if name else f"process {pid}"


def _rows(joined: Joined, samples: Grouped, of_process: I64, of_heap: I64, is_art: Mask) -> tuple[_Rows, int]:
    """The rows, and how many have impossible figures, which are taken for 0."""
    heaps, of = joined.heaps, joined.samples["heap"].astype(np.int64)
    values: dict[str, I64] = {}
    is_possible = np.ones(len(of), np.bool_)
    for name in (*_FIELDS, "peak", "peak_count"):
        is_possible &= joined.samples[name] <= _MOST_VALUE
    for name in (*_FIELDS, "peak", "peak_count"):
        values[name] = np.where(is_possible, joined.samples[name], 0).astype(np.int64)
    _, sequences = np.unique(joined.sequences, return_inverse=True)
    of_recorder = grouped((sequences, of_process, of_heap)).of_rows
    _, iids = np.unique(joined.samples["stack"], return_inverse=True)
    rows = _Rows(
        samples.of_rows, grouped((of_recorder[of], iids, joined.stacks)).of_rows, of_recorder[of],
        heaps["scope"][of].astype(np.int64), np.minimum(heaps["time"], 2**62)[of].astype(np.int64),
        (joined.samples["flags"] & kernel.AT_MAXIMUM) != 0, ~is_art[of], values,
    )  # fmt: skip
    return rows, int(np.count_nonzero(~is_possible))


def _changes(rows: _Rows) -> _Changes:
    """What follows from each dump less the one before; figures that fall are kept."""
    chosen = np.flatnonzero(~rows.is_peak)
    chosen = chosen[np.argsort(rows.key[chosen], kind="stable")]
    key = rows.key[chosen]
    is_first = np.ones(len(chosen), np.bool_)
    is_first[1:] = key[1:] != key[:-1]
    values: dict[str, I64] = {}
    falls = np.zeros(len(chosen), np.bool_)
    for name in _FIELDS:
        column = rows.values[name][chosen]
        highest = _highest(column, key)
        falls |= column < highest
        values[name] = highest - np.where(is_first, 0, np.roll(highest, 1))
    return _Changes(
        rows.sample[chosen], rows.time_ns[chosen], rows.has_frees[chosen], values, int(falls.sum())
    )


def _highest(column: I64, key: I64) -> I64:
    """The highest value so far among those of the same key, which ascend."""
    distinct, ranks = np.unique(column, return_inverse=True)
    _, groups = np.unique(key, return_inverse=True)
    highest = np.maximum.accumulate(groups * len(distinct) + ranks) - groups * len(distinct)
    return distinct[highest] if len(column) else column


def _values(
    rows: _Rows, changes: _Changes, count: int, *, is_sampled: bool
) -> tuple[list[tuple[ValueType, I64]], int]:
    """The values of samples, and how many would be below 0."""
    found: list[tuple[ValueType, I64]] = []

    def add(
        name: str, meaning: ValueMeaning, titles: tuple[Text, Text, Text], sizes: I64, counts: I64
    ) -> None:
        recorded, estimated, number = titles
        title = estimated if is_sampled else recorded
        found.append((ValueType(f"{name}_bytes", "bytes", meaning, title), sizes))
        found.append((ValueType(f"{name}_count", "count", meaning, number), counts))

    def total(name: str, chosen: Mask) -> I64:
        sums = np.zeros(count, np.int64)
        np.add.at(sums, changes.sample[chosen], changes.values[name][chosen])
        return sums

    freed, art, below = changes.has_frees, ~changes.has_frees, 0
    allocated, allocations = total("allocated", freed), total("allocations", freed)
    if freed.any():
        live, live_count = allocated - total("freed", freed), allocations - total("frees", freed)
        below = int(np.count_nonzero((live < 0) | (live_count < 0)))
        add("live", "live", _LIVE, np.maximum(live, 0), np.maximum(live_count, 0))
    if rows.is_peak.any():
        last = np.zeros(int(rows.heap.max()) + 1, np.int64)
        chosen = np.flatnonzero(rows.is_peak)
        np.maximum.at(last, rows.heap[chosen], rows.dump[chosen])
        chosen = chosen[rows.dump[chosen] == last[rows.heap[chosen]]]
        sizes, counts = np.zeros(count, np.int64), np.zeros(count, np.int64)
        np.add.at(sizes, rows.sample[chosen], rows.values["peak"][chosen])
        np.add.at(counts, rows.sample[chosen], rows.values["peak_count"][chosen])
        add("peak", "peak", _PEAK, sizes, counts)
    if freed.any():
        add("allocated", "total", _ALLOCATED, allocated, allocations)
    if art.any():
        # beside native memory they aren't part of one sum
        name, meaning = ("java", "other") if found else ("allocated", "total")
        add(name, meaning, _JAVA, total("allocated", art), total("allocations", art))
    return found, below


_LIVE = (
    phrase("Allocated and not freed"),
    phrase("Allocated and not freed (estimated)"),
    phrase("Sampled allocations not freed"),
)
_PEAK = (
    phrase("Live at the maximum"),
    phrase("Live at the maximum (estimated)"),
    phrase("Sampled allocations live at the maximum"),
)
_ALLOCATED = (phrase("Allocated"), phrase("Allocated (estimated)"), phrase("Sampled allocations"))
_JAVA = (
    phrase("Java objects allocated"),
    phrase("Java objects allocated (estimated)"),
    phrase("Sampled Java objects"),
)


def _times(heaps: npt.NDArray[Any], changes: _Changes) -> tuple[ProfileTimes | None, int]:
    """How memory changed from dump to dump, None if there is one alone; how many times are impossible."""
    has_frees = bool(changes.has_frees.any())
    chosen = np.flatnonzero(changes.has_frees == has_frees)
    when = changes.time_ns[chosen]
    if not len(when):
        return None, 0
    begins = heaps["begin"][(heaps["flags"] & kernel.STARTED) != 0]
    start = min(int(begins.min(initial=2**62)), int(when.min()))
    is_odd = when - start > _MOST_SPAN_NS
    when = (np.where(is_odd, start, when) - start) // 1_000
    edges = distinct(np.append(when, 0))
    if len(edges) < 2:
        return None, int(is_odd.sum())
    if len(edges) > _MOST_BINS + 1:
        edges = np.linspace(0, int(edges[-1]), _MOST_BINS + 1).astype(np.int64)
        edges[-1] = int(when.max())
    bins = np.searchsorted(edges, when)
    kinds = grouped((bins, changes.sample[chosen]))
    rows = np.zeros(len(kinds.first), CHANGE_DTYPE)
    rows["sample"] = changes.sample[chosen][kinds.first]
    sums = {name: np.zeros(len(rows), np.int64) for name in _FIELDS}
    for name, column in sums.items():
        np.add.at(column, kinds.of_rows, changes.values[name][chosen])
    most = np.iinfo(np.uint32).max
    rows["allocated_bytes"], rows["freed_bytes"] = sums["allocated"], sums["freed"]
    rows["allocated_count"] = np.minimum(sums["allocations"], most)
    rows["freed_count"] = np.minimum(sums["frees"], most)
    of_bins = bins[kinds.first]
    offsets = np.searchsorted(of_bins, np.arange(len(edges) + 1)).astype(np.uint64)
    series: dict[str, I64] = {}
    for name, more, less in ((LIVE_BYTES, "allocated", "freed"), (LIVE_COUNT, "allocations", "frees")):
        added = np.zeros(len(edges), np.int64)
        np.add.at(added, of_bins, sums[more] - sums[less])
        series[name] = np.maximum(np.cumsum(added), 0)
    peaks = series[LIVE_BYTES] if has_frees else np.zeros(len(edges), np.int64)
    return ProfileTimes(
        edges, series if has_frees else {}, peaks, offsets, rows, has_frees=has_frees
    ), int(is_odd.sum())  # fmt: skip


def _said_of(heaps: Column, heap_names: list[str]) -> Iterator[FileWarning]:
    intervals = [int(each) for each in distinct(heaps["interval"]) if each != 1]
    if intervals and len(heaps):
        sizes = [format_bytes(each) for each in intervals if each]
        said = phrase("Sampled: all figures are estimates.")
        if sizes:
            said = phrase(
                "Sampled every {size} on average: all figures are estimates. A smaller allocation "
                "counts as that size; larger ones are recorded exactly.",
                size=sizes[0] if len(sizes) == 1 else phrase("{a} to {b}", a=sizes[0], b=sizes[-1]),
            )
        yield FileWarning("sampled", said)
    if not ((heaps["flags"] & (kernel.FROM_STARTUP | kernel.REJECTED)) != 0).all():
        said = phrase(
            "Allocations from before recording began aren't known, so less is shown than is in use. "
            "To record from the start, name the app before it is started."
        )
        yield FileWarning("before-recording", said)
    if _ART in heap_names:
        said = phrase(
            "Frees of Java objects aren't recorded: only the allocations in the heap {heap} are known.",
            heap=_ART,
        )
        yield FileWarning("no-frees", said)


def _ended(heaps: Column, names: list[str]) -> Iterator[FileWarning]:
    for bit, why in _ENDED:
        ended = list(dict.fromkeys(names[number] for number in np.flatnonzero(heaps["flags"] & bit).tolist()))
        if ended:
            said = phrase(
                plural(
                    len(ended) - 1,
                    "{process} wasn't recorded to its end: {why}. So was {n} other.",
                    "{process} wasn't recorded to its end: {why}. So were {n} others.",
                )
                if len(ended) > 1
                else "{process} wasn't recorded to its end: {why}.",
                process=ended[0],
                why=why,
                n=len(ended) - 1,
            )
            yield FileWarning("not-to-the-end", said)


def _falling(count: int) -> Iterator[FileWarning]:
    if count:
        said = phrase(
            "Stacks that allocated or freed less than in an earlier dump: {n}. The larger figure is kept.",
            n=count,
        )
        yield FileWarning("falling", said)


def lacking(joined: Joined, damaged: int, *, is_cut: bool) -> Iterator[FileWarning]:
    """Yield warnings about samples that the trace lacks, or that lack something."""
    if is_cut:
        said = phrase(
            "Packets with samples of native memory are missing, so figures may be too low. Record with a larger buffer."
        )
        yield FileWarning("cut-file", said)
    if damaged:
        yield FileWarning(
            "broken-packets", phrase("Damaged packets with samples: {packets}.", packets=damaged)
        )
    if joined.unknown_stacks:
        said = phrase(
            plural(
                joined.unknown_stacks,
                "{n} sample has a stack that isn't in the trace, and is shown without one.",
                "{n} samples have stacks that aren't in the trace, and are shown without one.",
            ),
            n=joined.unknown_stacks,
        )
        yield FileWarning("unknown-stacks", said)
    if joined.unknown_frames:
        yield FileWarning(
            "unknown-frames",
            phrase("Frames of stacks that aren't in the trace: {n}.", n=joined.unknown_frames),
        )
    pids, of_heaps = np.unique(joined.heaps["pid"], return_inverse=True)
    errors = np.zeros(len(pids), np.uint64)
    np.maximum.at(errors, of_heaps, joined.heaps["unwinding_errors"])
    if errors.any():
        said = phrase(
            "Stacks that the recorder could not follow to their end: {n}.", n=min(sum(errors.tolist()), 2**53)
        )
        yield FileWarning("cut-off", said)
