"""The function by which long-running work reports its progress."""

from collections.abc import Callable

Report = Callable[[str, float], None]
"""Called with the name of a stage and the fraction of it that is done, 0 to 1."""


def part_of(report: Report, start: float, end: float) -> Report:
    """Return a function that reports the progress of a part of the work that takes it from ``start`` to ``end``."""
    return lambda stage, fraction: report(stage, start + (end - start) * min(max(fraction, 0.0), 1.0))
