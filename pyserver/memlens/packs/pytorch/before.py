"""Memory from before recording: a trace can't say when it was allocated, or by what."""

from collections.abc import Iterator

from memlens.kernels.trace.timeline import BEFORE_TRACE
from memlens.texts import Text, phrase
from memlens.views.findings.answers import Evidence, Figure
from memlens.views.findings.trace.case import LEAST_EVENTS, TraceCase
from memlens.views.findings.writing import Ranked, amount, made, percent
from memlens.views.selection.columns import live_rows

LEAST_SHARE = 0.1
NO_STACK_SHARE = 0.5


def before_recording(case: TraceCase) -> Iterator[Ranked]:
    """At least a tenth of the peak was allocated before recording, in a file that has a trace: a note."""
    info = case.info
    if info.events < LEAST_EVENTS or not info.peak_bytes:
        return
    rows = live_rows(case.device, info.peak_moment)
    rows = rows[(case.device.flags[rows] & BEFORE_TRACE) != 0]
    early = int(case.device.size[rows].sum())
    if early < LEAST_SHARE * info.peak_bytes:
        return
    bare = int(case.device.size[rows[case.snapshot.stacks.node[case.device.stack[rows]] == 0]].sum())
    query = f"SELECT sum(size_bytes) FROM allocations WHERE device = {case.number} AND live_at_peak AND before_trace"
    figure = Figure(early, "bytes", "live", query)
    evidence = Evidence("liveSet", case.at(info.peak_moment, "is:before"), "line")
    without = Figure(bare, "bytes", "live", f"{query} AND stack = 0")
    bare_of = Evidence("liveSet", case.at(info.peak_moment, "is:before stack:0"), "size")
    some = phrase(", {size} of it without a stack", size=amount(without, bare_of)) if 0 < bare < early else ""
    sentence = phrase(
        "Recording started mid-run: {size} ({share} of the peak) was already allocated{without}. {advice}",
        size=amount(figure, evidence), share=percent(early, info.peak_bytes),
        without=phrase(", without stacks") if bare == early else some, advice=_advice(case),
    )  # fmt: skip
    finding = made(
        "before_recording", phrase("From before recording"), sentence, figure, evidence, is_note=True
    )
    yield Ranked(0.5 * early / info.peak_bytes, finding)


def no_history(case: TraceCase) -> Iterator[Ranked]:
    """At least half of what a snapshot without a trace holds has no stack."""
    info = case.info
    if info.events >= LEAST_EVENTS or not info.peak_bytes:
        return
    rows = live_rows(case.device, info.peak_moment)
    bare = int(case.device.size[rows[case.snapshot.stacks.node[case.device.stack[rows]] == 0]].sum())
    if bare < NO_STACK_SHARE * info.peak_bytes:
        return
    query = (
        f"SELECT sum(size_bytes) FROM allocations WHERE device = {case.number} AND live_at_peak AND stack = 0"
    )
    figure = Figure(bare, "bytes", "live", query)
    evidence = Evidence("liveSet", case.at(info.peak_moment, "stack:0"), "size")
    sentence = phrase(
        "The snapshot doesn't say who allocated {size} ({share}): call torch.cuda.memory._record_memory_history() "
        "before the model is built, and take the snapshot again.",
        size=amount(figure, evidence), share=percent(bare, info.peak_bytes),
    )  # fmt: skip
    finding = made("no_history", phrase("No stacks"), sentence, figure, evidence)
    yield Ranked(bare / info.peak_bytes, finding)


def _advice(case: TraceCase) -> Text:
    codes = {warning.code for warning in case.snapshot.info.warnings if warning.device in (None, case.number)}
    if "start-lost" in codes:
        return phrase(
            "Start recording before the model is built, or raise max_entries if the trace was cut off."
        )
    return phrase("Start recording before the model is built to see the lines of it.")
