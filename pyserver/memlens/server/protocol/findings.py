"""The headline and the findings of a snapshot.

Both are computed with the archive for what a snapshot shows first, and so are among a view's first questions. For
another device, or after a change of the setting for libraries, a trace of millions of events takes about a second.
"""

from typing import Annotated

from msgspec import Meta, Struct

from memlens.server.protocol.base import Requests
from memlens.views.findings.answers import FindingsAnswer, HeadlineAnswer


class HeadlineParams(Struct, frozen=True):
    """The headline of a trace is about one device; None means the one to show first. Profiles have none."""

    snapshot: str
    device: int | None = None


class FindingsParams(Struct, frozen=True):
    """Likewise. At most ``limit`` findings, the most important first."""

    snapshot: str
    device: int | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


REQUESTS: Requests = {
    "memlens/headline": (HeadlineParams, HeadlineAnswer),
    "memlens/findings": (FindingsParams, FindingsAnswer),
}
