"""The function by which long-running work reports its progress."""

from collections.abc import Callable

Report = Callable[[str, float], None]
"""Called with the name of a stage and the fraction of it that is done, 0 to 1."""
