"""The answer about the memory map's lanes and their heights."""

import numpy as np
from msgspec import Struct

from memlens.kernels.trace import allocator as kernel
from memlens.store.snapshot import Snapshot
from memlens.views.trace.picture.lanes import NO_SEGMENT, layout_of

MOST_LANES = 4000


class MapLane(Struct, frozen=True):
    """A range of addresses, whose height is its length, from the height ``y`` on."""

    y: float
    size_bytes: int
    address: str
    """Hexadecimal."""
    expandable: bool


class MapGroup(Struct, frozen=True):
    """The lanes of a stream and a pool: ``lane_count`` from the height ``y`` up to ``y + height``."""

    y: float
    height: float
    stream: str
    pool: str | None
    """The private pool's id, ``"0, 1"``; None for the default pool and where the file doesn't record it."""
    known: bool
    """False for what is in no segment of the file."""
    lane_count: int


class MapLanesAnswer(Struct, frozen=True):
    """``top`` is the total height. ``lanes`` are the largest ``MOST_LANES``, from the bottom up."""

    device: int
    top: float
    lanes: list[MapLane]
    lane_count: int
    groups: list[MapGroup]


def map_lanes(snapshot: Snapshot, device: int) -> MapLanesAnswer:
    """The lanes and groups of a device's map. Raises BadRequestError."""
    layout = layout_of(snapshot, device)
    kept = np.sort(np.argsort(-layout.lanes["size"], kind="stable")[:MOST_LANES])
    manifest = snapshot.manifest
    return MapLanesAnswer(
        device=device,
        top=float(layout.top),
        lanes=[
            MapLane(
                float(lane["y"]),
                int(lane["size"]),
                hex(int(lane["address"])),
                bool(lane["flags"] & kernel.EXPANDABLE),
            )
            for lane in layout.lanes[kept]
        ],
        lane_count=len(layout.lanes),
        groups=[
            MapGroup(
                y=float(group["y"]),
                height=float(group["size"]),
                stream="" if group["stream"] == NO_SEGMENT else str(manifest.streams[int(group["stream"])]),
                pool=_pool(manifest.pools, int(group["pool"])),
                known=bool(group["pool"] != NO_SEGMENT),
                lane_count=int(group["lanes"]),
            )
            for group in layout.groups
        ],
    )


def _pool(pools: list[tuple[int, int]], row: int) -> str | None:
    """A pool's id; row 0 is "not recorded"."""
    if row <= 0 or tuple(pools[row]) == (0, 0):
        return None
    return f"{pools[row][0]}, {pools[row][1]}"
