"""Memory kept across steps: caches that are never freed, and gradients that the next step doesn't need."""

from collections.abc import Iterator

import numpy as np

from memlens.texts import Text, phrase
from memlens.units import MIB
from memlens.views.findings.answers import Evidence, Figure
from memlens.views.findings.groups import top_groups
from memlens.views.findings.trace.case import TraceCase
from memlens.views.findings.trace.growth import growing_lines, steps_missing
from memlens.views.findings.writing import Ranked, amount, made, percent
from memlens.views.selection.sets import AllocationSet
from memlens.views.trace.steps.finding import find_steps

LEAST_STEPS = 3
CACHE_SHARE, MOST_LINES = 0.05, 2
KEPT_SHARE = 0.9
GRADIENT_SHARE = 0.05
_NEVER_FREED = "is:live -is:before"


def too_few_steps(case: TraceCase) -> Text | None:
    """Why lines that never free can't be found."""
    return steps_missing(case, LEAST_STEPS)


def no_gradients(case: TraceCase) -> Text | None:
    """Why gradients are unknown."""
    if not _gradients(case):
        return phrase("The file has no category of gradients.")
    return steps_missing(case, 2)


def _gradients(case: TraceCase) -> list[int]:
    names = case.snapshot.timeline.categories
    return [number for number, name in enumerate(names) if name.split(" (")[0] == "gradient"]


def never_freed(case: TraceCase) -> Iterator[Ranked]:
    """Lines that free (almost) nothing of what they allocate: at least 90% of what they allocated up to the end of the
    last step but one is live at the end of the trace.

    At least three steps, two allocations in the second step or later, 1 MiB and 5% of the peak. Lines that grow by
    step are reported as such.
    """
    if too_few_steps(case) is not None:
        return
    steps = find_steps(case.snapshot, case.device)
    until = int(steps.last[-2])
    survived = AllocationSet(case.number, "survived", 0, until)
    kept = top_groups(case.snapshot, survived, "line", 20, "survived", _NEVER_FREED)
    least = max(MIB, CACHE_SHARE * case.info.peak_bytes)
    candidates = [group for group in kept.groups if group.amount >= least and group.line is not None]
    if not candidates:
        return
    made_by = top_groups(case.snapshot, AllocationSet(case.number, "allocated", 0, until), "line", 1000)
    later = AllocationSet(case.number, "survived", int(steps.last[0]), until)
    made_later = top_groups(case.snapshot, later, "line", 1000, "survived", _NEVER_FREED)
    allocated = {group.name: group.amount for group in made_by.groups}
    later_counts = {group.name: group.count or 0 for group in made_later.groups}
    growing = {ranked.finding.line for ranked in growing_lines(case)}
    shown = 0
    for group in candidates:
        sure = (
            group.amount >= KEPT_SHARE * allocated.get(group.name, 0) and later_counts.get(group.name, 0) >= 2
        )
        if not sure or group.inferred or group.line in growing or shown == MOST_LINES:
            continue
        shown += 1
        evidence = Evidence(
            "liveSet",
            AllocationSet(case.number, "survived", 0, until, group.evidence.of.filter),
            "line",
        )
        sentence = phrase(
            "Nothing that {line} allocates is freed: {size} ({share} of the peak) in {n} allocations stay "
            "until the end. If it is a cache, it has no limit here.",
            line=group.named(), size=amount(group.figure, evidence),
            share=percent(group.amount, case.info.peak_bytes), n=group.count or 0,
        )  # fmt: skip
        finding = made(
            "never_freed", phrase("Never freed"), sentence, group.figure, evidence, group.line,
            inferred=steps.source == "period", brief=phrase("{size}, never freed", size=str(group.figure)),
        )  # fmt: skip
        yield Ranked(1.5 * group.amount / case.info.peak_bytes, finding)


def gradients_kept(case: TraceCase) -> Iterator[Ranked]:
    """Gradients of at least 5% of the peak that stay allocated for a whole step, from before it to after it.

    For files that have categories or for which gradients were inferred, with at least two steps.
    """
    if no_gradients(case) is not None:
        return
    names, numbers = case.snapshot.timeline.categories, _gradients(case)
    steps = find_steps(case.snapshot, case.device)
    device = case.device
    rows = np.flatnonzero(np.isin(device.category, numbers))
    start, end, size = device.start[rows], device.end[rows], device.size[rows]
    sums = [
        int(size[(start <= first) & (end > last)].sum())
        for first, last in zip(steps.first.tolist(), steps.last.tolist(), strict=True)
    ]
    step = int(np.argmax(sums))
    if sums[step] < max(GRADIENT_SHARE * case.info.peak_bytes, MIB):
        return
    first, last = int(steps.first[step]), int(steps.last[step])
    kinds = ", ".join(f"'{names[number]}'" for number in numbers)
    query = (
        f"SELECT sum(size_bytes) FROM allocations WHERE device = {case.number} AND category IN ({kinds}) "
        f"AND start_moment <= {first} AND (end_moment IS NULL OR end_moment > {last})"
    )
    figure = Figure(sums[step], "bytes", "live", query)
    evidence = Evidence("liveSet", case.at(first, "category:gradient"), "line")
    sentence = phrase(
        "Gradients of {size} ({share} of the peak) stay allocated through all of {step}. "
        "zero_grad(set_to_none=True) before the forward pass frees them; keep them only to accumulate.",
        size=amount(figure, evidence), share=percent(sums[step], case.info.peak_bytes), step=steps.names[step],
    )  # fmt: skip
    inferred = steps.source == "period" or any("inferred" in names[number] for number in numbers)
    title = phrase("Gradients kept")
    finding = made("gradients_kept", title, sentence, figure, evidence, inferred=inferred)
    yield Ranked(1.5 * sums[step] / case.info.peak_bytes, finding)
