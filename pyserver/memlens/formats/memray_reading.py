"""Prints what memray's own reader tells of a file, as lines of JSON: a program of its own.

It is run by the interpreter that has memray (``python -c``), so it needs nothing of Memlens, and no Python newer than
3.7. Lines: ``["version", TEXT]``, ``["missing"]``, ``["refused", TEXT]``, ``["broken", TEXT]``, ``["allocator", NAME,
TRACED]`` of Python's own allocator, and whether what it gave out was recorded (1 or 0; -1 where memray before 1.11
doesn't say), ``["memory", MS, RSS, HEAP]``, ``["frame", FUNCTION, FILE, LINE]``, ``["stack", [FRAME…]]`` innermost
first, for each kind of records ``["record", KIND, STACK, THREAD, ALLOCATOR, BYTES, COUNT]``, of all that was allocated
``["total", STACK, THREAD, ALLOCATOR, SIZE, COUNT]`` with the size of one of them, ``["peaks", [BYTES…]]`` the most that
was live before each line of memory and after the last, and ``["lived", STACK, THREAD, ALLOCATOR, [FIRST, LAST, BYTES,
COUNT…]]`` how many allocations were made before the line of memory FIRST (not before the one before it) and freed
before LAST, -1 for never; ``["reused", BYTES]`` of allocations that memray's curve and peak still hold at the end
though their addresses were given out again; ``["done"]`` is the last one.

``["whole", 0 or 1]`` says whether all was asked for. memray reads the file from its start for each question, which is
what takes the time: once to open it, when it looks for the peak; once for the stacks of the peak and once for those of
the end, or in one reading for both (see :func:`_peak_and_end`); once for what lived when, which tells what was live at
the end too; once for what was temporary; and record by record for what was allocated in all, which only captures with
few records are asked for.
"""

import importlib
import json
import sys
from typing import Any

INTERVALS_A_LINE = 10_000
FEW_LINES = 16
"""Lines of memory of a large capture: the fewer there are, the more often one reading tells the peak truly.

Of two captures with 34 M allocations it did with 16, and of one of them with 64.
"""


def main(path: str, most: int, most_counted: int, *, whole: bool) -> None:
    """Tell of the capture at ``path``; ``whole``: all of it, unless it is larger than its header says.

    Of up to ``most`` records all but the totals is told, of up to ``most_counted`` these, too.
    """

    def tell(*row: Any) -> None:
        sys.stdout.write(json.dumps(row, separators=(",", ":")) + "\n")

    try:
        memray = importlib.import_module("memray")
    except ImportError:
        tell("missing")
        return
    tell("version", str(memray.__version__))
    try:
        reader = _opened(memray, path, whole=whole)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told
        tell("refused", str(error))
        return
    try:
        traced = getattr(reader.metadata, "trace_python_allocators", None)
        tell("allocator", str(reader.metadata.python_allocator), -1 if traced is None else int(traced))
        for snapshot in reader.get_memory_snapshots():
            tell("memory", snapshot.time, snapshot.rss, snapshot.heap)
        whole = whole and reader.metadata.total_allocations <= most
        tell("whole", int(whole))
        places = _Places(memray, reader, tell)
        held_at_end = _peak_and_end(reader, places, tell, sure=whole)
        if whole:
            if held_at_end is not None:
                _lived(reader, places, tell, held_at_end)
            # 0 others allocated in between: memray's own reports take 1 unless they are told otherwise
            _records(reader, "temporary", places, tell, threshold=0)
        if whole and reader.metadata.total_allocations <= most_counted:
            _totals(reader, places, tell)
        tell("done")
    except Exception as error:  # noqa: BLE001
        tell("broken", f"{type(error).__name__}: {error}")


def _opened(memray: Any, path: str, *, whole: bool) -> Any:
    if not whole:
        try:
            return memray.FileReader(path, max_memory_records=FEW_LINES)
        except TypeError:
            pass  # memray before 1.11 has them all
    return memray.FileReader(path)


class _Places:
    """Tells of stacks when they are first asked for. memray makes a stack anew each time, native ones by symbols."""

    def __init__(self, memray: Any, reader: Any, tell: Any) -> None:
        self.tell = tell
        self.allocators = memray.AllocatorType
        self.native = bool(getattr(reader.metadata, "has_native_traces", False))
        self.main_thread = getattr(reader.metadata, "main_thread_id", None)
        self.frames: dict[Any, int] = {}
        self.stacks: dict[tuple[int, ...], int] = {}
        self.known: dict[tuple[int, int, int], int] = {}

    def of(self, record: Any) -> tuple[int, str, str]:
        """The stack, thread and allocator of any kind of record."""
        key = (record.stack_id, record.native_stack_id, record.native_segment_generation)
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
                self.tell("frame", frame[0], frame[1], frame[2])
            stack.append(self.frames[frame])
        key = tuple(stack)
        if key not in self.stacks:
            self.stacks[key] = len(self.stacks)
            self.tell("stack", stack)
        return self.stacks[key]


def _records(reader: Any, kind: str, places: _Places, tell: Any, **more: int) -> None:
    try:
        for record in getattr(reader, f"get_{kind}_allocation_records")(merge_threads=False, **more):
            tell("record", kind, *places.of(record), record.size, record.n_allocations)
    except NotImplementedError:
        pass  # captures that were aggregated tell no temporary allocations


def _totals(reader: Any, places: _Places, tell: Any) -> None:
    """Tell what each stack allocated in all, whatever became of it."""
    frees = {int(kind) for kind in places.allocators if kind.name.endswith("FREE") or kind.name == "MUNMAP"}
    found: dict[tuple[int, ...], list[Any]] = {}
    try:
        for record in reader.get_allocation_records():
            if record.allocator in frees:
                continue
            key = (
                record.stack_id, record.native_stack_id, record.native_segment_generation, record.tid,
                record.allocator, record.size,
            )  # fmt: skip
            held = found.get(key)
            if held is None:
                found[key] = held = [record, 0]
            held[1] += record.n_allocations
    except NotImplementedError:
        return  # captures that were aggregated tell no single allocations
    for record, count in found.values():
        tell("total", *places.of(record), record.size, count)


def _peak_and_end(reader: Any, places: _Places, tell: Any, *, sure: bool) -> "int | None":
    """Tell what was live at the peak and, where ``sure`` is False, at the end, in one reading if it can be.

    memray tells how each stack took part in the highest moment between any two lines of memory. Of a stack that
    freed as many allocations as it made after such a moment, but others in size, it tells the old sum until it
    allocates again. So a peak that doesn't add up to the one known is asked for by itself. Where an address was given
    out again without a free that memray saw, this reading holds both allocations to the end; ``sure`` leaves the end to
    :func:`_lived`, where the later one ends the earlier. Gives back what this reading holds at the end; None where all
    is told.
    """
    temporal = getattr(reader, "get_temporal_high_water_mark_allocation_records", None)
    try:
        records, peaks = temporal(merge_threads=False) if temporal else (None, [])
    except NotImplementedError:  # the capture was aggregated
        records = None
    if records is None:
        _records(reader, "high_watermark", places, tell)
        _records(reader, "leaked", places, tell)
        return None
    peak, last = reader.metadata.peak_memory, len(peaks) - 1
    highest = max((number for number, size in enumerate(peaks) if size == peak), default=last)
    rows = []
    total = total_last = total_end = 0
    for record in records:
        sums = [0] * 6
        for lived in record.intervals:
            first, end = lived.allocated_before_snapshot, lived.deallocated_before_snapshot
            for place, at in ((0, highest), (2, last), (4, last + 1)):
                if first <= at and (end is None or at < end):
                    sums[place] += lived.n_bytes
                    sums[place + 1] += lived.n_allocations
        total += sums[0]
        total_last += sums[2]
        total_end += sums[4]
        if any(sums):
            rows.append((record, sums))
    # where the last stretch still rises at its end memray has no peak of it
    peaks[last] = max(peaks[last], total_last)
    tell("peaks", peaks)
    place = 2 if total_last >= peak else 0
    if sure or (total, total_last)[place // 2] != peak:
        _peak(reader, places, tell, [(record, *sums[place : place + 2]) for record, sums in rows])
        place = -1
    for record, sums in rows:
        if place >= 0 and any(sums[place : place + 2]):
            tell("record", "high_watermark", *places.of(record), *sums[place : place + 2])
        if not sure and any(sums[4:]):
            tell("record", "leaked", *places.of(record), *sums[4:])
    return total_end


def _peak(reader: Any, places: _Places, tell: Any, by_allocator: "list[tuple[Any, int, int]]") -> None:
    """Tell what was live at the peak by a reading of its own, which is true but adds up a place's allocators.

    ``by_allocator`` tells them apart, a record with its bytes and their number; it is taken for each place of which it
    comes to the same.
    """
    apart: dict[Any, list[tuple[Any, int, int]]] = {}
    for row in by_allocator:
        apart.setdefault((row[0].tid, row[0].stack_id, row[0].native_stack_id), []).append(row)
    for record in reader.get_high_watermark_allocation_records(merge_threads=False):
        rows = apart.get((record.tid, record.stack_id, record.native_stack_id), [])
        sums = sum(row[1] for row in rows), sum(row[2] for row in rows)
        if sums != (record.size, record.n_allocations):
            rows = [(record, record.size, record.n_allocations)]
        for single, size, count in rows:
            if size or count:
                tell("record", "high_watermark", *places.of(single), size, count)


def _lived(reader: Any, places: _Places, tell: Any, held_at_end: int) -> None:
    """Tell what lived from when to when, and what of it is left at the end; memray's curve has ``held_at_end`` then."""
    left = 0
    for record in reader.get_temporal_allocation_records(merge_threads=False):
        row: list[int] = []
        end_bytes = end_count = 0
        for lived in record.intervals:
            end = lived.deallocated_before_snapshot
            row += (lived.allocated_before_snapshot, -1 if end is None else end)
            row += (lived.n_bytes, lived.n_allocations)
            if end is None:
                end_bytes += lived.n_bytes
                end_count += lived.n_allocations
        left += end_bytes
        where = places.of(record)
        if end_bytes or end_count:
            tell("record", "leaked", *where, end_bytes, end_count)
        for start in range(0, len(row), 4 * INTERVALS_A_LINE):
            tell("lived", *where, row[start : start + 4 * INTERVALS_A_LINE])
    tell("lived")
    if held_at_end > left:
        tell("reused", held_at_end - left)


def end_with_parent() -> None:
    """Let this process die with the one that started it, where the system can."""
    if sys.platform.startswith("linux"):
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


if __name__ == "__main__":
    # what lies in the current folder is not to be imported
    sys.path[:] = [place for place in sys.path if place not in ("", ".")]
    end_with_parent()
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), whole=sys.argv[4] == "1")
