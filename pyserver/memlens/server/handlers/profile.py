"""The requests about profiles over time."""

from memlens.server.protocol.base import Count
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.profile import times as profile_times
from memlens.views.profile.times import ProfileRangeAnswer, ProfileTimesAnswer


@question("memlens/profileTimes", name=phrase("the profile over time"))
def _times(snapshot: Snapshot) -> ProfileTimesAnswer:
    """A profile's lines over time."""
    return profile_times.times(snapshot)


@question("memlens/profileRange", name=phrase("the profile over time"))
def _range(snapshot: Snapshot, *, from_edge: Count, to_edge: Count, filter_: str = "") -> ProfileRangeAnswer:
    """What went on between two edges of a profile's bins, of what matches a filter."""
    return profile_times.between(snapshot, from_edge, to_edge, filter_)
