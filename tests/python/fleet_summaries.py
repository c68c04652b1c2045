"""Generated summaries of a job of 12 ranks, from which tests compute results by hand."""

import numpy as np

from memlens.fleet.summary import rank_of
from memlens.fleet.tables import (
    CurveRow,
    LineRow,
    OomRow,
    PeakRow,
    SnapshotRow,
    StepRow,
    Summary,
    TypeRow,
)

GIB = 1 << 30
RANKS = 12
LINES = [("job/model.py", number, f"layer{number}") for number in range(10, 16)]


def made(rank: int) -> Summary:
    """A rank's summary: rank 7 keeps more at one line, ranks 3 and 7 run out, a leak grows from rank to rank."""
    random = np.random.default_rng(rank)
    own = [GIB + int(random.integers(1 << 20)) for _ in LINES]
    if rank == 7:
        own[2] += 3 * GIB
    at_end = [amount // 2 for amount in own]
    at_end[4] = 1000 * rank * rank
    peak = sum(own)
    origin = 1_700_000_000_000_000 + rank * 250
    events = {3: 40.0, 7: 20.0}
    return Summary(
        model="timeline", kind="made", peak_bytes=peak, peak_unix_us=origin + 500, end_bytes=sum(at_end),
        lines_left_out=0, types_left_out=0, memory_bytes=None, figures=[],
        peaks=[PeakRow(0, peak, 5, 500, origin + 500, origin, sum(at_end), 3, None, int(rank in events))],
        curves=[CurveRow(0, number, "microseconds", number * 10.0, number * 10.0 + 10, peak * (number + 1) // 8, 0)
                for number in range(8)],
        lines=[
            *(LineRow(*place, "user", high, low, high, 1) for place, high, low in zip(LINES, own, at_end, strict=True)),
            LineRow("", 0, "", "", 0, 0, 0, 0),
        ],
        steps=[StepRow(0, number, f"step {number}", True, number * 40.0, number * 40.0 + 40, 1000 * number + rank,
                       0, 0, 0) for number in range(2 + rank % 2)],
        findings=[],
        types=[TypeRow("Session", "class", rank, 10 * rank, 77 * rank, "job/app.py", 4)] if rank else [],
        ooms=[OomRow(0, 9, us, origin + int(us), GIB, 17, peak, "out", *LINES[0][:2], LINES[0][2])
              for us in ([events[rank]] if rank in events else [])],
    )  # fmt: skip


def row_of(number: int, name: str, summary: Summary | None, problem: str | None = None) -> SnapshotRow:
    return SnapshotRow(
        number, name, rank_of(name), "ok" if summary else "damaged", None, problem, "timeline", "made", 1, None, "1",
        summary.peak_bytes if summary else None, number if summary else None, summary.end_bytes if summary else None,
        len(summary.ooms) if summary else 0, len(summary.steps) if summary else 0, 0, 0, "here", 1, 0.5, None,
    )  # fmt: skip
