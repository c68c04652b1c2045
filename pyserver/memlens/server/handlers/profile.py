"""The requests about profiles over time, and about the sizes of allocations."""

from memlens.server.protocol.profile import ProfileRangeParams, ProfileTimesParams, SizesParams
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.profile import times as profile_times
from memlens.views.profile.times import ProfileRangeAnswer, ProfileTimesAnswer
from memlens.views.tables import sizes
from memlens.views.tables.sizes import SizesAnswer


@question("memlens/sizes")
def _sizes(snapshot: Snapshot, p: SizesParams) -> SizesAnswer:
    return sizes.sizes(snapshot, p.of)


@question("memlens/profileTimes", name=phrase("the profile over time"))
def _times(snapshot: Snapshot, _p: ProfileTimesParams) -> ProfileTimesAnswer:
    return profile_times.times(snapshot)


@question("memlens/profileRange", name=phrase("the profile over time"))
def _range(snapshot: Snapshot, p: ProfileRangeParams) -> ProfileRangeAnswer:
    return profile_times.between(snapshot, p.from_edge, p.to_edge, p.filter)
