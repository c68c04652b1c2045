"""The steps of a run: where each begins and ends, and how that is known.

The first of these that a device's annotations contain:

1. ``ProfilerStep#N``: each is a step.
2. An annotation of the user's own whose name says step, iteration or batch (``train_step``, ``iter 12``; not the
   optimizer's), at least twice: each is a step.
3. ``Optimizer.step#…``: a step lasts from the end of one to the end of the next, the first from the trace's beginning,
   including all set-up. Among several optimizers the one that stepped first counts.
4. ``Optimizer.zero_grad#…``, else ``enumerate(DataLoader)#…``, at least twice: a step begins with each and ends with
   the next, the last one with the trace.

Else steps are *inferred* from the period of the trace. A stack that allocates once per step, at even distances, is an
anchor (the distances between its allocations, counted in allocations, have a spread of less than a sixth of their
mean). Stacks that allocate equally often vote for that number, weighted by how much they allocate; the lowest number
with a fifth of all votes wins, since what repeats within a step repeats more often. Among its stacks the one at which
the least is live marks the beginning of steps. The certainty is measured: the share of a step, by number of allocations
and their stacks, that recurs in the next one; below 60% they aren't steps. Nor are they if everything between two
anchors is below one line of a ``forward``: those are a model's layers, and the next number is tried. Nor are layers
that are built: what stays to the end nearly whole, and is below one line of an ``__init__`` or over before half of the
trace is.
"""

import re
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.arrays import I64, U32
from memlens.kernels.trace import ranges
from memlens.model.distinct import distinct
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import Text, phrase
from memlens.views.selection.columns import device_of, time_of_moment
from memlens.views.trace.steps.annotations import NO_END, NO_START, Intervals, annotated_ranges, noise_of
from memlens.views.trace.steps.layers import Calls, are_built, are_layers

StepSource = Literal["annotations", "period", "none"]

_PROFILER = re.compile(r"^ProfilerStep#\d+$")
_OPTIMIZER = re.compile(r"^Optimizer\.(\w+)#")
_OWN = re.compile(r"(?:^|[^a-z])(?:step|iteration|iter|batch)(?:$|[^a-z])", re.IGNORECASE)
_LOADER = re.compile(r"^enumerate\(DataLoader\)#")
_LEAST_SURE = 0.6
_EVEN = 1 / 6
_VOTES = 0.2
_MOST_CANDIDATES = 8


class Steps(NamedTuple):
    """The steps of a device as moments: step ``i`` is the events after ``first[i]`` up to ``last[i]``."""

    source: StepSource
    how: Text
    """A sentence on how they are known, or why there are none."""
    sure: float | None
    """For inferred steps, the share of a step that recurs in the next one."""
    names: list[Text]
    first: I64
    last: I64


class StepRow(Struct, frozen=True):
    """One step. Its peak is the most that was live from its beginning to its end, its first moment included.

    ``allocated`` is what was allocated in it, ``survivors`` the part of that still live at its end, and ``kept`` the
    part still live at the end of the trace.
    """

    name: Text
    from_moment: int
    to_moment: int
    start_us: float | None
    end_us: float | None
    peak_bytes: int
    peak_moment: int
    live_at_start_bytes: int
    live_at_end_bytes: int
    allocated_bytes: int
    allocated_count: int
    survivors_bytes: int
    survivors_count: int
    kept_bytes: int
    kept_count: int


class StepsAnswer(Struct, frozen=True):
    """The steps ``offset … offset + len(rows)`` of ``count``. ``inferred`` if the file doesn't record them.

    ``how`` is a sentence on how the steps are known, or why there are none; ``sure`` is the share of an inferred step,
    0 to 1, that recurs in the next one.
    """

    source: StepSource
    inferred: bool
    how: Text
    sure: float | None
    count: int
    offset: int
    rows: list[StepRow]


def steps(snapshot: Snapshot, number: int, offset: int, limit: int, filter_text: str = "") -> StepsAnswer:
    """A device's steps with a filter, which narrows their figures but not the steps."""
    device = device_of(snapshot, number, filter_text)
    found = find_steps(snapshot, device)
    rows = _rows(device, found)[offset : offset + limit]
    return StepsAnswer(
        found.source, found.source == "period", found.how, found.sure, len(found.names), offset, rows
    )


def find_steps(snapshot: Snapshot, device: Device) -> Steps:
    """The steps of a device, regardless of a filter."""
    return _find(snapshot, device.info.device)


@kept
def _find(snapshot: Snapshot, number: int) -> Steps:
    device = snapshot.device(number)
    annotated = _annotated(device, annotated_ranges(snapshot, device))
    return annotated if annotated is not None else _from_period(snapshot, device)


# ---- by annotations -----------------------------------------------------------------------------------------


def _annotated(device: Device, found: Intervals) -> Steps | None:
    profiler = _matching(found, _PROFILER)
    if len(profiler):
        return _each(found, profiler, phrase("Each ProfilerStep# annotation is a step."))
    noisy = noise_of(device, found)
    own = np.array(
        [
            at
            for at in range(len(found.name))
            if not noisy[at]
            and _OWN.search(found.texts[int(found.name[at])])
            and not _OPTIMIZER.match(found.texts[int(found.name[at])])
            and not _LOADER.match(found.texts[int(found.name[at])])
        ]
        if any(_OWN.search(text) for text in found.texts)
        else [],
        np.int64,
    )
    # names that differ only in a number are of one kind; the kind that occurs first is the outermost
    kinds: dict[str, list[int]] = {}
    for at in own.tolist():
        kinds.setdefault(re.sub(r"\d+", "#", found.texts[int(found.name[at])]), []).append(at)
    for of_kind in kinds.values():
        if len(of_kind) > 1:
            chosen = np.array(of_kind, np.int64)
            return _each(
                found,
                chosen,
                phrase("Each annotation \u201c{name}\u201d is a step.", name=_short(found, chosen)),
            )
    events = device.info.events
    ends = _first_of(found, "step")
    ends = ends[(found.unmatched[ends] & NO_END) == 0] if len(ends) else ends
    if len(ends):
        last = distinct(found.last[ends])
        how = phrase("Each step ends with {name}.", name=_short(found, ends))
        return _numbered("annotations", how, None, np.append(0, last[:-1]), last)
    for candidates in (_first_of(found, "zero_grad"), _matching(found, _LOADER)):
        chosen = candidates[(found.unmatched[candidates] & NO_START) == 0] if len(candidates) else candidates
        first = distinct(found.first[chosen]) if len(chosen) else chosen
        if len(first) > 1:
            how = phrase("Each step begins with {name}.", name=_short(found, chosen))
            return _numbered("annotations", how, None, first, np.append(first[1:], events))
    return None


def _matching(found: Intervals, pattern: re.Pattern[str]) -> I64:
    fits = np.array([bool(pattern.search(text)) for text in found.texts], bool)
    return np.flatnonzero(fits[found.name]) if len(found.name) else np.empty(0, np.int64)


def _first_of(found: Intervals, method: str) -> I64:
    """The annotations of one kind by the optimizer that made them first."""
    places = _matching(found, re.compile(rf"^Optimizer\.{method}#"))
    return places[found.name[places] == found.name[places[0]]] if len(places) else places


def _short(found: Intervals, places: I64) -> str:
    text = found.texts[int(found.name[places[0]])]
    return text if len(text) <= 80 else f"{text[:79]}…"


def _each(found: Intervals, places: I64, how: Text) -> Steps:
    """Each annotation as a step; where two overlap, the first ends where the second begins."""
    first = found.first[places]
    last = np.maximum(np.minimum(found.last[places], np.append(first[1:], found.last[places[-1]])), first)
    kept = np.append(True, first[1:] > first[:-1]) & (last > first)
    names = [Text(found.texts[int(found.name[place])]) for place in places[kept].tolist()]
    if len(names) > 1 and all(name == names[0] for name in names):
        names = [phrase("step {n}", n=str(number)) for number in range(1, len(names) + 1)]
    return Steps("annotations", how, None, names, first[kept], last[kept])


def _numbered(
    source: StepSource,
    how: Text,
    sure: float | None,
    first: I64,
    last: I64,
) -> Steps:
    kept = last > first
    first, last = first[kept], last[kept]
    return Steps(
        source,
        how,
        sure,
        [phrase("step {n}", n=str(number)) for number in range(1, len(first) + 1)],
        first,
        last,
    )


# ---- inferred from the period ------------------------------------------------------------------------------


def _none(why: Text) -> Steps:
    return Steps("none", why, None, [], np.empty(0, np.int64), np.empty(0, np.int64))


def _from_period(snapshot: Snapshot, device: Device) -> Steps:
    early = int(np.searchsorted(device.start, np.uint32(0), "right"))
    stacks = device.stack[early:].astype(np.int64)
    start = device.start[early:].astype(np.int64)
    if len(stacks) < 8:
        return _none(
            phrase("No steps: the trace has no annotations of steps and is too short to have a period.")
        )
    order = _by_number(device.stack[early:])
    groups = np.flatnonzero(np.append(True, np.diff(stacks[order]) != 0))
    counts = np.diff(np.append(groups, len(order)))
    ids = stacks[order[groups]]
    # how even the distances of each stack's allocations are: the spread relative to the mean
    gaps = np.diff(order).astype(np.float64)
    within = np.ones(len(gaps), bool)
    within[groups[1:] - 1] = False
    of_gap = np.repeat(np.arange(len(groups)), counts)[:-1][within]
    total = np.bincount(of_gap, gaps[within], len(groups))
    squares = np.bincount(of_gap, gaps[within] ** 2, len(groups))
    mean = total / np.maximum(counts - 1, 1)
    variance = squares / np.maximum(counts - 1, 1) - mean**2
    framed = snapshot.stacks.node[ids] > 0
    even = (counts >= 3) & framed & (np.sqrt(np.maximum(variance, 0)) <= mean * _EVEN) & (mean >= 4)
    if not even.any():
        return _none(
            phrase(
                "No steps: the trace has no annotations of steps, and no stack allocates at regular "
                "intervals three times or more."
            )
        )
    sizes = np.bincount(np.repeat(np.arange(len(groups)), counts), device.size[early:][order], len(groups))
    numbers, place = np.unique(counts[even], return_inverse=True)
    votes = np.bincount(place, sizes[even] + 1)
    many = votes >= votes.sum() * _VOTES
    # what repeats within a step repeats more often, so try the lowest first, then those with fewer votes
    candidates = [*numbers[many].tolist(), *numbers[~many][np.argsort(-votes[~many], kind="stable")].tolist()]
    forwards = Calls.of(snapshot)
    stays = device.end[early:].astype(np.int64) > device.info.events
    layers, built, unlike = 0, 0, 0.0
    for number in candidates[:_MOST_CANDIDATES]:
        chosen = np.flatnonzero(even & (counts == number))
        # the moments before each of their allocations, and what was live then
        at = start[order[groups[chosen][:, None] + np.arange(number)]] - 1
        first = at[int(np.argmin(device.live[at].mean(axis=1)))]
        last = np.append(first[1:], _last_end(first, device.info.events))
        if are_layers(snapshot, forwards, stacks, start, first, last):
            layers = max(layers, number)
            continue
        if are_built(snapshot, stacks, start, device.size[early:], stays, first, last):
            built = max(built, number)
            continue
        sure = _likeness(stacks, start, first, last)
        if sure >= _LEAST_SURE:
            how = phrase(
                "{n} steps detected from the repeating pattern ({share} of a step comes again in the next); the trace "
                "has no annotations of steps.",
                n=number,
                share=f"{sure:.0%}",
            )
            return _numbered("period", how, sure, first, last)
        unlike = max(unlike, sure)
    if layers:
        return _none(
            phrase(
                "No steps: the trace has no annotations of steps, and what repeats in it ({n} times) is within one "
                "forward pass: layers, not steps.",
                n=layers,
            )
        )
    if built:
        return _none(
            phrase(
                "No steps: the trace has no annotations of steps, and what repeats in it ({n} times) is built once and "
                "kept, as layers and their parameters are.",
                n=built,
            )
        )
    return _none(
        phrase(
            "No steps: the trace has no annotations of steps, and what repeats in it differs too much to be steps "
            "({share} alike).",
            share=f"{unlike:.0%}",
        )
    )


def _by_number(numbers: U32) -> I64:
    """A stable argsort of ``numbers``.

    NumPy has a radix sort for 16 bits, which takes a fifth of the time of its sort of larger integers.
    """
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    if len(numbers) and int(numbers.max()) > 0xFFFF:
        high = (numbers >> np.uint32(16)).astype(np.uint16)
        order = order[np.argsort(high[order], kind="stable")]
    return order


def _last_end(first: I64, events: int) -> int:
    """The end of the last inferred step: after the usual length, or at the end of the trace."""
    return min(events, int(first[-1] + _median(np.diff(first))))


def _likeness(
    stacks: I64,
    start: I64,
    first: I64,
    last: I64,
) -> float:
    """The share of a step's allocations, compared by their stacks, that recurs in the next step."""
    step = np.searchsorted(first, start, "left") - 1
    inside = (step >= 0) & (start <= last[np.maximum(step, 0)])
    # one more than the number of steps, so that the last step of a stack isn't followed by the first of the next stack
    pairs, counts = np.unique(stacks[inside] * (len(first) + 1) + step[inside], return_counts=True)
    following = pairs[1:] == pairs[:-1] + 1
    shared = np.zeros(len(first), np.int64)
    np.add.at(
        shared, pairs[:-1][following] % (len(first) + 1), np.minimum(counts[:-1], counts[1:])[following]
    )
    lengths = np.bincount(step[inside], minlength=len(first))
    longer = np.maximum(lengths[:-1], lengths[1:])
    # the last step may be cut off, so use the median
    return _median(shared[:-1] / np.maximum(longer, 1))


# ---- the table ---------------------------------------------------------------------------------------------


def _rows(device: Device, found: Steps) -> list[StepRow]:
    count = len(found.names)
    if not count:
        return []
    first, last = found.first, found.last
    peaks = np.empty(count, np.uint32)
    ranges.peaks(device.live, device.live_64, device.live_4096, first, last, peaks)
    step = step_of(device, found)
    inside = step >= 0
    end = device.end.astype(np.int64)
    survives = inside & (end > last[np.maximum(step, 0)])
    kept = inside & (end > device.info.events)
    sums = []
    for which in (inside, survives, kept):
        total = np.zeros(count, np.int64)
        np.add.at(total, step[which], device.size[which])
        sums += [total.tolist(), np.bincount(step[which], minlength=count).tolist()]
    return [
        StepRow(
            name, begin, finish, time_of_moment(device, begin + 1), time_of_moment(device, finish),
            int(device.live[peak]), peak, int(device.live[begin]), int(device.live[finish]), *figures,
        )
        for name, begin, finish, peak, *figures in zip(
            found.names, first.tolist(), last.tolist(), peaks.tolist(), *sums, strict=True
        )
    ]  # fmt: skip


def step_of(device: Device, found: Steps) -> I64:
    """The step in which each allocation was made, -1 for none."""
    start = device.start.astype(np.int64)
    step = np.searchsorted(found.first, start, "left").astype(np.int64) - 1
    return np.where((step >= 0) & (start <= found.last[np.maximum(step, 0)]), step, -1)


def _median(values: npt.NDArray[Any]) -> float:
    """The median, without NumPy's masked arrays, which its own imports."""
    ordered = np.sort(values)
    half = len(ordered) // 2
    return float((ordered[half] + ordered[~half]) / 2)
