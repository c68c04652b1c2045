"""How work that takes long says how far it has come."""

from collections.abc import Callable

Report = Callable[[str, float], None]
"""Called with a phase in a word or two, and the fraction of it that is done."""
