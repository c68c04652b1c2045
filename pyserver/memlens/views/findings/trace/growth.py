"""Lines whose live bytes grow with every step: leaks."""

from collections.abc import Iterator

from memlens.texts import Text, phrase, plural
from memlens.units import MIB, format_bytes
from memlens.views.answers import Frame
from memlens.views.findings.answers import Evidence, Figure
from memlens.views.findings.groups import line_link
from memlens.views.findings.trace.case import TraceCase
from memlens.views.findings.writing import (
    Ranked,
    amount,
    linked,
    made,
    short_function,
    text_in_sql,
)
from memlens.views.selection.terms import Term
from memlens.views.trace.steps.finding import find_steps
from memlens.views.trace.steps.growth import GrowthAnswer, GrowthRow, growth

LEAST_ENDS = 3
LEAST_SHARE = 0.01
MOST_LINES = 3


def too_few_steps(case: TraceCase) -> Text | None:
    """Why growth by step is unknown."""
    return steps_missing(case, LEAST_ENDS)


def steps_missing(case: TraceCase, least: int) -> Text | None:
    """Why a trace doesn't have so many steps."""
    found = find_steps(case.snapshot, case.device)
    if len(found.last) >= least:
        return None
    if not len(found.last):
        return found.how
    return phrase("The trace has {n} steps, and {least} are needed.", n=len(found.last), least=least)


def growing_lines(case: TraceCase) -> Iterator[Ranked]:
    """Lines of which never less is live at a step's end than at the one before.

    Growth is at least 1 MiB and 1% of the peak from the first step's end to the last one's, over at least three ends,
    and more at two thirds of them. Lines that are inferred, and code without lines, are left out.
    """
    if too_few_steps(case) is not None:
        return
    found = growth(case.snapshot, case.number, MOST_LINES)
    steps = find_steps(case.snapshot, case.device)
    least = max(MIB, LEAST_SHARE * case.info.peak_bytes)
    for row in found.rows:
        grows = row.trend != "unsteady" and row.steps_grown * 3 >= (found.ends - 1) * 2
        frame = row.frame
        if (
            grows
            and row.grown_bytes >= least
            and frame is not None
            and frame.line
            and frame.source != "inferred"
        ):
            yield _finding(case, found, row, frame, inferred=steps.source == "period")


def _finding(case: TraceCase, found: GrowthAnswer, row: GrowthRow, frame: Frame, *, inferred: bool) -> Ranked:
    first, last = found.moments[0], found.moments[-1]
    place = f"file = {text_in_sql(frame.file)} AND line = {frame.line}"
    before, after = (
        f"(SELECT coalesce(sum(size_bytes), 0) FROM live_at({case.number}, {moment}) WHERE {place})"
        for moment in (first, last)
    )
    figure = Figure(row.grown_bytes, "bytes", "grown", f"SELECT {after} - {before} AS grown_bytes")
    filter_text = str(Term("by", ":", (f"={frame.file}:{frame.line}",)))
    evidence = Evidence("steps", case.at(last, filter_text), "line")
    link = line_link(case.snapshot, frame)
    name = frame.file.replace("\\", "/").rpartition("/")[2]
    count = (found.ends - 1) * found.every
    steps = (
        phrase(plural(count, "{n} inferred step", "{n} inferred steps"), n=count) if inferred
        else phrase(plural(count, "{n} step", "{n} steps"), n=count)
    )  # fmt: skip
    sentence = phrase(
        "{line} ({function}) keeps more {when}: {size} over {steps}, about {slope} a step. "
        "Something keeps what it makes, such as a list, a cache or a graph that isn't detached.",
        line=linked(f"{name}:{frame.line}", line=link, evidence=evidence),
        function=short_function(frame.function),
        when=phrase("after every step") if row.trend == "every_step"
        else phrase("after {n} of {steps}", n=row.steps_grown, steps=steps),
        size=amount(figure, evidence), steps=steps, slope=format_bytes(round(row.slope_bytes)),
    )  # fmt: skip
    title = phrase("Grows by step")
    brief = (
        phrase("About {size} more after every step", size=format_bytes(round(row.slope_bytes)))
        if row.trend == "every_step"
        else phrase("About {size} more a step", size=format_bytes(round(row.slope_bytes)))
    )
    finding = made("grows_by_step", title, sentence, figure, evidence, link, inferred=inferred, brief=brief)
    return Ranked(4 * row.grown_bytes / max(case.info.peak_bytes, 1) + 1, finding)
