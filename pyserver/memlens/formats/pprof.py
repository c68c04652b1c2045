"""pprof profiles: ``profile.proto``, as Go, gperftools' and google's tools, Parca and many others write it.

Sources: https://github.com/google/pprof/blob/main/proto/profile.proto (what fields mean), ``profile/prune.go`` there
(``drop_frames``), ``runtime/pprof/protomem.go`` of Go (the label ``bytes``).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.pprof_prune import patterns_of
from memlens.kernels.readers import pprof as kernel
from memlens.model.frames import NATIVE, Frames, SourceFrame, profiled_frame
from memlens.model.info import Notice, ValueMeaning, ValueType
from memlens.model.profile import LABEL_DTYPE, Profile, fits
from memlens.progress import Report
from memlens.units import format_bytes, part_has, shortened

KIND = "pprof"
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
Column = npt.NDArray[Any]

_MOST_FRAMES = 1 << 28
"""Frames of all samples' stacks; inlined ones could make a small file's many more than it has bytes."""
_MOST_TYPES = 64
_MOST_TOLD = 3
_MOST_NAME = 100
"""Characters of a binary's name in a sentence."""
_CUTS = (32, 64, 100, 128, 256, 512, 1024)
"""Depths at which recorders cut stacks off: Go's did at 32 until 1.23, at 128 since."""
_STARTS = frozenset(
    (
        "runtime.main", "runtime.goexit", "runtime.rt0_go", "runtime.mstart", "runtime.mcall", "runtime.systemstack",
        "runtime.gcBgMarkWorker", "main", "_start", "__libc_start_main", "start_thread", "clone",
    )
)  # fmt: skip
"""Functions that nothing calls: a stack that ends in one is whole."""
_GO_STARTS = frozenset(("runtime.main", "runtime.goexit", "runtime.mstart", "runtime.mcall"))
_HIDDEN = 3
"""How many frames of Go's allocator stand above what allocated: ``mallocgc``, ``newobject`` or ``growslice``, ..."""
BASE = "pprof::base"
"""The label of what was subtracted in a difference (``go tool pprof -diff_base``)."""

_KNOWN: dict[str, tuple[ValueMeaning, str]] = {
    "alloc_objects": ("total", "Allocations made"),
    "alloc_space": ("total", "Allocated in all"),
    "inuse_objects": ("live", "Allocations in use"),
    "inuse_space": ("live", "In use"),
    # what google's tools make of a heap profile that tells only one of the two
    "objects": ("live", "Allocations in use"),
    "space": ("live", "In use"),
    "cpu": ("other", "CPU time"),
}
_ERRORS = {
    kernel.TRUNCATED: "The profile breaks off within a field",
    kernel.BAD_TAG: "The profile holds a field that can't be",
    kernel.BAD_WIRE: "A field of the profile is written as none of its kind can be",
    kernel.TOO_MANY: "The profile holds more samples than can be numbered",
}


def sniff(head: bytes) -> bool:
    """Whether the first bytes can only be those of a profile: all that they hold are fields that it can have."""
    return kernel.sniff(head)


def read(source: Source, _scratch: Path, report: Report) -> Profile:
    """Read a profile; ``report`` gets ``("reading", fraction)``.

    Raises :class:`NotASnapshotError`, :class:`DamagedSnapshotError`, or MemoryError.
    """
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
    """The file's strings by number, each decoded when it is first asked for."""

    def __init__(self, source: Source, rows: Column) -> None:
        self._data = source.data
        self._rows = rows
        self._texts: dict[int, str] = {}
        if len(rows) and int(rows["length"][0]) != 0:
            raise DamagedSnapshotError("The profile's first string is not the empty one")

    def __getitem__(self, number: int) -> str:
        found = self._texts.get(number)
        if found is None:
            if not 0 <= number < max(len(self._rows), 1):
                raise DamagedSnapshotError(
                    f"The profile refers to string {number}, and has {len(self._rows):,}"
                )
            if not len(self._rows):
                return ""
            start, length = self._rows[number].tolist()
            found = self._texts[number] = self._data[start : start + length].decode("utf-8", "replace")
        return found

    def used(self) -> Mapping[int, str]:
        """All that were asked for."""
        return self._texts


@dataclass(slots=True)
class _Stacks:
    """Each sample's locations, innermost first: ``sequence[starts[s]:starts[s + 1]]`` as rows of the locations."""

    starts: U64
    sequence: U32


class _Reader:
    """What the scanner found, turned into the model."""

    def __init__(self, source: Source, scanner: kernel.Scanner) -> None:
        def table(name: "kernel.Table") -> Column:
            return np.asarray(scanner.take(name))

        self.numbers = scanner.numbers()
        self.texts = _Texts(source, table("strings"))
        self.types = [self._value_type(*row) for row in table("types").tolist()]
        self.mappings = table("mappings")
        self.locations = table("locations")
        self.lines = table("lines")
        self.functions = table("functions")
        self.labels = table("labels")
        self.comments = [self.texts[number] for number in table("comments").tolist()]
        self.notices: list[Notice] = []
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
        self._drop_frames()
        frames = self._frames()
        strings: dict[int, str] = {}
        labels = self._labels(strings)
        self._tell_of_values()
        return Profile(
            KIND, frames, self.types, self._default_type(), np.arange(len(frames.starts) - 1, dtype=np.uint32),
            self.values, labels, strings, self._sizes(), None, self._settings(), self.notices,
        )  # fmt: skip

    def _value_type(self, kind: int, unit: int) -> ValueType:
        name = self.texts[kind]
        meaning, title = _KNOWN.get(name, ("other", name.replace("_", " ").capitalize() or "Value"))
        return ValueType(name, self.texts[unit], meaning, title)

    def _values(self, starts: U64, values: I64) -> list[I64]:
        if not self.types:
            raise NotASnapshotError("The profile says of no value what it is", advice="Record it again.")
        if len(self.types) > _MOST_TYPES:
            raise DamagedSnapshotError(f"The profile tells of {len(self.types):,} values of each sample")
        wrong = np.flatnonzero(np.diff(starts) != len(self.types))
        if len(wrong):
            raise DamagedSnapshotError(
                f"Sample {int(wrong[0]):,} has {int(np.diff(starts)[wrong[0]]):,} values, "
                f"and the profile says that there are {len(self.types)}"
            )
        columns = [np.ascontiguousarray(column) for column in values.reshape(-1, len(self.types)).T]
        if not fits(columns):
            raise DamagedSnapshotError("The values add up to more than can be counted")
        return columns

    def _default_type(self) -> int:
        """The type of that name, else the last one, as the format's document has it."""
        wanted = self.numbers["default_sample_type"]
        if wanted:
            name = self.texts[wanted]
            for number, kind in enumerate(self.types):
                if kind.name == name:
                    return number
        return len(self.types) - 1

    def _drop_frames(self) -> None:
        """Leave out what ``drop_frames`` names (of allocators, mostly) and what it called, but for ``keep_frames``."""
        drop, keep = (self.texts[self.numbers[field]] for field in ("drop_frames", "keep_frames"))
        if not drop:
            return
        dropped = patterns_of(drop, keep)
        if dropped is None:
            self._tell(
                "drop-frames",
                "What the profile asks to leave out of stacks is shown: the pattern is too complex",
            )
            return
        names = [self.texts[name] for name in self.functions["name"].tolist()]
        marked = np.array([*(bool(name) and dropped(name) for name in names), False], bool)
        wanted = np.flatnonzero(marked[self.line_function])
        if not len(wanted):
            return
        below = np.zeros(len(self.locations), np.uint8)
        whole = np.zeros(len(self.locations), np.uint8)
        first, count = self.locations["first_line"].astype(np.int64), self.locations["lines"].astype(np.int64)
        of_line = np.repeat(np.arange(len(self.locations)), count)
        # of several in one location the outermost, which comes last, is the one that stays in the table
        last = np.full(len(self.locations), -1, np.int64)
        last[of_line[wanted]] = wanted
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
        self._tell(
            "drop-frames",
            f"Frames that the profile asks to leave out were left out of {shorter:,} stacks (drop_frames)",
        )

    def _frames(self) -> Frames:
        """The distinct frames, and the stacks with all lines of their locations, innermost first."""
        functions = [
            (self.texts[file], self.texts[name] or self.texts[system] or "?")
            for name, system, file in zip(
                *(self.functions[field].tolist() for field in ("name", "system_name", "file")), strict=True
            )
        ]
        files = [self.texts[file] for file in self.mappings["file"].tolist()]
        known = self.line_function < len(self.functions)
        # a frame is a function at a line; a line without a function is no more than its location's address
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
        # the lines that locations have now; those with none, or with a line that has no function, are addresses
        begins = np.concatenate(([0], np.cumsum(np.maximum(count, 1))))
        location_frames = np.full(int(begins[-1]), -1, np.int64)
        places = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        rows = np.repeat(np.arange(len(count)), count)
        location_frames[begins[rows] + places] = line_frame[first[rows] + places]
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
        self._tell_of_addresses(of_place, files)
        return self._expanded(frames, begins, location_frames.astype(np.uint32))

    def _expanded(self, frames: list[SourceFrame], begins: I64, location_frames: U32) -> Frames:
        stacks = self.stacks
        counts = np.diff(begins)[stacks.sequence]
        if int(counts.sum()) > _MOST_FRAMES:
            raise DamagedSnapshotError(f"The stacks of the samples hold more than {_MOST_FRAMES:,} frames")
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
            self._tell(
                "cut-off",
                f"{part_has(len(cut), len(starts) - 1, 'sample')} a stack that is cut off after {depth} calls: what "
                "called those isn't known.",
            )
        return Frames(frames, starts.astype(np.uint64), sequence)

    def _cut_off(self, frames: list[SourceFrame], sequence: U32, starts: I64) -> tuple[I64, int]:
        """The samples whose recorder cut their stacks off, and at which depth; see :data:`_CUTS`.

        Go counts inlined functions (``runtime.callers``), but a stack that ends amid those of one location is written
        with all of them; others count addresses. Of a stack of Go's heap profiles the allocator's own frames are taken
        away after it was cut off (``hideRuntime`` in ``protomem.go``), so somewhat shorter ones may be cut off, too:
        those whose outermost function calls the whole of no shorter one.
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
        # string 0 is the empty one, which stands for none; others keep the file's numbers
        for name, field in (("key", "key"), ("text", "text"), ("unit", "unit")):
            for number in np.unique(rows[field]).tolist():
                strings[number] = self.texts[number]
            labels[name] = rows[field]
        labels["sample"], labels["number"] = rows["sample"], rows["number"]
        strings.pop(0, None)
        if any(strings.get(key) == BASE for key in np.unique(rows["key"]).tolist()):
            self._tell(
                "difference",
                "This is a difference of two profiles: samples of the base are negative, and are labelled pprof::base",
            )
        # a label without a key says nothing
        kept: Column = labels[labels["key"] != 0]
        return kept

    def _sizes(self) -> I64 | None:
        """The size of one block of each sample: Go writes it as the numeric label ``bytes``."""
        rows = self.labels
        keys = [key for key in np.unique(rows["key"]).tolist() if self.texts[key] == "bytes"]
        sized = rows[np.isin(rows["key"], keys) & (rows["text"] == 0) & (rows["number"] > 0)]
        if not len(sized):
            return None
        sizes = np.zeros(len(self.stacks.starts) - 1, np.int64)
        sizes[sized["sample"]] = sized["number"]
        return sizes

    def _settings(self) -> dict[str, Any]:
        numbers, texts = self.numbers, self.texts
        told: dict[str, Any] = {
            "time_unix_ns": numbers["time_nanos"],
            "duration_ns": numbers["duration_nanos"],
            "period": numbers["period"],
            "period_type": texts[numbers["period_type"]],
            "period_unit": texts[numbers["period_unit"]],
            "comments": self.comments,
            "doc_url": texts[numbers["doc_url"]],
            "mappings": [
                {"file": texts[row["file"]], "build_id": texts[row["build_id"]], "start": hex(row["start"])}
                for row in self.mappings[:1000]
            ],
        }
        return {name: value for name, value in told.items() if value}

    def _tell(self, code: str, message: str) -> None:
        self.notices.append(Notice(code, message))

    def _tell_of_addresses(self, locations: I64, files: list[str]) -> None:
        """How much of the code has no name, and of which binaries it is."""
        bare = np.unique(locations)
        if not len(bare):
            return
        numbers, counts = np.unique(self.location_mapping[bare], return_counts=True)
        largest = numbers[np.argsort(-counts, kind="stable")][:_MOST_TOLD].tolist()
        named = [
            shortened(files[number].replace("\\", "/").rsplit("/", 1)[-1], _MOST_NAME)
            for number in largest
            if number < len(files)
        ]
        where = f", most of them in {', '.join(name for name in named if name)}" if any(named) else ""
        self._tell(
            "no-symbols",
            f"{part_has(len(bare), len(self.locations), 'location')} no name, only an address{where}: the profile was "
            "written without the symbols of its binaries.",
        )

    def _tell_of_values(self) -> None:
        period, kind = self.numbers["period"], self.texts[self.numbers["period_type"]]
        unit = self.texts[self.numbers["period_unit"]]
        if period > 1 and unit == "bytes" and kind in ("space", "inuse_space", "alloc_space"):
            self._tell(
                "sampled",
                f"The profile is sampled, about once in {format_bytes(period)} allocated: figures are estimates.",
            )
        negative = sum(int(np.count_nonzero(column < 0)) for column in self.values)
        if negative:
            self._tell(
                "negative",
                f"{negative:,} values are negative. They count in totals, in the tables of allocations and of hot "
                "spots, beside source lines, in the tables of comparisons and in SQL; flame graphs, their tables of "
                "functions and `memlens flame` show what became more and what became less as two sides; difference "
                "flame graphs of two files leave out the stacks that became less.",
            )


def _rows_of(wanted: U64, ids: U64, what: str, zero: int | None = None) -> U32:
    """The row of each id; ``zero`` stands for id 0, where there may be none. Raises DamagedSnapshotError."""
    if len(ids) and int(ids.min()) == 0:
        raise DamagedSnapshotError(f"A {what} of the profile has no id")
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    if len(ids) > 1 and bool((ordered[1:] == ordered[:-1]).any()):
        raise DamagedSnapshotError(f"Several {what}s of the profile have the same id")
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
        raise DamagedSnapshotError(f"The profile refers to {what} {first}, which it doesn't have")
    return rows


def value_types(names: Iterable[tuple[str, str]]) -> list[ValueType]:
    """Value types by pprof's names and units, for other formats that have the same."""
    return [
        ValueType(name, unit, *_KNOWN.get(name, ("other", name.replace("_", " ").capitalize())))
        for name, unit in names
    ]
