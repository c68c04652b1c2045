"""What held the peak by line: a line once, with what is only inferred to come from it; what has no line by its kind."""

from collections import Counter
from dataclasses import replace

import msgspec

from memlens.texts import phrase
from memlens.views.findings.answers import Figure
from memlens.views.findings.groups import TopGroup, TopGroups
from memlens.views.findings.trace.case import TraceCase
from memlens.views.findings.trace.machinery import KNOWN
from memlens.views.findings.writing import percent, text_in_sql
from memlens.views.selection.columns import device_of, live_rows
from memlens.views.selection.machinery import left_by_backward, machinery_stacks

LEAST_OF_GROUP = 0.9
_RECORDED = " -is:inferred"


def known_by_line(case: TraceCase) -> TopGroups:
    """What held the peak, by line; what has none is called by what PyTorch allocates so, if that is known."""

    def make() -> TopGroups:
        found = case.peak_by_line()
        groups = _as_one(case, found.groups)
        count = found.count - (len(found.groups) - len(groups))
        return replace(found, groups=[_named(case, each) for each in groups], count=count)

    return case.snapshot.keep(f"{case.number}.findings.known", make)


def _as_one(case: TraceCase, groups: list[TopGroup]) -> list[TopGroup]:
    """The groups, of which a line's recorded and its inferred one are one."""
    places = [(each.line.file, each.line.line) if each.line else None for each in groups]
    times = Counter(places)
    recorded = {place: each for place, each in zip(places, groups, strict=True) if not each.inferred}
    inferred = {place: each for place, each in zip(places, groups, strict=True) if each.inferred}
    found = []
    for place, each in zip(places, groups, strict=True):
        if place is None or times[place] != 2 or place not in recorded or place not in inferred:
            found.append(each)
        elif not each.inferred:
            found.append(_sum(case, each, inferred[place]))
    return sorted(found, key=lambda each: -each.amount)


def _sum(case: TraceCase, own: TopGroup, inferred: TopGroup) -> TopGroup:
    terms = own.evidence.of.filter.removesuffix(_RECORDED)
    total = own.amount + inferred.amount
    moment = case.info.peak_moment
    query = f"SELECT sum(size_bytes) FROM live_at({case.number}, {moment}, {text_in_sql(terms)})"
    return replace(
        own,
        title=phrase("{name} ({share} inferred)", name=own.title, share=percent(inferred.amount, total)),
        amount=total,
        count=None if own.count is None or inferred.count is None else own.count + inferred.count,
        largest=max(own.largest, inferred.largest),
        evidence=msgspec.structs.replace(own.evidence, of=case.at(moment, terms)),
        figure=Figure(total, "bytes", "live", query),
    )


def _named(case: TraceCase, group: TopGroup) -> TopGroup:
    if group.is_bare or group.line is not None or not group.evidence.of.filter:
        return group
    device = device_of(case.snapshot, case.number, group.evidence.of.filter)
    rows = live_rows(device, case.info.peak_moment)
    size, stack = device.size[rows], device.stack[rows]
    least = LEAST_OF_GROUP * group.amount
    for name, stacks in machinery_stacks(case.snapshot).items():
        if int(size[stacks[stack]].sum()) >= least:
            return replace(group, title=KNOWN[name].title)
    if int(size[left_by_backward(case.snapshot, device)[rows]].sum()) >= least:
        name = group.title.text.removesuffix(" (C++ only)")
        return replace(group, title=phrase("gradients ({operator})", operator=name))
    return group
