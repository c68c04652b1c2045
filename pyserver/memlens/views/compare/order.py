"""Which of two snapshots was recorded first, as far as the files say."""

from itertools import pairwise
from pathlib import PurePath
from typing import assert_never

from memlens.model.info import GraphInfo, ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.texts import Text, phrase
from memlens.units import format_time


def recorded_us(info: SnapshotInfo) -> int | None:
    """When a trace began or a profile or dump was taken, in microseconds since 1970; None if the file doesn't say."""
    match info:
        case TimelineInfo():
            return min(
                (device.time_origin_us for device in info.devices if device.time_origin_us is not None),
                default=None,
            )
        case ProfileInfo() | GraphInfo():
            return None if info.written_ms is None else info.written_ms * 1000
        case _:
            assert_never(info)


def out_of_order(*infos: SnapshotInfo) -> Text | None:
    """Return a sentence if a snapshot was recorded later than the one it is compared with as the earlier; else None."""
    for before, after in pairwise(infos):
        first, second = recorded_us(before), recorded_us(after)
        if first is not None and second is not None and first > second:
            return phrase(
                "{before} was recorded {time} after {after}, but is compared as the earlier one.",
                before=PurePath(before.path).name, after=PurePath(after.path).name, time=format_time(first - second),
            )  # fmt: skip
    return None
