"""Sets of a profile's samples: what its tables, trees and flame graphs are about."""

from typing import Literal, NamedTuple, assert_never

import numpy as np

from memlens.arrays import I64, U32, Mask
from memlens.errors import BadRequestError
from memlens.kernels.tree.calltree import first_rows, sum_changes
from memlens.model.info import GraphInfo, ProfileInfo, ProfileValue, SnapshotInfo, TimelineInfo, ValueMeaning
from memlens.model.profile import BLOCK_CHANGE_DTYPE
from memlens.store.kept import kept
from memlens.store.manifest import InconsistentError
from memlens.store.models import profile_of
from memlens.store.samples.columns import Times
from memlens.store.snapshot import Snapshot
from memlens.texts import in_a_row, phrase
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import OneSide, ValueName

At = Literal["peak", "end", "all"]


def set_at(
    info: SnapshotInfo, at: At, device: int | None = None, value: str | None = None, filter_text: str = ""
) -> AllocationSet:
    """What was live at a trace's peak or at its end, or all that was ever live; of a profile, a value by its name.

    ``device`` None means the one to show first. Raises :class:`BadRequestError` for a value that the file lacks, as a
    trace lacks all.
    """
    match info:
        case TimelineInfo():
            refuse_value(value)
            number = info.default_device if device is None else device
            events = next((each.events for each in info.devices if each.device == number), 0)
            match at:
                case "peak":
                    return AllocationSet(number, filter=filter_text)
                case "end":
                    return AllocationSet(number, from_moment=events, filter=filter_text)
                case "all":
                    return AllocationSet(number, "live", 0, events, filter_text)
                case _:
                    assert_never(at)
        case ProfileInfo() | GraphInfo():
            return AllocationSet(0, filter=filter_text, value=value_named(profile_of(info), value))
        case _:
            assert_never(info)


def unit_of(info: SnapshotInfo, of: AllocationSet) -> str:
    """The unit of a set's figures."""
    if of.value is None and not isinstance(info, ProfileInfo):
        return "bytes"
    profile = profile_of(info)
    return profile.values[profile.default_value if of.value is None else of.value].unit


def refuse_value(value: str | None) -> None:
    """Raise :class:`BadRequestError` for a value of a trace, which has none."""
    if value is not None:
        raise BadRequestError(
            phrase("A trace of events has no values, only bytes and counts of allocations"),
            advice=phrase("Leave the value out, and say when instead: at the peak or at the end."),
        )


def value_of(snapshot: Snapshot, of: AllocationSet) -> ProfileValue:
    """The value that a set is about."""
    return profile_of(snapshot.info).values[_number(profile_of(snapshot.info), of)]


def is_signed(snapshot: Snapshot, of: AllocationSet) -> bool:
    """Whether some values of a set are negative, as in a difference in which parts grew and others shrank."""
    match snapshot.info:
        case TimelineInfo():
            return False
        case ProfileInfo() | GraphInfo():
            return _is_whole(of) and value_of(snapshot, of).negative
        case _:
            assert_never(snapshot.info)


_WORDS: dict[str, tuple[tuple[ValueMeaning, ...], str]] = {
    "live": (("live", "peak", "end"), "bytes"),
    "peak": (("peak",), "bytes"),
    "total": (("total",), "bytes"),
    "count": (("total", "live", "peak", "end", "other"), "count"),
    "temporary": (("temporary",), "bytes"),
    "leaked": (("end",), "bytes"),
    "end": (("end",), "bytes"),
}
"""Words for values, whatever the profile calls them: the meanings that they may have, the best first, and the unit."""


def value_named(profile: ProfileInfo, name: str | None) -> int:
    """The number of a value by its name, its number or a word for its meaning; the default one for None.

    Raises :class:`BadRequestError` for one that the profile doesn't have.
    """
    if name is None:
        return profile.default_value
    for number, value in enumerate(profile.values):
        if name in (value.name, value.title.text, str(number)):
            return number
    found = _meant(profile, name)
    if found is None:
        known = in_a_row([value.name for value in profile.values], ", ")
        words = ", ".join(word for word in _WORDS if _meant(profile, word) is not None)
        raise BadRequestError(
            phrase("The profile has no value {name}", name=name),
            advice=phrase("It has {known} (or by what they mean: {words}).", known=known, words=words)
            if words
            else phrase("It has {known}.", known=known),
        )
    return found


def _meant(profile: ProfileInfo, word: str) -> int | None:
    """The value that a word of :data:`_WORDS` means; with another unit if the profile has none with that one."""
    meanings, unit = _WORDS.get(word, ((), ""))
    for meaning in meanings:
        numbers = [number for number, value in enumerate(profile.values) if value.meaning == meaning]
        for number in numbers:
            if profile.values[number].unit == unit:
                return number
        if numbers and unit != "count":
            return numbers[0]
    return None


class SampleColumns(NamedTuple):
    """Figures of every sample of a profile; ``present`` are the samples that have any.

    ``counts`` are of the value that counts the same allocations; if the profile has none, each sample counts once.
    """

    amounts: I64
    counts: I64
    present: Mask


def columns_of(snapshot: Snapshot, of: AllocationSet) -> SampleColumns:
    """A set's figures of each sample, without its filter.

    Raises :class:`BadRequestError` for a value or an edge that the profile doesn't have.
    """
    info, value = profile_of(snapshot.info), value_of(snapshot, of)
    if not _is_whole(of):
        flow = flow_of(snapshot, of)
        amounts = flow.counts if value.unit == "count" and counts_ranges(info) else flow.amounts
        return SampleColumns(amounts, flow.counts, (amounts != 0) | (flow.counts != 0))
    amounts = snapshot.samples.value[_number(info, of)]
    if value.count is None:
        return SampleColumns(amounts, np.ones(info.samples, np.int64), amounts != 0)
    counts = snapshot.samples.value[value.count]
    return SampleColumns(amounts, counts, (amounts != 0) | (counts != 0))


def sample_values(snapshot: Snapshot, of: AllocationSet) -> OneSide:
    """The type of these figures."""
    info, value = profile_of(snapshot.info), value_of(snapshot, of)
    if not _is_whole(of):
        unit = "count" if value.unit == "count" and counts_ranges(info) else "bytes"
        types = (ValueName(value.name, unit), ValueName("allocations", "count"))
        return OneSide(types, counts_ranges(info))
    count = "samples" if value.count is None else info.values[value.count].name
    return OneSide((ValueName(value.name, value.unit), ValueName(count, "count")))


def _is_whole(of: AllocationSet) -> bool:
    """Whether a set is about the whole run."""
    return of.from_moment is None and of.to_moment is None


def counts_ranges(info: ProfileInfo) -> bool:
    """Whether it is known how many allocations a part of the run made; some formats count none."""
    return info.has_frees and any(value.unit == "count" for value in info.values)


def _number(info: ProfileInfo, of: AllocationSet) -> int:
    number = info.default_value if of.value is None else of.value
    if not 0 <= number < len(info.values):
        raise BadRequestError(
            phrase("The profile has no value {number}, only {count}", number=number, count=len(info.values))
        )
    return number


@kept
def order_of_samples(snapshot: Snapshot) -> U32:
    """When each sample was first seen: at the first of its changes, else its position in the file."""
    samples = profile_of(snapshot.info).samples
    order = np.arange(samples, dtype=np.uint32)
    if snapshot.times is not None and len(snapshot.times.changes):
        changed = snapshot.times.changes["sample"]
        order = np.full(samples, len(changed), np.uint32)
        # ignores samples that a damaged archive doesn't have
        first_rows(changed, order)
    return order


class Flow(NamedTuple):
    """Bytes and counts of each sample."""

    amounts: I64
    counts: I64


def flow_of(snapshot: Snapshot, of: AllocationSet) -> Flow:
    """A set's figures of each sample: live at its single edge, or what happened between its two edges."""
    info, times = profile_of(snapshot.info), snapshot.times
    if times is None:
        raise BadRequestError(phrase("The profile has no times, so no part of its run can be chosen"))
    if not info.has_frees and (of.to_moment is None or of.kind != "allocated"):
        raise BadRequestError(
            phrase("The recording doesn't say what was freed, so it isn't known what was live when"),
            advice=phrase("Ask what was allocated between two moments."),
        )
    first = _edge(info, 0 if of.from_moment is None else of.from_moment)
    if of.to_moment is None:
        return _summed(snapshot, times, 0, first, 1, 1)
    last = _edge(info, of.to_moment)
    first, last = min(first, last), max(first, last)
    if of.kind == "allocated":
        return _summed(snapshot, times, first + 1, last, 1, 0)
    if of.kind == "freed":
        return _summed(snapshot, times, first + 1, last, 0, 1)
    if of.kind == "survived":
        return Flow(*(np.maximum(column, 0) for column in _summed(snapshot, times, first + 1, last, 1, 1)))
    # live at some time: what was live at the start, and what was allocated since
    before, since = _summed(snapshot, times, 0, first, 1, 1), _summed(snapshot, times, first + 1, last, 1, 0)
    return Flow(before.amounts + since.amounts, before.counts + since.counts)


def _edge(info: ProfileInfo, number: int) -> int:
    if not 0 <= number <= info.bins:
        raise BadRequestError(
            phrase("The profile has no edge {number}, only {count}", number=number, count=info.bins + 1)
        )
    return number


def _summed(snapshot: Snapshot, times: Times, first: int, last: int, allocated: int, freed: int) -> Flow:
    """Sum the changes of the edges ``first`` to ``last``: what was allocated minus what was freed.

    With ``allocated`` 0 what was freed is positive.
    """
    samples = profile_of(snapshot.info).samples
    offsets, changes = times.change_offsets, times.changes
    begin, end = int(offsets[first]), int(offsets[last + 1])
    rows = changes[min(begin, len(changes)) : min(max(end, begin), len(changes))]

    def sums(unit: str) -> I64:
        found = np.zeros(samples, np.int64)
        more, less = rows[f"allocated_{unit}"], rows[f"freed_{unit}"]
        if unit == "bytes":
            # rows are packed, and kernels read whole words; the field of a single row is contiguous, but not aligned
            more, less = (np.require(each, requirements=["C", "A"]) for each in (more, less))
        try:
            sum_changes(rows["sample"], more, less, allocated, freed if allocated else -freed, found)
        except IndexError:
            raise InconsistentError("A change has an unknown sample") from None
        return found

    counts = sums("count")
    if changes.dtype != BLOCK_CHANGE_DTYPE:
        return Flow(sums("bytes"), counts)
    return Flow(counts * snapshot.samples.size, counts)
