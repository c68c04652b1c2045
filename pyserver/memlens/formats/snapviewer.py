"""SnapViewer's archives: a zip of ``allocations.json`` and ``elements.db``, made from one device's trace.

Source: ``convert_snap.py``, ``src/allocation.rs``, ``src/load.rs`` and ``src/database/sqlite.rs`` of
https://github.com/Da1sypetals/SnapViewer.

* ``allocations.json`` is a list with an object for each allocation: its ``size``, and the polygon in which it is drawn,
  as ``timesteps`` and ``offsets`` (bytes below it) of the same length. It lives from the first step to the last one.
* ``elements.db`` has a table ``allocs (idx, size, start_time, end_time, callstack)``, ``idx`` being the place in that
  list. A call stack has a line ``(level) file:line:function`` for each frame, innermost first.
* An allocation advances the time by one step, a free by one as well, and by three more when something lay above it and
  has to come down. What was live before the trace begins at step 0; what is live at the end ends with the last step.

Everything else of the trace is lost. Archives that Memlens exports say two things more about each allocation, which
SnapViewer passes over: ``before_trace`` and ``live_at_end``.
"""

import io
import mmap
import re
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.errors import MemlensError
from memlens.formats.containers import Source
from memlens.formats.packing import MOST_EXPANSION, DamagedContainerError
from memlens.kernels.trace import timeline as kernel
from memlens.model.frames import Frames, SourceFrame, source_frame
from memlens.model.info import Notice
from memlens.model.timeline import ACTIONS, NEVER, NO_CATEGORY, DeviceTimeline, Events, Timeline
from memlens.progress import Report
from memlens.units import counted, part_has

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

_MOST_ENTRIES = 64
_MOST_DIRECTORY_BYTES = 1 << 20
_MOST_JSON_BYTES = 2 << 30
_MOST_ALLOCATION_BYTES = 64 << 20
"""Of the JSON of one allocation, whose polygon has a point for each time that it moved."""
_LEAST_DATABASE_BYTES, _MOST_DATABASE_BYTES = 1 << 30, 16 << 30
_MOST_DATABASE_EXPANSION = 200
"""Beyond the least that any may have: the same stacks again and again pack well."""
_MOST_ALLOCATIONS = 20_000_000
_MOST_STACK_CHARACTERS = 1 << 20
_MOST_FRAMES_OF_A_STACK = 4_096
_CHUNK_BYTES = 1 << 20
_FRAME = re.compile(r"^\(\d{1,6}\) (?P<file>.*?):(?P<line>\d{1,9}):(?P<function>.*)$", re.DOTALL)
_LEVEL = re.compile(r"\n(?=\(\d{1,6}\) )")


class NotAnArchiveError(MemlensError):
    """A zip of something else."""

    code = "not-a-snapshot"
    advice = "A SnapViewer archive holds allocations.json and elements.db."
    retry = False


class DamagedArchiveError(MemlensError):
    """An archive of SnapViewer's whose parts don't fit each other."""

    code = "damaged"
    advice = "Convert the snapshot again, or open the snapshot itself."


class _Entry(Struct):
    timesteps: msgspec.Raw
    size: int
    before_trace: bool | None = None
    live_at_end: bool | None = None


class _Lives(Struct):
    """What ``allocations.json`` says, an item an allocation in its order."""

    size: npt.NDArray[np.int64]
    first_step: npt.NDArray[np.int64]
    last_step: npt.NDArray[np.int64]
    before: npt.NDArray[np.bool_]
    at_end: npt.NDArray[np.bool_]
    by_memlens: bool
    end_unsure: bool


def sniff(head: bytes) -> bool:
    """Whether the first bytes are those of a zip file."""
    return head[:4] == b"PK\x03\x04"


def read(source: Source, scratch: Path, report: Report) -> Timeline:
    """Read an archive into a Timeline. Raises :class:`NotAnArchiveError`, :class:`DamagedArchiveError`, MemoryError."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        try:
            with zipfile.ZipFile(_MapFile(source.data)) as archive:
                entries = _entries(archive)
                listed = entries[ALLOCATIONS]
                most = max(listed.compress_size, 4096) * MOST_EXPANSION
                lives = _lives(_unpacked(archive, listed, min(most, _MOST_JSON_BYTES)))
                report("reading", 0.4)
                database = Path(folder) / ELEMENTS
                packed = entries[ELEMENTS]
                most = max(packed.compress_size * _MOST_DATABASE_EXPANSION, _LEAST_DATABASE_BYTES)
                with database.open("wb") as plain:
                    plain.writelines(_unpacked(archive, packed, min(most, _MOST_DATABASE_BYTES)))
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
            OverflowError,
        ) as error:
            raise DamagedArchiveError(f"The zip file is damaged: {error}") from error
        report("reading", 0.6)
        frames, stacks = _stacks(database, lives)
    report("reading", 1.0)
    device = _device(lives, stacks)
    return Timeline(KIND, frames, [device], list(ACTIONS), [], [0], [(-1, -1)], {}, _notices(lives, stacks))


class _MapFile(io.RawIOBase):
    """Mapped bytes as a file for ``zipfile``, which reads a directory at once and makes an object of each entry."""

    def __init__(self, data: mmap.mmap | bytes) -> None:
        self._data = data
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: len(self._data)}[whence]
        if base + offset < 0:
            raise OSError("before the beginning of the file")
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        wanted = size if size >= 0 else len(self._data) - self._at
        if wanted > _MOST_DIRECTORY_BYTES:
            raise NotAnArchiveError(f"The zip file's directory takes {wanted:,} bytes: it is no snapshot")
        return super().read(max(wanted, 0)) or b""

    def readinto(self, buffer: Any) -> int:
        piece = self._data[self._at : self._at + len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


def _entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    found: dict[str, zipfile.ZipInfo] = {}
    infos = archive.infolist()
    if len(infos) > _MOST_ENTRIES:
        raise NotAnArchiveError(f"The zip file holds {len(infos):,} files and is no snapshot")
    for info in infos:
        # some pack the folder, not the files in it
        name = info.filename.rsplit("/", 1)[-1]
        if name in (ALLOCATIONS, ELEMENTS):
            if name in found:
                raise DamagedArchiveError(f"The zip file holds two files named {name}")
            if info.flag_bits & 1:
                raise DamagedArchiveError(
                    f"{name} is encrypted", advice="Unpack it, and pack it without a password."
                )
            found[name] = info
    for name in (ALLOCATIONS, ELEMENTS):
        if name not in found:
            raise NotAnArchiveError(f"The zip file has no {name}, so it is no archive of SnapViewer's")
    return found


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> Iterator[bytes]:
    size = 0
    with archive.open(info) as file:
        while piece := file.read(_CHUNK_BYTES):
            size += len(piece)
            if size > most:
                raise DamagedContainerError(f"{info.filename[:100]} unpacks to more than {most:,} bytes")
            yield piece


class _Listed(NamedTuple):
    """Some of the allocations of ``allocations.json``, in its order: numbers alone, whatever the text takes."""

    size: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int64]
    """The first and the last of each."""
    before: npt.NDArray[np.bool_]
    at_end: npt.NDArray[np.bool_]
    by_memlens: bool


def _listed(pieces: Iterator[bytes]) -> Iterator[_Listed]:
    """Decode as much of the list at a time as ends with an object."""
    text, before, error = b"", b"[", ""
    decode = msgspec.json.Decoder(list[_Entry]).decode
    for piece in pieces:
        text = (text + piece).lstrip()
        if before and text[:1] == before:
            text, before = text[1:], b""
        if before:
            continue
        end = text.rfind(b"}") + 1
        try:
            # the polygons' inner points are passed over: a life needs the first and the last step
            entries = decode(b"[%b]" % text[:end])
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as found:
            # perhaps that brace is within an object
            entries, error = [], f"{found}"
        if entries:
            yield _numbers(entries)
            text, before, error = text[end:].lstrip(), b",", ""
            if text[:1] == before:
                text, before = text[1:], b""
        elif len(text) > _MOST_ALLOCATION_BYTES:
            break
    if before == b"[" or text.strip() != b"]":
        raise DamagedArchiveError(f"{ALLOCATIONS} can't be read: {error or 'the list breaks off'}")


def _numbers(entries: list[_Entry]) -> _Listed:
    sizes = [entry.size for entry in entries]
    if min(sizes) < 0 or sum(sizes) > 2**62:
        raise DamagedArchiveError("The sizes add up to more bytes than can be counted")
    return _Listed(
        np.array(sizes, np.int64),
        np.array([_ends(entry.timesteps) for entry in entries], np.int64),
        np.array([entry.before_trace is True for entry in entries], bool),
        np.array([entry.live_at_end is True for entry in entries], bool),
        all(entry.before_trace is not None and entry.live_at_end is not None for entry in entries),
    )


def _lives(pieces: Iterator[bytes]) -> _Lives:
    found: list[_Listed] = []
    count = 0
    for listed in _listed(pieces):
        found.append(listed)
        count += len(listed.size)
        if count > _MOST_ALLOCATIONS:
            raise DamagedArchiveError(f"{ALLOCATIONS} holds more than {_MOST_ALLOCATIONS:,} allocations")
    if not found:
        raise NotAnArchiveError("The archive holds no allocation, so there is nothing to show")
    sizes, steps, before, at_end = (np.concatenate(column) for column in list(zip(*found, strict=True))[:4])
    if sum(int(listed.size.sum()) for listed in found) > 2**62:
        raise DamagedArchiveError("The sizes add up to more bytes than can be counted")
    first, last = steps[:, 0], steps[:, 1]
    if bool((last < first).any()):
        raise DamagedArchiveError("An allocation ends before it begins")
    by_memlens = all(listed.by_memlens for listed in found)
    unsure = False
    if not by_memlens:
        before = first == 0
        if not bool((last == 0).any()):
            # nothing is freed at step 0, so the first event is an allocation: the last one that begins there
            before[np.flatnonzero(before)[-1:]] = False
        at_end = last == last.max()
        # frees never share a step; a single allocation may have been freed by the very last event
        unsure = int(np.count_nonzero(at_end)) == 1
    return _Lives(sizes, first, last, before, at_end, by_memlens, unsure)


def _ends(steps: msgspec.Raw) -> tuple[int, int]:
    """The first and the last number of a JSON list of whole numbers."""
    inside = bytes(steps).strip()[1:-1]
    try:
        first, last = int(inside.split(b",", 1)[0]), int(inside.rsplit(b",", 1)[-1])
    except ValueError as error:
        raise DamagedArchiveError(f"{ALLOCATIONS} holds timesteps that are no numbers") from error
    if not 0 <= first < 2**62 or not 0 <= last < 2**62:
        raise DamagedArchiveError(f"{ALLOCATIONS} holds a timestep that can't be")
    return first, last


def _stacks(path: Path, lives: _Lives) -> tuple[Frames, npt.NDArray[np.uint32]]:
    """The stacks of ``elements.db``, and the one of each allocation."""
    known: dict[str, int] = {"": 0}
    stacks = np.zeros(len(lives.size), np.uint32)
    try:
        rows = _rows(path)
        count = 0
        for index, size, callstack in rows:
            if not isinstance(index, int) or not 0 <= index < len(stacks) or size != lives.size[index]:
                raise DamagedArchiveError(f"{ELEMENTS} and {ALLOCATIONS} are not of the same snapshot")
            count += 1
            text = callstack[:_MOST_STACK_CHARACTERS] if isinstance(callstack, str) else ""
            stacks[index] = known.setdefault(text, len(known))
    except apsw.Error as error:
        raise DamagedArchiveError(f"{ELEMENTS} can't be read: {error}") from error
    if count != len(stacks):
        message = f"{ELEMENTS} tells of {count:,} allocations and {ALLOCATIONS} of {len(stacks):,}"
        raise DamagedArchiveError(message)
    numbers: dict[SourceFrame, int] = {}
    starts = [0, 0]
    sequence: list[int] = []
    for text in list(known)[1:]:
        pieces = _LEVEL.split(text)[:_MOST_FRAMES_OF_A_STACK]
        sequence.extend(numbers.setdefault(_frame(piece), len(numbers)) for piece in pieces)
        starts.append(len(sequence))
    return Frames(list(numbers), np.array(starts, np.uint64), np.array(sequence, np.uint32)), stacks


def _rows(path: Path) -> Any:
    """The rows of ``allocs``, from a database that nobody vouches for: only a table of that name is read."""
    database = apsw.Connection(
        f"{path.resolve().as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    try:
        database.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        database.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        database.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
        database.limit(apsw.SQLITE_LIMIT_LENGTH, 64 << 20)
        database.pragma("cell_size_check", 1)
        yield from database.execute("SELECT idx, size, callstack FROM allocs ORDER BY idx")
    finally:
        database.close(True)


def _frame(text: str) -> SourceFrame:
    found = _FRAME.match(text)
    if found is None:
        return source_frame("", 0, text)
    return source_frame(found["file"], int(found["line"]), found["function"])


def _device(lives: _Lives, stacks: npt.NDArray[np.uint32]) -> DeviceTimeline:
    """Allocations and frees in the order of their steps, as the events of device 0."""
    begun, freed = np.flatnonzero(~lives.before), np.flatnonzero(~lives.at_end)
    owner = np.concatenate((begun, freed))
    step = np.concatenate((lives.first_step[begun], lives.last_step[freed]))
    is_free = np.arange(len(owner)) >= len(begun)
    # in one step a free comes first, unless it is that of what begins there
    turn = np.where(is_free, np.where(lives.first_step[owner] == step, 2, 0), 1)
    order = np.lexsort((owner, turn, step))
    owner, is_free = owner[order], is_free[order]
    count = len(owner)
    start, end = np.zeros(len(stacks), np.uint32), np.full(len(stacks), NEVER, np.uint32)
    moments = np.arange(1, count + 1, dtype=np.uint32)
    start[owner[~is_free]] = moments[~is_free]
    end[owner[is_free]] = moments[is_free]
    # what was live before the trace keeps the order of the file, the lowest first
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
        # where something was freed is not told
        np.where(is_free, 0, stacks[owner]).astype(np.uint32),
        np.zeros(count, np.uint16),
        np.zeros(count, np.uint16),
        np.full(count, NO_CATEGORY, np.uint8),
        None,
    )
    live, live_counts = np.empty(count + 1, np.int64), np.empty(count + 1, np.uint32)
    kernel.live_over_time(rows["size"], rows["start"], rows["end"], live, live_counts)
    return DeviceTimeline(0, events, rows, number[owner], live, live_counts, None, None, 0, 0)


def _allocation_dtype() -> np.dtype[np.void]:
    return np.dtype(
        [("address", "<u8"), ("size", "<i8"), ("rounded", "<i8"), ("start", "<u4"), ("end", "<u4"), ("pending", "<u4"),
         ("stack", "<u4"), ("stream", "<u2"), ("category", "u1"), ("flags", "u1")],
        align=True,
    )  # fmt: skip


def _notices(lives: _Lives, stacks: npt.NDArray[np.uint32]) -> list[Notice]:
    """What the format can't tell."""
    found = [
        Notice(
            "snapviewer",
            "A SnapViewer archive keeps sizes, stacks, and the order of allocations and frees. Times, addresses, "
            "streams, segments, requests of frees, out-of-memory events and the device's number are not in it: the "
            "axis counts allocations and frees, and the device is shown as 0.",
        )
    ]
    before = int(np.count_nonzero(lives.before))
    if before and not lives.by_memlens:
        message = (
            f"Allocated before recording: {counted(before, 'allocation')}. SnapViewer's converter pairs stacks by "
            "position, which they shift: stacks may stand beside the wrong allocations. Open the snapshot itself to "
            "be sure."
        )
        found.append(Notice("stacks-unsure", message, 0))
    elif before:
        message = f"Allocated before recording, on device 0: {counted(before, 'allocation')}."
        found.append(Notice("live-before", message, 0))
    if lives.end_unsure:
        message = "Whether the last allocation was freed by the last event is not in the archive; it is shown as live."
        found.append(Notice("end-unsure", message, 0))
    if bare := int(np.count_nonzero(stacks == 0)):
        message = f"{part_has(bare, len(stacks), 'allocation')} no stack in the file."
        found.append(Notice("no-stacks", message))
    return found
