"""The peak by line, and without a line by kind."""

from dataclasses import replace

from memlens.packs import registry
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.findings.groups import TopGroup, TopGroups
from memlens.views.findings.trace.case import TraceCase
from memlens.views.selection.columns import device_of, live_rows
from memlens.views.selection.machinery import machinery_stacks
from memlens.views.selection.terms import MOST_CHARACTERS

LEAST_OF_GROUP = 0.9


def known_by_line(case: TraceCase) -> TopGroups:
    """The peak by line; allocations without a line are named by the framework's machinery, if known."""
    return _known_by_line(case.snapshot, case.number)


@kept
def _known_by_line(snapshot: Snapshot, number: int) -> TopGroups:
    case = TraceCase.of(snapshot, number)
    found = case.peak_by_line()
    return replace(found, groups=[_named(case, each) for each in found.groups])


def _named(case: TraceCase, group: TopGroup) -> TopGroup:
    if group.is_bare or group.line is not None or not group.evidence.of.filter:
        return group
    # names too long for a filter aren't a framework's
    if len(group.evidence.of.filter) > MOST_CHARACTERS:
        return group
    device = device_of(case.snapshot, case.number, group.evidence.of.filter)
    rows = live_rows(device, case.info.peak_moment)
    size, stack = device.size[rows], device.stack[rows]
    least = LEAST_OF_GROUP * group.amount
    titles = {kind.name: kind.title for kind in registry.machinery()}
    for name, stacks in machinery_stacks(case.snapshot).items():
        if int(size[stacks[stack]].sum()) >= least:
            return replace(group, title=titles[name])
    operator = group.title.text.removesuffix(" (C++ only)")
    for find in registry.lineless():
        found, title = find(case.snapshot, device, operator)
        if int(size[found[rows]].sum()) >= least:
            return replace(group, title=title)
    return group
