"""Heap profiles in text: of gperftools and tcmalloc (``heap profile:``), Go (``debug=1``) and jemalloc (``heap_v2/``).

Sources: ``profile/legacy_profile.go`` of google/pprof (``parseHeap``, ``scaleHeapSample``), ``bin/jeprof`` of jemalloc,
``runtime/pprof/pprof.go`` of Go (``writeHeapInternal``), and see :mod:`memlens.packs.native.kernels.heap_text`.
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memlens.arrays import F64, I64, U32, U64, Mask
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.scanning import run_through
from memlens.formats.stacks import cut_stacks, distinct_frames, used_stacks, with_inlined
from memlens.formats.symbols.lookup import Symbols
from memlens.formats.warnings import counted_warnings
from memlens.model.distinct import distinct
from memlens.model.frames import MOST_LINE, Frames, SourceFrame, profiled_frame
from memlens.model.info import FileWarning, ValueType
from memlens.model.profile import LABEL_DTYPE, Column, Profile, sums_fit
from memlens.packs.native.kernels import heap_text as kernel
from memlens.packs.native.process_maps import Maps
from memlens.progress import Report
from memlens.texts import phrase, plural
from memlens.units import format_bytes

KIND = "heap-text"

_HEAD_BYTES = 4096
_CUTS = (32, 64, 128)
"""Depths at which recorders cut stacks off: Go's did at 32 until 1.23, gperftools' at 32, jemalloc's at 128."""
_STARTS = frozenset(
    ("runtime.main", "runtime.goexit", "runtime.mstart", "runtime.mcall", "runtime.systemstack")
)
_FOUR = rb" *(-?\d{1,18}): *(-?\d{1,18}) *\[ *(-?\d{1,18}): *(-?\d{1,18}) *\]"
_PLAIN = re.compile(
    rb"heap profile:" + _FOUR + rb" *@ *(?P<kind>[a-z][a-z0-9_]*)(?:/(?P<rate>\d{1,18}))?[^\n]*\n"
)
_THREADS = re.compile(rb"heap_v2/(?P<rate>\d{1,18})\r?\n(?: *t\*:" + _FOUR + rb"\r?\n)?")
_VERSION = re.compile(rb"heap_v(?P<version>\d{1,9})/\d{1,18}\r?\n")
_SYMBOLS = re.compile(rb"--- symbol\r?\n")
_SYMBOL = re.compile(rb"^0x([0-9a-fA-F]{1,16})[ \t]+([^\n]{1,16000}?)[ \t\r]*$", re.MULTILINE)
_PROFILE = re.compile(rb"^--- (?:heap|growth|profile)[ \t]*\r?\n", re.MULTILINE)
_MOST_SYMBOLS_BYTES = 256 << 20
_KNOWN_VERSION = 2
_THREAD = 1
_TAIL_BYTES = 4096
_GO_ENDS = (b"# MaxRSS = ", b"# DebugGC = ")
"""The beginning of the last line of Go's memory statistics, since 1.17 and before."""

LIVE = [
    ValueType("inuse_objects", "count", "live", phrase("Allocations in use")),
    ValueType("inuse_space", "bytes", "live", phrase("In use")),
]
_TOTAL = [
    ValueType("alloc_objects", "count", "total", phrase("Allocations made")),
    ValueType("alloc_space", "bytes", "total", phrase("Allocated in total")),
]
_GROWTH = [
    ValueType("objects", "count", "other", phrase("Times that the heap grew")),
    ValueType("space", "bytes", "other", phrase("Obtained from the system")),
]

ERRORS = {
    kernel.SYNTAX: phrase("A line doesn't belong in a heap profile"),
    kernel.BAD_NUMBER: phrase("A number is too large for a heap profile"),
    kernel.TOO_DEEP: phrase("A stack is far deeper than any that recorders write"),
}


class _Head(NamedTuple):
    """The first lines: ``sums`` are those of all rows as recorded, before anything was cut off."""

    kind: str
    """``heapprofile`` (gperftools), ``heap_v2`` and ``heap`` (sampled), ``growthz``, …; ``jemalloc``."""
    rate_bytes: int
    """The average number of bytes between samples; 0 or 1 if every allocation is recorded."""
    sums: tuple[int, int, int, int] | None
    end: int


def sniff(head: bytes) -> bool:
    """Whether the first bytes are the first line of a heap profile in text."""
    return (
        _PLAIN.match(head) is not None or _VERSION.match(head) is not None or _SYMBOLS.match(head) is not None
    )


def read(source: Source, _scratch: Path, report: Report) -> Profile:
    """Read a profile: see :class:`memlens.formats.Reader`."""
    known, start = _symbols_before(source)
    head = _head(source.data[start : start + _HEAD_BYTES] if start else source.head(_HEAD_BYTES))
    head = head._replace(end=head.end + start)
    threads = head.kind == "jemalloc"
    scanner = _scan(source, head, report, threads=threads)
    rows = np.asarray(scanner.take("rows"))
    fields = ("count", "bytes", "total_count", "total_bytes")
    if not sums_fit([rows[name] for name in fields]):
        raise DamagedSnapshotError(phrase("The sum of the values is too large"))
    whole = rows[rows["thread"] == kernel.ALL_THREADS] if threads else rows
    sums = tuple(int(whole[name].sum()) for name in fields)
    has_total = any(bool((rows[total] != rows[live]).any() and rows[total].any()) for live, total in
                    (("count", "total_count"), ("bytes", "total_bytes")))  # fmt: skip
    warnings = _missing(head, sums, cut=scanner.cut or _breaks_off(source, rows))
    if negative := int(np.count_nonzero(np.any([rows[name] < 0 for name in fields], axis=0))):
        said = phrase("Rows with negative figures: {n}. They are counted as recorded.", n=negative)
        warnings.append(FileWarning("negative-figures", said))
    warnings += counted_warnings(unequal_figures=_unequal(rows))
    if threads:
        rows, scales, unequal = _of_threads(rows, head.rate_bytes)
        if unequal:
            said = phrase(
                "Stacks whose threads don't add up to their sum: {n}. They are shown by the sum, without threads.",
                n=unequal,
            )
            warnings.append(FileWarning("unequal-threads", said))
    else:
        scales = (
            sampling_scale(rows["count"], rows["bytes"], head.rate_bytes),
            sampling_scale(rows["total_count"], rows["total_bytes"], head.rate_bytes),
        )
    columns = [scaled(rows[name], scales[number // 2], exact=threads) for number, name in enumerate(fields)]
    if not sums_fit(columns):
        raise DamagedSnapshotError(phrase("The sum of the values is too large"))
    frames, stacks = _frames(scanner, rows, source, known, warnings)
    types, values = ([*LIVE], columns[:2])
    if head.kind.startswith("growth"):
        types = [*_GROWTH]
    elif has_total:
        types, values = [*_TOTAL, *LIVE], [*columns[2:], *columns[:2]]
    warnings += _about(head)
    labels, strings = _labels(rows["thread"])
    settings: dict[str, str | int] = {"profile": head.kind, "sampling_rate_bytes": head.rate_bytes}
    if head.sums is not None:
        names = ("header_inuse_objects", "header_inuse_bytes", "header_alloc_objects", "header_alloc_bytes")
        settings |= dict(zip(names, head.sums, strict=True))
    return Profile(
        KIND, frames, types, len(types) - 1, stacks, values, labels, strings, _sizes(rows, head),
        settings=settings, warnings=warnings,
    )  # fmt: skip


def _symbols_before(source: Source) -> tuple[dict[int, str], int]:
    """Return the names that ``jeprof --raw`` puts before a profile, by address, and where the profile begins."""
    if _SYMBOLS.match(source.head(_HEAD_BYTES)) is None:
        return {}, 0
    begin = _PROFILE.search(source.data, 0, _MOST_SYMBOLS_BYTES)
    if begin is None:
        raise DamagedSnapshotError(phrase("The file has symbols, but no heap profile after them"))
    rows = _SYMBOL.finditer(source.data, 0, begin.start())
    return {int(row[1], 16): row[2].decode("utf-8", "replace") for row in rows}, begin.end()


def _head(head: bytes) -> _Head:
    line = _PLAIN.match(head)
    if line is not None:
        kind, rate = line["kind"].decode("ascii"), int(line["rate"] or 0)
        if kind == "heap":
            rate //= 2  # the file has twice the rate, as in the first such profiler
        elif not kind.endswith("_v2"):
            rate = 0
    else:
        version = _VERSION.match(head)
        if version is not None and int(version["version"]) != _KNOWN_VERSION:
            raise NotASnapshotError(
                phrase(
                    "The profile has version {version} of jemalloc's format (heap_v{version}), which is not supported: "
                    "Memlens reads heap_v{known}",
                    version=int(version["version"]),
                    known=_KNOWN_VERSION,
                ),
                advice=phrase("Open it with the jeprof of the jemalloc that wrote it."),
            )
        line = _THREADS.match(head)
        if line is None:  # sniff accepts every version
            raise DamagedSnapshotError(phrase("The first line is not that of a heap profile"))
        kind, rate = "jemalloc", int(line["rate"])
    sums = tuple(int(number) for number in line.groups()[:4] if number is not None) if kind != "jemalloc" else (
        tuple(int(number) for number in line.groups()[1:5] if number is not None)
    )  # fmt: skip
    return _Head(kind, rate, (sums[0], sums[1], sums[2], sums[3]) if len(sums) == 4 else None, line.end())


def _scan(source: Source, head: _Head, report: Report, *, threads: bool) -> kernel.Scanner:
    # the kernel skips the head's lines about threads
    scanner = kernel.Scanner(source.data, head.end, kernel.THREADS if threads else kernel.PLAIN)
    status = run_through(scanner, source, report, start=head.end)
    if status == kernel.NO_MEMORY:
        raise MemoryError
    if status != kernel.OK:
        raise DamagedSnapshotError(ERRORS[status], offset=scanner.error_offset)
    return scanner


# ---- figures ----


def _unequal(rows: Column) -> int:
    """Return how many rows have more in use than they ever allocated, or bytes without an allocation."""
    wrong = np.zeros(len(rows), np.bool_)
    for name in ("count", "bytes"):
        made = rows[f"total_{name}"]
        # files without totals have 0
        wrong |= (made > 0) & (rows[name] > made)
    for count in ("count", "total_count"):
        wrong |= (rows[count] == 0) & (rows[count.replace("count", "bytes")] != 0)
    return int(np.count_nonzero(wrong))


def sampling_scale(count: I64, size: I64, rate_bytes: int) -> F64:
    """Return how many allocations one sample represents.

    A block of the average size is sampled with the probability 1 - e^(-size / rate).
    """
    if rate_bytes <= 1:
        return np.ones(len(count))
    whole = (count != 0) & (size != 0)
    average = np.divide(np.abs(size), np.abs(count), out=np.ones(len(count)), where=whole)
    return np.where(whole, -1 / np.expm1(-np.maximum(average, 1e-9) / rate_bytes), 0.0)


def scaled(column: I64, scale: F64, *, exact: bool) -> I64:
    """Scale to whole numbers. google/pprof truncates them; ``exact`` rounds, for files that it can't read."""
    if (scale == 1.0).all():
        return np.ascontiguousarray(column)
    product = np.clip(column * scale, -(2.0**62), 2.0**62)
    return (np.rint(product) if exact else np.trunc(product)).astype(np.int64)


def _of_threads(rows: Column, rate_bytes: int) -> tuple[Column, tuple[F64, F64], int]:
    """Return jemalloc's rows of each thread, with the scales of their stacks' sums, as jeprof computes them.

    If the threads of a stack don't add up to its sum, the sum is used instead, without a thread; the last result is the
    number of such stacks.
    """
    sums = rows[rows["thread"] == kernel.ALL_THREADS]
    single = rows[rows["thread"] != kernel.ALL_THREADS]
    count = int(rows["stack"].max(initial=0)) + 1
    fields = ("count", "bytes", "total_count", "total_bytes")
    of_sums, of_single = np.zeros((2, len(fields), count), np.int64)
    for number, name in enumerate(fields):
        np.add.at(of_sums[number], sums["stack"], sums[name])
        np.add.at(of_single[number], single["stack"], single[name])
    has_sum = np.zeros(count, np.bool_)
    has_sum[sums["stack"]] = True
    has_single = np.zeros(count, np.bool_)
    has_single[single["stack"]] = True
    fine = has_single & ((of_sums == of_single).all(axis=0) | ~has_sum)
    kept: Column = np.concatenate((single[fine[single["stack"]]], sums[~fine[sums["stack"]]]))
    kept = kept[np.argsort(kept["stack"], kind="stable")]
    kept["thread"][kept["thread"] == kernel.ALL_THREADS] = kernel.NO_THREAD
    total = np.where(has_sum, of_sums, of_single)
    live, made = (
        sampling_scale(total[0], total[1], rate_bytes),
        sampling_scale(total[2], total[3], rate_bytes),
    )
    unequal = int(np.count_nonzero(has_single & ~fine))
    return kept, (live[kept["stack"]], made[kept["stack"]]), unequal


def _sizes(rows: Column, head: _Head) -> I64:
    """Return the size of each row's blocks, 0 if unknown: Go has a row per size; others only with a single block."""
    count, size = (np.where(rows["count"] != 0, rows[live], rows[total]) for live, total in
                   (("count", "total_count"), ("bytes", "total_bytes")))  # fmt: skip
    known = (
        (count != 0) & (size % np.where(count != 0, count, 1) == 0) & ((head.kind == "heap") | (count == 1))
    )
    return np.where(known, size // np.where(known, count, 1), 0).astype(np.int64)


def _labels(thread: U32) -> tuple[Column, dict[int, str]]:
    samples = np.flatnonzero(thread != kernel.NO_THREAD)
    labels = np.zeros(len(samples), LABEL_DTYPE)
    names = distinct(thread[samples])
    labels["sample"], labels["key"] = samples, _THREAD
    labels["text"] = np.searchsorted(names, thread[samples]) + _THREAD + 1
    strings = {number: f"t{name}" for number, name in enumerate(names.tolist(), _THREAD + 1)}
    return labels, ({_THREAD: "thread"} | strings if len(samples) else {})


# ---- stacks ----


def _frames(
    scanner: kernel.Scanner, rows: Column, source: Source, names: dict[int, str], warnings: list[FileWarning]
) -> tuple[Frames, U32]:
    """Return the stacks of the rows, with the names from comments or else addresses."""
    addresses = np.asarray(scanner.take("addresses"))
    maps = Maps(source.data, scanner.maps) if scanner.maps else Maps(b"", 0)
    # return addresses are after their calls
    calls = np.maximum(addresses, 1) - np.uint64(1)
    # Go's comments name the frames of their rows, whose addresses needn't be looked up
    bare = distinct(rows["stack"][rows["names"] == 0])
    places = np.asarray(scanner.take("stack_addresses"))
    starts, named = np.asarray(scanner.take("stack_starts")), np.asarray(scanner.take("named_starts"))
    is_bare = np.zeros(len(starts) - 1, np.bool_)
    is_bare[bare] = True
    needed = np.zeros(len(calls), np.bool_)
    needed[places[np.repeat(is_bare, np.diff(starts).astype(np.int64))]] = True
    by_address, sizes = _named_addresses(calls, needed, maps, source, names, warnings)
    named_frames = [_named_frame(text) for text in scanner.texts()]
    # the runtime's own assembly has no line
    lineless = [_has_wrong_line(text) for text in scanner.texts()]
    warnings += counted_warnings(impossible_lines=sum(lineless))
    frames, numbers = distinct_frames([*by_address, *named_frames])
    depths = np.diff(starts).astype(np.int64)[rows["stack"]]
    starts, places = with_inlined(starts, places, sizes)
    sequence = np.concatenate(
        (
            numbers[places],
            numbers[np.asarray(scanner.take("named_frames")).astype(np.int64) + len(by_address)],
        )
    )
    stacks = np.where(rows["names"] > 0, rows["names"] + np.uint32(len(starts)), rows["stack"]).astype(
        np.uint32
    )
    # the named stacks follow those of addresses, after an empty one
    both = Frames(frames, np.concatenate((starts, named + starts[-1])), sequence)
    cut = _cut_off(both, stacks, depths)
    if cut.any():
        count = int(np.count_nonzero(cut))
        said = phrase(
            plural(
                count,
                "{n} of {all} has a stack that is cut off after {depth} calls; the outer callers are unknown.",
                "{n} of {all} have a stack that is cut off after {depth} calls; the outer callers are unknown.",
            ),
            n=count,
            all=phrase(plural(len(rows), "{n} sample", "{n} samples"), n=len(rows)),
            depth=str(int(depths.max())),
        )
        warnings.append(FileWarning("cut-off", said))
    return used_stacks(*cut_stacks(both, stacks, cut))


def _named_addresses(
    calls: U64,
    needed: Mask,
    maps: Maps,
    source: Source,
    names: dict[int, str],
    warnings: list[FileWarning],
) -> tuple[list[SourceFrame], I64]:
    """Return the frames of all addresses, inlined ones first, and how many frames each address has.

    ``needed`` is a mask of the addresses to look up; ``names`` are those of the file itself, by address.
    """
    addresses, regions = calls.tolist(), maps.regions(calls)
    symbols = Symbols(source)
    found = symbols.look_up(
        (address, region)
        for address, region, wanted in zip(addresses, regions, needed.tolist(), strict=True)
        if wanted and address not in names
    )
    frames: list[SourceFrame] = []
    sizes = np.ones(len(addresses), np.int64)
    for number, (address, region) in enumerate(zip(addresses, regions, strict=True)):
        module = region.path if region is not None else ""
        places = found.get((address, region)) if region is not None else None
        if address in names:
            # jeprof joins the names of inlined functions
            several = names[address].split("--")
            frames += [profiled_frame("", 0, name, module) for name in several]
            sizes[number] = len(several)
        elif places:
            frames += [profiled_frame(place.file, place.line, place.function, module) for place in places]
            sizes[number] = len(places)
        else:
            frames.append(profiled_frame("", 0, f"0x{address:x}", module))
    warnings += symbols.warnings()
    return frames, sizes


def _named_frame(text: str) -> SourceFrame:
    """Parse a frame in Go's comments, ``FUNCTION+0xOFFSET<tabs>FILE:LINE``."""
    name, _, place = text.rstrip().partition("\t")
    file, _, line = place.strip().rpartition(":")
    function, plus, _ = name.rpartition("+0x")
    known = line.isascii() and line.isdigit() and len(line) < 11
    return profiled_frame(file if known else "", int(line) if known else 0, function if plus else name)


def _has_wrong_line(text: str) -> bool:
    """Whether a frame in Go's comments has a file and something after it that is no line."""
    file, colon, line = text.rstrip().partition("\t")[2].strip().rpartition(":")
    return bool(file and colon) and not (
        line.isascii() and line.isdigit() and len(line) < 11 and int(line) <= MOST_LINE
    )


def _cut_off(frames: Frames, stacks: U32, depths: I64) -> Mask:
    """Which samples have as many addresses as the recorder keeps, and don't end in a program's entry function."""
    deepest = int(depths.max(initial=0))
    cut: Mask = depths == deepest
    if deepest not in _CUTS or np.count_nonzero(cut) < 2:
        return np.zeros(len(stacks), np.bool_)
    starts = frames.starts.astype(np.int64)
    whole = np.array([frame.function in _STARTS for frame in frames.frames], np.bool_)
    ends = frames.sequence[np.maximum(starts[1:][stacks] - 1, 0)]
    cut &= ~(whole[ends] & (np.diff(starts)[stacks] > 0))
    return cut


# ---- warnings ----


def _missing(head: _Head, sums: tuple[int, ...], *, cut: bool) -> list[FileWarning]:
    """Compare the sums in the head with those of the rows."""
    # jemalloc's rows are written for correct estimates, and don't add up to its head
    if head.sums is None or head.kind == "jemalloc" or sums == head.sums:
        said = phrase("The file is truncated: its last stack may lack callers.")
        return [FileWarning("cut-file", said)] if cut else []
    expected = head.sums
    parts = [
        phrase(
            "{size} in {n} allocations in use, but the rows only {found} in {m}"
            if at == 0
            else "{size} in {n} allocations in total, but the rows only {found} in {m}",
            size=format_bytes(expected[at + 1]),
            n=expected[at],
            found=format_bytes(sums[at + 1]),
            m=sums[at],
        )
        for at in (0, 2)
        if expected[at : at + 2] != sums[at : at + 2]
    ]
    gperftools = head.kind == "heapprofile"
    said = phrase(
        "The file's header counts {parts}. The rest is missing{because}.",
        parts=parts[0] if len(parts) == 1 else phrase("{a}; and {b}", a=parts[0], b=parts[1]),
        because=phrase(" (gperftools truncates its files at 1 MiB)") if gperftools else "",
    )
    return [FileWarning("rows-missing", said)]


def _breaks_off(source: Source, rows: Column) -> bool:
    """Whether a file of Go, which has named frames, lacks the memory statistics at its end."""
    if not rows["names"].any():
        return False
    last = source.data[-_TAIL_BYTES:].splitlines(keepends=True)[-1]
    return not (last.startswith(_GO_ENDS) and last.endswith(b"\n"))


def _about(head: _Head) -> list[FileWarning]:
    """Return warnings about how the figures were recorded."""
    warnings = []
    if head.rate_bytes > 1:
        said = phrase(
            "Sampled every {size} on average; all figures are estimates from the samples, as in pprof and jeprof.",
            size=format_bytes(head.rate_bytes),
        )
        warnings.append(FileWarning("sampled", said))
    if head.kind.startswith(("growth", "fragmentation")):
        said = phrase(
            "A profile of kind {kind}: where the heap itself grew, not what the program has in use.",
            kind=head.kind,
        )
        warnings.append(FileWarning("not-live", said))
    elif head.kind not in ("heapprofile", "heap", "heap_v2", "heapz_v2", "jemalloc"):
        said = phrase(
            "An unknown kind of profile, {kind}: its figures are shown without scaling.", kind=head.kind[:40]
        )
        warnings.append(FileWarning("unknown-kind", said))
    return warnings
