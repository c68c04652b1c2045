"""Allocator churn: temporary allocations, and bytes that are soon freed."""

from collections.abc import Iterator

from memlens.texts import Text, phrase
from memlens.units import MIB, format_bytes
from memlens.views.findings.profile.case import ProfileCase, is_own
from memlens.views.findings.profile.itself import is_made_by_itself
from memlens.views.findings.writing import Ranked, made, percent

TEMPORARY_COUNT, TEMPORARY_SHARE = 10_000, 0.05
CHURN_BYTES, CHURN_SHARE, HELD_SHARE = 16 * MIB, 0.2, 0.02
MOST_LINES = 2


def no_temporary(case: ProfileCase) -> Text | None:
    """Why temporary allocations can't be found."""
    if (case.number("count", "temporary"), case.number("count", "total")).count(None):
        return phrase("The profile doesn't count temporary allocations.")
    return None


def no_churn(case: ProfileCase) -> Text | None:
    """Why churn can't be found."""
    if (case.number("bytes", "total"), case.number("bytes", "peak", "live")).count(None):
        return phrase("The profile doesn't have both what was allocated in all and what was live.")
    return None


def temporary_allocations(case: ProfileCase) -> Iterator[Ranked]:
    """A line of the user's code itself makes at least 10,000 temporary allocations, 5% of all allocations.

    They are freed before the next one is made.
    """
    temporary, count = case.number("count", "temporary"), case.number("count", "total")
    if temporary is None or count is None or case.total(count) <= 0:
        return
    for group in case.by_line(temporary, "temporary").groups[:MOST_LINES]:
        if group.amount < max(TEMPORARY_COUNT, TEMPORARY_SHARE * case.total(count)) or not is_own(group):
            continue
        if not is_made_by_itself(case, temporary, group):
            continue
        sentence = phrase(
            "{line} makes {n} temporary allocations, {share} of all: each is freed before the next one is made. "
            "Reuse a buffer, or reserve its capacity once.",
            line=group.with_function(), n=group.measured(), share=percent(group.amount, case.total(count)),
        )  # fmt: skip
        title = phrase("Temporary allocations")
        finding = made("temporary_allocations", title, sentence, group.figure, group.evidence, group.line)
        yield Ranked(0.7 * group.amount / case.total(count), finding)


def churn(case: ProfileCase) -> Iterator[Ranked]:
    """A line of the user's code itself allocates at least 16 MiB, a fifth of the run's bytes, and holds at most 2% of
    that.

    That is at the peak, or when the profile was taken.
    """
    total, held = case.number("bytes", "total"), case.number("bytes", "peak", "live")
    if total is None or held is None or case.total(total) <= 0 or case.info.values[held].negative:
        return
    held_of = case.amounts(held)
    at_peak = case.info.values[held].meaning == "peak"
    for group in case.by_line(total, "allocated").groups[:MOST_LINES]:
        has = held_of.get(group.evidence.of.filter, 0)
        least = max(CHURN_BYTES, CHURN_SHARE * case.total(total))
        if group.amount < least or has > HELD_SHARE * group.amount or not is_own(group):
            continue
        if not is_made_by_itself(case, total, group):
            continue
        sentence = phrase(
            "{line} allocates {size} over the run, {share} of all, and holds {held}: reuse buffers to save that work.",
            line=group.with_function(), size=group.measured(), share=percent(group.amount, case.total(total)),
            held=phrase("{size} at the peak", size=format_bytes(has)) if at_peak
            else phrase("{size} in the end", size=format_bytes(has)),
        )  # fmt: skip
        finding = made("churn", phrase("Churn"), sentence, group.figure, group.evidence, group.line)
        yield Ranked(0.5 * group.amount / case.total(total), finding)
