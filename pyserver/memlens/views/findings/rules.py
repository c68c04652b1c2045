"""The findings of a snapshot: what its model's rules find, ranked."""

from typing import assert_never

from memlens.model.info import ProfileInfo, TimelineInfo
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.units import format_value
from memlens.views.findings.answers import Figure, FindingsAnswer, SnapshotFinding, TextPart, plain_text
from memlens.views.findings.groups import share, top_groups
from memlens.views.selection.columns import device_of
from memlens.views.selection.sets import AllocationSet

LEAST_SHARE = 0.1


def findings(snapshot: Snapshot, device: int | None, limit: int) -> FindingsAnswer:
    """At most ``limit`` findings. ``device`` None means the one to show first. Raises :class:`BadRequestError`."""
    match snapshot.info:
        case TimelineInfo():
            number = timeline_of(snapshot.info, "devices").default_device if device is None else device
            at = AllocationSet(number, from_moment=device_of(snapshot, number).info.peak_moment)
        case ProfileInfo(default_value=value):
            at = AllocationSet(0, value=value)
        case _:
            assert_never(snapshot.info)
    return FindingsAnswer(_dominating(snapshot, at)[:limit])


def _dominating(snapshot: Snapshot, at: AllocationSet) -> list[SnapshotFinding]:
    """The lines that have at least a tenth of it."""
    found = top_groups(snapshot, at, "line", 10)
    rows = []
    for group in found.groups:
        if group.amount < LEAST_SHARE * found.total:
            break
        figure = Figure(group.amount, found.unit, "live")
        sentence = [
            TextPart(group.name, None, group.line, group.evidence),
            TextPart(" holds "),
            TextPart(format_value(group.amount, found.unit), figure, None, group.evidence),
            TextPart(f"{share(group.amount, found.total)}."),
        ]
        text = plain_text(sentence)
        inferred = group.line is not None and group.line.source == "inferred"
        title = "Most memory"
        rows.append(
            SnapshotFinding(
                "dominant_line", title, sentence, text, figure, group.evidence, group.line, inferred
            )
        )
    return rows
