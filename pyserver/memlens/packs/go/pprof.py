"""pprof profiles: ``profile.proto``, as written by Go, gperftools' and Google's tools, Parca and many others.

Sources: https://github.com/google/pprof/blob/main/proto/profile.proto (the fields), ``profile/prune.go`` there
(``drop_frames``), ``runtime/pprof/protomem.go`` of Go (the label ``bytes``).
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.arrays import I64, U32, U64, rows_of
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.symbols.lookup import Region, Symbols
from memlens.formats.warnings import counted_warnings
from memlens.model.distinct import counted, distinct
from memlens.model.expansion import most_items
from memlens.model.frames import MOST_LINE, NATIVE, Frames, SourceFrame, profiled_frame
from memlens.model.info import FileWarning, ValueMeaning, ValueType
from memlens.model.profile import LABEL_DTYPE, Profile, sums_fit
from memlens.packs.go.kernels import pprof as kernel
from memlens.packs.go.pruning import patterns_of
from memlens.progress import Report
from memlens.texts import Text, phrase, plural
from memlens.units import format_bytes, shortened

KIND = "pprof"
Column = npt.NDArray[Any]

_PAGE = 4096
_MOST_TYPES = 64
_FACTS = ("time_nanos", "duration_nanos", "period")
_MOST_COMMENTS = 1_000
_MOST_MAPPINGS = 1_000
_MOST_BINARIES = 3
"""The most binaries that a warning names."""
_MOST_NAME = 100
_TIME_UNITS = ("nanoseconds", "microseconds", "milliseconds", "seconds")
"""The most characters of a binary's name in a warning."""
_CUTS = (32, 64, 100, 128, 256, 512, 1024)
"""Depths at which recorders cut stacks off: Go's did at 32 until 1.23, at 128 since."""
_STARTS = frozenset(
    (
        "runtime.main", "runtime.goexit", "runtime.rt0_go", "runtime.mstart", "runtime.mcall", "runtime.systemstack",
        "runtime.gcBgMarkWorker", "main", "_start", "__libc_start_main", "start_thread", "clone",
    )
)  # fmt: skip
"""Functions without callers: a stack that ends in one is complete."""
_GO_STARTS = frozenset(("runtime.main", "runtime.goexit", "runtime.mstart", "runtime.mcall"))
_HIDDEN = 3
"""The number of Go's allocator frames at the top of a stack: ``mallocgc``, ``newobject`` or ``growslice``, ..."""
BASE = "pprof::base"
"""The label of the samples that are subtracted in a difference (``go tool pprof -diff_base``)."""

_KNOWN: dict[str, tuple[ValueMeaning, Text]] = {
    "alloc_objects": ("total", phrase("Allocations made")),
    "alloc_space": ("total", phrase("Allocated in total")),
    "inuse_objects": ("live", phrase("Allocations in use")),
    "inuse_space": ("live", phrase("In use")),
    # Google's tools write these for a heap profile that has only one of the two
    "objects": ("live", phrase("Allocations in use")),
    "space": ("live", phrase("In use")),
    "cpu": ("other", phrase("CPU time")),
}
_Record = Literal["location", "function", "mapping"]
_RECORDS: dict[_Record, Text] = {
    "location": phrase("location"),
    "function": phrase("function"),
    "mapping": phrase("mapping"),
}

_ERRORS = {
    kernel.TRUNCATED: phrase("The profile ends within a field"),
    kernel.BAD_TAG: phrase("The profile has a field with an invalid tag"),
    kernel.BAD_WIRE: phrase(
        "A field has another type than in a profile of pprof: the file is damaged, or of another format"
    ),
    kernel.TOO_MANY: phrase("The profile has too many samples"),
}


def _known(name: str) -> tuple[ValueMeaning, Text]:
    """What a value means, and its title."""
    return _KNOWN.get(name) or (
        "other",
        Text(name.replace("_", " ").capitalize()) if name else phrase("Value"),
    )


def sniff(head: bytes) -> bool:
    """Whether the first bytes consist of valid fields of a profile."""
    return kernel.sniff(head)


def read(source: Source, _scratch: Path, report: Report) -> Profile:
    """Read a profile: see :class:`memlens.formats.Reader`."""
    scanner = kernel.Scanner(source.data)
    status = scanner.run()
    if status == kernel.NO_MEMORY:
        raise MemoryError
    if status != kernel.OK:
        raise DamagedSnapshotError(_ERRORS[status], offset=scanner.error_offset)
    report("reading", 0.5)
    profile = _Reader(source, scanner).profile()
    report("reading", 1.0)
    return profile


class _Texts:
    """The file's strings by number, each decoded on first use."""

    def __init__(self, source: Source, rows: Column) -> None:
        self._data = source.data
        self._rows = rows
        self._texts: dict[int, str] = {}
        if len(rows) and int(rows["length"][0]) != 0:
            raise DamagedSnapshotError(phrase("The profile's first string is not empty"))

    def __getitem__(self, number: int) -> str:
        text = self._texts.get(number)
        if text is None:
            if not 0 <= number < max(len(self._rows), 1):
                raise DamagedSnapshotError(
                    phrase(
                        "The profile refers to string {number}, but has only {count}",
                        number=number,
                        count=len(self._rows),
                    )
                )
            if not len(self._rows):
                return ""
            start, length = self._rows[number].tolist()
            text = self._texts[number] = self._data[start : start + length].decode("utf-8", "replace")
        return text

    def used(self) -> Mapping[int, str]:
        """Return all strings that were decoded."""
        return self._texts


def _region(file: str, row: Any, build_id: str) -> Region | None:
    """Return a mapping as a part of its binary; None if it doesn't say where that was."""
    start, limit = int(row["start"]), int(row["limit"])
    if not file or limit <= start:
        return None
    # some recorders write the bytes that a segment has in the file, not the pages that the system mapped
    is_whole = start % _PAGE == 0 and limit % _PAGE == 0
    return Region(file, start, limit, int(row["offset"]), build_id.lower(), is_whole)


class _Stacks(Struct):
    """Each sample's rows in the table of locations, innermost first: ``sequence[starts[s]:starts[s + 1]]``."""

    starts: U64
    sequence: U32


class _Reader:
    """Converts the scanner's tables to the model."""

    def __init__(self, source: Source, scanner: kernel.Scanner) -> None:
        def table(name: str) -> Column:
            return rows_of(scanner.take(name))

        self.source = source
        self.numbers = scanner.numbers()
        self.texts = _Texts(source, table("strings"))
        self.types = [self._value_type(*row) for row in table("types").tolist()]
        self.mappings = table("mappings")
        self.locations = table("locations")
        self.lines = table("lines")
        self.functions = table("functions")
        self.labels = table("labels")
        self.warnings: list[FileWarning] = []
        self.comments = self._comments(table("comments").tolist())
        starts, ids = table("location_starts"), table("sample_locations")
        self.values = self._values(table("value_starts"), table("values"))
        self.stacks = _Stacks(starts, _rows_of(ids, self.locations["id"], "location"))
        self.line_function = _rows_of(
            self.lines["function"], self.functions["id"], "function", zero=len(self.functions)
        )
        self.location_mapping = _rows_of(
            self.locations["mapping"], self.mappings["id"], "mapping", zero=len(self.mappings)
        )

    def profile(self) -> Profile:
        self._note_facts()
        self._drop_frames()
        frames = self._frames()
        strings: dict[int, str] = {}
        labels = self._labels(strings)
        self._note_values()
        return Profile(
            KIND, frames, self.types, self._default_type(), np.arange(len(frames.starts) - 1, dtype=np.uint32),
            self.values, labels, strings, self._sizes(), None, self._settings(), self.warnings,
        )  # fmt: skip

    def _value_type(self, kind: int, unit: int) -> ValueType:
        name = self.texts[kind]
        return ValueType(name, self.texts[unit], *_known(name))

    def _values(self, starts: U64, values: I64) -> list[I64]:
        if not self.types:
            raise NotASnapshotError(
                phrase("The profile has no types of values"), advice=phrase("Record it again.")
            )
        if len(self.types) > _MOST_TYPES:
            raise DamagedSnapshotError(
                phrase("The profile has {count} types of values, which are too many", count=len(self.types))
            )
        wrong = np.flatnonzero(np.diff(starts) != len(self.types))
        if len(wrong):
            raise DamagedSnapshotError(
                phrase(
                    "Sample {sample} has {values} values, but the profile has {count} types",
                    sample=int(wrong[0]),
                    values=int(np.diff(starts)[wrong[0]]),
                    count=len(self.types),
                )
            )
        columns = [np.ascontiguousarray(column) for column in values.reshape(-1, len(self.types)).T]
        if not sums_fit(columns):
            raise DamagedSnapshotError(phrase("The sum of the values is too large"))
        return columns

    def _default_type(self) -> int:
        """Return the number of the type to show first.

        That is the file's ``default_sample_type``, and without one the last, as the format's document says; but one
        that has no samples, or measures time, gives way to the last type in bytes that has some.
        """
        last = len(self.types) - 1
        names = [kind.name for kind in self.types]
        default = self.texts[self.numbers["default_sample_type"]]
        number = names.index(default) if default in names else last
        if self.values[number].any() and self.types[number].unit not in _TIME_UNITS:
            return number
        used = [number for number, column in enumerate(self.values) if column.any()]
        in_bytes = [number for number in used if self.types[number].unit == "bytes"]
        if in_bytes:
            return in_bytes[-1]
        return number if number in used or not used else used[-1]

    def _drop_frames(self) -> None:
        """Drop frames that match ``drop_frames`` (mostly allocators), and what they called, except ``keep_frames``."""
        drop, keep = (self.texts[self.numbers[field]] for field in ("drop_frames", "keep_frames"))
        if not drop:
            return
        numbers, of_functions = np.unique(self.functions["name"], return_inverse=True)
        names = [self.texts[name] for name in numbers.tolist()]
        dropped = patterns_of(drop, keep, names)
        if dropped is None:
            self._note(
                "drop-frames",
                phrase(
                    "Frames that the profile excludes (drop_frames) are shown, because the pattern is too complex"
                ),
            )
            return
        matching = np.array([bool(name) and dropped(name) for name in names], bool)
        marked = np.append(matching[of_functions], False)
        lines = np.flatnonzero(marked[self.line_function])
        if not len(lines):
            return
        below = np.zeros(len(self.locations), np.uint8)
        whole = np.zeros(len(self.locations), np.uint8)
        first, count = self.locations["first_line"].astype(np.int64), self.locations["lines"].astype(np.int64)
        of_line = np.repeat(np.arange(len(self.locations)), count)
        # the outermost of several lines in one location, which is last, is the one that remains
        last = np.full(len(self.locations), -1, np.int64)
        last[of_line[lines]] = lines
        held = np.flatnonzero(last >= 0)
        below[held] = 1
        rest = first[held] + count[held] - 1 - last[held]
        whole[held[rest == 0]] = 1
        cut = held[rest > 0]
        self.locations = self.locations.copy()
        self.locations["first_line"][cut] = last[cut] + 1
        self.locations["lines"][cut] = rest[rest > 0]
        stacks = self.stacks
        firsts = np.empty(len(stacks.starts) - 1, np.uint64)
        kernel.prune(stacks.starts, stacks.sequence, below, whole, firsts)
        shorter = int(np.count_nonzero(firsts != stacks.starts[:-1]))
        counts = (stacks.starts[1:] - firsts).astype(np.int64)
        starts = np.concatenate(([0], np.cumsum(counts))).astype(np.uint64)
        places = np.arange(int(starts[-1])) + np.repeat(
            firsts.astype(np.int64) - starts[:-1].astype(np.int64), counts
        )
        self.stacks = _Stacks(starts, stacks.sequence[places])
        self._note(
            "drop-frames",
            phrase("Frames that the profile excludes (drop_frames) were removed from {n} stacks", n=shorter),
        )

    def _frames(self) -> Frames:
        """Return the distinct frames, and the stacks with all lines of their locations, innermost first."""
        functions = [
            (self.texts[file], self.texts[name] or self.texts[system] or "?")
            for name, system, file in zip(
                *(self.functions[field].tolist() for field in ("name", "system_name", "file")), strict=True
            )
        ]
        files = [self.texts[file] for file in self.mappings["file"].tolist()]
        known = self.line_function < len(self.functions)
        lineless = int(np.count_nonzero((self.lines["line"] < 0) | (self.lines["line"] > MOST_LINE)))
        self.warnings += counted_warnings(impossible_lines=lineless)
        # a frame is a function at a line; of a line without a function only its location's address is known
        pairs = np.empty(len(self.lines), [("function", "<u4"), ("line", "<i8")])
        pairs["function"], pairs["line"] = self.line_function, self.lines["line"]
        distinct, of_line = np.unique(pairs[known], return_inverse=True)
        frames = [
            profiled_frame(functions[function][0], line, functions[function][1])
            for function, line in distinct.tolist()
        ]
        line_frame = np.full(len(self.lines), -1, np.int64)
        line_frame[known] = of_line
        count = self.locations["lines"].astype(np.int64)
        first = self.locations["first_line"].astype(np.int64)
        # the remaining lines of locations; locations without lines become what binaries say of their addresses, and
        # these addresses where that is nothing, as lines without functions do
        symbols, found = self._looked_up(np.flatnonzero(count == 0), files)
        sizes = np.maximum(count, 1)
        for location, frames_there in found.items():
            sizes[location] = len(frames_there)
        begins = np.concatenate(([0], np.cumsum(sizes)))
        location_frames = np.full(int(begins[-1]), -1, np.int64)
        places = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        rows = np.repeat(np.arange(len(count)), count)
        location_frames[begins[rows] + places] = line_frame[first[rows] + places]
        numbers: dict[SourceFrame, int] = {}
        for location, frames_there in found.items():
            begin = int(begins[location])
            for place, frame in enumerate(frames_there, begin):
                location_frames[place] = numbers.setdefault(frame, len(frames) + len(numbers))
        frames += numbers
        bare = np.flatnonzero(location_frames < 0)
        of_place = np.searchsorted(begins, bare, "right") - 1
        addresses: dict[tuple[str, int], int] = {}
        for place, location in zip(bare.tolist(), of_place.tolist(), strict=True):
            mapping = int(self.location_mapping[location])
            key = (files[mapping] if mapping < len(files) else "", int(self.locations["address"][location]))
            if key not in addresses:
                addresses[key] = len(frames)
                frames.append(profiled_frame("", 0, hex(key[1]), key[0]))
            location_frames[place] = addresses[key]
        if symbols.has_searched:
            self.warnings += symbols.warnings()
        else:
            self._note_addresses(of_place, files)
        return self._expanded(frames, begins, location_frames.astype(np.uint32))

    def _looked_up(self, bare: I64, files: list[str]) -> tuple[Symbols, dict[int, list[SourceFrame]]]:
        """Return the frames of the locations ``bare``, innermost first, as far as the binaries are found."""
        symbols = Symbols(self.source)
        mappings = self.mappings
        regions: list[Region | None] = [
            _region(file, row, self.texts[row["build_id"]]) for file, row in zip(files, mappings, strict=True)
        ]
        regions.append(None)
        asked = [
            (int(self.locations["address"][location]), regions[int(self.location_mapping[location])])
            for location in bare.tolist()
        ]
        known = symbols.look_up(asked)
        return symbols, {
            location: [
                profiled_frame(place.file, place.line, place.function, region.path)
                for place in known[address, region]
            ]
            for location, (address, region) in zip(bare.tolist(), asked, strict=True)
            if region is not None and (address, region) in known
        }

    def _expanded(self, frames: list[SourceFrame], begins: I64, location_frames: U32) -> Frames:
        stacks = self.stacks
        counts = np.diff(begins)[stacks.sequence]
        # a sample names a place in a byte or more, and real places have few inlined frames
        most = most_items(self.source.length)
        if (count := int(counts.sum())) > most:
            raise DamagedSnapshotError(
                phrase(
                    "The stacks of the samples have {count} frames, which is more than {most}, the limit for its size",
                    count=count,
                    most=most,
                ),
                advice=phrase("Record the profile again, with fewer inlined frames."),
            )
        ends = np.concatenate(([0], np.cumsum(counts)))
        places = np.arange(int(ends[-1])) + np.repeat(begins[stacks.sequence] - ends[:-1], counts)
        sequence = location_frames[places]
        starts = ends[stacks.starts.astype(np.int64)]
        cut, depth = self._cut_off(frames, sequence, starts)
        if len(cut):
            sequence = np.insert(sequence, starts[cut + 1], np.uint32(len(frames)))
            added = np.zeros(len(starts), np.int64)
            added[cut + 1] = 1
            starts = starts + np.cumsum(added)
            frames.append(SourceFrame("", 0, f"(cut off after {depth} calls)", NATIVE))
            self._note(
                "cut-off",
                phrase(
                    plural(
                        len(cut),
                        "{n} of {all} has a stack that is cut off after {depth} calls; the outer callers are unknown.",
                        "{n} of {all} have a stack that is cut off after {depth} calls; the outer callers are unknown.",
                    ),
                    n=len(cut),
                    all=phrase(plural(len(starts) - 1, "{n} sample", "{n} samples"), n=len(starts) - 1),
                    depth=str(depth),
                ),
            )
        return Frames(frames, starts.astype(np.uint64), sequence)

    def _cut_off(self, frames: list[SourceFrame], sequence: U32, starts: I64) -> tuple[I64, int]:
        """Return the samples whose stacks the recorder cut off, and the depth; see :data:`_CUTS`.

        Go counts inlined functions (``runtime.callers``), but a stack that ends within those of one location is written
        with all of them; others count addresses. In Go's heap profiles the allocator's frames are removed after the cut
        (``hideRuntime`` in ``protomem.go``), so slightly shorter stacks may be cut off, too: those whose outermost
        function is not the outermost of any shorter stack.
        """
        none = np.empty(0, np.int64), 0
        edges = self.stacks.starts.astype(np.int64)
        held = np.flatnonzero(np.diff(edges))
        if not len(held):
            return none
        names = np.array([frame.function for frame in frames], object)
        starting = np.array([name in _STARTS for name in names], bool)
        in_go = any(name in _GO_STARTS for name in names)
        counts = np.diff(starts)[held] if in_go else np.diff(edges)[held]
        deepest = int(counts.max())
        if in_go:
            inlined = np.maximum(self.locations["lines"].astype(np.int64), 1) - 1
            deepest = int((counts - inlined[self.stacks.sequence[edges[held + 1] - 1]]).max())
        if deepest not in _CUTS or np.count_nonzero(counts >= deepest) < 2:
            return none
        outermost = sequence[starts[held + 1] - 1]
        cut = counts >= deepest
        if in_go and any(kind.name in ("alloc_space", "inuse_space") for kind in self.types):
            near = counts >= deepest - _HIDDEN
            entries = set(names[outermost[~near]].tolist())
            entered = np.array([name in entries for name in names], bool)
            cut |= near & ~entered[outermost]
        return held[cut & ~starting[outermost]], deepest

    def _labels(self, strings: dict[int, str]) -> Column:
        rows = self.labels
        labels = np.empty(len(rows), LABEL_DTYPE)
        # string 0 is empty and means none; the others keep the file's numbers
        for name, field in (("key", "key"), ("text", "text"), ("unit", "unit")):
            for number in distinct(rows[field]).tolist():
                strings[number] = self.texts[number]
            labels[name] = rows[field]
        labels["sample"], labels["number"] = rows["sample"], rows["number"]
        strings.pop(0, None)
        if any(strings.get(key) == BASE for key in distinct(rows["key"]).tolist()):
            self._note(
                "difference",
                phrase(
                    "This is a difference of two profiles: samples of the base are negative, and are labelled "
                    "pprof::base."
                ),
            )
        # a label without a key is meaningless
        kept: Column = labels[labels["key"] != 0]
        return kept

    def _sizes(self) -> I64 | None:
        """Return the size of one block of each sample, which Go writes as the numeric label ``bytes``."""
        rows = self.labels
        keys = [key for key in distinct(rows["key"]).tolist() if self.texts[key] == "bytes"]
        sized = rows[np.isin(rows["key"], keys) & (rows["text"] == 0) & (rows["number"] > 0)]
        if not len(sized):
            return None
        sizes = np.zeros(len(self.stacks.starts) - 1, np.int64)
        sizes[sized["sample"]] = sized["number"]
        return sizes

    def _comments(self, numbers: list[int]) -> list[str]:
        """The comments, each once: a few bytes may refer to a long one as often as they like."""
        found, left = [], self.source.length
        distinct = list(dict.fromkeys(numbers))
        for number in distinct[:_MOST_COMMENTS]:
            left -= len(self.texts[number])
            if left < 0:
                break
            found.append(self.texts[number])
        if len(found) < len(distinct):
            count = len(distinct) - len(found)
            self._note("comments", phrase("{n} more comments of the profile are not read.", n=count))
        return found

    def _settings(self) -> dict[str, Any]:
        numbers, texts = self.numbers, self.texts
        settings: dict[str, Any] = {
            "time_unix_ns": numbers["time_nanos"],
            "written_ms": numbers["time_nanos"] // 1_000_000,
            "duration_ns": numbers["duration_nanos"],
            "period": numbers["period"],
            "period_type": texts[numbers["period_type"]],
            "period_unit": texts[numbers["period_unit"]],
            "comments": self.comments,
            "doc_url": texts[numbers["doc_url"]],
            "mappings": [
                {"file": texts[row["file"]], "build_id": texts[row["build_id"]], "start": hex(row["start"])}
                for row in self.mappings[:_MOST_MAPPINGS]
            ],
        }
        return {name: value for name, value in settings.items() if value}

    def _note(self, code: str, said: Text) -> None:
        self.warnings.append(FileWarning(code, said))

    def _note_addresses(self, locations: I64, files: list[str]) -> None:
        """Add a warning of how many locations have no name, and in which binaries."""
        bare = distinct(locations)
        if not len(bare):
            return
        numbers, counts = np.unique(self.location_mapping[bare], return_counts=True)
        largest = numbers[np.argsort(-counts, kind="stable")][:_MOST_BINARIES].tolist()
        named = [
            shortened(files[number].replace("\\", "/").rsplit("/", 1)[-1], _MOST_NAME)
            for number in largest
            if number < len(files)
        ]
        # several mappings may be of one binary, and several have no name
        binaries, total = ", ".join(dict.fromkeys(name for name in named if name)), len(self.locations)
        self._note(
            "no-symbols",
            phrase(
                plural(
                    len(bare),
                    "{n} of {all} has no name, only an address{where}: the profile was written without the symbols of "
                    "its binaries.",
                    "{n} of {all} have no name, only an address{where}: the profile was written without the symbols of "
                    "its binaries.",
                ),
                n=len(bare),
                all=phrase(plural(total, "{n} location", "{n} locations"), n=total),
                where=phrase(", most of them in {binary}", binary=binaries) if binaries else "",
            ),
        )

    def _note_values(self) -> None:
        """Add warnings of sampled and of negative values."""
        period, kind = self.numbers["period"], self.texts[self.numbers["period_type"]]
        unit = self.texts[self.numbers["period_unit"]]
        if period > 1 and unit == "bytes" and kind in ("space", "inuse_space", "alloc_space"):
            self._note(
                "sampled",
                phrase(
                    "The profile is sampled, about once per {size} allocated: figures are estimates.",
                    size=format_bytes(period),
                ),
            )
        negative = sum(int(np.count_nonzero(column < 0)) for column in self.values)
        if negative:
            self._note(
                "negative",
                phrase(
                    "{n} values are negative. They count in totals, in the tables of allocations and of hot spots, "
                    "beside source lines, in the tables of comparisons and in SQL; flame graphs, their tables of "
                    "functions and `memlens flame` show increases and decreases separately; in difference flame "
                    "graphs of two files a box is as wide as its stacks' values are without their signs.",
                    n=negative,
                ),
            )

    def _note_facts(self) -> None:
        """Drop times, durations and periods below 0, and add a warning of how many there are."""
        wrong = [name for name in _FACTS if self.numbers[name] < 0]
        for name in wrong:
            self.numbers[name] = 0
        # a limit of 0 is unknown
        ends = (self.mappings["limit"] != 0) & (self.mappings["limit"] < self.mappings["start"])
        self.warnings += counted_warnings(
            unknown_settings=len(wrong), impossible_mappings=int(np.count_nonzero(ends))
        )
        sizes = self.labels[(self.labels["text"] == 0) & (self.labels["number"] < 0)]
        keys, counts = counted(sizes["key"])
        impossible = [
            n for key, n in zip(keys.tolist(), counts.tolist(), strict=True) if self.texts[key] == "bytes"
        ]
        self.warnings += counted_warnings(impossible_block_sizes=sum(impossible))


def _rows_of(wanted: U64, ids: U64, noun: _Record, zero: int | None = None) -> U32:
    """Return the row of each wanted id; ``zero`` is the row of id 0 if it is allowed. Raises DamagedSnapshotError."""
    if len(ids) and int(ids.min()) == 0:
        raise DamagedSnapshotError(phrase("A {record} of the profile has no id", record=_RECORDS[noun]))
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    if len(ids) > 1 and bool((ordered[1:] == ordered[:-1]).any()):
        raise DamagedSnapshotError(
            phrase("More than one {record} of the profile has the same id", record=_RECORDS[noun])
        )
    places = np.searchsorted(ordered, wanted)
    known = places < len(ids)
    known[known] = ordered[places[known]] == wanted[known]
    rows = np.zeros(len(wanted), np.uint32)
    rows[known] = order[places[known]]
    missing = ~known
    if zero is not None:
        rows[wanted == 0] = zero
        missing &= wanted != 0
    if bool(missing.any()):
        first = int(wanted[np.argmax(missing)])
        raise DamagedSnapshotError(
            phrase(
                "The profile refers to {record} {id}, which it doesn't have",
                record=_RECORDS[noun],
                id=str(first),
            )
        )
    return rows


def value_types(names: Iterable[tuple[str, str]]) -> list[ValueType]:
    """Return the value types for pprof's names and units, for other formats that use them."""
    return [ValueType(name, unit, *_known(name)) for name, unit in names]
