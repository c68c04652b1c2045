"""Prints what memray's own reader finds in a capture, as lines of JSON: a separate program.

It is run by the interpreter that has memray (``python -c``), so it uses nothing of Memlens, and must run on Python 3.7.
Lines:

``["version", TEXT]``, ``["missing"]``, ``["refused", TEXT]``, ``["broken", TEXT]``, and ``["done"]``, the last one
``["allocator", NAME, TRACED]``  Python's own allocator, and whether its allocations were recorded (1 or 0; -1 if
                                 unknown, as before memray 1.11)
``["memory", MS, RSS, HEAP]``    a memory record, as memray calls it: its time stamp
``["whole", 0 or 1]``            whether the temporary allocations follow
``["frame", FUNCTION, FILE, LINE]``, ``["stack", [FRAME…]]`` innermost first
``["record", KIND, STACK, THREAD, ALLOCATOR, BYTES, COUNT]``
``["total", STACK, THREAD, ALLOCATOR, SIZE, COUNT]``  all allocations, with the size of one of them
``["peaks", [BYTES…]]``          the most live bytes before each memory record and after the last
``["lived", STACK, THREAD, ALLOCATOR, [FIRST, LAST, BYTES, COUNT…]]``  how many allocations were made before memory
    record FIRST (and after the one before it) and freed before LAST, -1 for never; ``["lived"]`` follows the last
``["reused", BYTES]``            bytes that memray's curve still counts at the end although their addresses were used
                                 again

memray reads the whole file for each question, which takes most of the time: once to open it and find the peak; once for
the maximum between every two memory records; once for lifetimes; once for the stacks of the peak; and record by record
for ranges that were mapped over others, see :class:`_Mappings`. A capture with few allocations is also read for
temporary ones, one with very few for totals.
"""

from __future__ import annotations  # Python before 3.9 doesn't have list[int]

import importlib
import json
import sys
from bisect import bisect_left, bisect_right, insort
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    Place = tuple[int, int, int]
    """A thread, a Python stack and a native stack, by memray's numbers."""
    NativePlace = tuple[int, int, int, int]
    """A place, and the generation of native segments by which the native stack's frames are symbolised."""
    Row = tuple[Any, int, int]
    """One of memray's records, its bytes, and its number of allocations."""
    Lifetime = tuple[int, int, int, int]
    """The memory records before which allocations were made and freed, -1 for never; their bytes and number."""
    Piece = tuple[int, int, int, NativePlace]
    """Begin and end of a part of a mapping, the mapping's number, and the place that made it."""

INTERVALS_A_LINE = 10_000
FEW_LINES = 16
"""The most memory records that are used of a large capture, which bounds the output."""
SILENT = 100
"""Above all levels of Python's logging."""
MOST_WAIT_S = 1.0


def main(path: str, most: int, most_counted: int, *, whole: bool) -> None:
    """Print the contents of the capture at ``path``.

    With at most ``most`` records temporary allocations are printed, too (``whole`` is False if the header already has
    more), and with at most ``most_counted`` all allocations.
    """

    def emit(*row: Any) -> None:
        sys.stdout.write(json.dumps(row, separators=(",", ":")) + "\n")

    try:
        memray = importlib.import_module("memray")
    except ImportError:
        emit("missing")
        return
    emit("version", str(memray.__version__))
    # it writes a line for each address in a binary that it can't read, with the path, which may be of any length
    if hasattr(memray, "set_log_level"):
        memray.set_log_level(SILENT)
    try:
        reader = _opened(memray, path, whole=whole)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
        emit("refused", str(error))
        return
    try:
        traced = getattr(reader.metadata, "trace_python_allocators", None)
        emit("allocator", str(reader.metadata.python_allocator), -1 if traced is None else int(traced))
        lines = 0
        for snapshot in reader.get_memory_snapshots():
            emit("memory", snapshot.time, snapshot.rss, snapshot.heap)
            lines += 1
        whole = whole and reader.metadata.total_allocations <= most
        emit("whole", int(whole))
        places = _Places(memray, reader, emit)
        _live(reader, places, emit, lines)
        if whole:
            # 0 other allocations in between; the default of memray's own reports is 1
            _emit_kind(reader, "temporary", places, emit, threshold=0)
        if whole and reader.metadata.total_allocations <= most_counted:
            _totals(reader, places, emit)
        emit("done")
    except Exception as error:  # noqa: BLE001
        emit("broken", f"{type(error).__name__}: {error}")


def _opened(memray: Any, path: str, *, whole: bool) -> Any:
    if not whole:
        try:
            return memray.FileReader(path, max_memory_records=FEW_LINES)
        except TypeError:
            pass  # memray before 1.11 has them all
    return memray.FileReader(path)


class _Places:
    """Prints stacks at their first use, since memray makes a stack again each time and looks up native symbols."""

    def __init__(self, memray: Any, reader: Any, emit: Any) -> None:
        self.emit = emit
        self.allocators = memray.AllocatorType
        self.native = bool(getattr(reader.metadata, "has_native_traces", False))
        self.main_thread = getattr(reader.metadata, "main_thread_id", None)
        self.frames: dict[Any, int] = {}
        self.stacks: dict[tuple[int, ...], int] = {}
        self.known: dict[tuple[int, int, int], int] = {}

    def of(self, record: Any) -> tuple[int, str, str]:
        """The stack, thread and allocator of a record of any kind."""
        key = _native_place(record)[1:]
        number = self.known.get(key)
        if number is None:
            number = self.known[key] = self._stack(
                record.hybrid_stack_trace() if self.native else record.stack_trace()
            )
        main = record.tid == self.main_thread
        thread = record.thread_name or ("main thread" if main else f"thread {record.tid:#x}")
        return number, thread, self.allocators(record.allocator).name.lower()

    def _stack(self, trace: Any) -> int:
        stack: list[int] = []
        for frame in trace:
            if frame not in self.frames:
                self.frames[frame] = len(self.frames)
                self.emit("frame", frame[0], frame[1], frame[2])
            stack.append(self.frames[frame])
        key = tuple(stack)
        if key not in self.stacks:
            self.stacks[key] = len(self.stacks)
            self.emit("stack", stack)
        return self.stacks[key]


def _native_place(record: Any) -> NativePlace:
    try:
        return record.tid, record.stack_id, record.native_stack_id, record.native_segment_generation
    except AttributeError:  # memray before 1.7 doesn't expose the last two
        return record.tid, record.stack_id, hash(tuple(record.native_stack_trace())), 0


def _place(record: Any) -> Place:
    return _native_place(record)[:3]


def _emit_kind(reader: Any, kind: str, places: _Places, emit: Any, **more: int) -> None:
    try:
        for record in getattr(reader, f"get_{kind}_allocation_records")(merge_threads=False, **more):
            emit("record", kind, *places.of(record), record.size, record.n_allocations)
    except NotImplementedError:
        pass  # aggregated captures have no temporary allocations


def _totals(reader: Any, places: _Places, emit: Any) -> None:
    """Print all allocations of each stack, freed or not."""
    frees = _frees(places.allocators)
    sums: dict[tuple[int, ...], list[Any]] = {}
    try:
        for record in reader.get_allocation_records():
            if record.allocator in frees:
                continue
            key = (*_native_place(record), record.allocator, record.size)
            held = sums.get(key)
            if held is None:
                sums[key] = held = [record, 0]
            held[1] += record.n_allocations
    except NotImplementedError:
        return  # aggregated captures have no single allocations
    for record, count in sums.values():
        emit("total", *places.of(record), record.size, count)


def _frees(allocators: Any) -> frozenset[int]:
    return frozenset(int(kind) for kind in allocators if kind.name.endswith("FREE") or kind.name == "MUNMAP")


def _live(reader: Any, places: _Places, emit: Any, lines: int) -> None:
    """Print what was live at the peak and at the end and, if memray has them, lifetimes.

    ``lines`` is the number of memory records.
    """
    at_times = _at_times(reader, lines)
    if at_times is None:
        _live_without_times(reader, places, emit)
        return
    peaks, at_peak, held_at_end = at_times
    emit("peaks", peaks)
    maps = int(places.allocators.MMAP)
    mappings_at_peak = sum(count for record, _, count in at_peak if record.allocator == maps)
    left, mapped = _lifetimes(reader, places, emit)
    mappings_at_end = sum(row[3] for _, rows in mapped for row in rows if row[1] < 0)
    covered: dict[Place, tuple[int, int]] = {}
    held: dict[NativePlace, Iterator[tuple[int, int]]] = {}
    # a single range can't overlap another
    if max(mappings_at_peak, mappings_at_end) > 1:
        mappings = _at_end(reader, places.allocators)
        held = mappings.held()
        if mappings.overlapped:
            covered = _covered_at_peak(reader, places.allocators)
    for record, rows in mapped:
        left += _emit_lifetimes(record, list(_uncovered(record, rows, held)), places, emit)
    emit("lived")
    if held_at_end > left:
        emit("reused", held_at_end - left)
    by_place: dict[Place, list[Row]] = {}
    for row in at_peak:
        by_place.setdefault(_place(row[0]), []).append(row)
    _emit_moment(reader, "high_watermark", places, emit, by_place, covered)


def _live_without_times(reader: Any, places: _Places, emit: Any) -> None:
    """Print what was live, for memray before 1.8 and aggregated captures, which have neither times nor addresses."""
    at_peak: dict[Place, tuple[int, int]] = {}
    at_end: dict[Place, tuple[int, int]] = {}
    try:
        mappings = _at_end(reader, places.allocators)
        if mappings.overlapped:
            at_peak, at_end = _covered_at_peak(reader, places.allocators), mappings.covered_by_place()
    except NotImplementedError:
        pass
    _emit_moment(reader, "high_watermark", places, emit, {}, at_peak)
    _emit_moment(reader, "leaked", places, emit, {}, at_end)


def _at_times(reader: Any, lines: int) -> tuple[list[int], list[Row], int] | None:
    """The most live bytes between every two memory records, what was live at the peak, and the bytes at the end.

    None if memray doesn't have them. These sums never drop an allocation whose address was used again; and if a stack
    freed as many allocations as it made after the highest moment of an interval, but of other sizes, they keep the old
    sum until it allocates again. So they serve only to distinguish the allocators of a place, see
    :func:`_emit_moment`.
    """
    try:
        records, peaks = reader.get_temporal_high_water_mark_allocation_records(merge_threads=False)
    except (AttributeError, NotImplementedError):
        return None
    if len(peaks) == lines:
        peaks = [*peaks, 0]  # nothing was recorded after the last memory record
    if len(peaks) != lines + 1:
        return None
    peak, last = reader.metadata.peak_memory, len(peaks) - 1
    highest = max((number for number, size in enumerate(peaks) if size == peak), default=last)
    rows = []
    totals = [0, 0, 0]
    for record in records:
        sums = [0] * 6
        for lived in record.intervals:
            first, end = lived.allocated_before_snapshot, lived.deallocated_before_snapshot
            for number, at in enumerate((highest, last, last + 1)):
                if first <= at and (end is None or at < end):
                    sums[2 * number] += lived.n_bytes
                    sums[2 * number + 1] += lived.n_allocations
        for number in range(3):
            totals[number] += sums[2 * number]
        if any(sums[:4]):
            rows.append((record, sums))
    # if memory still rises at the end of the last interval, memray has no peak for it
    peaks[last] = max(peaks[last], totals[1])
    at = 2 if totals[1] >= peak else 0
    return peaks, [(record, sums[at], sums[at + 1]) for record, sums in rows], totals[2]


def _emit_moment(
    reader: Any,
    kind: str,
    places: _Places,
    emit: Any,
    by_allocator: dict[Place, list[Row]],
    covered: dict[Place, tuple[int, int]],
) -> None:
    """Print what was live at the peak (``high_watermark``) or at the end (``leaked``), in a separate reading.

    It sums the allocators of a place; ``by_allocator`` keeps them apart if its sum is the same. ``covered`` are bytes
    and a number of mappings that memray still counts although others were mapped over them, see :class:`_Mappings`.
    """
    maps = int(places.allocators.MMAP)
    for record in getattr(reader, f"get_{kind}_allocation_records")(merge_threads=False):
        place = _place(record)
        rows = by_allocator.get(place, [])
        if (sum(row[1] for row in rows), sum(row[2] for row in rows)) != (record.size, record.n_allocations):
            rows = [(record, record.size, record.n_allocations)]
        hidden_bytes, hidden_count = covered.get(place, (0, 0))
        for single, size, count in rows:
            if single.allocator == maps or len(rows) == 1:
                size, count = size - hidden_bytes, count - hidden_count  # noqa: PLW2901
            if size or count:
                emit("record", kind, *places.of(single), size, count)


def _lifetimes(reader: Any, places: _Places, emit: Any) -> tuple[int, list[tuple[Any, list[Lifetime]]]]:
    """Print lifetimes, except those of mappings; return the bytes that are live at the end, and the mappings.

    An allocation at an address that is still in use replaces the former one, which is then not counted at all.
    """
    maps = int(places.allocators.MMAP)
    left = 0
    mapped = []
    for record in reader.get_temporal_allocation_records(merge_threads=False):
        rows = []
        for lived in record.intervals:
            end = lived.deallocated_before_snapshot
            rows.append(
                (
                    lived.allocated_before_snapshot,
                    -1 if end is None else end,
                    lived.n_bytes,
                    lived.n_allocations,
                )
            )
        if record.allocator == maps:
            mapped.append((record, rows))
        else:
            left += _emit_lifetimes(record, rows, places, emit)
    return left, mapped


def _emit_lifetimes(record: Any, rows: list[Lifetime], places: _Places, emit: Any) -> int:
    """Print a place's lifetimes and its live allocations at the end, and return their bytes."""
    where = places.of(record)
    size, count = (sum(row[column] for row in rows if row[1] < 0) for column in (2, 3))
    if size or count:
        emit("record", "leaked", *where, size, count)
    for start in range(0, len(rows), INTERVALS_A_LINE):
        emit("lived", *where, [number for row in rows[start : start + INTERVALS_A_LINE] for number in row])
    return size


def _uncovered(
    record: Any, rows: list[Lifetime], held: dict[NativePlace, Iterator[tuple[int, int]]]
) -> Iterator[Lifetime]:
    """A place's lifetimes without mappings that were mapped over; ``held`` is the result of :meth:`_Mappings.held`."""
    mine = held.get(_native_place(record), iter(()))
    for first, end, size, count in rows:
        if end < 0:
            mappings = list(islice(mine, count))
            size -= sum(covered for _, covered in mappings)  # noqa: PLW2901
            count -= sum(not own for own, _ in mappings)  # noqa: PLW2901
        if size or count:
            yield first, end, size, count


class _Mappings:
    """The ranges that mmap mapped and munmap hasn't unmapped.

    A mapping over a range that wasn't unmapped replaces it: that is how reserved addresses are used (with MAP_FIXED),
    and it also happens after a munmap that memray doesn't see. memray counts both until the range is unmapped; here
    what was mapped over is ``covered``. A piece is (begin, end, number of its mapping, place).
    """

    def __init__(self) -> None:
        self.overlapped = False
        """Whether anything was ever mapped over another range."""
        self._pieces: list[Piece] = []
        """Sorted and disjoint."""
        self._covered: list[Piece] = []
        self._own: dict[int, int] = {}
        """The bytes of each mapping that aren't covered, without mappings for which that is 0."""
        self._count = 0

    def map(self, record: Any) -> None:
        """Process the record of an mmap."""
        begin, end = record.address, record.address + record.size
        if begin == end:
            return
        over = self._cut(begin, end)
        self.overlapped = self.overlapped or bool(over)
        self._covered += over
        self._count += 1
        self._own[self._count] = end - begin
        insort(self._pieces, (begin, end, self._count, _native_place(record)))

    def unmap(self, record: Any) -> int:
        """Process the record of a munmap, and return how many bytes it frees as memray counts them."""
        begin, end = record.address, record.address + record.size
        gone = sum(piece[1] - piece[0] for piece in self._cut(begin, end))
        if self._covered:
            before = self._covered
            self._covered = [rest for piece in before for rest in _without(piece, begin, end)]
            gone += sum(map(_length, before)) - sum(map(_length, self._covered))
        return gone

    def _cut(self, begin: int, end: int) -> list[Piece]:
        """Remove the pieces in a range, and return them."""
        first = bisect_left(self._pieces, (begin,))
        if first and self._pieces[first - 1][1] > begin:
            first -= 1
        last = bisect_right(self._pieces, (end,), lo=first)
        touched = self._pieces[first:last]
        self._pieces[first:last] = [rest for piece in touched for rest in _without(piece, begin, end)]
        cut = [
            (max(start, begin), min(stop, end), number, place)
            for start, stop, number, place in touched
            if start < end and begin < stop
        ]
        for start, stop, number, _ in cut:
            self._own[number] -= stop - start
            if not self._own[number]:
                del self._own[number]
        return cut

    def held(self) -> dict[NativePlace, Iterator[tuple[int, int]]]:
        """Bytes that memray counts for each mapping, covered or not, by place in the order of creation."""
        sums: dict[NativePlace, dict[int, list[int]]] = {}
        for column, pieces in enumerate((self._pieces, self._covered)):
            for begin, end, number, place in pieces:
                sums.setdefault(place, {}).setdefault(number, [0, 0])[column] += end - begin
        return {
            place: iter([(of[number][0], of[number][1]) for number in sorted(of)])
            for place, of in sums.items()
        }

    def covered_by_place(self) -> dict[Place, tuple[int, int]]:
        """The covered bytes, and how many mappings are completely covered."""
        sums: dict[Place, list[int]] = {}
        seen = set()
        for begin, end, number, place in self._covered:
            held = sums.setdefault(place[:3], [0, 0])
            held[0] += end - begin
            if number not in seen and number not in self._own:
                held[1] += 1
            seen.add(number)
        return {place: (size, count) for place, (size, count) in sums.items()}


def _without(piece: Piece, begin: int, end: int) -> Iterator[Piece]:
    """Return what remains of a piece without a range."""
    start, stop, number, place = piece
    if stop <= begin or end <= start:
        yield piece
        return
    if start < begin:
        yield start, begin, number, place
    if end < stop:
        yield end, stop, number, place


def _length(piece: Piece) -> int:
    return piece[1] - piece[0]


def _at_end(reader: Any, allocators: Any) -> _Mappings:
    """The ranges that are mapped at the end."""
    maps, unmaps = int(allocators.MMAP), int(allocators.MUNMAP)
    mappings = _Mappings()
    for record in reader.get_allocation_records():
        kind = record.allocator
        if kind == maps:
            mappings.map(record)
        elif kind == unmaps:
            mappings.unmap(record)
    return mappings


def _covered_at_peak(reader: Any, allocators: Any) -> dict[Place, tuple[int, int]]:
    """Return what was covered at memray's peak: by its count, the last moment with the most bytes."""
    maps, unmaps, frees = int(allocators.MMAP), int(allocators.MUNMAP), _frees(allocators)
    mappings = _Mappings()
    sizes: dict[int, int] = {}
    now = most = 0
    covered: dict[Place, tuple[int, int]] = {}
    # whether the peak is after the last change of the mappings
    due = False
    for record in reader.get_allocation_records():
        kind = record.allocator
        if kind in (maps, unmaps):
            if due:
                covered, due = mappings.covered_by_place(), False
            if kind == maps:
                mappings.map(record)
                now += record.size
            else:
                now -= mappings.unmap(record)
        elif kind in frees:
            now -= sizes.pop(record.address, 0)
        else:
            now += record.size
            sizes[record.address] = record.size
        if now >= most:
            most, due = now, True
    return mappings.covered_by_place() if due else covered


def end_with_parent() -> None:
    """End this process with its parent, if the system supports that."""
    if sys.platform.startswith("linux"):
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def interrupt_waiting() -> None:
    """Interrupt system calls that wait for longer than :data:`MOST_WAIT_S`, if the system supports that.

    memray opens the binaries that a capture names, and to open a pipe that nobody writes to would take forever.
    """
    import signal

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, MOST_WAIT_S, MOST_WAIT_S)


if __name__ == "__main__":
    # don't import from the current folder
    sys.path[:] = [place for place in sys.path if place not in ("", ".")]
    end_with_parent()
    interrupt_waiting()
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), whole=sys.argv[4] == "1")
