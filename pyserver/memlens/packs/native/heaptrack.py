"""Recordings of heaptrack, as ``heaptrack --analyze`` opens them, versions 0 to 3, compressed or not.

Sources of the format: ``src/analyze/accumulatedtracedata.cpp``, ``src/interpret`` and ``src/track`` of heaptrack. All
figures equal heaptrack's, and so do the definitions: the peak is the first moment with the most live bytes, an
allocation is temporary if it is freed before the next one (recognised by size and stack, not by address), and
``operator new`` is in no stack. If heaptrack was attached to a running program, totals count from then on.

A recording is a sequence of perhaps hundreds of millions of events. It becomes a Profile over time in bounded memory: a
sample for each *kind* of allocation (size and stack), and the changes of each kind between the time stamps, which
heaptrack writes every 10 ms; bins are merged pairwise when there are more than a few thousand. The file does not
distinguish blocks of one kind, so only the order within a bin is lost.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from memlens.arrays import I64, U32, Mask
from memlens.errors import MemlensError
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.stacks import distinct_frames
from memlens.formats.symbols.lookup import Symbols
from memlens.formats.symbols.rust_names import demangled
from memlens.formats.warnings import counted_warnings
from memlens.kernels.trace import timeline
from memlens.model.distinct import distinct
from memlens.model.expansion import most_items
from memlens.model.frames import Frames, SourceFrame, profiled_frame
from memlens.model.info import FileWarning, ValueType
from memlens.model.profile import (
    BLOCK_CHANGE_DTYPE,
    LIVE_BYTES,
    LIVE_COUNT,
    MOST_VALUE,
    RSS_BYTES,
    TEMPORARY,
    Profile,
    ProfileTimes,
    StackTree,
)
from memlens.packs.native.heaptrack_raw import Mapped, with_inlined
from memlens.packs.native.heaptrack_suppressions import BUILT_IN, matcher, patterns_of
from memlens.packs.native.kernels import heaptrack as kernel
from memlens.progress import Report
from memlens.texts import phrase
from memlens.units import format_bytes

KIND = "heaptrack"
NEWEST_VERSION = 3

VALUES = [
    ValueType("peak_bytes", "bytes", "peak", phrase("Live at the peak")),
    ValueType("peak_count", "count", "peak", phrase("Live allocations at the peak")),
    ValueType("leaked_bytes", "bytes", "end", phrase("Leaked: live at the end")),
    ValueType("leaked_count", "count", "end", phrase("Leaked allocations")),
    ValueType("total_bytes", "bytes", "total", phrase("Allocated in total")),
    ValueType("total_count", "count", "total", phrase("Calls to allocation functions")),
    ValueType("temporary_count", "count", "temporary", phrase("Temporary allocations")),
]
UNSUPPRESSED = [
    ValueType("leaked_unsuppressed_bytes", "bytes", "other", phrase("Leaked, without suppressed")),
    ValueType(
        "leaked_unsuppressed_count", "count", "other", phrase("Leaked allocations, without suppressed")
    ),
]
"""The leaks that heaptrack prints; used only if suppressions exclude something."""


def sniff(head: bytes) -> bool:
    """Whether the first bytes are heaptrack's version record and the beginning of another record."""
    line, end, rest = head.partition(b"\n")
    fields = line.split(b" ")
    return (
        bool(end)
        and fields[0] == b"v"
        and 2 <= len(fields) <= 3
        and all(0 < len(field) <= 8 and not field.strip(b"0123456789abcdef") for field in fields[1:])
        and (not rest or rest[:2] in (b"X ", b"x ", b"I ", b"A\n", b"s ", b"m ", b"S ", b"# "))
    )


def read(source: Source, scratch: Path, report: Report) -> Profile:  # noqa: ARG001 - as all readers are called
    """Read a recording while it is decompressed; ``report`` gets ``("reading", fraction)``.

    Raises :class:`NotASnapshotError`, :class:`DamagedSnapshotError`,
    :class:`memlens.formats.packing.DamagedContainerError` or MemoryError.
    """
    reader = kernel.Reader()
    for chunk in source.chunks(report):
        status = reader.feed(chunk)
        if status != kernel.OK:
            raise _error(reader, status)
    reader.finish()
    report("reading", 1.0)
    if not reader.kind_count or not reader.events:
        if source.truncated or reader.partial_line:
            raise DamagedSnapshotError(phrase("The recording is truncated before its first allocation"))
        raise NotASnapshotError(
            phrase("The recording has no allocations, so there is nothing to show"),
            advice=phrase("Record the program with: heaptrack PROGRAM"),
        )
    return _Recording(reader, source).profile()


def _error(reader: kernel.Reader, status: int) -> MemlensError:
    messages = {
        kernel.LONG_LINE: phrase("A line of the recording is longer than 16 MiB"),
        kernel.TOO_MUCH: phrase("The sum of the sizes is too large"),
        kernel.TOO_MANY: phrase("The recording has too many events or stacks"),
    }
    return DamagedSnapshotError(messages[status], offset=reader.fed_bytes)


def _without_addresses(frames: U32) -> tuple[U32, I64]:
    """Return the kernel's frames (function, file, line, module), and the addresses of unresolved ones, else 0."""
    bare = (frames[:, 0] == 0) & (frames[:, 2] >> 31 == 1)
    upper, lower = frames[:, 2].astype(np.int64) & 0x7FFFFFFF, frames[:, 1].astype(np.int64)
    addresses = np.where(bare, upper << 32 | lower, 0)
    frames = frames.copy()
    frames[bare, 1:3] = 0
    return frames, addresses


class _Recording:
    """Converts the kernel's tables to the model."""

    def __init__(self, reader: kernel.Reader, source: Source) -> None:
        self.reader = reader
        self.source = source
        self.truncated = source.truncated
        self.unnamed: list[FileWarning] = []
        self.texts: dict[int, str] = {}
        self.names: dict[int, str] = {}

    def profile(self) -> Profile:
        reader = self.reader
        count = reader.kind_count
        sizes, nodes = np.empty(count, np.int64), np.empty(count, np.uint32)
        allocations, temporary, peak, live = (np.empty(count, np.int64) for _ in range(4))
        reader.kind_columns(sizes, nodes, allocations, temporary, peak, live)
        if float((sizes.astype(np.float64) * allocations).sum()) >= MOST_VALUE:
            raise DamagedSnapshotError(phrase("The sum of the sizes is too large"))
        parents, node_frames = map(np.asarray, reader.take_tree())
        rows, addresses = _without_addresses(np.asarray(reader.take_frames()).reshape(-1, 4))
        types, values = (
            list(VALUES),
            [sizes * peak, peak, sizes * live, live, sizes * allocations, allocations],
        )
        values.append(temporary)
        if reader.is_raw:
            frames, numbers, inlined = self._raw_frames(addresses)
            if (count := int(inlined[node_frames[1:]].sum())) > (most := most_items(reader.fed_bytes)):
                raise DamagedSnapshotError(
                    phrase(
                        "The stacks have {count} frames, which is more than {most}, the limit for the file's size",
                        count=count,
                        most=most,
                    ),
                    advice=phrase("Set MEMLENS_SYMBOLS=off to see addresses."),
                )
            parents, node_frames, last = with_inlined(parents, node_frames, numbers, inlined)
            nodes = last[nodes].astype(np.uint32)
            suppressed = self._suppressed_by_names(frames, parents, node_frames)[nodes]
        else:
            suppressed = self._suppressed(rows, parents, node_frames)[nodes]
            frames, numbers = self._frames(rows, addresses, node_frames)
            node_frames = numbers[node_frames]
        leaked_suppressed = int(values[2][suppressed].sum())
        if bool(live[suppressed].any()):
            types += UNSUPPRESSED
            values += [np.where(suppressed, 0, values[2]), np.where(suppressed, 0, live)]
        return Profile(
            KIND, Frames(frames, np.zeros(1, np.uint64), np.empty(0, np.uint32)), types, 0, nodes, values,
            sizes=sizes, times=self._times(), settings=self._settings(leaked_suppressed),
            warnings=[*self._warnings(leaked_suppressed), *self.unnamed], tree=StackTree(parents, node_frames),
        )  # fmt: skip

    def _text(self, number: int) -> str:
        text = self.texts.get(number)
        if text is None:
            text = self.texts[number] = self.reader.string_at(number).decode("utf-8", "replace")
        return text

    def _name(self, function: int, address: int) -> str:
        name = self.names.get(function)
        if name is None:
            name = self.names[function] = demangled(self._text(function))
        return name or (f"{address:#x}" if address else "?")

    def _frames(self, rows: U32, addresses: I64, node_frames: U32) -> tuple[list[SourceFrame], U32]:
        """Return the distinct frames in stacks, and the number of each of the kernel's rows among them."""
        numbers: dict[SourceFrame, int] = {}
        of_rows = np.zeros(len(rows) + 1, np.uint32)
        used = np.zeros(len(rows), np.bool_)
        used[node_frames[1:]] = True
        for row in np.flatnonzero(used).tolist():
            function, file, line, module = rows[row].tolist()
            name = self._name(function, int(addresses[row]))
            frame = profiled_frame(self._text(file), line, name, self._text(module))
            of_rows[row] = numbers.setdefault(frame, len(numbers))
        return list(numbers), of_rows

    def _raw_frames(self, addresses: I64) -> tuple[list[SourceFrame], U32, I64]:
        """Return the distinct frames of a raw recording; those of each address, innermost first; how many it has."""
        mapped = Mapped(self.reader.mapped_lines, self.reader.file_version)
        # return addresses are after their calls
        asked = [(call, mapped.at(call)) for call in (np.maximum(addresses, 1) - 1).tolist()]
        symbols = Symbols(self.source)
        found = symbols.look_up(asked)
        self.unnamed = symbols.warnings()
        frames: list[SourceFrame] = []
        sizes = np.ones(len(asked), np.int64)
        for number, (call, region) in enumerate(asked):
            places = found.get((call, region)) if region is not None else None
            module = region.path if region is not None else ""
            if places:
                frames += [profiled_frame(place.file, place.line, place.function, module) for place in places]
                sizes[number] = len(places)
            else:
                frames.append(profiled_frame("", 0, f"0x{call:x}" if call else "?", module))
        distinct, numbers = distinct_frames(frames)
        return distinct, numbers, sizes

    def _suppressed_by_names(self, frames: list[SourceFrame], parents: U32, node_frames: U32) -> Mask:
        """Return a mask of the nodes whose stacks have a suppressed function, file or module."""
        search = self._suppression()
        texts = np.fromiter(
            (any(search(text) is not None for text in (frame.function, frame.file)) for frame in frames),
            np.uint8,
        )
        nodes = np.zeros(len(parents), np.uint8)
        if texts.any():
            timeline.mark_below(parents, node_frames, texts, nodes)
        return nodes.view(np.bool_)

    def _suppression(self) -> Callable[[str], object]:
        own = patterns_of(line.decode("utf-8", "replace") for line in self.reader.suppressions())
        return matcher([*BUILT_IN, *own]).search

    def _suppressed(self, rows: U32, parents: U32, node_frames: U32) -> Mask:
        """Return a mask of the nodes whose stacks have a suppressed function, file or module."""
        search = self._suppression()
        texts = np.zeros(self.reader.string_count + 1, np.uint8)
        for number in distinct(rows[:, (0, 1, 3)]).tolist():
            texts[number] = search(self._text(number)) is not None
        nodes = np.zeros(len(parents), np.uint8)
        if texts.any():
            timeline.mark_below(parents, node_frames, texts[rows[:, (0, 1, 3)]].max(axis=1), nodes)
        return nodes.view(np.bool_)

    def _times(self) -> ProfileTimes:
        edges, offsets, numbers = map(np.asarray, self.reader.take_times())
        changes = numbers.astype("<u4", copy=False).view(BLOCK_CHANGE_DTYPE)
        time_ms, live_bytes, live_count, rss_pages, temporary, peaks = edges.reshape(-1, 6).T.copy()
        series = {LIVE_BYTES: live_bytes, LIVE_COUNT: live_count, TEMPORARY: temporary}
        if rss_pages.any():
            series[RSS_BYTES] = rss_pages * self.reader.page_bytes
        return ProfileTimes(time_ms * 1000, series, peaks, offsets, changes)

    def _settings(self, leaked_suppressed: int) -> dict[str, Any]:
        reader = self.reader
        peak_bytes, peak_ms = reader.peak
        version = reader.heaptrack_version
        return {
            "command": reader.command_line.decode("utf-8", "replace"),
            "heaptrack": f"{version >> 16 & 255}.{version >> 8 & 255}.{version & 255}",
            "file_version": reader.file_version,
            "runtime_ms": reader.total_ms,
            "calls": reader.allocations,
            "temporary": reader.temporary,
            "peak_bytes": peak_bytes,
            "peak_ms": peak_ms,
            "peak_rss_bytes": reader.peak_rss_bytes,
            "leaked_bytes": reader.live_at_end_bytes,
            "leaked_suppressed_bytes": leaked_suppressed,
            "machine_bytes": reader.pages * reader.page_bytes,
            "attached": reader.attached,
        }

    def _warnings(self, leaked_suppressed: int) -> list[FileWarning]:
        reader = self.reader
        warnings = []
        if reader.file_version > NEWEST_VERSION:
            said = phrase(
                "The file has version {version}; Memlens knows versions up to {known}. Unknown records are ignored, so "
                "figures may be too low.",
                version=reader.file_version,
                known=str(NEWEST_VERSION),
            )
            warnings.append(FileWarning("version", said))
        if self.truncated or reader.partial_line:
            said = phrase(
                "The recording is truncated after {n} bytes of text: the program was killed, or the file was not "
                "copied completely. What was live at that point is shown as leaked.",
                n=reader.fed_bytes,
            )
            warnings.append(FileWarning("truncated", said))
        skipped = reader.bad_records + reader.unknown_records
        if skipped:
            said = phrase(
                "Invalid lines of the file: {n}. What is invalid in them was ignored; the first ends at byte {end} of "
                "the text.",
                n=skipped,
                end=reader.first_bad_end,
            )
            warnings.append(FileWarning("damaged-lines", said))
        if reader.unsized_kinds:
            said = phrase(
                "Lines with an impossible size of allocations: {n}. These allocations are counted with 0 B, so sums of "
                "bytes are too low; the first invalid line ends at byte {end} of the text.",
                n=reader.unsized_kinds,
                end=reader.first_bad_end,
            )
            warnings.append(FileWarning("unknown-sizes", said))
        warnings += counted_warnings(
            # of what a program had allocated before, all frees are unknown
            unknown_frees=0 if reader.attached else reader.unknown_frees,
            reused_addresses=reader.reused_addresses,
        )
        if reader.cut_stacks:
            said = phrase(
                "{n} stacks are deeper than 4,096 frames; their innermost frames are cut.",
                n=reader.cut_stacks,
            )
            warnings.append(FileWarning("stacks-cut", said))
        if reader.attached:
            said = phrase(
                "heaptrack was attached to the running program: what it had allocated before is unknown."
            )
            warnings.append(FileWarning("attached", said))
        if leaked_suppressed:
            said = phrase(
                "{size} of what is leaked is suppressed in heaptrack: its own suppressions or those of the program "
                "match the stack.",
                size=format_bytes(leaked_suppressed),
            )
            warnings.append(FileWarning("suppressed", said))
        return warnings
