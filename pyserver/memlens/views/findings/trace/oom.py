"""Out-of-memory events, in the sentences of :mod:`memlens.views.trace.oom`."""

from collections.abc import Iterator

from memlens.units import format_bytes
from memlens.views.findings.answers import Evidence, Figure, LineLink, TextPart
from memlens.views.findings.groups import line_link
from memlens.views.findings.trace.case import TraceCase
from memlens.views.findings.writing import Ranked, amount, base_line, made, text_in_sql, words
from memlens.views.selection.filters import Term
from memlens.views.trace.oom.answers import OomAnswer
from memlens.views.trace.oom.explanation import marks, oom

MOST_EVENTS = 3


def out_of_memory(case: TraceCase) -> Iterator[Ranked]:
    """Each of the first three out-of-memory events of the device, with what would have helped."""
    for number, answer in enumerate(events_of(case)):
        requested = requested_figure(answer)
        evidence = Evidence("oom", case.at(answer.moment), None, answer.event)
        advice = tries(case, answer)
        sentence = [*failed(case, answer), *([words(" "), *advice] if advice else [])]
        link = line_link(case.snapshot, answer.asked_at)
        finding = made("out_of_memory", "Out of memory", sentence, requested, evidence, link)
        yield Ranked(100.0 - number, finding)


def events_of(case: TraceCase) -> list[OomAnswer]:
    """The first events, explained."""
    if not case.info.ooms:
        return []
    found = [mark for mark in marks(case.snapshot).marks if mark.kind == "oom" and mark.device == case.number]
    return [oom(case.snapshot, case.number, mark.event) for mark in found[:MOST_EVENTS]]


def requested_figure(answer: OomAnswer) -> Figure:
    """What was asked for."""
    query = f"SELECT size_bytes FROM events WHERE device = {answer.device} AND moment = {answer.moment}"
    return Figure(answer.requested_bytes, "bytes", "requested", query if answer.requested_bytes else "")


def failed(case: TraceCase, answer: OomAnswer) -> list[TextPart]:
    """What was asked for where, and what was free."""
    evidence = Evidence("oom", case.at(answer.moment), None, answer.event)
    link: LineLink | None = line_link(case.snapshot, answer.asked_at)
    head = [TextPart("Out of memory", None, None, evidence)]
    if link is not None:
        head += [words(" at "), TextPart(base_line(link), None, link)]
    head.append(words(": "))
    if answer.requested_bytes:
        head += [amount(requested_figure(answer), evidence), words(" asked for")]
    else:
        head.append(words("an unknown amount asked for"))
    if answer.device_free_bytes is None:
        return [*head, words(", free on the device unknown.")]
    query = (
        "SELECT value FROM notes JOIN events USING (event) WHERE name = 'device_free' "
        f"AND device = {answer.device} AND moment = {answer.moment}"
    )
    return [
        *head,
        words(", "),
        amount(Figure(answer.device_free_bytes, "bytes", "free", query)),
        words(" free."),
    ]


def tries(case: TraceCase, answer: OomAnswer) -> list[TextPart]:
    """What would have helped, in a sentence; empty where nothing is known to."""
    advice = {finding.code for finding in answer.findings if finding.advice}
    if "expandable-segments" in advice:
        return [
            words(
                "Try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: "
                f"{format_bytes(answer.shared_free_bytes)} was free in segments, "
                "but not where the request could use it."
            )
        ]
    if answer.verdict == "limit":
        return [
            words("The device had enough free: look for a limit such as set_per_process_memory_fraction.")
        ]
    largest = _largest_line(case, answer)
    if "no-setting-helps" in advice:
        rest = (
            [words("Try to free or shrink what "), *largest] if largest else [words("Try a smaller request")]
        )
        return [*rest, words("; no allocator setting would have helped.")]
    return [words("Try to free or shrink what "), *largest, words(".")] if largest else []


def _largest_line(case: TraceCase, answer: OomAnswer) -> list[TextPart]:
    """The line of Python that held the most, and whether that would have been enough."""
    for line in answer.lines:
        link = line_link(case.snapshot, line.frame)
        if link is None or link.source == "inferred":
            continue
        where = f"file = {text_in_sql(link.file)} AND line = {link.line}"
        query = f"SELECT sum(size_bytes) FROM live_at({case.number}, {answer.moment}) WHERE {where}"
        missing = (
            answer.requested_bytes
            - (answer.device_free_bytes or 0)
            - sum(each.bytes for each in answer.places)
        )
        enough = (
            "more than" if line.bytes > missing else "less than" if line.bytes < missing else "as much as"
        )
        figure = Figure(line.bytes, "bytes", "live", query)
        filter_text = str(Term("by", ":", (f"={link.file}:{link.line}",)))
        evidence = Evidence("liveSet", case.at(answer.moment, filter_text), "line")
        parts = [TextPart(base_line(link), None, link, evidence), words(" holds ("), amount(figure, evidence)]
        known = answer.device_free_bytes is not None and missing > 0
        return [*parts, words(f", {enough} the {format_bytes(missing)} missing)" if known else ")")]
    return []


def in_use(case: TraceCase, answer: OomAnswer) -> list[TextPart]:
    """What was in use of what there was, as the beginning of a sentence."""
    query = f"SELECT live_bytes FROM events WHERE device = {case.number} AND moment = {answer.moment}"
    live = int(case.device.live[answer.moment])
    figure = Figure(live, "bytes", "live", query)
    evidence = Evidence("liveSet", case.at(answer.moment), "line")
    parts = [amount(figure, evidence)]
    if answer.segments_known:
        whole = answer.gap.reserved_bytes + (answer.device_free_bytes or 0)
        parts.append(words(f" of {format_bytes(whole)}"))
    return parts
