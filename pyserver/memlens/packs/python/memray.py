"""memray's captures, versions 9 to 13 of its file format, of all allocations or aggregated.

:mod:`memlens.packs.python.kernels.memray_records` reads the records, ``memray_live`` and ``memray_sums`` beside it add
them up, and this makes a Profile of the sums. A sample is a stack with a thread and an allocator; what a stack
allocated in total is in samples of its own, one for each size of block.
"""

from pathlib import Path

import numpy as np

from memlens.arrays import I64, rows_of
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.stacks import Numbers
from memlens.formats.warnings import counted_warnings
from memlens.model.distinct import distinct
from memlens.model.frames import POSSIBLE_ARENA, Frames
from memlens.model.info import FileWarning, ValueType
from memlens.model.profile import LABEL_DTYPE, Column, Profile, ProfileTimes, sums_fit
from memlens.packs.python.kernels import memray_records as kernel
from memlens.packs.python.memray_arenas import Arenas
from memlens.packs.python.memray_header import MAGIC, Header, read_header
from memlens.packs.python.memray_stacks import Stacks
from memlens.packs.python.memray_times import NEVER, End, times_of
from memlens.progress import Report
from memlens.texts import Text, phrase
from memlens.units import format_bytes

KIND = "memray"

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
_PEAK, _LEAKED, _TEMPORARY, _TOTAL = range(0, len(VALUES), 2)

ALLOCATORS = (
    "", "pymalloc_free", "pymalloc_malloc", "pymalloc_calloc", "pymalloc_realloc", "free", "malloc", "realloc",
    "calloc", "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc", "mmap", "munmap",
)  # fmt: skip
"""By the kernel's numbers."""
_MAPS = ALLOCATORS.index("mmap")

_MOST_SIZES = 2_000_000
"""The most samples with a size of blocks."""
_NEVER = 0xFFFFFFFF
_THREAD, _ALLOCATOR = 1, 2


def sniff(head: bytes) -> bool:
    """Whether the first bytes are those of a capture."""
    return head.startswith(MAGIC)


def read(source: Source, scratch: Path, report: Report) -> Profile:  # noqa: ARG001 - as all readers are called
    """Read a capture while it is unpacked; ``report`` gets ``("reading", fraction)``.

    Raises :class:`NotASnapshotError` for an unknown version, :class:`DamagedSnapshotError`, or MemoryError.
    """
    header = read_header(source)
    reader = kernel.Reader(
        header.version, header.native, header.aggregated, max(0, header.start_ms), header.size_bytes
    )
    for chunk in source.chunks(report):
        if reader.feed(chunk) != kernel.OK or reader.ended:
            break
    if reader.error == kernel.TOO_MUCH:
        raise DamagedSnapshotError(phrase("The sizes add up to more bytes than can be counted"))
    reader.finish()
    report("reading", 1.0)
    return _Capture(reader, header, source).profile()


class _Capture:
    """Converts the kernel's tables to the model."""

    def __init__(self, reader: kernel.Reader, header: Header, source: Source) -> None:
        self.reader = reader
        self.header = header
        self.damage = self._damage()
        if self.damage is not None and not reader.allocations:
            raise DamagedSnapshotError(self.damage, offset=reader.error_offset if reader.error else None)
        self.threads = rows_of(reader.take("threads"))
        self.places = rows_of(reader.take("places"))
        self.kinds = rows_of(reader.take("kinds"))
        self.memory = rows_of(reader.take("memory"))
        self.peaks = np.asarray(reader.take("peaks"))
        keys = np.asarray(reader.take("lifetimes")).reshape(-1, 2)
        lived = rows_of(reader.take("lived"))
        birth, death = (keys[:, 0] >> np.uint64(32)).astype(np.int64), keys[:, 0] & np.uint64(_NEVER)
        self.lived = np.stack(
            (birth, np.where(death == _NEVER, NEVER, death.astype(np.int64)), lived["bytes"], lived["count"]),
            axis=1,
        )
        self.lived_place = keys[:, 1].astype(np.int64)
        self.stacks = Stacks(reader, header, source)

    def _damage(self) -> Text | None:
        """What is wrong with the capture; None if it is whole, or its process was killed."""
        reader = self.reader
        at = reader.error_offset if reader.error else reader.position
        messages = {
            kernel.UNKNOWN_RECORD: phrase(
                "The record at byte {at} is of a kind that memray doesn't write", at=at
            ),
            kernel.BAD_NUMBER: phrase("A number at byte {at} is larger than any that memray writes", at=at),
            kernel.BAD_STACK: phrase("The record at byte {at} ends a function that didn't begin", at=at),
            kernel.NO_THREAD: phrase("The record at byte {at} belongs to no thread", at=at),
            kernel.BAD_REFERENCE: phrase(
                "The record at byte {at} refers to one that isn't in the capture", at=at
            ),
            kernel.LONG_RECORD: phrase("The record at byte {at} is longer than 64 MiB", at=at),
            kernel.TOO_MANY: phrase("The capture has more stacks, sizes or threads than can be numbered"),
        }
        if reader.error:
            return messages[reader.error]
        was_killed = not self.header.allocations and not self.header.aggregated
        if reader.ended or (was_killed and reader.allocations):
            return None
        return phrase("It ends after {at} bytes, within the recording", at=at)

    # ---- samples ----

    def profile(self) -> Profile:
        header, places = self.header, self.places
        is_main = (self.threads["id"] == header.main_thread)[places["thread"]]
        labels, threads = self._threads()
        nodes = self.stacks.of_places(places, is_main)
        thread_of_place = labels[places["thread"]]
        # places differ in more than what is shown: in instructions of one line, and in lists of segments
        groups, group = np.unique(
            np.stack((nodes, thread_of_place, places["allocator"].astype(np.int64)), axis=1),
            axis=0, return_inverse=True,
        )  # fmt: skip
        group = group.reshape(-1)
        held = self._held(group, len(groups))
        arenas = self._arenas(group)
        is_arena = np.array(arenas.among(range(len(groups))), np.bool_)
        for row in np.flatnonzero(is_arena).tolist():
            groups[row, 0] = self.stacks.child(int(groups[row, 0]), POSSIBLE_ARENA)
        columns, sizes, sample_group = self._samples(group, held)
        if not sums_fit(columns):
            raise DamagedSnapshotError(phrase("The sizes add up to more bytes than can be counted"))
        present = [
            at
            for at in range(len(VALUES))
            if at < _TEMPORARY or columns[at & ~1].any() or columns[at | 1].any()
        ]
        texts, strings = _labels(groups[sample_group], threads)
        is_arena = is_arena[sample_group]
        return Profile(
            KIND, Frames(list(self.stacks.frames), np.zeros(1, np.uint64), np.empty(0, np.uint32)),
            [VALUES[at] for at in present], 0, groups[sample_group, 0].astype(np.uint32),
            [columns[at] for at in present], texts, strings,
            sizes=sizes if sizes is not None and columns[_TOTAL + 1].any() else None,
            times=self._times(group, sample_group), settings=self._settings(),
            warnings=[
                *self._warnings(),
                *arenas.warnings(int(columns[_PEAK][is_arena].sum()), int(columns[_LEAKED][is_arena].sum())),
                *self.stacks.warnings(),
            ],
            tree=self.stacks.tree(),
        )  # fmt: skip

    def _threads(self) -> tuple[I64, list[str]]:
        """The number of each thread's name, and the names."""
        names: Numbers[str] = Numbers()
        numbers = []
        for thread, _, name, *_ in self.threads.tolist():
            text = self.reader.text_at(name - 1) if name else ""
            main = "main thread" if thread == self.header.main_thread else f"thread {thread:#x}"
            numbers.append(names[text or main])
        return np.array(numbers, np.int64), list(names)

    def _held(self, group: I64, count: int) -> list[I64]:
        """Return the values of each group, except totals."""
        columns = [np.zeros(count, np.int64) for _ in VALUES]
        kinds, places = self.kinds, self.places
        of_kind = group[kinds["place"]]
        size = kinds["size"].astype(np.int64)
        for value, counts in ((_PEAK, kinds["peak"]), (_TEMPORARY, kinds["temporary"])):
            np.add.at(columns[value], of_kind, size * counts)
            np.add.at(columns[value + 1], of_kind, counts)
        np.add.at(columns[_PEAK], group, places["peak_bytes"])
        np.add.at(columns[_PEAK + 1], group, places["peak_count"])
        if self.header.aggregated:
            np.add.at(columns[_LEAKED], group, places["bytes"])
            np.add.at(columns[_LEAKED + 1], group, places["count"])
        left = self.lived[:, 1] == NEVER
        np.add.at(columns[_LEAKED], group[self.lived_place[left]], self.lived[left, 2])
        np.add.at(columns[_LEAKED + 1], group[self.lived_place[left]], self.lived[left, 3])
        return columns

    def _samples(self, group: I64, held: list[I64]) -> tuple[list[I64], I64 | None, I64]:
        """The values of all samples, the sizes of their blocks (0 if they have several), and each one's group.

        There is a sample for each group that held anything, and one for each size of block that it allocated.
        """
        used = np.any([column != 0 for column in held], axis=0)
        used[group[self.lived_place]] = True
        of_kind, size, total = (
            group[self.kinds["place"]], self.kinds["size"].astype(np.int64), self.kinds["total"],
        )  # fmt: skip
        has_sizes = len(total) <= _MOST_SIZES
        if not has_sizes:
            np.add.at(held[_TOTAL], of_kind, size * total)
            np.add.at(held[_TOTAL + 1], of_kind, total)
            used[of_kind] = True
        chosen = np.flatnonzero(used)
        columns = [column[chosen] for column in held]
        if not has_sizes:
            return columns, None, chosen
        order = np.lexsort((size, of_kind))
        of_kind, size, total = of_kind[order], size[order], total[order]
        first = np.ones(len(order), np.bool_)
        first[1:] = (of_kind[1:] != of_kind[:-1]) | (size[1:] != size[:-1])
        starts = np.flatnonzero(first)
        counts = np.add.reduceat(total, starts) if len(starts) else np.empty(0, np.int64)
        none = np.zeros(len(starts), np.int64)
        columns = [np.concatenate((column, none)) for column in columns]
        columns[_TOTAL][len(chosen) :] = size[starts] * counts
        columns[_TOTAL + 1][len(chosen) :] = counts
        sizes = np.concatenate((np.zeros(len(chosen), np.int64), size[starts]))
        return columns, sizes, np.concatenate((chosen, of_kind[starts]))

    def _arenas(self, group: I64) -> Arenas:
        """Find the groups that mapped only blocks of an arena's size."""
        header, places, kinds = self.header, self.places, self.kinds
        names_objects = any(
            ALLOCATORS[number].startswith("pymalloc") for number in distinct(places["allocator"])
        )
        arenas = Arenas(header.allocator, header.traced, names_objects=names_objects)
        maps = places["allocator"] == _MAPS
        rows = [
            (np.flatnonzero(maps), places["peak_bytes"][maps], places["peak_count"][maps]),
        ]
        if header.aggregated:
            rows.append((np.flatnonzero(maps), places["bytes"][maps], places["count"][maps]))
        chosen = maps[kinds["place"]]
        total = kinds["total"][chosen]
        rows.append((kinds["place"][chosen], kinds["size"][chosen].astype(np.int64) * total, total))
        chosen = maps[self.lived_place]
        rows.append((self.lived_place[chosen], self.lived[chosen, 2], self.lived[chosen, 3]))
        for place, sizes, counts in rows:
            for number, size, count in zip(
                group[place].tolist(), sizes.tolist(), counts.tolist(), strict=True
            ):
                if size or count:
                    arenas.see(number, size, count)
        return arenas

    # ---- over time ----

    def _times(self, group: I64, sample_group: I64) -> ProfileTimes | None:
        if not len(self.memory):
            return None
        memory = np.stack([self.memory[name] for name in ("time_ms", "resident", "heap")], axis=1)
        if self.header.aggregated:
            return times_of(memory, None, None)
        end = End(self.header.end_ms, self._left(), self.peaks)
        # samples with a size follow the others
        samples = np.full(len(self.places) and int(group.max()) + 1, -1, np.int64)
        samples[sample_group[::-1]] = np.arange(len(sample_group))[::-1]
        lived = self.lived
        if shift := self.reader.shift:
            lived = lived.copy()
            lived[:, 0] <<= shift
            lived[:, 1] = np.where(lived[:, 1] == NEVER, NEVER, lived[:, 1] << shift)
            lived[:, :2] = np.minimum(lived[:, :2], len(memory))
        return times_of(memory, end, (samples[group[self.lived_place]], lived))

    def _left(self) -> int:
        return int(self.lived[self.lived[:, 1] == NEVER, 2].sum())

    # ---- what is said ----

    def _settings(self) -> dict[str, str | int]:
        header = self.header
        return {
            "command": header.command, "file_format": header.version, "memray": header.written_by,
            "native": int(header.native), "aggregated": int(header.aggregated), "allocations": header.allocations,
            "python_allocator": header.allocator,
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
        if self.damage is not None:
            said = phrase("The capture is damaged; the rest is missing: {error}", error=self.damage)
            add("broken", said)
        if header.aggregated:
            add("aggregated", phrase(
                "The capture was aggregated (--aggregate): it has no temporary allocations, and where an address was "
                "used again without a free that memray saw, it has counted both allocations."
            ))  # fmt: skip
        if call := self.reader.flat_since:
            add("overlapping-mappings", phrase(
                "Mappings overlap so often that from call {n} of mmap and munmap on, what is mapped over "
                "counts as freed; memray's curve counts it until it is unmapped.",
                n=call,
            ))  # fmt: skip
        warnings += counted_warnings(
            impossible_lines=self.stacks.impossible_lines,
            impossible_rows=self.reader.impossible_rows,
            impossible_times=int(np.count_nonzero(np.diff(self.memory["time_ms"]) < 0)),
            unknown_settings=sum(
                (
                    header.start_ms < 0,
                    header.end_ms != 0 and header.end_ms < header.start_ms,
                    header.allocations < 0,
                )
            ),
        )
        reused = self.reader.held_bytes - self._left()
        if not header.aggregated and reused > 0:
            add("reused", phrase(
                "{size} lay at addresses that were used again without a free that memray saw: here "
                "the later allocation ends the earlier one. memray's curve and its peak count both "
                "until the end.",
                size=format_bytes(reused),
            ))  # fmt: skip
        if len(self.memory) and not header.aggregated:
            add("between-times", phrase(
                "memray marks the time every 10 milliseconds, less often in a long run. Over time, an allocation that "
                "was freed before the next mark counts as neither allocated nor freed, only in the peak."
            ))  # fmt: skip
        elif len(self.memory):
            add("curve-only", phrase(
                "memray recorded how much was live over time, but stacks only of the peak and of the end."
            ))  # fmt: skip
        return warnings


def _labels(groups: I64, threads: list[str]) -> tuple[Column, dict[int, str]]:
    """The thread and the allocator of each sample."""
    texts: Numbers[str] = Numbers()
    of_threads = np.array([texts[name] for name in threads], np.int64)
    of_allocators = np.array([texts[name] for name in ALLOCATORS], np.int64)
    labels = np.zeros(2 * len(groups), LABEL_DTYPE)
    labels["sample"] = np.repeat(np.arange(len(groups)), 2)
    labels["key"] = np.tile([_THREAD, _ALLOCATOR], len(groups))
    labels["text"][::2] = of_threads[groups[:, 1]] + _ALLOCATOR + 1
    labels["text"][1::2] = of_allocators[groups[:, 2]] + _ALLOCATOR + 1
    strings = {number + _ALLOCATOR + 1: text for text, number in texts.items()}
    return labels, {_THREAD: "thread", _ALLOCATOR: "allocator"} | strings
