"""What the two figures of a source line are called, whatever the model: that of the peak, and that of all."""

from typing import Literal, NamedTuple, assert_never

from memlens.model.info import ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.model.profile import value_for
from memlens.units import format_value, plain_name

Measure = Literal["peak", "total"]


class Figure(NamedTuple):
    """A figure in words, as they follow a number: "live at peak". ``whole`` is that of the whole snapshot."""

    words: str
    unit: str
    whole: int

    def say(self, amount: int) -> str:
        """An amount of it, as people read it."""
        return plain_name(format_value(amount, self.unit))


def figure_of(info: SnapshotInfo, measure: Measure) -> Figure:
    """What a measure stands for in a snapshot; in a profile the value that comes nearest to it."""
    match info:
        case TimelineInfo():
            whole = sum(device.peak_bytes for device in info.devices)
            return Figure("live at peak" if measure == "peak" else "in all", "bytes", whole)
        case ProfileInfo():
            number = value_for(info.values, measure, "bytes")
            value = info.values[info.default_value if number is None else number]
            title = plain_name(value.title)
            return Figure(title[:1].lower() + title[1:], value.unit, abs(value.total))
        case _:
            assert_never(info)
