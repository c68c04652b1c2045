"""A file in a page: its figures, the headline, the findings, why memory ran out: ``memlens_summary``."""

from typing import Any

from msgspec.structs import replace

from memlens.json_text import in_english
from memlens.model.info import SnapshotInfo
from memlens.packs import registry
from memlens.server.tools.quoting import spoken
from memlens.server.tools.reading import Longer, readable
from memlens.store.models import devices_of, graph_of, heap_dump_of, profile_of, timeline_of
from memlens.store.snapshot import Snapshot
from memlens.texts import own_words
from memlens.views.findings.ahead import MOST_FINDINGS, findings, headline
from memlens.views.findings.answers import Evidence, Figure, ObjectsLink, SnapshotFinding, TextPart
from memlens.views.findings.component import filtered_findings
from memlens.views.findings.contents import without_contents
from memlens.views.heap.listing.overview import spaces
from memlens.views.heap.objects.realms import realms
from memlens.views.heap.objects.rows import type_names
from memlens.views.selection.terms import quoted
from memlens.views.trace.oom.report import explained, report

_MOST_SHOWN = 20


def summary_of(snapshot: Snapshot, device: int | None, *, values: bool) -> dict[str, Any]:
    """The answer to a first question about a file. Raises :class:`BadRequestError` for a device that doesn't exist."""
    if device is not None:
        timeline_of(snapshot.info, "devices")
    top, every = headline(snapshot, device), findings(snapshot, device, MOST_FINDINGS).findings
    found: dict[str, Any] = {
        "headline": said(top.sentences, values=values),
        "findings": [finding_of(snapshot, each, values=values) for each in every[:_MOST_SHOWN]],
        "more_findings": max(0, len(every) - _MOST_SHOWN),
        "not_in_the_file": [Longer(spoken(warning.said)) for warning in top.warnings],
        "file": {key: value for key, value in in_english(snapshot.info).items() if key != "warnings"},
    }
    if any(each.ooms for each in devices_of(snapshot.info)):
        found["out_of_memory"] = list(
            report(explained(snapshot), registry.ooms().marks(snapshot), snapshot.info, spoken)
        )
    if heap_dump_of(snapshot.info) is not None:
        found["heaps"], found["realms"] = spaces(snapshot), realms(snapshot)
    return dict(readable(found, values=values))


def waste_of(snapshot: Snapshot, filter_text: str, *, values: bool) -> dict[str, Any]:
    """The waste in what the objects of a filter retain. Raises :class:`BadRequestError`."""
    graph_of(snapshot.info, "objects", own_words("`of`"))
    answer = filtered_findings(snapshot, filter_text)
    every = [
        # by the filter for findings those of the whole dump would be shown
        replace(each, objects=None) if each.objects and each.objects.kind in ("query", "images") else each
        for each in answer.findings
    ]
    found = {
        "objects": answer.objects,
        "retained_objects": answer.retained_objects,
        "retained_bytes": answer.retained_bytes,
        "findings": [finding_of(snapshot, each, values=values) for each in every],
    }
    return dict(readable(found, values=values))


def figure_of(figure: Figure) -> dict[str, Any]:
    """An amount, also in words, and its query."""
    return {
        "amount": figure.amount, "unit": figure.unit, "of": figure.kind,
        "words": str(figure), "sql": Longer(figure.sql),
    }  # fmt: skip


def finding_of(snapshot: Snapshot, finding: SnapshotFinding, *, values: bool) -> dict[str, Any]:
    """A finding, with the question that shows its evidence."""
    found: dict[str, Any] = {
        "rule": finding.rule,
        "title": finding.title,
        "text": said([finding.sentence], values=values),
        "figure": figure_of(finding.figure),
        "inferred": finding.inferred,
    }
    if finding.line is not None:
        line = finding.line
        found |= {"file": line.file, "line": line.line or None, "function": line.function}
    if finding.evidence is not None:
        found["see"] = _of_set(snapshot.info, finding.evidence)
    if finding.objects is not None:
        found["see"] = _of_objects(snapshot, finding.rule, finding.objects)
    return found


def said(sentences: list[TextPart], *, values: bool) -> Longer:
    """Sentences as a model reads them."""
    return Longer(" ".join(spoken(each if values else without_contents(each)) for each in sentences))


def _of_set(info: SnapshotInfo, evidence: Evidence) -> dict[str, Any]:
    """The question that shows a finding's allocations or samples."""
    if evidence.allocation is not None:
        return {"tool": "memlens_stack", "arguments": {"allocation": evidence.allocation}}
    of = evidence.of
    arguments: dict[str, Any] = {"by": evidence.by} if evidence.by else {}
    if devices_of(info):
        arguments["device"] = of.device
    elif of.value is not None and of.from_moment is None and of.to_moment is None:
        arguments["value"] = profile_of(info).values[of.value].name
    unit = "events" if devices_of(info) else "bins"
    if of.from_moment is not None:
        arguments["at"] = f"{of.from_moment} {unit}"
    if of.to_moment is not None:
        arguments |= {"to": f"{of.to_moment} {unit}", "kind": of.kind}
    if of.filter:
        arguments["filter"] = Longer(of.filter)
    return {"tool": "memlens_top", "arguments": arguments}


def _of_objects(snapshot: Snapshot, rule: str, link: ObjectsLink) -> dict[str, Any]:
    """The question that shows a finding's objects."""
    match link.kind:
        case "object":
            return {"tool": "memlens_object", "arguments": {"number": link.number}}
        case "type":
            name = type_names(snapshot)[link.number]
            return {
                "tool": "memlens_top",
                "arguments": {"by": "object", "filter": f"type:{quoted(f'={name}')}"},
            }
        case "group":
            return {"tool": "memlens_top", "arguments": {"by": "object", "group": link.number}}
        case "thread":
            return {"tool": "memlens_stack", "arguments": {"thread": link.number}}
        case "images" | "query":
            # not the query itself, whose rows have the texts of strings
            named = quoted(f"={rule}")
            return {"tool": "memlens_top", "arguments": {"by": "object", "filter": f"finding:{named}"}}
