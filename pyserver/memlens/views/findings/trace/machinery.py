"""What a framework allocates for itself at the peak, and what can be done about it."""

from collections.abc import Iterator

from memlens.packs import registry
from memlens.texts import phrase
from memlens.units import MIB
from memlens.views.findings.answers import Evidence, Figure
from memlens.views.findings.groups import top_groups
from memlens.views.findings.trace.case import TraceCase
from memlens.views.findings.writing import Ranked, amount, made, percent, text_in_sql
from memlens.views.selection.machinery import machinery_stacks

LEAST_SHARE = 0.05


def own_machinery(case: TraceCase) -> Iterator[Ranked]:
    """Temporaries of optimizers, workspaces and copies that a framework makes, of at least 5% of the peak and 1 MiB.

    Only those for which there is an advice; the line is the one with the most of them.
    """
    peak = case.info.peak_bytes
    present = machinery_stacks(case.snapshot)
    for title, kind in registry.machinery():
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
            line=most.named(), advice=kind.advice,
        )  # fmt: skip
        finding = made(
            "machinery",
            title,
            sentence,
            figure,
            evidence,
            most.line,
            inferred=most.inferred,
        )
        yield Ranked(1.3 * lines.total / peak, finding)
