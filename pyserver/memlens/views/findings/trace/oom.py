"""Out-of-memory events, in the sentences of :mod:`memlens.views.trace.oom`."""

from collections.abc import Iterator

from memlens.packs import registry
from memlens.texts import Text, in_a_row, phrase
from memlens.units import format_bytes
from memlens.views.findings.answers import Evidence, Figure, LineLink
from memlens.views.findings.groups import line_link
from memlens.views.findings.trace.case import TraceCase
from memlens.views.findings.writing import (
    Ranked,
    amount,
    base_line,
    linked,
    made,
    text_in_sql,
)
from memlens.views.selection.terms import Term
from memlens.views.trace.oom.answers import OomAnswer

MOST_EVENTS = 3


def out_of_memory(case: TraceCase) -> Iterator[Ranked]:
    """Each of the first three out-of-memory events of the device, with what would have helped."""
    for number, answer in enumerate(events_of(case)):
        requested = requested_figure(answer)
        evidence = Evidence("oom", case.at(answer.moment), None, answer.event)
        advice = tries(case, answer)
        what = failed(case, answer)
        sentence = in_a_row([what, advice], " ") if advice else what
        link = line_link(case.snapshot, answer.asked_at)
        finding = made("out_of_memory", phrase("Out of memory"), sentence, requested, evidence, link)
        yield Ranked(100.0 - number, finding)


def events_of(case: TraceCase) -> list[OomAnswer]:
    """The first events, explained."""
    if not case.info.ooms:
        return []
    ooms = registry.ooms()
    marks = ooms.marks(case.snapshot).marks
    found = [mark.event for mark in marks if mark.kind == "oom" and mark.device == case.number]
    return [ooms.oom(case.snapshot, case.number, event) for event in found[:MOST_EVENTS]]


def requested_figure(answer: OomAnswer) -> Figure:
    """The requested bytes."""
    query = f"SELECT size_bytes FROM events WHERE device = {answer.device} AND moment = {answer.moment}"
    return Figure(answer.requested_bytes, "bytes", "requested", query if answer.requested_bytes else "")


def failed(case: TraceCase, answer: OomAnswer) -> Text:
    """The requested bytes, their line, and the free bytes."""
    evidence = Evidence("oom", case.at(answer.moment), None, answer.event)
    link: LineLink | None = line_link(case.snapshot, answer.asked_at)
    what: Text = linked(phrase("Out of memory"), evidence=evidence)
    if link is not None:
        what = phrase(
            "{out_of_memory} at {line}", out_of_memory=what, line=linked(base_line(link), line=link)
        )
    asked = (
        phrase("{size} requested", size=amount(requested_figure(answer), evidence)) if answer.requested_bytes
        else phrase("an unknown amount requested")
    )  # fmt: skip
    free = phrase("free on the device unknown")
    if answer.device_free_bytes is not None:
        query = (
            "SELECT value FROM notes JOIN events USING (event) WHERE name = 'device_free' "
            f"AND device = {answer.device} AND moment = {answer.moment}"
        )
        free = phrase("{size} free", size=amount(Figure(answer.device_free_bytes, "bytes", "free", query)))
    if link is not None:
        return phrase("{what}: {asked}, {free}.", what=what, asked=asked, free=free)
    return phrase("{what}: {asked}, {free}; {why}.", what=what, asked=asked, free=free, why=answer.asked_by)


def tries(case: TraceCase, answer: OomAnswer) -> Text | None:
    """What would have helped, in a sentence; None if nothing is known to."""
    helps = registry.ooms().helps(answer)
    if helps is not None:
        return helps
    advice = {finding.code for finding in answer.findings if finding.advice}
    largest = _largest_line(case, answer)
    if "no-setting-helps" in advice:
        if largest is None:
            return phrase("Try a smaller request; no allocator setting would have helped.")
        return phrase(
            "Try to free or shrink what {line} holds ({size}); no allocator setting would have helped.",
            **largest,
        )
    return phrase("Try to free or shrink what {line} holds ({size}).", **largest) if largest else None


def _largest_line(case: TraceCase, answer: OomAnswer) -> dict[str, Text] | None:
    """The line of Python that held the most, and its size with whether that would have been enough."""
    for held in answer.lines:
        link = line_link(case.snapshot, held.frame)
        if link is None or link.source == "inferred":
            continue
        where = f"file = {text_in_sql(link.file)} AND line = {link.line}"
        query = f"SELECT sum(size_bytes) FROM live_at({case.number}, {answer.moment}) WHERE {where}"
        filter_text = str(Term("by", ":", (f"={link.file}:{link.line}",)))
        evidence = Evidence("liveSet", case.at(answer.moment, filter_text), "line")
        size = amount(Figure(held.bytes, "bytes", "live", query), evidence)
        line = linked(base_line(link), line=link, evidence=evidence)
        if answer.device_free_bytes is None:
            return {"line": line, "size": size}
        missing = (
            answer.requested_bytes - answer.device_free_bytes - sum(each.bytes for each in answer.places)
        )
        return {"line": line, "size": _beside(size, held.bytes, missing) if missing > 0 else size}
    return None


def _beside(size: Text, held: int, missing: int) -> Text:
    """A size, and whether it would have been enough."""
    least = format_bytes(missing)
    if held > missing:
        return phrase(
            "{size}, more than the {missing} by which the request exceeds all that was free",
            size=size,
            missing=least,
        )
    if held < missing:
        return phrase(
            "{size}, less than the {missing} by which the request exceeds all that was free",
            size=size,
            missing=least,
        )
    return phrase(
        "{size}, as much as the {missing} by which the request exceeds all that was free",
        size=size,
        missing=least,
    )


def in_use(case: TraceCase, answer: OomAnswer) -> Text:
    """The used share of the memory, as the beginning of a sentence."""
    query = f"SELECT live_bytes FROM events WHERE device = {case.number} AND moment = {answer.moment}"
    figure = Figure(int(case.device.live[answer.moment]), "bytes", "live", query)
    live = amount(figure, Evidence("liveSet", case.at(answer.moment), "line"))
    if not answer.segments_known:
        return live
    whole = answer.gap.reserved_bytes + (answer.device_free_bytes or 0)
    return phrase("{size} of {whole}", size=live, whole=format_bytes(whole))
