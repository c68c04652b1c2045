"""What the lines of a file keep alive at the peak by themselves, and how that compares with all other lines."""

from typing import NamedTuple

import numpy as np

from memlens.model.frames import NATIVE
from memlens.model.info import ProfileInfo
from memlens.model.profile import standing_for
from memlens.store.manifest import InconsistentError
from memlens.store.snapshot import Snapshot


class Most(NamedTuple):
    """The most that any line of a snapshot comes to, with what it calls; bytes."""

    live_at_peak_bytes: int
    total_bytes: int


def most(snapshot: Snapshot) -> Most:
    """The hottest line's figures, against which others are measured."""
    query = "SELECT coalesce(max(live_at_peak_bytes), 0), coalesce(max(total_bytes), 0) FROM source_lines"
    return Most(*snapshot.text.execute(query).get)


def self_at_peak(snapshot: Snapshot) -> dict[str, dict[int, int]]:
    """File to line to bytes live at each device's peak that were allocated at the line itself.

    A stack counts for its innermost frame of Python, as ``source_lines.self_total_bytes`` has it. Lines without any
    are left out. Of a profile it is the value that comes nearest to the peak.
    """
    if snapshot.info.profile is not None:
        return _self_of_profile(snapshot, snapshot.info.profile)
    frames = list(snapshot.text.execute("SELECT id, file, line, kind FROM frames"))
    native = np.ones(1 + max((row[0] for row in frames), default=0), bool)
    native[[row[0] for row in frames if row[3] != NATIVE and row[2] > 0]] = False
    parents = np.asarray(snapshot.column("node_parent"))
    frame_of = np.asarray(snapshot.column("node_frame"))
    at_peak = np.asarray(snapshot.column("stack_totals")).reshape(-1, 6)[:, 2]
    live = np.flatnonzero(at_peak)
    nodes = np.asarray(snapshot.column("stack_node"))[live].astype(np.int64)
    # a parent's number is lower than its child's, so this ends
    outward = np.flatnonzero(nodes)
    while len(outward := outward[native[frame_of[nodes[outward]]]]):
        above = parents[nodes[outward]].astype(np.int64)
        if np.any(above >= nodes[outward]):
            raise InconsistentError("A stack's frame has no lower number than the frame that it called")
        nodes[outward] = above
        outward = outward[above != 0]
    sums = np.zeros(len(native), np.int64)
    told = nodes != 0
    np.add.at(sums, frame_of[nodes[told]], at_peak[live[told]])
    found: dict[str, dict[int, int]] = {}
    for number, file, line, _kind in frames:
        own = int(sums[number])
        if own:
            lines = found.setdefault(file, {})
            lines[line] = lines.get(line, 0) + own
    return found


def _self_of_profile(snapshot: Snapshot, info: ProfileInfo) -> dict[str, dict[int, int]]:
    number = standing_for(info.values, "peak", "bytes")
    number = info.default_value if number is None else number
    found: dict[str, dict[int, int]] = {}
    query = "SELECT file, line, self FROM line_values WHERE value = ? AND self != 0"
    for file, line, own in snapshot.text.execute(query, (number,)):
        found.setdefault(file, {})[line] = own
    return found
