"""The names of the two figures of a source line, for every model: live at the peak, and in all."""

from typing import Literal, NamedTuple, assert_never

import msgspec

from memlens.model.info import GraphInfo, ProfileInfo, ProfileValue, SnapshotInfo, TimelineInfo
from memlens.model.profile import value_for
from memlens.store.models import profile_of
from memlens.texts import Text, phrase
from memlens.units import format_value, plain_name

Measure = Literal["peak", "total"]


class Figure(NamedTuple):
    """A figure with the words that follow its number, as in "live at peak", and its value for the whole snapshot."""

    words: Text
    unit: str
    whole: int

    def say(self, amount: int) -> str:
        """Format an amount for people."""
        return plain_name(format_value(amount, self.unit))


def _in_sentence(title: Text) -> Text:
    """A value's title after its number. Other languages keep its capital."""
    english = plain_name(title.text)
    return msgspec.structs.replace(title, text=english[:1].lower() + english[1:])


def figure_of(info: SnapshotInfo, measure: Measure) -> Figure:
    """The figure for a measure in a snapshot; in a profile the value that is closest to it."""
    match info:
        case TimelineInfo():
            whole = sum(device.peak_bytes for device in info.devices)
            words = phrase("live at peak") if measure == "peak" else phrase("in total")
            return Figure(words, "bytes", whole)
        case ProfileInfo() | GraphInfo():
            profile = profile_of(info)
            number = value_for(profile.values, measure, "bytes")
            value = profile.values[profile.default_value if number is None else number]
            if isinstance(info, GraphInfo) and value.meaning == "live":
                # the title of the objects' own bytes is too long beside each line
                return Figure(phrase("live"), value.unit, abs(value.total))
            return figure_of_value(value)
        case _:
            assert_never(info)


def figure_of_value(value: ProfileValue) -> Figure:
    """The figure of one of a profile's values."""
    return Figure(_in_sentence(value.title), value.unit, abs(value.total))
