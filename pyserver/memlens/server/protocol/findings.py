"""The headline and the findings of a snapshot.

Both are kept in the archive for what a snapshot shows first. For another device, or after a change of the setting for
libraries, a trace of millions of events takes about a second. Those of a large heap dump are made by a process of their
own when one of them is asked for the first time.
"""

from typing import Annotated

from msgspec import Meta, Struct


class HeadlineParams(Struct, frozen=True):
    """The headline of a trace is about one device; None means the one to show first. Profiles have none."""

    snapshot: str
    device: int | None = None


class FindingsParams(Struct, frozen=True):
    """Likewise. At most ``limit`` findings, the most important first."""

    snapshot: str
    device: int | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class FindingsStateParams(Struct, frozen=True):
    """How far the findings of a large heap dump are, which may take seconds the first time."""

    snapshot: str


class FindingsState(Struct, frozen=True):
    """``fraction`` is the part that is done, None while they aren't being made."""

    fraction: float | None
