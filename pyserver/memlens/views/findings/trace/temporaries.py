"""Large short-lived allocations at the peak: the first candidates for lowering it."""

from collections.abc import Iterator

from memlens.texts import Text, phrase
from memlens.units import MIB
from memlens.views.findings.groups import top_groups
from memlens.views.findings.trace.case import TraceCase
from memlens.views.findings.trace.peak import in_pieces
from memlens.views.findings.writing import Ranked, made, percent

LIFE_SHARE, LEAST_EVENTS, MOST_EVENTS = 0.002, 16, 100
LEAST_TRACE = 2000
LEAST_SHARE = 0.05
MOST_LINES = 2


def too_short(case: TraceCase) -> Text | None:
    """Why short-lived allocations can't be found."""
    if case.info.events >= LEAST_TRACE:
        return None
    return phrase("The trace has {n} events, and {least} are needed.", n=case.info.events, least=LEAST_TRACE)


def short_lived(case: TraceCase) -> Iterator[Ranked]:
    """Lines whose short-lived allocations hold at least 5% of the peak, and 1 MiB.

    Short-lived is what is freed within a five-hundredth of the trace, at least 16 events and at most 100; traces of
    fewer than 2,000 events are too short to say so.
    """
    if too_short(case) is not None:
        return
    life = min(MOST_EVENTS, max(LEAST_EVENTS, int(LIFE_SHARE * case.info.events)))
    # in-place operations lower nothing that a framework allocates for itself
    narrow = f"life<={life}ev is:freed machinery:none"
    found = top_groups(case.snapshot, case.peak, "line", MOST_LINES, "live", narrow)
    for group in found.groups:
        if group.amount < max(LEAST_SHARE * case.info.peak_bytes, MIB) or group.is_bare:
            continue
        sentence = phrase(
            "Temporaries of {line} take up {size}, {share} of the peak{pieces}, and are freed within {life} events. "
            "In-place operations, smaller chunks or a fused kernel would lower the peak.",
            line=group.named(), size=group.measured(), share=percent(group.amount, case.info.peak_bytes),
            pieces=in_pieces(group), life=life,
        )  # fmt: skip
        title = phrase("Short-lived at the peak")
        finding = made(
            "short_lived", title, sentence, group.figure, group.evidence, group.line, inferred=group.inferred
        )
        yield Ranked(1.2 * group.amount / case.info.peak_bytes, finding)
