"""A profile's samples as a tree: grouped by one thing, each group by the next."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.model.attribution import Attribution
from memlens.model.frames import NATIVE, package_of
from memlens.store.frames import FrameRow
from memlens.store.models import LackingError, profile_of
from memlens.store.snapshot import Snapshot
from memlens.units import format_bytes
from memlens.views.answers import Frame
from memlens.views.naming.attribution import FILTER_FIELD, charged_frames
from memlens.views.naming.labels import detail_of
from memlens.views.selection.arenas import in_pools
from memlens.views.selection.columns import frame
from memlens.views.selection.filters import Term
from memlens.views.selection.profile_filters import matching
from memlens.views.selection.profile_sets import SampleSet, samples_of, unit_of
from memlens.views.selection.sets import AllocationSet

U32 = npt.NDArray[np.uint32]

YOUR_CODE = "Your code"
_THREAD_KEYS = ("thread", "thread_name", "thread name", "thread_id", "tid")
_POWERS = 1 << np.arange(63, dtype=np.int64)


class SampleGroups(Struct, frozen=True):
    """The groups of some samples: sums by number of the group, and what each is called.

    ``keys`` are the numbers that have samples; ``amounts``, ``counts``, ``pools`` and ``largest`` have an item for
    every number. ``pools`` is what of the amount may be pools of Python's allocator. ``largest`` is the size of the
    largest "block", 0 where none is known; or the largest sum of one "stack", where the profile doesn't know the sizes
    of blocks or the amounts aren't bytes.
    """

    samples: SampleSet
    every: SampleSet
    keys: npt.NDArray[np.int64]
    amounts: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    pools: npt.NDArray[np.int64]
    largest: npt.NDArray[np.int64]
    largest_is: Literal["block", "stack"]
    name: Callable[[int], tuple[str, str, Frame | None, str]]
    """Name, detail, place and filter."""


class _Groups(Struct, frozen=True):
    """Each sample's group, and a group's name, detail, place and filter."""

    codes: U32
    groups: int
    name: Callable[[int], tuple[str, str, Frame | None, str]]


def sample_groups(
    snapshot: Snapshot,
    of: AllocationSet,
    by: list[str],
    path: list[int],
    narrow: str,
    attribution: Attribution,
) -> SampleGroups:
    """Group what lies at the end of ``path``. Raises :class:`BadRequestError`."""
    every, samples = branch_samples(snapshot, of, by, path, narrow, attribution)
    if len(path) >= len(by):
        raise LackingError("profile", "single allocations")
    found = _grouping(snapshot, by[len(path)], attribution)
    codes = found.codes[samples.rows]
    amounts, counts = np.zeros(found.groups, np.int64), np.zeros(found.groups, np.int64)
    np.add.at(amounts, codes, samples.amounts)
    np.add.at(counts, codes, samples.counts)
    pools, pooled = np.zeros(found.groups, np.int64), in_pools(snapshot)[samples.rows]
    np.add.at(pools, codes[pooled], samples.amounts[pooled])
    keys = np.flatnonzero(np.bincount(codes, minlength=found.groups))
    if profile_of(snapshot.info).has_sizes and unit_of(snapshot, of) == "bytes":
        largest = np.zeros(found.groups, np.int64)
        np.maximum.at(largest, codes, snapshot.samples.size[samples.rows])
        return SampleGroups(samples, every, keys, amounts, counts, pools, largest, "block", found.name)
    largest = _largest_stacks(snapshot.samples.stack[samples.rows], samples.amounts, codes, found.groups)
    return SampleGroups(samples, every, keys, amounts, counts, pools, largest, "stack", found.name)


def _largest_stacks(
    stacks: U32, amounts: npt.NDArray[np.int64], codes: U32, groups: int
) -> npt.NDArray[np.int64]:
    """What the largest stack of each group has: a stack may have several samples there."""
    pairs, of_pair = np.unique(codes.astype(np.uint64) << np.uint64(32) | stacks, return_inverse=True)
    sums = np.zeros(len(pairs), np.int64)
    np.add.at(sums, of_pair, amounts)
    largest = np.full(groups, np.iinfo(np.int64).min)
    np.maximum.at(largest, (pairs >> np.uint64(32)).astype(np.int64), sums)
    return largest


def branch_samples(
    snapshot: Snapshot,
    of: AllocationSet,
    by: list[str],
    path: list[int],
    narrow: str,
    attribution: Attribution,
) -> tuple[SampleSet, SampleSet]:
    """The whole set as narrowed, and what of it lies at the end of ``path``. Raises :class:`BadRequestError`."""
    every = samples_of(snapshot, of)
    if narrow:
        every = _chosen(every, matching(snapshot, narrow)[every.rows])
    samples = every
    for kind, key in zip(by, path, strict=False):
        samples = _chosen(samples, _grouping(snapshot, kind, attribution).codes[samples.rows] == key)
    return every, samples


def _chosen(samples: SampleSet, which: npt.NDArray[np.bool_]) -> SampleSet:
    return replace(
        samples,
        rows=samples.rows[which],
        amounts=samples.amounts[which],
        counts=samples.counts[which],
    )


def _grouping(snapshot: Snapshot, kind: str, attribution: Attribution) -> _Groups:
    if kind in _BY_PLACE:
        of_place = _BY_PLACE[kind]
        return snapshot.keep(f"samples by {kind}, {attribution}", lambda: of_place(snapshot, attribution))
    make = _KINDS.get(kind)
    if make is None:
        raise BadRequestError(f"A profile's samples can't be grouped by {kind}")
    return snapshot.keep(f"samples by {kind}", lambda: make(snapshot))


_NOTHING = ("No stack in the file", "", None, "stack:0")


def _by_charged(
    key_of: Callable[[FrameRow], tuple[str, ...]],
    name_of: Callable[[FrameRow, str], tuple[str, str, Frame | None, str]],
) -> Callable[[Snapshot, Attribution], _Groups]:
    """Group by the frame that a stack is charged to. Names are of a frame and the filter's field that finds it."""

    def make(snapshot: Snapshot, attribution: Attribution) -> _Groups:
        rows = snapshot.frames.all_rows()
        field = FILTER_FIELD[attribution]
        names: list[tuple[str, str, Frame | None, str]] = [_NOTHING]
        known: dict[tuple[str, ...], int] = {}
        of_frame = np.zeros(len(rows) + 1, np.uint32)
        for number, row in enumerate(rows):
            key = ("native", row[0], row[2]) if row[3] == NATIVE else key_of(row)
            if key not in known:
                known[key] = len(names)
                names.append(_native(row, field) if row[3] == NATIVE else name_of(row, field))
            of_frame[number] = known[key]
        of_stack = of_frame[np.minimum(charged_frames(snapshot, attribution), len(rows))]
        return _Groups(of_stack[snapshot.samples.stack], len(names), names.__getitem__)

    return make


def _native(row: FrameRow, field: str) -> tuple[str, str, Frame | None, str]:
    # a stack that is charged as the user's own to native code has nothing else
    only = " is:native" if field == "by" else ""
    terms = f"{Term(field, ':', (f'={row[2]}',))}{only}" if row[2] else ""
    return row[2] or "?", _base(row[0]) or "no source", None, terms


def _base(file: str) -> str:
    return file.replace("\\", "/").rsplit("/", 1)[-1]


def _line(row: FrameRow, field: str) -> tuple[str, str, Frame | None, str]:
    file, line, function, kind = row
    term = str(Term(field, ":", (f"={file}:{line}",)))
    return f"{_base(file)}:{line}", detail_of(function, kind), frame(row), term


def _function(row: FrameRow, field: str) -> tuple[str, str, Frame | None, str]:
    file, _, function, kind = row
    terms = f"{Term(field, ':', (f'={function}',))} {Term(field, ':', (f'={file}',))}"
    return function, detail_of(_base(file), kind), frame(row), terms


def _file(row: FrameRow, field: str) -> tuple[str, str, Frame | None, str]:
    file = row[0]
    folder = file.replace("\\", "/").rpartition("/")[0]
    term = str(Term(field, ":", (f"={file}",)))
    return _base(file), detail_of(folder, row[3]), frame((file, 1, "", row[3])), term


def _packages(snapshot: Snapshot) -> _Groups:
    """By the package of the innermost frame, no matter whose it is: whose code asked for the memory."""
    rows = snapshot.frames.all_rows()
    names: dict[str, int] = {"": 0}
    of_frame = np.zeros(len(rows) + 1, np.uint32)
    for number, (file, _, function, kind) in enumerate(rows):
        of_frame[number] = names.setdefault(package_of(file, function, kind) or YOUR_CODE, len(names))
    of_stack = of_frame[np.minimum(charged_frames(snapshot, "any"), len(rows))]
    words = list(names)
    return _Groups(
        of_stack[snapshot.samples.stack],
        len(words),
        lambda code: (words[code], "", None, "") if code else _NOTHING,
    )


def _stacks(snapshot: Snapshot, attribution: Attribution) -> _Groups:
    lines = _grouping(snapshot, "line", attribution)
    stacks = snapshot.samples.stack
    # a sample of each stack, to be called by its line
    some = np.zeros(len(snapshot.stacks.node), np.uint32)
    some[stacks] = np.arange(len(stacks), dtype=np.uint32)

    def name(code: int) -> tuple[str, str, Frame | None, str]:
        line, detail, place, _ = lines.name(int(lines.codes[some[code]]))
        return line, f"{detail}, stack {code}" if detail else f"stack {code}", place, f"stack:{code}"

    return _Groups(stacks, len(some), name)


def _labelled(snapshot: Snapshot, wanted: Callable[[str], bool], nothing: str) -> _Groups:
    """By the texts of some labels together, as "request: 7, user: me"."""
    labels = snapshot.samples.labels
    strings = snapshot.strings.some(np.concatenate([labels[field] for field in ("key", "text", "unit")]))
    keys = [key for key in np.unique(labels["key"]).tolist() if wanted(strings[key])]
    labels = labels[np.isin(labels["key"], keys)]
    samples = profile_of(snapshot.info).samples
    distinct, kind = np.unique(labels[["key", "text", "number", "unit"]], return_inverse=True)
    texts, terms = [], []
    for key, text, number, unit in distinct.tolist():
        value = strings[text] if text else f"{number:,} {strings[unit]}".strip()
        texts.append(f"{strings[key]}: {value}" if len(keys) > 1 else value)
        exact = strings[text] if text else str(number)
        terms.append(str(Term("label", ":", (f"={strings[key]}:{exact}",))))
    names: dict[tuple[int, ...], int] = {(): 0}
    codes = np.zeros(samples, np.uint32)
    of_sample: dict[int, list[int]] = {}
    for sample, number in zip(labels["sample"].tolist(), kind.tolist(), strict=True):
        of_sample.setdefault(sample, []).append(number)
    for sample, numbers in of_sample.items():
        codes[sample] = names.setdefault(tuple(sorted(set(numbers))), len(names))
    groups = list(names)

    def name(code: int) -> tuple[str, str, Frame | None, str]:
        if code == 0:
            return nothing, "", None, ""
        return ", ".join(texts[n] for n in groups[code]), "", None, " ".join(terms[n] for n in groups[code])

    return _Groups(codes, len(groups), name)


def _is_thread(key: str) -> bool:
    return key.casefold() in _THREAD_KEYS


def _sizes(snapshot: Snapshot) -> _Groups:
    if not profile_of(snapshot.info).has_sizes:
        raise BadRequestError("The profile doesn't tell the sizes of blocks")
    codes = np.searchsorted(_POWERS, snapshot.samples.size, "right").astype(np.uint32)

    def name(code: int) -> tuple[str, str, Frame | None, str]:
        if code == 0:
            return "Size not in the file", "", None, "size=0"
        low, high = 1 << (code - 1), 1 << code
        return f"{format_bytes(low)} to {format_bytes(high)}", "", None, f"size>={low} size<{high}"

    return _Groups(codes, len(_POWERS) + 1, name)


_BY_PLACE: dict[str, Callable[[Snapshot, Attribution], _Groups]] = {
    "line": _by_charged(lambda row: (row[0], str(row[1])), _line),
    "function": _by_charged(lambda row: ("", row[0], row[2]), _function),
    "file": _by_charged(lambda row: (row[0],), _file),
    "stack": _stacks,
}
"""Groups that are places in code."""

_KINDS: dict[str, Callable[[Snapshot], _Groups]] = {
    "package": _packages,
    "thread": lambda snapshot: _labelled(snapshot, _is_thread, "No thread in the file"),
    "label": lambda snapshot: _labelled(snapshot, lambda key: key != "bytes", "No label"),
    "size": _sizes,
}
