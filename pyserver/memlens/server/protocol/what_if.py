"""What would have happened with other settings of an allocator, or without some allocations."""

from typing import Annotated

from msgspec import Meta, Struct

from memlens.texts import Text
from memlens.views.trace.what_if import MOST_SETTINGS, WhatIf

MOST_TERMS = 64
"""How many filters may be left out at once."""


class WhatIfParams(Struct, frozen=True):
    """A device's trace, replayed with each of ``settings`` without what any filter of ``without`` matches.

    Without both, some settings that may help are tried.
    """

    snapshot: str
    device: int
    settings: Annotated[list[str], Meta(max_length=MOST_SETTINGS)]
    without: Annotated[list[str], Meta(max_length=MOST_TERMS)]


class WhatIfAnswer(Struct, frozen=True):
    """What the replays came to; ``exactness`` and ``conclusion`` are sentences, the latter None without a replay."""

    found: WhatIf
    exactness: Text
    conclusion: Text | None
