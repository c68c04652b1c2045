"""Measures a snapshot for limits, except for limits of queries, whose tables are made elsewhere."""

from collections.abc import Iterator
from sys import maxsize
from typing import assert_never

from memlens.errors import BadRequestError
from memlens.model.info import DeviceInfo, GraphInfo, ProfileInfo, TimelineInfo, device_phrase
from memlens.model.profile import AFTER_COLLECTIONS_BYTES, value_for, value_with
from memlens.store.models import devices_of, graph_of, timeline_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, as_text, phrase
from memlens.views.check.answers import Limit, Measured
from memlens.views.heap.filters.filters import files_in
from memlens.views.heap.filters.unmatched import check_objects_match
from memlens.views.heap.listing.lists import fitting
from memlens.views.heap.objects.rows import Numbers
from memlens.views.heap.retained.by_objects import retained_by
from memlens.views.sql.pages import SqlAnswer
from memlens.views.trace.steps.finding import steps
from memlens.views.trace.steps.growth import GrowthAnswer, growth

_CUT = frozenset({"cut-file", "capped", "lost-samples", "broken-packets"})
"""Warnings about files that don't have everything."""
_NO_START = frozenset({"start-lost", "no-trace"})
"""Those about devices of which only the end is known."""


def measured(snapshot: Snapshot, limit: Limit) -> list[Measured]:
    """The figures of a limit. Raises :class:`BadRequestError` if the snapshot lacks them."""
    match limit.name:
        case "max-peak":
            return list(_peaks(snapshot))
        case "max-leaked":
            return list(_leaked(snapshot))
        case "max-growth-per-step":
            return list(_growths(snapshot))
        case "max-retained":
            return [_retained(snapshot, limit)]
        case "max-sql" | "no-finding":
            raise ValueError(limit.name)
        case _:
            assert_never(limit.name)


def lacks(snapshot: Snapshot, device: int | None = None) -> Text | None:
    """Why a snapshot may not have everything, or a device not all since its beginning; None if there is no reason."""
    for warning in snapshot.info.warnings:
        if warning.code in _CUT or (warning.code in _NO_START and warning.device == device is not None):
            return warning.said
    return None


def recorded_devices(snapshot: Snapshot) -> list[DeviceInfo]:
    """The devices on which anything was recorded. Raises :class:`BadRequestError` if there are none."""
    devices = [each for each in devices_of(snapshot.info) if each.events or each.allocations]
    if not devices:
        raise BadRequestError(phrase("Nothing was recorded on any device"))
    return devices


def peak_value(info: ProfileInfo) -> int | None:
    """The number of the value that serves as a profile's peak."""
    return value_for(info.values, "peak", "bytes")


def leaked_value(info: ProfileInfo) -> int | None:
    """The number of the value that says what was never freed."""
    return value_with(info.values, "end", "bytes")


def _peaks(snapshot: Snapshot) -> Iterator[Measured]:
    info = snapshot.info
    match info:
        case TimelineInfo():
            for each in recorded_devices(snapshot):
                what = phrase("The peak of {device}", device=device_phrase(each.device))
                yield Measured(what, each.peak_bytes, "bytes", each.device, lacks(snapshot, each.device))
        case ProfileInfo():
            number = peak_value(info)
            times = snapshot.times
            if number is None and times is not None and AFTER_COLLECTIONS_BYTES in info.series:
                most = int(times.series[AFTER_COLLECTIONS_BYTES].max(initial=0))
                what = phrase("The most that was live after a collection of garbage")
                yield Measured(what, most, "bytes", None, lacks(snapshot))
                return
            if number is None or info.values[number].negative:
                raise BadRequestError(
                    phrase("The profile doesn't say what was live, at its peak or when it was taken")
                )
            what = phrase("“{value}” of the profile", value=info.values[number].title)
            yield Measured(what, info.values[number].total, "bytes", None, lacks(snapshot))
        case GraphInfo():
            yield Measured(phrase("The reachable heap"), info.reachable_bytes, "bytes", None, lacks(snapshot))
        case _:
            assert_never(info)


def _leaked(snapshot: Snapshot) -> Iterator[Measured]:
    info = snapshot.info
    match info:
        case TimelineInfo():
            for each in recorded_devices(snapshot):
                what = phrase("What is live at the end on {device}", device=device_phrase(each.device))
                yield Measured(what, each.live_at_end_bytes, "bytes", each.device, lacks(snapshot))
        case ProfileInfo():
            number = leaked_value(info)
            if number is None or info.values[number].negative:
                raise BadRequestError(
                    phrase("The profile doesn't say what was still live when the program ended"),
                    advice=phrase("Limit what was live with --max-peak."),
                )
            what = phrase("“{value}” of the profile", value=info.values[number].title)
            yield Measured(what, info.values[number].total, "bytes", None, lacks(snapshot))
        case GraphInfo():
            raise BadRequestError(
                phrase("A heap dump doesn't say which of its objects leaked"),
                advice=phrase(
                    "Limit what they retain with --max-retained, or forbid findings with --no-finding."
                ),
            )
        case _:
            assert_never(info)


def growths(snapshot: Snapshot) -> Iterator[tuple[int, GrowthAnswer]]:
    """Each device on which there are steps, with all lines that grow by step. Raises :class:`BadRequestError`."""
    info = timeline_of(snapshot.info, "events", as_text("--max-growth-per-step"))
    found = False
    for each in recorded_devices(snapshot):
        answer = growth(snapshot, each.device, maxsize) if each.events else None
        if answer is not None and answer.ends > 1:
            found = True
            yield each.device, answer
    if not found:
        raise BadRequestError(without_full_stop(steps(snapshot, info.default_device, 0, 0).how))


def without_full_stop(sentence: Text) -> Text:
    """A sentence as the message of an error, which has no full stop."""
    return Text(sentence.text.removesuffix("."))


def _growths(snapshot: Snapshot) -> Iterator[Measured]:
    for device, found in growths(snapshot):
        what = phrase("What lines add per step on {device}", device=device_phrase(device))
        grown = sum(row.grown_bytes for row in found.rows)
        yield Measured(what, grown / ((found.ends - 1) * found.every), "bytes", device, lacks(snapshot))


def objects_of(snapshot: Snapshot, filter_text: str) -> Numbers:
    """The objects that a limit is about. Raises :class:`BadRequestError`."""
    graph_of(snapshot.info, "objects", as_text("--max-retained"))
    if files_in(filter_text):
        raise BadRequestError(phrase("A limit can't name another file, as in: does"))
    return fitting(snapshot, filter_text, None, None)


def _retained(snapshot: Snapshot, limit: Limit) -> Measured:
    numbers = objects_of(snapshot, limit.of)
    # where none are allowed, that there are none is what the limit asks for
    if not len(numbers) and (limit.bound.amount or limit.bound.relative):
        check_objects_match(snapshot, limit.of)
    found = retained_by(snapshot, numbers)
    what = phrase("What {filter} retains", filter=limit.of)
    return Measured(what, found.retained_bytes, "bytes", None, lacks(snapshot))


def of_query(answer: SqlAnswer) -> tuple[Measured, list[int]]:
    """The largest value in the last column of a query's rows; and the rows in its order, the largest first.

    Raises :class:`BadRequestError` where it isn't a number in each row.
    """
    values = [row[-1] for row in answer.rows]
    if answer.more:
        raise BadRequestError(phrase("The query has more rows than can be checked"))
    numbers = [each for each in values if isinstance(each, int | float)]
    if len(numbers) != len(values):
        raise BadRequestError(
            phrase(
                "The last column of the query, {name}, is not a number in each row",
                name=answer.columns[-1].name,
            )
        )
    name = answer.columns[-1].name
    unit = "bytes" if name.lower() == "bytes" or name.lower().endswith("_bytes") else ""
    what = phrase("“{name}” of the query", name=name)
    order = sorted(range(len(numbers)), key=lambda row: -numbers[row])
    return Measured(what, max(numbers, default=0), unit), order
