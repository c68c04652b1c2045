"""What a recording says of leaks: a line that allocated what is still alive all the while, and what holds that."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from memlens.arrays import I64
from memlens.model.distinct import distinct
from memlens.packs.jvm.flight.labels import AFTER, AGE, HELD_BY
from memlens.store.models import profile_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.findings.groups import TopGroup
from memlens.views.findings.profile.case import ProfileCase, is_own
from memlens.views.findings.writing import Ranked, made, percent
from memlens.views.selection.profile_filters import matching

LEAST_SAMPLES, LEAST_SHARE, LEAST_HELD = 16, 0.2, 0.5
PARTS, LEAST_OF_PART, LEAST_IN_PART, LEAST_GROWTH = 3, 0.05, 4, 1.1
"""A leak is a line whose objects survive from the first and from the second third of the time in which any were
allocated, while the heap grows: what a program keeps from its start is of the first alone, and a cache that forgets has
none of it. Of the last third there may be few, as a full sample takes objects among many others rarely."""
LEAST_OF_GROWING, LEAST_PARTS, LEAST_IN_PARTS = 8, 2, 2
"""While the heap grows from third to third, fewer samples say as much, and those of two thirds: few of many objects may
be sampled, and of a queue that is served too slowly the first ones are gone."""


def sampled_leak(case: ProfileCase) -> Iterator[Ranked]:
    """A line of the program allocated a fifth of the sampled objects that are alive, and keeps on."""
    value = case.number("count", "end")
    growth = _growth(case.snapshot)
    if value is None or case.total(value) <= 0 or growth == "none":
        return
    least = LEAST_OF_GROWING if growth == "steady" else LEAST_SAMPLES
    for group in case.by_line(value, "live").groups[:3]:
        if not is_own(group) or group.amount < max(least, LEAST_SHARE * case.total(value)):
            continue
        alive = _alive(case.snapshot, value, group)
        parts = _parts(alive, case)
        lasts = bool((parts[: PARTS - 1] >= max(LEAST_IN_PART, LEAST_OF_PART * parts.sum())).all())
        if not lasts and (growth != "steady" or (parts >= LEAST_IN_PARTS).sum() < LEAST_PARTS):
            continue
        holder = phrase("")
        if alive.holder and alive.held >= LEAST_HELD * group.amount:
            holder = phrase(", {n} of them held by {holder}", n=f"{alive.held:,}", holder=alive.holder)
        sentence = phrase(
            "{line} allocated {n} of {all} sampled objects that are still alive ({share}), {when}{holder}.",
            when=phrase("at all times") if lasts else phrase("while the heap grew all the time"),
            line=group.with_function(), n=group.measured(), all=f"{case.total(value):,}",
            share=percent(group.amount, case.total(value)), holder=holder,
        )  # fmt: skip
        finding = made(
            "sampled_leak",
            phrase("Kept more and more"),
            sentence,
            group.figure,
            group.evidence,
            group.line,
        )
        yield Ranked(group.amount / case.total(value), finding)


class _Alive(NamedTuple):
    """Samples of a line: how many of each age, and what holds most of them."""

    ages: I64
    counts: I64
    holder: str
    held: int


def _alive(snapshot: Snapshot, value: int, group: TopGroup) -> _Alive:
    counts = np.where(matching(snapshot, group.evidence.of.filter), snapshot.samples.value[value], 0)
    labels, strings = snapshot.samples.labels, snapshot.strings
    names = {name: number for number in distinct(labels["key"]).tolist() if (name := strings[number])}
    of_labels = counts[labels["sample"]]
    is_age = labels["key"] == names.get(AGE, -1)
    is_holder = (labels["key"] == names.get(HELD_BY, -1)) & (of_labels > 0)
    held = np.bincount(labels["text"][is_holder], of_labels[is_holder])
    most = int(held.argmax()) if len(held) else 0
    return _Alive(
        labels["number"][is_age], of_labels[is_age], strings[most] if most else "",
        int(held[most]) if len(held) else 0,
    )  # fmt: skip


def _parts(alive: _Alive, case: ProfileCase) -> I64:
    """How many of a line's samples were allocated in each third of the time, the first third first."""
    ages, labels = alive.ages, case.snapshot.samples.labels
    oldest = int(labels["number"].max(initial=0))
    thirds = np.minimum(PARTS * (oldest - ages) // max(oldest, 1), PARTS - 1)
    return np.bincount(thirds, alive.counts, PARTS).astype(np.int64)


def _growth(snapshot: Snapshot) -> Literal["none", "some", "steady"]:
    """Whether the heap was larger after the last collection than after a third of the time, and in between steadily.

    Some if that isn't known.
    """
    if snapshot.times is None or AFTER not in profile_of(snapshot.info).series:
        return "some"
    after = snapshot.times.series[AFTER]
    first, second, last = (float(after[at]) for at in (len(after) // PARTS, 2 * len(after) // PARTS, -1))
    if last < LEAST_GROWTH * first:
        return "none"
    return "steady" if second >= LEAST_GROWTH * first > 0 and last >= LEAST_GROWTH * second else "some"
