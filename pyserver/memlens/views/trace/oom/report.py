"""Out-of-memory events as lines of text, for a terminal or a bug report."""

from collections.abc import Callable, Iterator

from memlens.model.info import SnapshotInfo, device_phrase
from memlens.packs import registry
from memlens.store.models import devices_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text
from memlens.units import format_bytes, format_time
from memlens.views.answers import Frame
from memlens.views.trace.oom.answers import MarksAnswer, OomAnswer, ReplayBudget
from memlens.views.trace.oom.places import marked, place_name

MOST_EVENTS = 100
MOST_REPLAYS = 60
"""Limit per trace on replays that look for lines of which less would have been enough; most requests share them."""
_FEW = 5


def explained(snapshot: Snapshot) -> list[OomAnswer]:
    """The first out-of-memory events of a snapshot, explained."""
    budget = ReplayBudget(MOST_REPLAYS)
    return [
        registry.ooms().oom(snapshot, mark.device, mark.event, budget)
        for mark in registry.ooms().marks(snapshot).marks[:MOST_EVENTS]
        if mark.kind == "oom"
    ]


def summary(answers: list[OomAnswer]) -> Iterator[str]:
    """A line or two for each event."""
    for answer in answers:
        yield f"out of memory, {_where(answer)}: {answer.headline}"
        yield from (f"  {finding.text}" for finding in answer.findings[:1])


def _why_none(info: SnapshotInfo) -> str:
    """Return why there is no event: only a trace that records such events proves that none happened."""
    of_pack = registry.format_of_kind(info.kind)
    if of_pack is not None and of_pack.without_ooms:
        return of_pack.without_ooms
    if not any(device.events for device in devices_of(info)):
        return "The file has no trace, so it records no out-of-memory event."
    return "The trace has no out-of-memory event."


def report(
    answers: list[OomAnswer], found: MarksAnswer, info: SnapshotInfo, spoken: Callable[[Text], str] = str
) -> Iterator[str]:
    """The full explanation of each event; ``spoken`` writes a sentence or a name."""
    if not answers:
        yield _why_none(info)
        return
    for answer in answers:
        yield f"out of memory, {_where(answer)}"
        yield f"  {spoken(answer.headline)}"
        yield f"  {spoken(answer.asked_by)}"
        gap = answer.gap
        blocks = (
            f"requested {format_bytes(gap.requested_bytes)}, rounding {format_bytes(gap.rounding_bytes)}, "
            f"pending frees {format_bytes(gap.pending_bytes)}"
        )
        if answer.segments_known:
            yield (
                f"  reserved {format_bytes(gap.reserved_bytes)}: {blocks}, "
                f"inactive in split segments {format_bytes(gap.inactive_split_bytes)}, free in expandable segments "
                f"{format_bytes(gap.expandable_free_bytes)}, wholly free segments "
                f"{format_bytes(gap.wholly_free_bytes)}"
            )
        else:
            yield f"  active {format_bytes(gap.active_bytes)}: {blocks}; what was reserved is not in the file"
        for advice, title in ((False, "what happened"), (True, "what would have helped")):
            chosen = [finding for finding in answer.findings if finding.advice == advice]
            if chosen:
                yield f"  {title}:"
                yield from (f"    - {spoken(finding.text)}" for finding in chosen)
        if answer.lines:
            yield "  live at that moment, by line:"
            for line in answer.lines[:_FEW]:
                yield (
                    f"    {format_bytes(line.bytes):>10} in {line.count:,}  {spoken(_place(line.frame, line.operator))}"
                )
        if answer.pinning:
            yield "  lines whose blocks hold split segments:"
            for pin in answer.pinning[:_FEW]:
                yield (
                    f"    {format_bytes(pin.pinned_bytes):>10} free in {pin.segments:,} segments, held by "
                    f"{format_bytes(pin.bytes)} in {pin.count:,}  {spoken(_place(pin.frame, pin.operator))}"
                )
    if len(answers) < found.count and len(answers) == MOST_EVENTS:
        yield f"Only the first {MOST_EVENTS} are shown."


def _where(answer: OomAnswer) -> str:
    after = "" if answer.time_us is None else f" after {format_time(answer.time_us)}"
    return f"{device_phrase(answer.device)}, event {answer.moment:,}{after}"


def _place(frame: Frame | None, operator: Text | None) -> Text:
    if frame is None or not frame.file or not frame.line:
        return place_name(frame, operator)
    return marked(f"{frame.file}:{frame.line} {frame.function}", frame.source)
