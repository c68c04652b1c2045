"""What the fuzzer feeds: each takes any bytes and may raise nothing but what people are shown."""

import contextlib
import os
import random
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from tests.fuzz.questions import ask_everything

from memlens.errors import BadRequestError, MemlensError
from memlens.formats.containers import open_source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.redacted import REMOVALS, Wanted
from memlens.formats.redaction import redact
from memlens.ingest import ingest
from memlens.model.info import GraphInfo
from memlens.packs.native.heaptrack import read as read_heaptrack
from memlens.packs.python.kernels.memray_records import Reader as Records
from memlens.packs.python.memray import read as read_memray
from memlens.packs.python.memray_header import Header, read_header
from memlens.store.files.cache import Cache
from memlens.store.manifest import ArchiveError, read_manifest
from memlens.store.snapshot import Snapshot
from memlens.views.flame import graph as flame
from memlens.views.flame.first import opening_options, opening_set
from memlens.views.selection import filters

if TYPE_CHECKING:
    from memlens.formats.containers import Source

MOST_BYTES = 1 << 20


def quiet(*_: object) -> None:
    """Report nothing."""


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder in memory, where the system has one."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


def file(data: bytes) -> str:
    """A snapshot file with this content: read, and asked everything. What came of it, in a word."""
    with scratch() as folder:
        path = folder / "fuzzed"
        path.write_bytes(data[:MOST_BYTES])
        try:
            archive = ingest(path, Cache(folder / "cache"), quiet)
        except ArchiveError:
            raise  # nothing has damaged it yet
        except (MemlensError, MemoryError) as error:
            return type(error).__name__
        try:
            word = _asked(archive, zlib.crc32(data), damaged=False)
            _redacted(path, archive, folder)
            return word
        finally:
            assert not list((folder / "cache").glob("*.partial-*"))


def _redacted(path: Path, archive: Path, folder: Path) -> None:
    """Write a heap dump without its values and read that: it has as many objects as the one in ``archive``."""
    before = read_manifest(archive).info
    if not isinstance(before, GraphInfo) or before.kind in ("gcdump", "perfetto"):
        return
    for removed in REMOVALS.values():
        written = folder / f"redacted-{removed}"
        with written.open("wb") as output, open_source(path, folder, quiet) as source:
            try:
                redact(source, output, Wanted(removed), quiet)
            except DamagedSnapshotError:
                # what is damaged is refused, although it can be read
                return
        after = read_manifest(ingest(written, Cache(folder / "cache"), quiet)).info
        assert isinstance(after, GraphInfo)
        assert (after.kind, after.objects, after.references) == (
            before.kind,
            before.objects,
            before.references,
        )


def archive(data: bytes) -> str:
    """The archive of a small file, changed where the data says: 8 bytes each for a file, a place, what to put."""
    with scratch() as folder:
        copied = folder / "archive"
        shutil.copytree(_archive("ledger.dhat.json" if data[:1] >= b"\x80" else "everything.pickle"), copied)
        files = sorted(path for path in copied.iterdir() if path.is_file())
        for at in range(0, min(len(data), 800) - 7, 8):
            path = files[data[at] % len(files)]
            size = path.stat().st_size
            place = int.from_bytes(data[at + 1 : at + 4], "little")
            what = data[at + 5 : at + 5 + 1 + data[at + 4] % 3]
            if data[at + 4] == 0xFF:
                os.truncate(path, place % (size + 1))
            elif size:
                with path.open("r+b") as opened:
                    opened.seek(place % size)
                    opened.write(what[: size - place % size])
        return _asked(copied, zlib.crc32(data), damaged=True)


def filter_text(data: bytes) -> str:
    """A text in the filter box."""
    try:
        terms = filters.parse(data[:4096].decode("utf-8", "replace"))
    except MemlensError as error:
        return type(error).__name__
    # what was understood is said again in words that mean the same
    again = filters.parse(" ".join(str(term) for term in terms))
    assert [str(term) for term in again] == [str(term) for term in terms]
    return "understood"


def heaptrack(data: bytes) -> str:
    """A recording of heaptrack, cut where its first byte says, and what is made of it."""
    path = Path("fuzzed")
    if not data:
        return "nothing"
    size = data[0] + 1

    class Chunks:
        """The part of ``Source`` that the reader uses."""

        truncated = bool(data[0] & 1)

        def chunks(self, report: object) -> Iterator[memoryview]:
            text = memoryview(data)[1:MOST_BYTES]
            return (text[start : start + size] for start in range(0, len(text), size))

    try:
        profile = read_heaptrack(cast("Source", Chunks()), path, quiet)
    except (MemlensError, MemoryError) as error:
        return type(error).__name__
    times = profile.times
    assert times is not None
    # what is live at each edge is what changed up to it, and nothing is ever negative
    moved = times.changes["allocated_count"].astype("i8") - times.changes["freed_count"]
    rows = times.change_offsets[1:].astype("i8")
    assert (np.append(0, np.cumsum(moved))[rows] == times.series["live_count"]).all()
    assert all(int(column.min(initial=0)) >= 0 for column in profile.values)
    assert int(times.peaks.max()) == int(profile.values[0].sum())
    return "read"


def memray(data: bytes) -> str:
    """A capture of memray, read in parts whose size its first byte says and as a whole, and what is made of it."""
    with scratch() as folder:
        path = folder / "fuzzed"
        path.write_bytes(data[1:MOST_BYTES])
        try:
            with open_source(path, folder, quiet) as source:
                header = read_header(source)
                in_parts, whole = (
                    _read_records(header, data[1:MOST_BYTES], size) for size in (data[0] + 1, MOST_BYTES)
                )
                assert in_parts == whole
                profile = read_memray(source, folder, quiet)
        except (MemlensError, MemoryError) as error:
            return type(error).__name__
    # a value is missing where all of it are 0
    values = {each.name: column for each, column in zip(profile.value_types, profile.values, strict=True)}
    assert all(int(column.min(initial=0)) >= 0 for column in values.values())
    if profile.times is not None and not header.aggregated:
        assert int(profile.times.series["live_bytes"][-1]) == int(values["leaked_bytes"].sum())
    return "read"


def _read_records(header: Header, data: bytes, size: int) -> tuple[int, ...]:
    """What the kernel says after reading parts of a size."""
    reader = Records(
        header.version, header.native, header.aggregated, max(0, header.start_ms), header.size_bytes
    )
    for start in range(0, len(data), size):
        if reader.feed(data[start : start + size]) or reader.ended:
            break
    reader.finish()
    return (
        reader.error, reader.error_offset, reader.allocations, reader.impossible_rows, reader.held_bytes,
        reader.flat_since, reader.ended,
    )  # fmt: skip


def _asked(archive: Path, seed: int, *, damaged: bool) -> str:
    """Ask an archive everything. One that was just made may not be called damaged, and bugs go on to the fuzzer."""
    may_fail = ArchiveError if damaged else ()
    try:
        snapshot = Snapshot.open(archive)
    except may_fail as error:
        return type(error).__name__
    try:
        with contextlib.suppress(BadRequestError, *([ArchiveError] if damaged else [])):
            snapshot.ask(first_flame)
        ask_everything(snapshot, random.Random(seed), damaged=damaged)
        with contextlib.suppress(*([ArchiveError] if damaged else [])):
            snapshot.ask(Snapshot.work_in_background)
            snapshot.verify()
    finally:
        snapshot.close()
    return "opened"


@cache
def _archive(name: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="memlens-fuzz-"))
    seed = Path(__file__).parent / "corpus" / "file" / name
    made = ingest(seed, Cache(folder), quiet)
    with contextlib.closing(Snapshot.open(made)) as snapshot:
        first_flame(snapshot)
        # what appears in an archive later is damaged with the rest
        snapshot.work_in_background()
    assert (made / flame.FIRST_FLAME.name).is_file()
    return made


def first_flame(snapshot: Snapshot) -> None:
    tree = flame.tree_of(snapshot, opening_set(snapshot.info), "bytes", opening_options(snapshot.info))
    flame.picture(tree, 0, 1, 0, 100, 1000)
    flame.picture(tree, 0.3, 0.4, 2, 100, 1000, "a")


TARGETS: dict[str, Callable[[bytes], str]] = {
    "file": file,
    "archive": archive,
    "filter": filter_text,
    "heaptrack": heaptrack,
    "memray": memray,
}
"""By the name of their corpus."""
