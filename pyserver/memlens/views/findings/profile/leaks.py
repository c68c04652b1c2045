"""Memory that stays: leaks, and lines whose live bytes grow with time."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from memlens.model.growing import growing as is_growing
from memlens.texts import Text, phrase, plural
from memlens.units import MIB, format_bytes
from memlens.views.findings.answers import Evidence
from memlens.views.findings.callers import callers_of, named_callers
from memlens.views.findings.groups import TopGroup, top_groups
from memlens.views.findings.profile.case import ProfileCase, is_own
from memlens.views.findings.writing import Ranked, amount, made, percent
from memlens.views.selection.arenas import pool_stacks, pooled_amount
from memlens.views.selection.sets import AllocationSet

LEAK_BYTES, LEAK_SHARE, LEAK_OF_PEAK = 64 << 10, 0.05, 0.01
MOST_LEAKS, MOST_GROWING = 3, 2
LEAST_BINS, GROWN_SHARE = 8, 0.1
PARTS = (0.2, 0.4, 0.6, 0.8)
NEAR_PEAK = 0.95


def no_leaks(case: ProfileCase) -> Text | None:
    """Why leaks can't be found."""
    value = case.number("bytes", "end")
    if value is None or case.info.values[value].negative:
        return phrase("The profile doesn't say what was still live when the program ended.")
    if bool(pool_stacks(case.snapshot)[case.snapshot.samples.stack].any()):
        return phrase("What is live at the end may be pools of Python's allocator, which it keeps.")
    return None


def no_growth(case: ProfileCase) -> Text | None:
    """Why growth over time can't be found."""
    info = case.info
    has_times = case.snapshot.times is not None and info.has_flow and info.has_frees
    if not has_times or case.main.meaning not in ("peak", "live"):
        return phrase("The profile doesn't say what was live over time.")
    if info.bins < LEAST_BINS:
        return phrase(
            "The profile has {n} parts of its time, and {least} are needed.", n=info.bins, least=LEAST_BINS
        )
    return None


def leaks(case: ProfileCase) -> Iterator[Ranked]:
    """Lines of the user's code that have at least 64 KiB, 5% of what is live when the program ends, and 1% of the peak.

    None where that may be pools of Python's allocator, which it keeps.
    """
    value = case.number("bytes", "end")
    if value is None or case.total(value) <= 0 or no_leaks(case) is not None:
        return
    peak = case.number("bytes", "peak")
    least = max(
        LEAK_BYTES, LEAK_SHARE * case.total(value), LEAK_OF_PEAK * case.total(peak) if peak is not None else 0
    )
    found = case.by_line(value, "leaked")
    shown = [group for group in found.groups if is_own(group) and group.amount >= least]
    # an allocator or helper doesn't free anything itself: its callers do
    callers = callers_of(case.snapshot, found, case.attribution, MOST_LEAKS)
    for group in shown[:MOST_LEAKS]:
        said = callers is not None and group is found.groups[0]
        sentence = phrase(
            "{line} leaks {size}{pieces}, {share} of what is never freed{callers}. Free it, or let a shorter-lived "
            "owner hold it.",
            line=group.with_function(), size=group.measured(), pieces=_pieces(group),
            share=percent(group.amount, case.total(value)),
            callers=phrase(", for {callers}", callers=named_callers(case.snapshot, callers, found))
            if said and callers is not None else "",
        )  # fmt: skip
        finding = made("leak", phrase("Leaked"), sentence, group.figure, group.evidence, group.line)
        whole = case.total(peak) if peak is not None else case.total(value)
        yield Ranked(2 * group.amount / max(whole, 1) + 0.2, finding)


def _pieces(group: TopGroup) -> Text | str:
    if not group.count:
        return ""
    return phrase(plural(group.count, " in {n} allocation", " in {n} allocations"), n=group.count)


def growth(case: ProfileCase) -> Iterator[Ranked]:
    """Lines of the user's code of which more is live at each of 20, 40, 60 and 80% of the run than before, 1 MiB and a
    tenth of the peak more at the last than at the first.

    Of profiles that say what was allocated and freed, in eight bins or more, and are shown by what was live at the peak
    or when they were taken; not where most may be pools of Python's
    allocator. What a program builds up and keeps on
    purpose grows as well, so it isn't called a leak.
    """
    info, times = case.info, case.snapshot.times
    if times is None or no_growth(case) is not None:
        return
    edges = [round(part * info.bins) for part in PARTS]
    live = [_live(case, edge) for edge in edges]
    peak = int(times.peaks.max())
    least = max(MIB, GROWN_SHARE * peak)
    rows = []
    for key, group in live[-1].items():
        at = [each[key].amount if key in each else 0 for each in live]
        rises = all(more > less for less, more in pairwise(at)) and bool(
            is_growing(np.array([at], np.int64))[0]
        )
        if is_own(group) and at[-1] - at[0] >= least and rises:
            rows.append((at[-1] - at[0], at, group))
    at_peak = {
        group.evidence.of.filter: group for group in case.by_line(case.info.default_value, "live").groups
    }
    for grown, at, group in sorted(rows, key=lambda row: -row[0])[:MOST_GROWING]:
        most = at_peak.get(group.evidence.of.filter)
        if most is None or 2 * pooled_amount(case.snapshot, group.evidence.of) > at[-1]:
            continue
        of = AllocationSet(
            0, "survived", edges[0], edges[-1], group.evidence.of.filter, group.evidence.of.value
        )
        evidence = Evidence("liveSet", of, "line")
        sentence = phrase(
            "{line} grows throughout the run: {first} after 20% of it, {last} after 80%; at the peak it has {size}."
            if case.main.meaning == "peak"
            else "{line} grows throughout the run: {first} after 20% of it, {last} after 80%; when the profile was "
            "taken it has {size}.",
            line=group.with_function(), first=format_bytes(at[0]), last=format_bytes(at[-1]),
            size=amount(most.figure, evidence),
        )  # fmt: skip
        finding = made("growth", phrase("Grows over time"), sentence, most.figure, evidence, group.line)
        yield Ranked(1.2 * grown / max(peak, 1), finding)


def still_growing(case: ProfileCase) -> Iterator[Ranked]:
    """A run whose live bytes grow to its end, where which line keeps them isn't known because of pools.

    More at each of 20, 40, 60 and 80% of the run than before and at its end than at 80%, within 5% of the peak, 1 MiB
    and a tenth of the peak more than at 20%.
    """
    info, times, value = case.info, case.snapshot.times, case.number("bytes", "end")
    if value is None or times is None or no_growth(case) is not None:
        return
    if not bool(pool_stacks(case.snapshot)[case.snapshot.samples.stack].any()):
        return
    live, peak = times.series["live_bytes"], int(times.peaks.max())
    at = [int(live[round(part * info.bins)]) for part in PARTS] + [case.total(value)]
    grown = at[-1] - at[0]
    if not all(more > less for less, more in pairwise(at)) or not is_growing(np.array([at], np.int64))[0]:
        return
    if at[-1] < NEAR_PEAK * peak or grown < max(MIB, GROWN_SHARE * peak):
        return
    whole, evidence = case.whole(value, "live"), case.evidence(value)
    sentence = phrase(
        "The run ends with {size} and still grows: {first} is live after 20% of it, {last} after 80%. Which line keeps "
        "it isn't known: what is live may be pools of Python's allocator.",
        size=amount(whole, evidence), first=format_bytes(at[0]), last=format_bytes(at[-2]),
    )  # fmt: skip
    finding = made("still_growing", phrase("Still growing"), sentence, whole, evidence)
    yield Ranked(1.2 * grown / max(peak, 1), finding)


def _live(case: ProfileCase, edge: int) -> dict[str, TopGroup]:
    value = case.number("bytes", "peak", "live", "total")
    of = AllocationSet(0, "live", edge, value=value)
    found = top_groups(case.snapshot, of, "line", 200, "live", attribution=case.attribution)
    return {group.evidence.of.filter: group for group in found.groups}
