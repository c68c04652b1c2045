"""Lines of which more is live after every step: leaks."""

from collections.abc import Iterator

from memlens.units import MIB, counted, format_bytes
from memlens.views.answers import Frame
from memlens.views.findings.answers import Evidence, Figure, TextPart
from memlens.views.findings.groups import line_link
from memlens.views.findings.trace.case import TraceCase
from memlens.views.findings.writing import Ranked, amount, made, short_function, text_in_sql, words
from memlens.views.selection.filters import Term
from memlens.views.trace.steps.finding import find_steps
from memlens.views.trace.steps.growth import GrowthAnswer, GrowthRow, growth

LEAST_ENDS = 3
LEAST_SHARE = 0.01
MOST_LINES = 3


def growing_lines(case: TraceCase) -> Iterator[Ranked]:
    """Lines of which never less is live at a step's end than at the one before.

    Growth is at least 1 MiB and 1% of the peak from the first step's end to the last one's, over at least three ends,
    and more at two thirds of them. Lines that are inferred, and code without lines, are left out.
    """
    found = growth(case.snapshot, case.number, MOST_LINES)
    if found.ends < LEAST_ENDS:
        return
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
    live = f"(SELECT coalesce(sum(size_bytes), 0) FROM live_at({case.number}, {{}}) WHERE {place})"
    figure = Figure(
        row.grown_bytes, "bytes", "grown", f"SELECT {live.format(last)} - {live.format(first)} AS grown_bytes"
    )
    filter_text = str(Term("by", ":", (f"={frame.file}:{frame.line}",)))
    evidence = Evidence("steps", case.at(last, filter_text), "line")
    link = line_link(case.snapshot, frame)
    name = frame.file.replace("\\", "/").rpartition("/")[2]
    steps = counted((found.ends - 1) * found.every, "inferred step" if inferred else "step")
    how = "after every step" if row.trend == "every_step" else f"after {row.steps_grown:,} of {steps}"
    sentence = [
        TextPart(f"{name}:{frame.line}", None, link, evidence),
        words(f" ({short_function(frame.function)}) keeps more {how}: "), amount(figure, evidence),
        words(
            f" over {steps}, about {format_bytes(round(row.slope_bytes))} a step. "
            "Something keeps what it makes, such as a list, a cache or a graph that isn't detached."
        ),
    ]  # fmt: skip
    finding = made("grows_by_step", "Grows by step", sentence, figure, evidence, link, inferred=inferred)
    return Ranked(4 * row.grown_bytes / max(case.info.peak_bytes, 1) + 1, finding)
