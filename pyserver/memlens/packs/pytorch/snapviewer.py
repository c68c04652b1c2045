"""SnapViewer's archives: a zip file of ``allocations.json`` and ``elements.db``, made from one device's trace.

Source: ``convert_snap.py``, ``src/allocation.rs``, ``src/load.rs`` and ``src/database/sqlite.rs`` of
https://github.com/Da1sypetals/SnapViewer.

* ``allocations.json`` is a list with an object per allocation: its ``size``, and the polygon in which it is drawn, as
  ``timesteps`` and ``offsets`` (bytes below it) of the same length. It is live from the first step to the last.
* ``elements.db`` has a table ``allocs (idx, size, start_time, end_time, callstack)``; ``idx`` is the index in that
  list. A call stack has a line ``(level) file:line:function`` per frame, innermost first.
* An allocation advances the time by one step. A free does, too, and by three more if allocations above it move down.
  What was live before the trace begins at step 0; what is live at the end ends with the last step.

Everything else in the trace is lost. Archives that Memlens exports have two more fields per allocation, which
SnapViewer ignores: ``before_trace`` and ``live_at_end``.
"""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec
import numpy as np
from msgspec import Struct

from memlens.arrays import I64, U32, Mask
from memlens.errors import MemlensError
from memlens.formats.containers import Source
from memlens.formats.errors import NotASnapshotError
from memlens.formats.packing import MOST_EXPANSION
from memlens.formats.warnings import counted_warnings
from memlens.formats.zip_files import MAGIC, entries_named, opened, unpacked
from memlens.kernels.trace import timeline as kernel
from memlens.model.frames import Frames, SourceFrame
from memlens.model.info import FileWarning, device_phrase
from memlens.model.timeline import ACTIONS, NEVER, NO_CATEGORY, DeviceTimeline, Events, Timeline
from memlens.packs.pytorch.frames import source_frame
from memlens.progress import Report
from memlens.texts import phrase, plural

KIND = "snapviewer-archive"
ALLOCATIONS, ELEMENTS = "allocations.json", "elements.db"
SCHEMA = """
CREATE TABLE allocs (
    idx INTEGER PRIMARY KEY,
    size INTEGER,
    start_time INTEGER,
    end_time INTEGER,
    callstack TEXT
)
"""
STEPS_TO_COME_DOWN = 3

_MOST_JSON_BYTES = 2 << 30
_MOST_ALLOCATION_BYTES = 64 << 20
"""The most JSON of one allocation, whose polygon has a point for each time that it moved."""
_LEAST_DATABASE_BYTES, _MOST_DATABASE_BYTES = 1 << 30, 16 << 30
_MOST_DATABASE_EXPANSION = 200
"""Beyond :data:`_LEAST_DATABASE_BYTES`: repeated stacks compress well."""
_MOST_ALLOCATIONS = 20_000_000
_MOST_STACK_CHARACTERS = 1 << 20
_MOST_FRAMES_OF_A_STACK = 4_096
_FRAME = re.compile(r"^\(\d{1,6}\) (?P<file>.*?):(?P<line>\d{1,9}):(?P<function>.*)$", re.DOTALL)
_LEVEL = re.compile(r"\n(?=\(\d{1,6}\) )")


class DamagedArchiveError(MemlensError):
    """A SnapViewer archive that is damaged or inconsistent."""

    code = "damaged"
    advice = phrase("Convert the snapshot again, or open the original snapshot.")


class _Entry(Struct):
    timesteps: msgspec.Raw
    size: int
    before_trace: bool | None = None
    live_at_end: bool | None = None


class _Lives(Struct):
    """The contents of ``allocations.json``, an item per allocation in its order."""

    size: I64
    first_step: I64
    last_step: I64
    before: Mask
    at_end: Mask
    by_memlens: bool
    end_unknown: bool


def sniff(head: bytes) -> bool:
    """Whether the first bytes are those of a zip file."""
    return head.startswith(MAGIC)


def read(source: Source, scratch: Path, report: Report) -> Timeline:
    """Read an archive into a Timeline.

    Raises :class:`NotASnapshotError`, :class:`DamagedZipError`, :class:`DamagedArchiveError`, or MemoryError.
    """
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        with opened(source.data) as archive:
            entries = entries_named(archive, ALLOCATIONS, ELEMENTS)
            listed = entries[ALLOCATIONS]
            most = max(listed.compress_size, 4096) * MOST_EXPANSION
            lives = _lives(unpacked(archive, listed, min(most, _MOST_JSON_BYTES)))
            report("reading", 0.4)
            database = Path(folder) / ELEMENTS
            packed = entries[ELEMENTS]
            most = max(packed.compress_size * _MOST_DATABASE_EXPANSION, _LEAST_DATABASE_BYTES)
            with database.open("wb") as plain:
                plain.writelines(unpacked(archive, packed, min(most, _MOST_DATABASE_BYTES)))
        report("reading", 0.6)
        frames, stacks, wrong = _stacks(database, lives)
    report("reading", 1.0)
    device = _device(lives, stacks)
    return Timeline(
        KIND, frames, [device], list(ACTIONS), [], [0], [(-1, -1)], {}, [*_warnings(lives, stacks), *wrong]
    )


class _Batch(NamedTuple):
    """Some of the allocations of ``allocations.json`` as columns, in the file's order."""

    size: I64
    steps: I64
    """The first and the last step of each."""
    before: Mask
    at_end: Mask
    by_memlens: bool


def _batches(chunks: Iterator[bytes]) -> Iterator[_Batch]:
    """Decode the list in parts, each of which ends with an object."""
    text, before, error = b"", b"[", ""
    decode = msgspec.json.Decoder(list[_Entry]).decode
    for chunk in chunks:
        text = (text + chunk).lstrip()
        if before and text[:1] == before:
            text, before = text[1:], b""
        if before:
            continue
        end = text.rfind(b"}") + 1
        try:
            # only the first and the last step of a polygon are needed
            entries = decode(b"[%b]" % text[:end])
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as failure:
            # that brace may be within an object
            entries, error = [], f"{failure}"
        if entries:
            yield _batch(entries)
            text, before, error = text[end:].lstrip(), b",", ""
            if text[:1] == before:
                text, before = text[1:], b""
        elif len(text) > _MOST_ALLOCATION_BYTES:
            break
    if before == b"[" or text.strip() != b"]":
        raise DamagedArchiveError(
            phrase(
                "{file} can't be read: {reason}",
                file=ALLOCATIONS,
                reason=error or phrase("the list is truncated"),
            )
        )


def _batch(entries: list[_Entry]) -> _Batch:
    sizes = [entry.size for entry in entries]
    if min(sizes) < 0 or sum(sizes) > 2**62:
        raise DamagedArchiveError(phrase("A size is negative, or the sum of the sizes is too large"))
    return _Batch(
        np.array(sizes, np.int64),
        np.array([_ends(entry.timesteps) for entry in entries], np.int64),
        np.array([entry.before_trace is True for entry in entries], bool),
        np.array([entry.live_at_end is True for entry in entries], bool),
        all(entry.before_trace is not None and entry.live_at_end is not None for entry in entries),
    )


def _lives(chunks: Iterator[bytes]) -> _Lives:
    batches: list[_Batch] = []
    count = 0
    for batch in _batches(chunks):
        batches.append(batch)
        count += len(batch.size)
        if count > _MOST_ALLOCATIONS:
            raise DamagedArchiveError(
                phrase(
                    "{allocations} has more than {most} allocations",
                    allocations=ALLOCATIONS,
                    most=_MOST_ALLOCATIONS,
                )
            )
    if not batches:
        raise NotASnapshotError(phrase("The archive has no allocations, so there is nothing to show"))
    sizes, steps, before, at_end = (np.concatenate(column) for column in list(zip(*batches, strict=True))[:4])
    if sum(int(batch.size.sum()) for batch in batches) > 2**62:
        raise DamagedArchiveError(phrase("The sum of the sizes is too large"))
    first, last = steps[:, 0], steps[:, 1]
    if bool((last < first).any()):
        raise DamagedArchiveError(phrase("An allocation ends before it begins"))
    by_memlens = all(batch.by_memlens for batch in batches)
    unknown = False
    if not by_memlens:
        before = first == 0
        if not bool((last == 0).any()):
            # nothing is freed at step 0, so the first event is an allocation: the last one that begins there
            before[np.flatnonzero(before)[-1:]] = False
        at_end = last == last.max()
        # frees never share a step; if there is only one such allocation, the last event may have freed it
        unknown = int(np.count_nonzero(at_end)) == 1
    return _Lives(sizes, first, last, before, at_end, by_memlens, unknown)


def _ends(steps: msgspec.Raw) -> tuple[int, int]:
    """Return the first and the last number of a JSON list of integers."""
    inside = bytes(steps).strip()[1:-1]
    try:
        first, last = int(inside.split(b",", 1)[0]), int(inside.rsplit(b",", 1)[-1])
    except ValueError as error:
        raise DamagedArchiveError(
            phrase("{allocations} has timesteps that are not numbers", allocations=ALLOCATIONS)
        ) from error
    if not 0 <= first < 2**62 or not 0 <= last < 2**62:
        raise DamagedArchiveError(
            phrase("{allocations} has a timestep that is out of range", allocations=ALLOCATIONS)
        )
    return first, last


def _stacks(path: Path, lives: _Lives) -> tuple[Frames, U32, list[FileWarning]]:
    """Return the stacks of ``elements.db``, the stack of each allocation, and what couldn't be read of them."""
    known: dict[str, int] = {"": 0}
    cut: set[int] = set()
    unread_stacks = unread_frames = 0
    stacks = np.zeros(len(lives.size), np.uint32)
    try:
        rows = _rows(path)
        count = 0
        for index, size, callstack in rows:
            if not isinstance(index, int) or not 0 <= index < len(stacks) or size != lives.size[index]:
                raise DamagedArchiveError(
                    phrase(
                        "{elements} and {allocations} are of different snapshots",
                        elements=ELEMENTS,
                        allocations=ALLOCATIONS,
                    )
                )
            count += 1
            text = callstack[:_MOST_STACK_CHARACTERS] if isinstance(callstack, str) else ""
            stacks[index] = known.setdefault(text, len(known))
            if callstack is not None and not isinstance(callstack, str):
                unread_stacks += 1
            elif callstack is not None and len(callstack) > _MOST_STACK_CHARACTERS:
                cut.add(int(stacks[index]))
    except apsw.Error as error:
        raise DamagedArchiveError(
            phrase("{file} can't be read: {reason}", file=ELEMENTS, reason=str(error))
        ) from error
    if count != len(stacks):
        message = phrase(
            "{elements} has {count} allocations, but {allocations} has {other}",
            elements=ELEMENTS,
            count=count,
            allocations=ALLOCATIONS,
            other=len(stacks),
        )
        raise DamagedArchiveError(message)
    numbers: dict[SourceFrame, int] = {}
    starts = [0, 0]
    sequence: list[int] = []
    for number, text in enumerate(list(known)[1:], 1):
        lines = _LEVEL.split(text)
        if len(lines) > _MOST_FRAMES_OF_A_STACK:
            cut.add(number)
        lines = lines[:_MOST_FRAMES_OF_A_STACK]
        unread_frames += sum(_FRAME.match(line) is None for line in lines)
        sequence.extend(numbers.setdefault(_frame(line), len(numbers)) for line in lines)
        starts.append(len(sequence))
    frames = Frames(list(numbers), np.array(starts, np.uint64), np.array(sequence, np.uint32))
    wrong = counted_warnings(
        unread_stacks=unread_stacks, shortened_stacks=len(cut), unread_frames=unread_frames
    )
    return frames, stacks, wrong


def _rows(path: Path) -> Any:
    """Yield the rows of ``allocs``. The database is untrusted: only a table of that name is read."""
    database = apsw.Connection(
        f"{path.resolve().as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    try:
        database.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        database.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        database.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
        database.limit(apsw.SQLITE_LIMIT_LENGTH, 64 << 20)
        database.pragma("cell_size_check", 1)
        # a virtual table has no pages of its own: it is read by the code of an extension
        own = database.execute(
            "SELECT rootpage FROM sqlite_schema WHERE lower(name) = 'allocs' AND type = 'table'"
        )
        if own.get == 0:
            raise DamagedArchiveError(
                phrase("{elements} has a virtual table in place of allocs", elements=ELEMENTS)
            )
        yield from database.execute("SELECT idx, size, callstack FROM allocs ORDER BY idx")
    finally:
        database.close(True)


def _frame(text: str) -> SourceFrame:
    match = _FRAME.match(text)
    if match is None:
        return source_frame("", 0, text)
    return source_frame(match["file"], int(match["line"]), match["function"])


def _device(lives: _Lives, stacks: U32) -> DeviceTimeline:
    """Return a device 0 whose events are the allocations and frees in the order of their steps."""
    begun, freed = np.flatnonzero(~lives.before), np.flatnonzero(~lives.at_end)
    owner = np.concatenate((begun, freed))
    step = np.concatenate((lives.first_step[begun], lives.last_step[freed]))
    is_free = np.arange(len(owner)) >= len(begun)
    # within a step frees come first, except that of an allocation that begins there
    turn = np.where(is_free, np.where(lives.first_step[owner] == step, 2, 0), 1)
    order = np.lexsort((owner, turn, step))
    owner, is_free = owner[order], is_free[order]
    count = len(owner)
    start, end = np.zeros(len(stacks), np.uint32), np.full(len(stacks), NEVER, np.uint32)
    moments = np.arange(1, count + 1, dtype=np.uint32)
    start[owner[~is_free]] = moments[~is_free]
    end[owner[is_free]] = moments[is_free]
    # what was live before the trace keeps the file's order, the lowest first
    picture = np.argsort(start, kind="stable")
    rows = np.zeros(len(stacks), _allocation_dtype())
    rows["size"], rows["stack"] = lives.size[picture], stacks[picture]
    rows["start"], rows["end"], rows["category"] = start[picture], end[picture], NO_CATEGORY
    rows["flags"] = np.where(lives.before[picture], kernel.BEFORE_TRACE, 0)
    number = np.empty(len(stacks), np.uint32)
    number[picture] = np.arange(len(stacks), dtype=np.uint32)
    events = Events(
        np.where(is_free, kernel.FREE_COMPLETED, kernel.ALLOC).astype(np.uint8),
        np.zeros(count, np.uint64),
        lives.size[owner],
        # the stacks of frees are not in the archive
        np.where(is_free, 0, stacks[owner]).astype(np.uint32),
        np.zeros(count, np.uint16),
        np.zeros(count, np.uint16),
        np.full(count, NO_CATEGORY, np.uint8),
        None,
    )
    return DeviceTimeline(0, events, rows, number[owner], None, None, 0, 0)


def _allocation_dtype() -> np.dtype[np.void]:
    return np.dtype(
        [("address", "<u8"), ("size", "<i8"), ("start", "<u4"), ("end", "<u4"), ("stack", "<u4"), ("stream", "<u2"),
         ("category", "u1"), ("flags", "u1")],
    )  # fmt: skip


def _warnings(lives: _Lives, stacks: U32) -> list[FileWarning]:
    warnings = [
        FileWarning(
            "snapviewer",
            phrase(
                "A SnapViewer archive has sizes, stacks, and the order of allocations and frees. It has no "
                "times, addresses, streams, segments, free requests, out-of-memory events or device number: "
                "the axis counts allocations and frees, and the device is shown as 0."
            ),
        )
    ]
    before = int(np.count_nonzero(lives.before))
    allocations = phrase(plural(before, "{n} allocation", "{n} allocations"), n=before)
    if before and not lives.by_memlens:
        said = phrase(
            "Allocated before recording: {allocations}. SnapViewer's converter matches stacks by position, "
            "which these allocations shift, so stacks may be wrong. Open the original snapshot for correct "
            "ones.",
            allocations=allocations,
        )
        warnings.append(FileWarning("stacks-unsure", said, 0))
    elif before:
        said = phrase(
            "Allocated before recording, on {device}: {before}.", device=device_phrase(0), before=allocations
        )
        warnings.append(FileWarning("live-before", said, 0))
    if lives.end_unknown:
        said = phrase(
            "Whether the last allocation was freed by the last event is not in the archive; it is shown as live."
        )
        warnings.append(FileWarning("end-unsure", said, 0))
    if bare := int(np.count_nonzero(stacks == 0)):
        said = phrase(
            plural(
                bare,
                "{n} of {all} has no stack in the file{of_these}.",
                "{n} of {all} have no stack in the file{of_these}.",
            ),
            n=bare,
            all=phrase(plural(len(stacks), "{n} allocation", "{n} allocations"), n=len(stacks)),
            of_these="",
        )
        warnings.append(FileWarning("no-stacks", said))
    return warnings
