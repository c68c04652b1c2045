"""The groups of a picture of live memory, and the order of their allocations in it.

The largest groups of a device are *areas* of the picture; everything else is the last area, "other". If stacks are
grouped, the lowest area is memory without a stack. The others are ordered by bytes at the peak, the largest lowest.
They depend only on the device and its filter, so areas and their colours are the same at every zoom.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.arrays import I64, U8, U32
from memlens.kernels.trace.areas import live_by_group
from memlens.model.attribution import Attribution
from memlens.store.kept import kept
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import phrase
from memlens.views.answers import Area
from memlens.views.selection.columns import device_of, live_rows
from memlens.views.selection.items import every_allocation
from memlens.views.selection.sets import AllocationSet
from memlens.views.tables.groupings import BEFORE_TRACE, NO_STACK, NOTHING, GroupKind, grouping, inferred_part
from memlens.views.trace.picture.boxes import Box, grid_of, lives_of

AreaKind = Literal["line", "function", "module", "category", "file", "size"]

MOST_AREAS = 20
OTHER = -1
"""The key of the area for all groups without a separate one."""

_LOOKED_AT = 256
_MOST_SUMS = 1 << 21
"""Limits on the moments at which groups are compared, and on the sums made for that."""
_NEVER_SEEN = np.iinfo(np.int64).max
_NO_HIGHLIGHTED = np.empty(0, np.uint8)


class GroupedBy(Struct, frozen=True):
    """How a picture's areas are grouped, and the attribution of stacks to frames."""

    by: AreaKind
    attribution: Attribution = "mine"


@dataclass(frozen=True, slots=True, eq=False)
class Areas:
    """The areas of a device from the bottom up, and the area of each row of the device."""

    areas: list[Area]
    codes: U8

    def ordered(self, device: Device, rows: U32) -> U32:
        """Return some rows in the order of the picture, the lowest first."""
        order: U32 = rows[np.lexsort((rows, -device.size[rows], self.codes[rows]))]
        return order


def areas_of(snapshot: Snapshot, number: int, filter_text: str, by: GroupedBy) -> Areas:
    """The areas of a device, narrowed by a filter. Raises :class:`BadRequestError`."""
    timeline_of(snapshot.info, "areas over time")
    device = device_of(snapshot, number, filter_text)
    return _areas(snapshot, number, filter_text if device.rows is not None else "", by)


def picture_order(
    snapshot: Snapshot, device: Device, moment: int, filter_text: str, by: GroupedBy | None
) -> U32:
    """Return the rows that are live at a moment, from the bottom of the picture up."""
    rows = live_rows(device, moment)
    if by is None:
        return rows
    return areas_of(snapshot, device.info.device, filter_text, by).ordered(device, rows)


@kept
def _areas(snapshot: Snapshot, number: int, filter_text: str, by: GroupedBy) -> Areas:
    device = device_of(snapshot, number, filter_text)
    of = AllocationSet(number, filter=filter_text)
    kind: GroupKind = by.by
    found = grouping(snapshot, of, every_allocation(snapshot, device), kind, by.attribution)
    present = np.zeros(found.groups, bool)
    present[found.codes] = True
    keys = np.flatnonzero(present)
    numbers = np.zeros(found.groups, np.uint32)
    numbers[keys] = np.arange(len(keys))
    codes = numbers[found.codes]
    at_peak, most = _figures(device, codes, len(keys))
    chosen = _largest(at_peak, most)
    if kind in ("line", "function", "file", "module"):
        bare = np.flatnonzero(np.isin(keys, (NO_STACK, BEFORE_TRACE)) & (most > 0))
        chosen = np.concatenate((bare, chosen[~np.isin(chosen, bare)]))[:MOST_AREAS]
    colours = _colours(snapshot, device, by, keys[chosen])
    others = np.ones(len(keys), bool)
    others[chosen] = False
    areas = []
    guessed = found.inferred if found.inferred is not None and found.inferred.any() else None
    every, guesses, at_peak_guessed = np.zeros((3, len(keys)), np.int64)
    if guessed is not None:
        every, guesses = (np.bincount(codes[mask], minlength=len(keys)) for mask in (slice(None), guessed))
        rows = live_rows(device, device.info.peak_moment)
        rows = rows[guessed[rows]]
        np.add.at(at_peak_guessed, codes[rows], device.size[rows])
    for colour, group in zip(colours, chosen.tolist(), strict=True):
        name = found.name(int(keys[group]))
        if guesses[group]:
            part, whole = int(at_peak_guessed[group]), int(at_peak[group])
            name = inferred_part(name, part, whole, all_of_it=bool(guesses[group] == every[group]))
        areas.append(
            Area(int(keys[group]), name.name, name.detail, name.place, name.filter, colour, 1, int(at_peak[group]))
        )  # fmt: skip
    rest = int(np.count_nonzero(others))
    if rest:
        areas.append(Area(OTHER, phrase("Other"), NOTHING, None, "", OTHER, rest, int(at_peak[others].sum())))
    ranks = np.full(len(keys) or 1, len(chosen), np.uint8)
    ranks[chosen] = np.arange(len(chosen))
    return Areas(areas, ranks[codes])


def _figures(device: Device, codes: U32, groups: int) -> tuple[I64, I64]:
    """The bytes of each group at the peak, and their maximum over some moments of the whole run."""
    if not groups:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    columns = int(np.clip(_MOST_SUMS // groups, 1, _LOOKED_AT))
    axis = device.info.event_axis
    box = Box("event", axis.x0, max(axis.x1, axis.x0 + 1), 0.0, 1.0, columns, 1)
    grid = grid_of(device, device, box)
    # one of them is the peak, as each column shows its moment with the most memory
    sums = np.zeros((1, columns, groups), np.int64)
    live_by_group(lives_of(device), codes, _NO_HIGHLIGHTED, grid.shown(), sums, _NEVER_SEEN)
    rows = live_rows(device, device.info.peak_moment)
    at_peak = np.zeros(groups, np.int64)
    np.add.at(at_peak, codes[rows], device.size[rows])
    return at_peak, np.maximum(sums[0].max(axis=0), at_peak)


def _largest(at_peak: I64, most: I64) -> npt.NDArray[np.intp]:
    """The groups that become areas, in the order of their bytes at the peak.

    They are those with the highest maximum, so that what grows after the peak has its own area, too.
    """
    chosen = np.argsort(-most, kind="stable")[:MOST_AREAS]
    chosen = chosen[most[chosen] > 0]
    return chosen[np.lexsort((chosen, -most[chosen], -at_peak[chosen]))]


def _colours(snapshot: Snapshot, device: Device, by: GroupedBy, keys: npt.NDArray[np.intp]) -> list[int]:
    """A number for the colour of each group: its rank in the whole device; groups without a rank follow."""
    if device.rows is None:
        return list(range(len(keys)))
    whole = areas_of(snapshot, device.info.device, "", by).areas
    known = {area.key: area.colour for area in whole if area.key != OTHER}
    found = [known.get(key) for key in keys.tolist()]
    free = iter(sorted(set(range(len(keys) + MOST_AREAS)) - set(found)))
    return [next(free) if colour is None else colour for colour in found]
