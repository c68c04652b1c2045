"""Moments named in words: ``peak``, ``11712 events``, ``545.6 ms``, a time of day.

A number alone is refused, because one that was meant as a time is nearly always a valid number of events, too.
"""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import assert_never

import numpy as np

from memlens.errors import BadRequestError
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo, ValueMeaning
from memlens.store.models import has_stacks, profile_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, in_a_row, phrase
from memlens.units import format_time
from memlens.views.selection.columns import device_of
from memlens.views.selection.profile_sets import value_named
from memlens.views.selection.sets import AllocationSet, SetKind

_IN_US = {
    "us": 1, "µs": 1, "microseconds": 1, "ms": 1_000, "milliseconds": 1_000, "s": 1_000_000, "sec": 1_000_000,
    "seconds": 1_000_000, "min": 60_000_000, "minutes": 60_000_000, "h": 3_600_000_000, "hours": 3_600_000_000,
}  # fmt: skip
_LONGEST = 60
_AMOUNT = re.compile(r"([+-]?\d{1,24}(?:\.\d{1,24})?)\s*([^\W\d_]*)")
_MEANINGS: dict[str, ValueMeaning] = {"peak": "peak", "end": "end", "all": "total"}
"""The values of a profile that say the same as words for moments."""
_CLOCK = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?", re.IGNORECASE)


def moment_named(snapshot: Snapshot, device: int, text: str) -> int:
    """The number of a moment of a trace's device, or of an edge of a profile's bins.

    ``text`` is a number with a unit: ``events`` of a trace; ``bins`` of a profile; ``us``, ``ms``, ``s``, ``min`` or
    ``h`` since the first event; what a profile has instead of time, as ``instructions``; or the date and time of day
    with the zone, or ``start`` or ``end``. Raises :class:`BadRequestError` for anything else, and for a moment that
    the snapshot doesn't have, with those that it has.
    """
    wanted = text.strip()
    info = snapshot.info
    match info:
        case TimelineInfo():
            return _of_trace(snapshot, device, wanted)
        case ProfileInfo() | GraphInfo():
            if not has_stacks(info) or snapshot.times is None:
                raise BadRequestError(
                    phrase("The file has no moment '{text}': it is of a single one", text=_shown(text)),
                    advice=phrase("Ask without a moment."),
                )
            return _of_profile(snapshot, wanted)
        case _:
            assert_never(info)


def samples_at(
    snapshot: Snapshot,
    at: str | None,
    value: str | None = None,
    filter_text: str = "",
    to: str | None = None,
    kind: SetKind | None = None,
) -> AllocationSet:
    """The samples of a profile by a value's name, or by a moment of its run, or by a range that ends at ``to``.

    Raises :class:`BadRequestError` for a value or a moment that the profile doesn't have, and for both at once.
    """
    info = profile_of(snapshot.info)
    if at is None and to is None:
        return AllocationSet(0, filter=filter_text, value=value_named(info, value))
    if value is not None:
        raise BadRequestError(
            phrase("Both a value and a moment are given, and each says when"),
            advice=phrase("Give one of them: the moment for what was live at some time of the run."),
        )
    if to is None and at in _MEANINGS:
        for place, each in enumerate(info.values):
            if each.meaning == _MEANINGS[at] and each.unit == "bytes":
                return AllocationSet(0, filter=filter_text, value=place)
    if snapshot.times is None or at == "all" or "peak" in (at, to):
        # of profiles over time the peak is a value, too, if they know it
        known = in_a_row([f"{each.name} ({each.title})" for each in info.values], ", ")
        raise BadRequestError(
            phrase("The profile doesn't have what was live at '{at}'", at=_shown(at or to or "")),
            advice=phrase("Its values are {known}.", known=known),
        )
    in_bytes = [number for number, each in enumerate(info.values) if each.unit == "bytes"]
    number = info.default_value if info.default_value in in_bytes or not in_bytes else in_bytes[0]
    first = moment_named(snapshot, 0, at or "start")
    last = None if to is None else moment_named(snapshot, 0, to)
    return AllocationSet(0, kind or "live", first, last, filter_text, number)


def _of_trace(snapshot: Snapshot, number: int, wanted: str) -> int:
    device = device_of(snapshot, number)
    events, times, origin = device.info.events, device.time, device.info.time_origin_us
    valid = phrase("Write a number of events, from 0 events to {events} events.", events=str(events))
    if times is not None and events:
        valid = phrase(
            'Write a number of events ("{events} events" is the last) or a time since the first event '
            '("{us} us" is the last, which is {last}).',
            events=str(events),
            us=str(int(times[-1])),
            last=format_time(float(times[-1])),
        )
        if origin is not None:
            valid = phrase(
                "{valid} Or a time of day from {first} to {last}.",
                valid=valid,
                first=_clock(origin),
                last=_clock(origin + int(times[-1])),
            )
    if wanted.casefold() in ("start", "end"):
        return 0 if wanted.casefold() == "start" else events
    clock = _time_of_day(wanted, valid)
    if clock is not None:
        if origin is None or times is None or not events:
            raise _refused(wanted, phrase("the trace doesn't say at what time of day it was recorded"), valid)
        return _before(times, clock - origin, wanted, valid)
    amount, unit = _amount(wanted, valid)
    if unit in ("event", "events"):
        if amount != int(amount) or not 0 <= amount <= events:
            raise _refused(wanted, phrase("there is no such event"), valid)
        return int(amount)
    if unit in _IN_US:
        if times is None or not events:
            raise _refused(wanted, phrase("the trace has no times, only the order of events"), valid)
        return _before(times, amount * _IN_US[unit], wanted, valid)
    raise _refused(wanted, phrase("'{unit}' is not a unit of this trace", unit=_shown(unit)), valid)


def _of_profile(snapshot: Snapshot, wanted: str) -> int:
    info, times = profile_of(snapshot.info), snapshot.times
    if times is None:  # never: the caller has looked
        raise BadRequestError(phrase("The profile has no times, so no part of its run can be chosen"))
    edges, bins = times.edges, info.bins
    is_time = info.time_unit == "microseconds"
    unit_of_end = "us" if is_time else info.time_unit
    valid = phrase(
        'Write a time since the start ("{end} {unit}" is the last{words}) '
        'or a number of bins ("{bins} bins" is the last).',
        end=str(int(edges[-1])),
        unit=unit_of_end,
        words=f", {format_time(float(edges[-1]))}" if is_time else "",
        bins=str(bins),
    )
    if wanted.casefold() in ("start", "end"):
        return 0 if wanted.casefold() == "start" else bins
    if _time_of_day(wanted, valid) is not None:
        raise _refused(wanted, phrase("the profile doesn't say at what time of day it was recorded"), valid)
    amount, unit = _amount(wanted, valid)
    if unit in ("bin", "bins"):
        if amount != int(amount) or not 0 <= amount <= bins:
            raise _refused(wanted, phrase("there is no such bin"), valid)
        return int(amount)
    if is_time and unit in _IN_US:
        amount *= _IN_US[unit]
    elif is_time or unit != info.time_unit.casefold():
        raise _refused(wanted, phrase("'{unit}' is not a unit of this profile", unit=_shown(unit)), valid)
    if not int(edges[0]) <= amount <= int(edges[-1]):
        raise _refused(wanted, phrase("that is outside of the run"), valid)
    return int(np.searchsorted(edges, int(amount), "right")) - 1


def _before(
    times: "np.ndarray[tuple[int], np.dtype[np.int64]]", us: Decimal | int, wanted: str, valid: Text
) -> int:
    """How many events there were until a time in microseconds since the first one."""
    if not 0 <= us <= int(times[-1]):
        raise _refused(wanted, phrase("that is outside of the trace"), valid)
    return int(np.searchsorted(times, int(us), "right"))


def _amount(wanted: str, valid: Text) -> tuple[Decimal, str]:
    found = _AMOUNT.fullmatch(wanted)
    if found is None:
        raise _refused(wanted, phrase("that is not a moment"), valid)
    if not found[2]:
        raise _refused(wanted, phrase("a number alone may be of events or of time"), valid)
    return Decimal(found[1]), found[2].casefold()


def _time_of_day(wanted: str, valid: Text) -> int | None:
    """Microseconds since 1970; None for what is no time of day."""
    found = _CLOCK.fullmatch(wanted)
    if found is None:
        return None
    if found[1] is None:
        raise _refused(wanted, phrase("a time of day needs its zone, such as Z or +02:00"), valid)
    try:
        said = datetime.fromisoformat(wanted.upper())
    except ValueError:
        raise _refused(wanted, phrase("there is no such time of day"), valid) from None
    since = said - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _clock(us: int) -> str:
    try:
        return f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us):%Y-%m-%dT%H:%M:%S.%fZ}"
    except OverflowError:
        # a damaged file's clock
        return "?"


def _refused(wanted: str, reason: Text, valid: Text) -> BadRequestError:
    return BadRequestError(
        phrase("No moment is called '{text}': {reason}", text=_shown(wanted), reason=reason), advice=valid
    )


def _shown(text: str) -> str:
    return text[:_LONGEST]
