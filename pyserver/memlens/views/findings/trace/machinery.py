"""A framework's own allocations at the peak, and how to reduce them."""

from collections.abc import Iterator

import numpy as np

from memlens.model.distinct import without
from memlens.packs import registry
from memlens.texts import Text, in_a_row, phrase
from memlens.units import MIB, format_bytes
from memlens.views.findings.answers import Evidence, Figure
from memlens.views.findings.groups import top_groups
from memlens.views.findings.trace.case import LEAST_EVENTS, TraceCase
from memlens.views.findings.writing import Ranked, amount, made, percent, text_in_sql
from memlens.views.selection.filters import narrowed
from memlens.views.selection.machinery import machinery_stacks

LEAST_SHARE = 0.05


def own_machinery(case: TraceCase) -> Iterator[Ranked]:
    """Temporaries of optimizers, workspaces and copies that a framework makes, of at least 5% of the peak and 1 MiB.

    Only those for which there is an advice; the line is the one with the most of them.
    """
    peak = case.info.peak_bytes
    present = machinery_stacks(case.snapshot)
    for kind in registry.machinery():
        if kind.advice is None or kind.name not in present:
            continue
        lines = top_groups(case.snapshot, case.peak, "line", 1, "live", kind.term)
        if not lines.groups or lines.total < max(LEAST_SHARE * peak, MIB):
            continue
        evidence = Evidence("liveSet", case.at(case.info.peak_moment, kind.term), "line")
        query = f"SELECT sum(size_bytes) FROM live_at({case.number}, {case.info.peak_moment}, {text_in_sql(kind.term)})"
        figure = Figure(lines.total, "bytes", "live", query)
        most = lines.groups[0]
        sentence = phrase(
            "{size} ({share} of the peak) are {kind}, by {line}. {advice}",
            size=amount(figure, evidence), share=percent(lines.total, peak), kind=kind.title,
            line=most.named(), advice=in_a_row([kind.advice, *_without(case, kind.term)], " "),
        )  # fmt: skip
        finding = made(
            "machinery",
            kind.owner,
            sentence,
            figure,
            evidence,
            most.line,
            inferred=most.inferred,
        )
        yield Ranked(1.3 * lines.total / peak, finding)


def _without(case: TraceCase, term: str) -> Iterator[Text]:
    """The peak without some allocations, which may be at another moment; nothing without a trace."""
    rows = narrowed(case.snapshot, case.number, term).rows
    whole = case.device.whole
    if rows is not None and case.info.events >= LEAST_EVENTS:
        kept = without(np.arange(whole.info.allocations, dtype=np.uint32), rows)
        peak = whole.narrowed(kept).info.peak_bytes
        yield phrase("Without them the peak would be {size}.", size=format_bytes(peak))
