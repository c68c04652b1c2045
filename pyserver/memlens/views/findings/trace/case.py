"""The input of the rules for traces: a device, its peak, and the lines that held it."""

from dataclasses import dataclass

from memlens.model.info import DeviceInfo
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import Text, phrase
from memlens.units import format_time
from memlens.views.findings.answers import Evidence, Figure
from memlens.views.findings.groups import TopGroups, top_groups
from memlens.views.selection.columns import device_of
from memlens.views.selection.sets import AllocationSet

MOST_LINES = 100
LEAST_EVENTS = 2
"""The least events of a trace; a file with fewer only shows the state when the snapshot was taken."""


@dataclass(frozen=True, slots=True)
class TraceCase:
    """A device of a trace."""

    snapshot: Snapshot
    device: Device

    @classmethod
    def of(cls, snapshot: Snapshot, number: int) -> "TraceCase":
        """Raises :class:`BadRequestError` for a device that the snapshot lacks."""
        return cls(snapshot, device_of(snapshot, number))

    @property
    def info(self) -> DeviceInfo:
        """The device's figures."""
        return self.device.info

    @property
    def number(self) -> int:
        """The device's number."""
        return self.device.info.device

    @property
    def whole(self) -> Text:
        """What was live at the peak, in words; without a trace, what was live at the end."""
        return phrase("the peak") if self.info.events >= LEAST_EVENTS else phrase("what is in use")

    @property
    def peak(self) -> AllocationSet:
        """The allocations live at the peak."""
        return self.at(self.info.peak_moment)

    def at(self, moment: int, filter_text: str = "") -> AllocationSet:
        """The allocations live at a moment."""
        return AllocationSet(self.number, from_moment=moment, filter=filter_text)

    def peak_by_line(self) -> TopGroups:
        """The allocations that held the peak, by line."""
        return _by_line(self.snapshot, self.number, self.info.peak_moment)

    def peak_figure(self) -> Figure:
        """The peak."""
        query = f"SELECT peak_bytes FROM devices WHERE device = {self.number}"
        return Figure(self.info.peak_bytes, "bytes", "live", query)

    def reserved_figure(self) -> Figure:
        """What the allocator held when the snapshot was taken."""
        query = f"SELECT reserved_at_end_bytes FROM devices WHERE device = {self.number}"
        return Figure(self.info.reserved_at_end_bytes or 0, "bytes", "reserved", query)

    def peak_evidence(self) -> Evidence:
        """The allocations live at the peak, by line."""
        return Evidence("liveSet", self.peak, "line")

    def when(self, moment: int) -> Text:
        """A moment in words: ``at 50.3 ms``, without times ``at event 116``."""
        if self.device.time is None:
            return phrase("at event {event}", event=moment)
        return phrase("at {time}", time=format_time(float(self.device.time[moment - 1])))


@kept
def _by_line(snapshot: Snapshot, number: int, moment: int) -> TopGroups:
    return top_groups(snapshot, AllocationSet(number, from_moment=moment), "line", MOST_LINES)
