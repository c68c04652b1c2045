"""The headline and the findings of a snapshot.

Both are kept in the archive for what a snapshot shows first. For another device, or after a change of the setting for
libraries, a trace of millions of events takes about a second. Those of a large heap dump are made by a process of their
own when one of them is asked for the first time.
"""

from msgspec import Struct


class FindingsStateParams(Struct, frozen=True):
    """Asks how much of a large heap dump's findings is done; they may take seconds the first time."""

    snapshot: str


class FindingsState(Struct, frozen=True):
    """``fraction`` is the part that is done, None while they aren't being made."""

    fraction: float | None
