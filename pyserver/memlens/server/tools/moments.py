"""Which allocations or samples a call is about: its moment or its range, its value, its device, its filter."""

from typing import Any, assert_never

from msgspec import UNSET

from memlens.errors import BadRequestError
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.server.tools.parameters import OfSet, given
from memlens.store.models import has_stacks, profile_of, timeline_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.selection.moments import moment_named, samples_at
from memlens.views.selection.profile_sets import refuse_value
from memlens.views.selection.sets import AllocationSet, SetKind
from memlens.views.selection.sets import moment as moment_of


def set_of(snapshot: Snapshot, asked: OfSet, at: str | None = None) -> AllocationSet:
    """The set in question; ``at`` takes the place of the arguments' own. Raises :class:`BadRequestError`.

    No argument is ignored: one that doesn't apply to the file is refused.
    """
    at, to = at or given(asked.at), given(asked.to)
    kind: SetKind | None = given(asked.kind)
    filter_text = asked.filter
    if to is None and kind is not None:
        raise BadRequestError(
            phrase("`kind` is about a range of moments"), advice=phrase("Give the range's end as `to`.")
        )
    if to is not None and at == "all":
        raise BadRequestError(
            phrase("A range begins at one moment, not at all of them"),
            advice=phrase('Leave out `at` for a range from the start, as `at: "start"` does.'),
        )
    info = snapshot.info
    match info:
        case TimelineInfo():
            refuse_value(given(asked.value))
            number = given(asked.device)
            device = info.default_device if number is None else number
            if at == "all":
                return AllocationSet(device, "live", 0, moment_named(snapshot, device, "end"), filter_text)
            if to is None:
                first = None if at in (None, "peak") else moment_named(snapshot, device, at or "")
                return AllocationSet(device, from_moment=first, filter=filter_text)
            first = _peak(snapshot, device) if at == "peak" else moment_named(snapshot, device, at or "start")
            last = _peak(snapshot, device) if to == "peak" else moment_named(snapshot, device, to)
            return AllocationSet(device, kind or "live", first, last, filter_text)
        case ProfileInfo() | GraphInfo():
            if given(asked.device) is not None:
                timeline_of(info, "devices", phrase("`device`"))
            return samples_at(snapshot, at, given(asked.value), filter_text, to, kind)
        case _:
            assert_never(info)


def _peak(snapshot: Snapshot, device: int) -> int:
    return moment_of(snapshot, device, None).moment


def refuse_moments(asked: object) -> None:
    """Refuse the arguments that name a moment, for questions about a heap dump's objects.

    Raises :class:`BadRequestError`.
    """
    for name in ("at", "before_at", "after_at", "to", "kind", "device", "value"):
        if getattr(asked, name, UNSET) is not UNSET:
            raise BadRequestError(
                phrase("A heap dump is of one moment, so `{name}` doesn't apply to its objects", name=name),
                advice=phrase("Leave it out."),
            )


def when(snapshot: Snapshot, of: AllocationSet) -> dict[str, Any]:
    """The answer's moment, or both of its range's: the number of events or bins, and the time."""
    info = snapshot.info
    match info:
        case TimelineInfo():
            if of.to_moment is None:
                return {"at": _of_trace(snapshot, of.device, of.from_moment, of.filter)}
            return {
                "at": _of_trace(snapshot, of.device, of.from_moment),
                "to": _of_trace(snapshot, of.device, of.to_moment),
                "kind": of.kind,
            }
        case ProfileInfo() | GraphInfo():
            if not has_stacks(info) or of.from_moment is None:
                return {}
            found = {"at": _of_bins(snapshot, of.from_moment)}
            return (
                found
                if of.to_moment is None
                else {**found, "to": _of_bins(snapshot, of.to_moment), "kind": of.kind}
            )
        case _:
            assert_never(info)


def _of_trace(snapshot: Snapshot, device: int, number: int | None, filter_text: str = "") -> dict[str, Any]:
    found = moment_of(snapshot, device, number, filter_text)
    return {
        "events": found.moment,
        "time_us": found.time_us,
        **({"is": "peak"} if found.is_peak else {}),
    }


def _of_bins(snapshot: Snapshot, edge: int) -> dict[str, Any]:
    times, unit = snapshot.times, profile_of(snapshot.info).time_unit
    if times is None or not 0 <= edge < len(times.edges):
        return {"bins": edge}
    return {"bins": edge, "time_us" if unit == "microseconds" else unit: int(times.edges[edge])}
