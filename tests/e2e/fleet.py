"""Makes the summaries of 400 ranks in FOLDER.fleet, of which rank 7 differs: ``python fleet.py FOLDER [PLACE]``."""

import math
import sys
from contextlib import closing
from pathlib import Path

from memlens.fleet.database import Database
from memlens.fleet.tables import CurveRow, PeakRow, SnapshotRow, StepRow, Summary

RANKS = 400
COLUMNS = 120
GIB = 1 << 30


def curve(rank: int) -> list[int]:
    """The most that was live in each column, in bytes."""
    more = 12 * GIB if rank == 7 else (rank * 7919 % 97) << 20
    return [
        round(GIB * (4 + 3 * math.sin(column / 4 + rank / 60))) + more * column // COLUMNS
        for column in range(COLUMNS)
    ]


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    place = sys.argv[2] if len(sys.argv) > 2 else str(folder)
    with closing(Database(folder.with_name(f"{folder.name}.fleet"), place)) as database:
        for rank in range(RANKS):
            values = curve(rank)
            peak = max(values)
            steps = [StepRow(0, at, f"step {at}", False, None, None, max(values[at * 30 : at * 30 + 30]), 0, 0, 0)
                     for at in range(4)]  # fmt: skip
            summary = Summary(
                model="timeline", kind="made", peak_bytes=peak, peak_unix_us=None, end_bytes=values[-1],
                lines_left_out=0, types_left_out=0, memory_bytes=None, figures=[],
                peaks=[PeakRow(0, peak, 1, None, None, None, values[-1], 1, None, int(rank == 7))],
                curves=[CurveRow(0, at, "microseconds", at * 1000.0, at * 1000.0 + 1000, value, value)
                        for at, value in enumerate(values)],
                lines=[], steps=steps, findings=[], types=[], ooms=[],
            )  # fmt: skip
            row = SnapshotRow(
                rank, f"rank{rank}.pickle", rank, "ok", None, None, "timeline", "made", 1, None, "1", peak, None,
                values[-1], int(rank == 7), len(steps), 0, 0, "here", 1, 0.5, None,
            )  # fmt: skip
            database.put(row, summary)
        damaged = SnapshotRow(
            RANKS, f"rank{RANKS}.pickle", RANKS, "damaged", "damaged", "It breaks off at byte 17.", None, None, 17,
            None, "1", None, None, None, 0, 0, 0, 0, "here", 1, 0.5, None,
        )  # fmt: skip
        database.put(damaged, None)


if __name__ == "__main__":
    main()
