"""What a snapshot says in a sentence or two."""

from typing import assert_never

from memlens.model.info import ProfileInfo, TimelineInfo
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.units import format_bytes, format_time, format_value
from memlens.views.findings.answers import Evidence, Figure, HeadlineAnswer, TextPart, plain_text
from memlens.views.findings.groups import share, top_groups
from memlens.views.selection.columns import device_of
from memlens.views.selection.sets import AllocationSet

MOST_LINES = 4


def headline(snapshot: Snapshot, device: int | None) -> HeadlineAnswer:
    """The headline. ``device`` None means the one to show first. Raises :class:`BadRequestError`."""
    match snapshot.info:
        case TimelineInfo():
            rule, sentences = "peak", _of_trace(snapshot, device)
        case ProfileInfo():
            rule, sentences = "profile", _of_profile(snapshot, snapshot.info)
        case _:
            assert_never(snapshot.info)
    text = " ".join(plain_text(sentence) for sentence in sentences)
    return HeadlineAnswer(rule, sentences, text, snapshot.info.warnings)


def _of_trace(snapshot: Snapshot, number: int | None) -> list[list[TextPart]]:
    device = device_of(
        snapshot, timeline_of(snapshot.info, "devices").default_device if number is None else number
    )
    info = device.info
    at_peak = AllocationSet(info.device, from_moment=info.peak_moment)
    evidence = Evidence("liveSet", at_peak, "line")
    when = "" if info.peak_time_us is None else f" at {format_time(info.peak_time_us)}"
    peak = Figure(info.peak_bytes, "bytes", "live")
    return [
        [
            TextPart("Peak "),
            TextPart(format_bytes(info.peak_bytes), peak, evidence=evidence),
            TextPart(f"{when}."),
        ],
        _held(snapshot, at_peak),
    ]


def _of_profile(snapshot: Snapshot, info: ProfileInfo) -> list[list[TextPart]]:
    value = info.values[info.default_value]
    every = AllocationSet(0, value=info.default_value)
    figure = Figure(value.total, value.unit, "live" if value.meaning in ("live", "peak") else "value")
    amount = TextPart(
        format_value(value.total, value.unit), figure, evidence=Evidence("liveSet", every, "line")
    )
    return [[TextPart(f"{value.title}: "), amount, TextPart(".")], _held(snapshot, every)]


def _held(snapshot: Snapshot, of: AllocationSet) -> list[TextPart]:
    """What has the most of a set, by line."""
    found = top_groups(snapshot, of, "line", MOST_LINES)
    parts = [TextPart("Held by ")]
    for group in found.groups:
        if len(parts) > 1:
            parts.append(TextPart("; "))
        text = f"{group.name} {format_value(group.amount, found.unit)}{share(group.amount, found.total)}"
        parts.append(TextPart(text, Figure(group.amount, found.unit, "live"), group.line, group.evidence))
    return [*parts, TextPart(".")]
