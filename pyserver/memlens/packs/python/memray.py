"""memray's captures. The header is read here; what follows is private to each version of memray, so memray reads it.

Its ``FileReader`` runs in a separate process, with the interpreter that the setting ``memlens.memray.python`` names
(else with ours, if memray is installed beside Memlens), and its output is what we read, see
:mod:`memlens.packs.python.memray_reading`.

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

from memlens.arrays import I64
from memlens.errors import MemlensError, reason
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.lz4_head import MAGIC as LZ4
from memlens.formats.lz4_head import lz4_head
from memlens.formats.stacks import Numbers, distinct_frames
from memlens.formats.warnings import counted_warnings
from memlens.model.frames import MOST_LINE, POSSIBLE_ARENA, Frames, SourceFrame, profiled_frame
from memlens.model.info import FileWarning, ValueType
from memlens.model.profile import LABEL_DTYPE, Column, Profile, ProfileTimes, sums_fit
from memlens.packs.python.memray_arenas import Arenas
from memlens.packs.python.memray_times import NEVER, End, times_of
from memlens.programs import program
from memlens.progress import Report
from memlens.texts import Text, phrase
from memlens.units import format_bytes

KIND = "memray"

MAGIC = b"memray\0"
VERSIONS = {
    9: ("1.4 to 1.6", ">=1.4,<1.7"),
    10: ("1.7 to 1.10", ">=1.7,<1.11"),
    11: ("1.11 to 1.18", ">=1.11,<1.19"),
    12: ("1.19", ">=1.19,<1.20"),
    13: ("1.20", ">=1.20,<1.21"),
}
"""The versions of memray that write and read each version of the header, for people and for pip."""

KINDS = ("high_watermark", "leaked", "temporary", "total")
VALUES = [
    ValueType("peak_bytes", "bytes", "peak", phrase("Live at the peak")),
    ValueType("peak_allocations", "count", "peak", phrase("Allocations live at the peak")),
    ValueType("leaked_bytes", "bytes", "end", phrase("Live at the end")),
    ValueType("leaked_allocations", "count", "end", phrase("Allocations live at the end")),
    ValueType(
        "temporary_bytes",
        "bytes",
        "temporary",
        phrase("Temporary: freed before the next allocation of the thread"),
    ),
    ValueType("temporary_allocations", "count", "temporary", phrase("Temporary allocations")),
    ValueType("total_bytes", "bytes", "total", phrase("Allocated in total")),
    ValueType("total_allocations", "count", "total", phrase("Allocations in total")),
]
"""Two values of each kind: bytes and count."""

_WITHOUT_PYTHON = 11
"""The last version of the header without the version of Python."""
_WITHOUT_KIND = 9
"""The last version of the header without a byte that says whether the capture is aggregated."""
_FIXED, _FIXED_WITHOUT_KIND = struct.Struct("<BBqqqq"), struct.Struct("<Bqqqq")
_HEAD_BYTES = 1 << 16
_MOST_WHOLE = 20_000_000
"""The most records of a capture for which temporary allocations are read; memray holds each of them in memory."""
_MOST_COUNTED = 2_000_000
"""The most records of a capture for which totals are read; Python adds them up one by one."""
_MOST_SECONDS = 3600
"""A reader that takes longer hangs: memray's takes about a second for a million records."""
_MOST_LINE_BYTES = 1 << 24
_MOST_RECORDS = 10_000_000
_MOST_SUM = 2**60
_LARGEST = 2**63 - 1
_THREAD, _ALLOCATOR = 1, 2


class MemrayNeededError(MemlensError):
    """The version of memray that reads this file is missing."""

    code = "needs-memray"


class Header(NamedTuple):
    """The part of the file before memray's private one. Times are in milliseconds since 1970."""

    version: int
    native: bool
    aggregated: bool
    allocations: int
    start_ms: int
    end_ms: int
    command: str

    @property
    def needs(self) -> str:
        """The versions of memray that read it, for people: ``1.7 to 1.10``."""
        return VERSIONS[self.version][0]


def sniff(head: bytes) -> bool:
    """Whether the first bytes are those of a capture, in an LZ4 frame or not."""
    return head.startswith(MAGIC) or (head.startswith(LZ4) and lz4_head(head, len(MAGIC)) == MAGIC)


def read(source: Source, scratch: Path, report: Report) -> Profile:
    """Read a capture with memray itself; ``report`` gets ``("reading", fraction)``.

    Raises :class:`MemrayNeededError` if the version of memray that reads the file is missing,
    :class:`DamagedSnapshotError`, or MemoryError.
    """
    header = _header(source)
    python = _interpreter(source.tools.programs.get("memray.python", ""), header)
    records = _Records(header)
    with _on_disk(source, scratch) as path:
        for row in _rows(python, path, header, scratch):
            records.take(row, python)
            if records.count % 10_000 == 0:
                report("reading", min(0.9, records.count / 1_000_000))
    report("reading", 1.0)
    return records.profile()


def _interpreter(named: str, header: Header) -> str:
    """The path of the Python that was named: a bare name's in a folder of ``PATH``, never in the working directory.

    Raises :class:`MemrayNeededError`.
    """
    if not named:
        return sys.executable
    # the process starts in another folder
    found = program(named) if Path(named).name == named else Path(named).absolute()
    if found is None:
        raise MemrayNeededError(
            phrase("There is no program {python} in the folders of PATH", python=named),
            advice=_advice(header),
        )
    return str(found)


def _header(source: Source) -> Header:
    head = source.head(_HEAD_BYTES)
    if head.startswith(LZ4):
        head = lz4_head(head, _HEAD_BYTES)
    if len(head) < len(MAGIC) + 8 + _FIXED.size:
        raise DamagedSnapshotError(phrase("The capture is truncated within its header"))
    at = len(MAGIC) + 4
    version = int.from_bytes(head[len(MAGIC) : at], "little", signed=True)
    at += 4 * (version > _WITHOUT_PYTHON)
    fixed = _FIXED if version > _WITHOUT_KIND else _FIXED_WITHOUT_KIND
    native, *kind, allocations, _, start, end = fixed.unpack_from(head, at)
    command = head[at + fixed.size :].split(b"\0", 1)[0].decode("utf-8", "replace")
    if version not in VERSIONS:
        older = version < min(VERSIONS)
        raise MemrayNeededError(
            phrase(
                "The capture has version {version} of memray's format, from memray before 1.4"
                if older
                else "The capture has version {version} of memray's format, which is newer than Memlens knows",
                version=version,
            ),
            advice=phrase(
                "Make a flame graph of it with the memray that recorded it: python -m memray flamegraph FILE."
            )
            if older
            else phrase("Update Memlens; or record with memray 1.20."),
        )
    return Header(version, bool(native), kind == [1], allocations, start, end, command)


@contextlib.contextmanager
def _on_disk(source: Source, scratch: Path) -> Iterator[Path]:
    """A path for memray: that of the capture, or of an unpacked copy."""
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
    """The output of the reading process, line by line."""
    program = Path(__file__).with_name("memray_reading.py").read_text("utf-8")
    whole = "1" if header.allocations <= _MOST_WHOLE else "0"
    # to symbolise native frames, debuginfod would be queried over the network
    unwanted = ("DEBUGINFOD_URLS", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")
    environment = {name: text for name, text in os.environ.items() if name not in unwanted}
    environment |= {"PYTHONIOENCODING": "utf-8", "PYTHONSAFEPATH": "1"}
    with tempfile.TemporaryFile(dir=scratch) as errors:
        try:
            # the user chose the interpreter; no shell is involved, and no argument comes from the capture
            child = subprocess.Popen(  # noqa: S603
                [python, "-c", program, str(path), str(_MOST_WHOLE), str(_MOST_COUNTED), whole],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, cwd=scratch, env=environment,
            )  # fmt: skip
        except OSError as error:
            raise MemrayNeededError(
                phrase(
                    "The interpreter {python} can't be run: {reason}", python=python, reason=reason(error)
                ),
                advice=_advice(header),
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
            message = errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
            detail = f": {message}" if message else ""
            raise DamagedSnapshotError(
                phrase(
                    "memray's reader ended (status {status}) before it had read the capture{detail}",
                    status=str(status),
                    detail=detail,
                )
            )


def _decoded(stream: IO[bytes] | None) -> Iterator[list[Any]]:
    decode = msgspec.json.Decoder(list[Any]).decode
    while stream is not None and (line := stream.readline(_MOST_LINE_BYTES)):
        try:
            yield decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DamagedSnapshotError(
                phrase("The output of memray's reader can't be read: {reason}", reason=str(error))
            ) from error


def _advice(header: Header) -> Text:
    """The command to run, and where to put its result."""
    folder = f"memray-{header.version}"
    return phrase(
        "Run: {command}, and set memlens.memray.python (on the command line MEMLENS_MEMRAY_PYTHON) to the path of "
        "{python}.",
        command=f'python3 -m venv {folder} && {folder}/bin/pip install "memray{VERSIONS[header.version][1]}"',
        python=f"{folder}/bin/python",
    )


class _Records:
    """The output of memray's reader so far."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.count = 0
        self.version = ""
        self.frames: list[SourceFrame] = []
        self.stacks: list[list[int]] = []
        self.memory: list[tuple[int, int, int]] = []
        self.peaks: list[int] = []
        self.lived: list[tuple[int, I64]] = []
        self.has_lifetimes = False
        self.whole = True
        self.samples: Numbers[tuple[int, str, str, int]] = Numbers()
        """Stack, thread, allocator, and the size of one block if known, else 0."""
        self.values: list[dict[int, list[int]]] = [{} for _ in KINDS]
        self.broken = ""
        self.arenas = Arenas()
        self.reused_bytes = 0
        self.impossible_rows = self.impossible_lines = 0

    def take(self, row: list[Any], python: str) -> None:
        """Process one line of the output of the reading process, which ``python`` runs."""
        header = self.header
        match row:
            case ["version", str(version)]:
                self.version = version
            case ["missing"]:
                raise MemrayNeededError(
                    phrase(
                        "Reading a capture needs memray itself, which {python} doesn't have. This one was "
                        "recorded by memray {needs} (file format {version})",
                        python=python,
                        needs=header.needs,
                        version=header.version,
                    ),
                    advice=_advice(header),
                )
            case ["refused", str(why)]:
                if "version" in why:
                    raise MemrayNeededError(
                        phrase(
                            "The capture was recorded by memray {needs} (file format {version}), and {python} has "
                            "memray {installed}, which doesn't read it",
                            needs=header.needs,
                            version=header.version,
                            python=python,
                            installed=self.version,
                        ),
                        advice=_advice(header),
                    )
                raise DamagedSnapshotError(
                    phrase("memray {version} can't read the capture: {why}", version=self.version, why=why)
                )
            case ["broken", str(why)]:
                self.broken = why
            case ["done"]:
                pass
            case _ if not any(
                takes(row) for takes in (self._takes_place, self._takes_figures, self._takes_impossible)
            ):
                raise DamagedSnapshotError(
                    phrase("memray's reader printed something that no capture contains")
                )

    def _takes_place(self, row: list[Any]) -> bool:
        match row:
            case ["frame", str(function), str(file), int(line)]:
                self.impossible_lines += not 0 <= line <= MOST_LINE
                self.frames.append(profiled_frame(file, line, function))
            case ["stack", [*frames]] if all(
                isinstance(n, int) and 0 <= n < len(self.frames) for n in frames
            ):
                self.stacks.append(frames)
            case _:
                return False
        return True

    def _takes_figures(self, row: list[Any]) -> bool:
        match row:
            case ["record", str(kind), int(stack), str(thread), str(allocator), int(size), int(count)] if (
                kind in KINDS
                and 0 <= stack < len(self.stacks)
                and 0 <= size < _MOST_SUM
                and 0 <= count < _MOST_SUM
            ):
                self._add(kind, (stack, thread, allocator, 0), size, count)
            case ["total", int(stack), str(thread), str(allocator), int(size), int(count)] if (
                0 <= stack < len(self.stacks) and size >= 0 and count >= 0 and size * count < _MOST_SUM
            ):
                self._add("total", (stack, thread, allocator, size), size * count, count)
            case ["lived", int(stack), str(thread), str(allocator), [*numbers]] if (
                0 <= stack < len(self.stacks) and (rows := self._lifetimes(numbers)) is not None
            ):
                self._counted(len(rows))
                if allocator == "mmap":
                    for _, _, size, count in rows.tolist():
                        self.arenas.see((stack, thread, allocator), size, count)
                self.lived.append((self.samples[stack, thread, allocator, 0], rows))
            case ["lived"]:
                self.has_lifetimes = True
            case ["memory", int(time), int(rss), int(heap)] if (
                max(abs(time), abs(rss), abs(heap)) < _MOST_SUM
            ):
                self.memory.append((time, rss, heap))
            case ["peaks", [*peaks]] if len(peaks) == len(self.memory) + 1 and all(
                isinstance(size, int) and 0 <= size < _MOST_SUM for size in peaks
            ):
                self.peaks = peaks
            case ["whole", int(whole)]:
                self.whole = bool(whole)
            case ["allocator", str(name), int(traced)]:
                self.arenas.take(name, traced)
            case ["reused", int(size)] if 0 < size < _MOST_SUM:
                self.reused_bytes = size
            case _:
                return False
        return True

    def _takes_impossible(self, row: list[Any]) -> bool:
        match row:
            case ["record", str(kind), int(stack), str(), str(), int(), int()]:
                known = kind in KINDS
            case ["total", int(stack), str(), str(), int(), int()]:
                known = True
            case _:
                return False
        self.impossible_rows += 1
        return known and 0 <= stack < len(self.stacks)

    def _add(self, kind: str, sample: tuple[int, str, str, int], size: int, count: int) -> None:
        self._counted(1)
        # memray sums a place's temporary allocations under the allocator of the first one
        if kind != "temporary":
            self.arenas.see(sample[:3], size, count)
        held = self.values[KINDS.index(kind)].setdefault(self.samples[sample], [0, 0])
        held[0] += size
        held[1] += count

    def _counted(self, more: int) -> None:
        self.count += more
        if self.count > _MOST_RECORDS:
            raise DamagedSnapshotError(
                phrase("The capture has more than {most} distinct records", most=_MOST_RECORDS)
            )

    def _lifetimes(self, numbers: list[Any]) -> I64 | None:
        """Rows of (first, last, bytes, count) without impossible figures, or None if a capture can't have them."""
        if len(numbers) % 4 or not all(isinstance(n, int) for n in numbers):
            return None
        possible = [
            0 <= size < _MOST_SUM and 0 <= count < 2**32
            for size, count in zip(numbers[2::4], numbers[3::4], strict=True)
        ]
        self.impossible_rows += possible.count(False)
        if not all(possible):
            numbers = [n for at, n in enumerate(numbers) if possible[at // 4]]
        if not all(-1 <= n < _MOST_SUM for n in numbers):
            return None
        rows = np.array(numbers, np.int64).reshape(-1, 4)
        first, last, *_ = rows.T
        ends = (last == NEVER) | ((last > first) & (last <= len(self.memory)))
        return rows if bool(((first >= 0) & (first <= len(self.memory)) & ends).all()) else None

    def profile(self) -> Profile:
        if self.broken and not self.count:
            raise DamagedSnapshotError(
                phrase(
                    "memray {version} can't read the capture: {broken}",
                    version=self.version,
                    broken=self.broken,
                )
            )
        keys = list(self.samples)
        arenas = self.arenas.among(key[:3] for key in keys)
        stacks, numbered = self._stacks(keys, arenas)
        frames, numbers = distinct_frames([*self.frames, POSSIBLE_ARENA] if any(arenas) else self.frames)
        starts = np.concatenate(([0, 0], np.cumsum([len(stack) for stack in stacks], dtype=np.int64)))
        sequence = np.fromiter((frame for stack in stacks for frame in stack), np.int64)
        columns = [np.zeros(len(keys), np.int64) for _ in VALUES]
        for number, held in enumerate(self.values):
            for sample, (size, count) in held.items():
                columns[2 * number][sample] = min(size, _LARGEST)
                columns[2 * number + 1][sample] = min(count, _LARGEST)
        if not sums_fit(columns):
            raise DamagedSnapshotError(phrase("The sizes add up to more bytes than can be counted"))
        present = [at for at in range(len(VALUES)) if at < 4 or self.values[at // 2]]
        labels, strings = _labels(keys)
        # stack 0 is the empty one
        return Profile(
            KIND, Frames(frames, starts.astype(np.uint64), numbers[sequence].astype(np.uint32)),
            [VALUES[at] for at in present], 0,
            np.array(numbered, np.uint32) + np.uint32(1), [columns[at] for at in present], labels, strings,
            sizes=np.array([size for *_, size in keys], np.int64) if self.values[3] else None, times=self._times(),
            settings=self._settings(),
            warnings=[*self._warnings(), *self.arenas.warnings(*_held(columns, arenas))],
        )  # fmt: skip

    def _stacks(
        self, keys: list[tuple[int, str, str, int]], arenas: list[bool]
    ) -> tuple[list[list[int]], list[int]]:
        """The stacks, and each key's stack; those of ``arenas`` are copies with an innermost frame that says so."""
        copies: dict[int, int] = {}
        numbered = [
            copies.setdefault(stack, len(self.stacks) + len(copies)) if is_arena else stack
            for (stack, *_), is_arena in zip(keys, arenas, strict=True)
        ]
        return [*self.stacks, *([len(self.frames), *self.stacks[stack]] for stack in copies)], numbered

    def _times(self) -> ProfileTimes | None:
        if not self.memory:
            return None
        end = None
        if self.peaks:
            left = sum(size for size, _ in self.values[KINDS.index("leaked")].values())
            end = End(self.header.end_ms, left, self.peaks)
        lived = self.lived if self._has_flow() else None
        return times_of(np.array(self.memory, np.int64), end, lived)

    def _has_flow(self) -> bool:
        return self.has_lifetimes and bool(self.peaks) and not self.broken

    def _settings(self) -> dict[str, str | int]:
        header = self.header
        return {
            "command": header.command, "file_format": header.version, "memray": self.version,
            "native": int(header.native), "aggregated": int(header.aggregated), "allocations": header.allocations,
            "python_allocator": self.arenas.allocator,
            # a recording whose process was killed has no end
            "written_ms": header.end_ms or header.start_ms,
        }  # fmt: skip

    def _warnings(self) -> list[FileWarning]:
        header, warnings = self.header, []

        def add(code: str, said: Text) -> None:
            warnings.append(FileWarning(code, said))

        # the totals are written into the header when the recording ends; aggregated captures have none
        if not header.allocations and not header.aggregated:
            add("killed", phrase(
                "The recording is incomplete: the process was killed, and what it did last may be missing."
            ))  # fmt: skip
        if self.broken:
            said = phrase("The capture is damaged; the rest is missing: {error}", error=self.broken)
            add("broken", said)
        if header.aggregated:
            add("aggregated", phrase(
                "The capture was aggregated (--aggregate): it has no temporary allocations, and where an address was "
                "used again without a free that memray saw, it has counted both allocations."
            ))  # fmt: skip
        elif not self.whole:
            add("large", phrase(
                "The capture has more than {n} allocations and frees, so temporary allocations and what each "
                "stack allocated in total are left out, and the curves have few points. memray's own reports "
                "have them: python -m memray flamegraph --temporary-allocations, and --temporal.",
                n=_MOST_WHOLE,
            ))  # fmt: skip
        elif not self.values[KINDS.index("total")] and self.count and not self.broken:
            add("not-counted", phrase(
                "The capture has more than {n} allocations and frees, so what each stack allocated in total "
                "is left out; python -m memray stats has the sums.",
                n=_MOST_COUNTED,
            ))  # fmt: skip
        rows = np.array(self.memory, np.int64).reshape(-1, 3)
        ends_early = header.end_ms != 0 and header.end_ms < header.start_ms
        warnings += counted_warnings(
            impossible_lines=self.impossible_lines,
            impossible_rows=self.impossible_rows,
            impossible_times=int(np.count_nonzero(np.diff(rows[:, 0]) < 0)),
            impossible_figures=int(np.count_nonzero(rows[:, 1:] < 0)),
            unknown_settings=sum((header.start_ms < 0, ends_early, header.allocations < 0)),
        )
        if self.reused_bytes:
            add("reused", phrase(
                "{size} lay at addresses that were used again without a free that memray saw: here "
                "the later allocation ends the earlier one. memray's curve and its peak count both "
                "until the end.",
                size=format_bytes(self.reused_bytes),
            ))  # fmt: skip
        if self.memory and self._has_flow():
            add("between-times", phrase(
                "memray marks the time every 10 milliseconds, less often in a long run. Over time, an allocation that "
                "was freed before the next mark counts as neither allocated nor freed, only in the peak."
            ))  # fmt: skip
        elif self.memory:
            add("curve-only", phrase(
                "memray recorded how much was live over time, but stacks only of the peak and of the end."
            ))  # fmt: skip
        return warnings


def _held(columns: list[I64], arenas: list[bool]) -> tuple[int, int]:
    """The live bytes of possible arenas, at the peak and at the end."""
    chosen = np.array(arenas, np.bool_)
    return int(columns[0][chosen].sum()), int(columns[2][chosen].sum())


def _labels(keys: list[tuple[int, str, str, int]]) -> tuple[Column, dict[int, str]]:
    """The thread and the allocator of each sample."""
    texts: Numbers[str] = Numbers()
    labels = np.zeros(2 * len(keys), LABEL_DTYPE)
    labels["sample"] = np.repeat(np.arange(len(keys)), 2)
    labels["key"] = np.tile([_THREAD, _ALLOCATOR], len(keys))
    labels["text"] = [
        texts[text] + _ALLOCATOR + 1 for _, thread, allocator, _ in keys for text in (thread, allocator)
    ]
    strings = {number + _ALLOCATOR + 1: text for text, number in texts.items()}
    return labels, {_THREAD: "thread", _ALLOCATOR: "allocator"} | strings
