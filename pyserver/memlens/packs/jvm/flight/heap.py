"""How heap and process grew while a recording ran: what was used after each collection, and memory beside it."""

import re
from typing import NamedTuple

import numpy as np

from memlens.arrays import I64, U64
from memlens.model.profile import CHANGE_DTYPE, Column, ProfileTimes
from memlens.packs.jvm.flight.chunks import Chunk
from memlens.packs.jvm.flight.labels import AFTER

_HEAP, _METASPACE = "jdk.GCHeapSummary", "jdk.MetaspaceSummary"
_NATIVE, _KIND = "jdk.NativeMemoryUsage", "jdk.types.NMTType"
HEAP_EVENTS = {
    _HEAP: ("startTime", "when", "heapUsed", "heapSpace.committedSize"),
    _METASPACE: ("startTime", "when", "metaspace.used"),
    "jdk.ResidentSetSize": ("startTime", "size"),
    "jdk.ContainerMemoryUsage": ("startTime", "memoryUsage"),
    "jdk.DirectBufferStatistics": ("startTime", "memoryUsed"),
    "jdk.NativeMemoryUsageTotal": ("startTime", "committed"),
    _NATIVE: ("startTime", "type", "committed"),
}
HEAP_CONSTANTS = {"jdk.types.GCWhen": ("when",), _KIND: ("name",)}

COMMITTED = "committed_heap_bytes"
_OTHERS = (
    ("jdk.ResidentSetSize", "size", "rss_bytes"),
    ("jdk.ContainerMemoryUsage", "memoryUsage", "container_bytes"),
    ("jdk.DirectBufferStatistics", "memoryUsed", "direct_buffers_bytes"),
    ("jdk.NativeMemoryUsageTotal", "committed", "native_memory_bytes"),
)
_AFTER_COLLECTION = "After GC"
_KIND_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?: [A-Za-z0-9]+){0,3}")
_MOST_KINDS, _MOST_KIND_NAME = 3, 40
"""Lines of native memory by kind, those with the most; the others are in the total."""

_JAVA_HEAP = "Java Heap"
"""The kind that is the committed heap, which is a line already."""
_MOST_BINS = 500
_MOST_BYTES = 2**56


class Readings(NamedTuple):
    """Values at times, of a line over time."""

    times_ns: list[I64]
    values: list[I64]


class HeapOverTime:
    """Collects what the chunks of a recording say."""

    def __init__(self) -> None:
        self._lines: dict[str, Readings] = {}
        self._used: Readings = Readings([], [])
        self._native_kinds: dict[str, Readings] = {}

    def add(self, chunk: Chunk) -> None:
        """Take a chunk's readings."""
        whens = chunk.pool("jdk.types.GCWhen")
        after = {
            key
            for key in whens.all_keys()
            if chunk.text_at(whens.value(key, "when") or 0) == _AFTER_COLLECTION
        }
        for name, column, line in (
            (_HEAP, "heapUsed", AFTER),
            (_HEAP, "heapSpace.committedSize", COMMITTED),
            (_METASPACE, "metaspace.used", "metaspace_bytes"),
        ):
            events = chunk.events.get(name)
            if events is None:
                continue
            chosen = np.isin(events["when"], list(after))
            times = chunk.header.time_ns(events["startTime"])
            _add(self._lines, line, times[chosen], events[column][chosen])
            if line == AFTER:
                self._used.times_ns.append(times)
                self._used.values.append(np.clip(events[column], 0, _MOST_BYTES))
        for name, column, line in _OTHERS:
            events = chunk.events.get(name)
            if events is not None:
                _add(self._lines, line, chunk.header.time_ns(events["startTime"]), events[column])
        self._take_native(chunk)

    def times(self, start_ns: int, allocated_ns: I64, samples: I64, sizes: I64) -> ProfileTimes | None:
        """The lines over time, and what was allocated when, of samples by their numbers; None for an instant."""
        lines = {
            name: (np.concatenate(of.times_ns), np.concatenate(of.values))
            for name, of in (*self._lines.items(), *self._largest_kinds())
        }
        ends = [int(times.max()) for times, _ in lines.values() if len(times)]
        ends += [int(allocated_ns.max())] if len(allocated_ns) else []
        end_ns = max(ends, default=start_ns)
        if end_ns - start_ns < 1000:
            return None
        bins = min(_MOST_BINS, max((end_ns - start_ns) // 20_000_000, 1))
        edges = np.linspace(0, (end_ns - start_ns + 999) // 1000, bins + 1).astype(np.int64)
        series = {
            name: _at(edges, (times - start_ns) // 1000, values) for name, (times, values) in lines.items()
        }
        peaks = series.get(AFTER, np.zeros(bins + 1, np.int64)).copy()
        if self._used.times_ns:
            used = np.concatenate(self._used.values)
            places = np.searchsorted(edges, (np.concatenate(self._used.times_ns) - start_ns) // 1000)
            np.maximum.at(peaks, np.minimum(places, bins), used)
        offsets, changes = _changes(edges, (allocated_ns - start_ns) // 1000, samples, sizes)
        return ProfileTimes(edges, series, peaks, offsets, changes, has_frees=False)

    def _take_native(self, chunk: Chunk) -> None:
        """Take the virtual machine's own memory by kind, which it knows with -XX:NativeMemoryTracking."""
        events, kinds = chunk.events.get(_NATIVE), chunk.pool(_KIND)
        if events is None:
            return
        times = chunk.header.time_ns(events["startTime"])
        for key in np.unique(events["type"]).tolist():
            name = chunk.text_at(kinds.value(key, "name") or 0)
            if len(name) <= _MOST_KIND_NAME and _KIND_NAME.fullmatch(name) and name != _JAVA_HEAP:
                chosen = events["type"] == key
                line = f"native_{name.replace(' ', '_')}_bytes"
                _add(self._native_kinds, line, times[chosen], events["committed"][chosen])

    def _largest_kinds(self) -> list[tuple[str, Readings]]:
        largest = {
            name: max(int(values.max()) for values in of.values) for name, of in self._native_kinds.items()
        }
        names = sorted((name for name in largest if largest[name]), key=lambda name: -largest[name])
        return [(name, self._native_kinds[name]) for name in names[:_MOST_KINDS]]


def _add(lines: dict[str, Readings], line: str, times: I64, values: I64) -> None:
    if len(times):
        of = lines.setdefault(line, Readings([], []))
        of.times_ns.append(times)
        of.values.append(np.clip(values, 0, _MOST_BYTES))


def _at(edges: I64, times: I64, values: I64) -> I64:
    """The last value at each edge; the first one before it is known."""
    order = np.argsort(times, kind="stable")
    places = np.searchsorted(times[order], edges, "right") - 1
    return values[order][np.maximum(places, 0)]


def _changes(edges: I64, times: I64, samples: I64, sizes: I64) -> tuple[U64, Column]:
    """What each sample allocated in each bin, and where the rows of each edge begin."""
    bins = np.clip(np.searchsorted(edges, times), 1, len(edges) - 1) if len(times) else times
    count = int(samples.max(initial=-1)) + 1
    keys, inverse = np.unique(bins * max(count, 1) + samples, return_inverse=True)
    changes = np.zeros(len(keys), CHANGE_DTYPE)
    changes["sample"] = keys % max(count, 1)
    np.add.at(changes["allocated_bytes"], inverse, sizes)
    offsets = np.searchsorted(keys // max(count, 1), np.arange(len(edges) + 1)).astype(np.uint64)
    return offsets, changes
