"""memray's captures. The header is read here; what follows is private to each version of memray, so memray reads it.

Its ``FileReader`` runs in a process of its own, by the interpreter that the setting ``memlens.memray.python`` names
(else by ours, where memray is installed beside us), and prints what we read, see :mod:`memlens.formats.memray_reading`.

Source of the header: ``src/memray/_memray/records.h`` and ``record_writer.cpp`` of memray.
"""

import contextlib
import os
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from memlens.errors import MemlensError
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.lz4_head import MAGIC as LZ4
from memlens.formats.lz4_head import lz4_head
from memlens.formats.stacks import Numbers, distinct_frames
from memlens.model.frames import Frames, SourceFrame, profiled_frame
from memlens.model.info import Notice, ValueType
from memlens.model.profile import (
    CHANGE_DTYPE,
    LABEL_DTYPE,
    LIVE_BYTES,
    RSS_BYTES,
    Column,
    Profile,
    ProfileTimes,
    fits,
)
from memlens.progress import Report

KIND = "memray"
I64 = npt.NDArray[np.int64]

MAGIC = b"memray\0"
VERSIONS = {
    9: ("1.4 to 1.6", ">=1.4,<1.7"),
    10: ("1.7 to 1.10", ">=1.7,<1.11"),
    11: ("1.11 to 1.18", ">=1.11,<1.19"),
    12: ("1.19", ">=1.19,<1.20"),
    13: ("1.20", ">=1.20,<1.21"),
}
"""The memray that writes and reads each version of the header, in words and for pip."""

KINDS = ("high_watermark", "leaked", "temporary")
VALUES = [
    ValueType("peak_bytes", "bytes", "peak", "Live at the peak"),
    ValueType("peak_allocations", "count", "peak", "Allocations live at the peak"),
    ValueType("leaked_bytes", "bytes", "end", "Live at the end"),
    ValueType("leaked_allocations", "count", "end", "Allocations live at the end"),
    ValueType(
        "temporary_bytes", "bytes", "temporary", "Temporary: freed before the next allocation of the thread"
    ),
    ValueType("temporary_allocations", "count", "temporary", "Temporary allocations"),
]

_WITHOUT_PYTHON = 11
"""The last version of the header without the version of Python, which stands behind its own since."""
_FIXED = struct.Struct("<BBqqqq")
_HEAD_BYTES = 1 << 16
_MOST_TEMPORARY = 20_000_000
"""Allocations of a capture beyond which temporary ones aren't asked for: memray reads the file once more for them."""
_MOST_SECONDS = 900
_MOST_LINE_BYTES = 1 << 24
_MOST_RECORDS = 10_000_000
_MOST_EDGES = 4096
_THREAD, _ALLOCATOR = 1, 2


class MemrayNeededError(MemlensError):
    """The memray that reads this file isn't there."""

    code = "needs-memray"


class Header(NamedTuple):
    """What the file tells before its private part. Times are in milliseconds since 1970."""

    version: int
    native: bool
    aggregated: bool
    allocations: int
    start_ms: int
    end_ms: int
    command: str

    @property
    def needs(self) -> str:
        """The memray that reads it, for people: ``1.7 to 1.10``."""
        return VERSIONS[self.version][0]


def sniff(head: bytes) -> bool:
    """Whether the first bytes are a capture's, in an LZ4 frame or not."""
    return head.startswith(MAGIC) or (head.startswith(LZ4) and lz4_head(head, len(MAGIC)) == MAGIC)


def read(source: Source, scratch: Path, report: Report) -> Profile:
    """Read a capture by memray itself; ``report`` gets ``("reading", fraction)``.

    Raises :class:`MemrayNeededError` where the memray that reads the file isn't there, :class:`DamagedSnapshotError`,
    or MemoryError.
    """
    header = _header(source)
    python = source.tools.memray_python or sys.executable
    found = _Records(header)
    with _on_disk(source, scratch) as path:
        for row in _rows(python, path, header, scratch):
            found.take(row, python)
            if found.count % 10_000 == 0:
                report("reading", min(0.9, found.count / 1_000_000))
    report("reading", 1.0)
    return found.profile()


def _header(source: Source) -> Header:
    head = source.head(_HEAD_BYTES)
    if head.startswith(LZ4):
        head = lz4_head(head, _HEAD_BYTES)
    if len(head) < len(MAGIC) + 8 + _FIXED.size:
        raise DamagedSnapshotError("The capture breaks off within its header")
    at = len(MAGIC) + 4
    version = int.from_bytes(head[len(MAGIC) : at], "little", signed=True)
    at += 4 * (version > _WITHOUT_PYTHON)
    native, kind, allocations, _, start, end = _FIXED.unpack_from(head, at)
    command = head[at + _FIXED.size :].split(b"\0", 1)[0].decode("utf-8", "replace")
    if version not in VERSIONS:
        older = version < min(VERSIONS)
        raise MemrayNeededError(
            f"The capture is of memray's file format {version}, "
            f"{'of memray before 1.4' if older else 'newer than Memlens knows'}",
            advice="Make a flame graph of it with the memray that recorded it: python -m memray flamegraph FILE."
            if older
            else "Update Memlens; or record with memray 1.20.",
        )
    return Header(version, bool(native), kind == 1, allocations, start, end, command)


@contextlib.contextmanager
def _on_disk(source: Source, scratch: Path) -> Iterator[Path]:
    """A path at which memray finds the capture: a copy of what was unpacked."""
    with source.path.open("rb") as file:
        same = file.read(len(MAGIC)) == source.head(len(MAGIC))
    if same:
        yield source.path.absolute()
        return
    with tempfile.NamedTemporaryFile(dir=scratch, suffix=".bin") as copy:
        copy.write(source.data)
        copy.flush()
        yield Path(copy.name)


def _rows(python: str, path: Path, header: Header, scratch: Path) -> Iterator[list[Any]]:
    """What the reading process prints, line by line."""
    program = Path(__file__).with_name("memray_reading.py").read_text("utf-8")
    temporary = "1" if header.allocations <= _MOST_TEMPORARY else "0"
    # where native frames are symbolised, debuginfod would be asked over the network
    unwanted = ("DEBUGINFOD_URLS", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")
    environment = {name: text for name, text in os.environ.items() if name not in unwanted}
    environment["PYTHONIOENCODING"] = "utf-8"
    with tempfile.TemporaryFile(dir=scratch) as errors:
        try:
            # the interpreter is the user's, in a list of arguments: no shell, and nothing of the capture among them
            child = subprocess.Popen(  # noqa: S603
                [python, "-c", program, str(path), temporary], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=errors, cwd=scratch, env=environment,
            )  # fmt: skip
        except OSError as error:
            raise MemrayNeededError(
                f"The interpreter {python} can't be run: {error.strerror}", advice=_advice(header)
            ) from error
        timer = threading.Timer(_MOST_SECONDS, child.kill)
        timer.start()
        done = False
        try:
            for row in _decoded(child.stdout):
                done = done or row[:1] in (["done"], ["missing"], ["refused"], ["broken"])
                yield row
            status = child.wait()
        finally:
            timer.cancel()
            child.kill()
            child.wait()
            if child.stdout is not None:
                child.stdout.close()
        if not done:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - 300))
            said = errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise DamagedSnapshotError(
                f"memray's reader ended (status {status}) before it had read the capture{': ' + said if said else ''}"
            )


def _decoded(stream: IO[bytes] | None) -> Iterator[list[Any]]:
    decode = msgspec.json.Decoder(list[Any]).decode
    while stream is not None and (line := stream.readline(_MOST_LINE_BYTES)):
        try:
            yield decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DamagedSnapshotError(f"What memray's reader printed can't be read: {error}") from error


def _advice(header: Header) -> str:
    """The one command, and where its result belongs."""
    folder = f"memray-{header.version}"
    return (
        f'Run: python3 -m venv {folder} && {folder}/bin/pip install "memray{VERSIONS[header.version][1]}", and set '
        f"memlens.memray.python (on the command line MEMLENS_MEMRAY_PYTHON) to the path of {folder}/bin/python."
    )


class _Records:
    """What memray's reader told so far."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.count = 0
        self.version = ""
        self.frames: list[SourceFrame] = []
        self.stacks: list[list[int]] = []
        self.memory: list[tuple[int, int, int]] = []
        self.samples: Numbers[tuple[int, str, str]] = Numbers()
        self.values: list[dict[int, list[int]]] = [{} for _ in KINDS]
        self.broken = ""

    def take(self, row: list[Any], python: str) -> None:
        """One line of the reading process."""
        header = self.header
        match row:
            case ["record", str(kind), int(stack), str(thread), str(allocator), int(size), int(count)] if (
                kind in KINDS and 0 <= stack < len(self.stacks) and 0 <= size < 2**60 and 0 <= count < 2**60
            ):
                self.count += 1
                if self.count > _MOST_RECORDS:
                    raise DamagedSnapshotError(
                        f"The capture has more than {_MOST_RECORDS:,} distinct records"
                    )
                held = self.values[KINDS.index(kind)].setdefault(
                    self.samples[stack, thread, allocator], [0, 0]
                )
                held[0] += size
                held[1] += count
            case ["frame", str(function), str(file), int(line)]:
                self.frames.append(profiled_frame(file, line, function))
            case ["stack", [*frames]] if all(
                isinstance(n, int) and 0 <= n < len(self.frames) for n in frames
            ):
                self.stacks.append(frames)
            case ["memory", int(time), int(rss), int(heap)] if max(abs(time), abs(rss), abs(heap)) < 2**60:
                self.memory.append((time, rss, heap))
            case ["version", str(version)]:
                self.version = version
            case ["missing"]:
                raise MemrayNeededError(
                    f"Reading a capture takes memray itself, and {python} has none. This one was recorded by memray "
                    f"{header.needs} (file format {header.version})",
                    advice=_advice(header),
                )
            case ["refused", str(why)]:
                if "version" in why:
                    raise MemrayNeededError(
                        f"The capture was recorded by memray {header.needs} (file format {header.version}), and "
                        f"{python} has memray {self.version}, which doesn't read it",
                        advice=_advice(header),
                    )
                raise DamagedSnapshotError(f"memray {self.version} can't read the capture: {why}")
            case ["broken", str(why)]:
                self.broken = why
            case ["done"]:
                pass
            case _:
                raise DamagedSnapshotError("memray's reader told something that no capture holds")

    def profile(self) -> Profile:
        """The whole."""
        if self.broken and not self.count:
            raise DamagedSnapshotError(f"memray {self.version} can't read the capture: {self.broken}")
        frames, numbers = distinct_frames(self.frames)
        starts = np.concatenate(([0, 0], np.cumsum([len(stack) for stack in self.stacks], dtype=np.int64)))
        sequence = np.fromiter((frame for stack in self.stacks for frame in stack), np.int64)
        keys = list(self.samples)
        columns = [np.zeros(len(keys), np.int64) for _ in VALUES]
        for number, held in enumerate(self.values):
            for sample, (size, count) in held.items():
                columns[2 * number][sample], columns[2 * number + 1][sample] = size, count
        if not fits(columns):
            raise DamagedSnapshotError("The sizes add up to more bytes than can be counted")
        told = 6 if self.values[2] else 4
        labels, strings = _labels(keys)
        # stack 0 is the empty one
        return Profile(
            KIND, Frames(frames, starts.astype(np.uint64), numbers[sequence].astype(np.uint32)), VALUES[:told], 0,
            np.array([stack + 1 for stack, _, _ in keys], np.uint32), columns[:told], labels, strings,
            times=self._times(), settings=self._settings(), notices=self._notices(),
        )  # fmt: skip

    def _times(self) -> ProfileTimes | None:
        """The heap and the resident memory that memray noted every ten milliseconds, in at most so many bins."""
        if not self.memory:
            return None
        rows = np.array(self.memory, np.int64)
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        step = -(-len(rows) // _MOST_EDGES)
        last = np.append(np.arange(step - 1, len(rows) - 1, step), len(rows) - 1)
        first = np.append(0, last[:-1] + 1)
        edges = rows[last]
        return ProfileTimes(
            np.clip(edges[:, 0] - rows[0, 0], 0, 2**50) * 1000,
            {LIVE_BYTES: edges[:, 2].copy(), RSS_BYTES: edges[:, 1].copy()},
            np.maximum.reduceat(rows[:, 2], first), np.zeros(len(edges) + 1, np.uint64), np.empty(0, CHANGE_DTYPE),
            tells_flow=False, told=np.zeros(len(edges), np.bool_),
        )  # fmt: skip

    def _settings(self) -> dict[str, str | int]:
        header = self.header
        return {
            "command": header.command, "file_format": header.version, "memray": self.version,
            "native": int(header.native), "aggregated": int(header.aggregated), "allocations": header.allocations,
        }  # fmt: skip

    def _notices(self) -> list[Notice]:
        header, found = self.header, []
        # the figures are written into the header when the recording ends; aggregated captures have none of them
        if not header.allocations and not header.aggregated:
            message = "The recording didn't come to its end: the process was killed; what it did last may be missing."
            found.append(Notice("killed", message))
        if self.broken:
            found.append(Notice("broken", f"The capture is damaged, what follows is missing: {self.broken}"))
        if header.aggregated:
            message = "The capture was aggregated (--aggregate): it doesn't tell temporary allocations."
            found.append(Notice("aggregated", message))
        elif header.allocations > _MOST_TEMPORARY:
            message = (
                f"The capture has {header.allocations:,} allocations: which of them were temporary is left out, as "
                "memray would read the whole of it once more."
            )
            found.append(Notice("no-temporary", message))
        if self.memory:
            message = "memray tells how much was live over time, but stacks only of the peak and of the end."
            found.append(Notice("curve-only", message))
        return found


def _labels(keys: list[tuple[int, str, str]]) -> tuple[Column, dict[int, str]]:
    """The thread and the allocator of each sample."""
    texts: Numbers[str] = Numbers()
    labels = np.zeros(2 * len(keys), LABEL_DTYPE)
    labels["sample"] = np.repeat(np.arange(len(keys)), 2)
    labels["key"] = np.tile([_THREAD, _ALLOCATOR], len(keys))
    labels["text"] = [
        texts[text] + _ALLOCATOR + 1 for _, thread, allocator in keys for text in (thread, allocator)
    ]
    strings = {number + _ALLOCATOR + 1: text for text, number in texts.items()}
    return labels, {_THREAD: "thread", _ALLOCATOR: "allocator"} | strings
