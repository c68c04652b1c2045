"""Annotations along the run, its steps, and what grows from step to step."""

from typing import Annotated

from msgspec import Meta, Struct

from memlens.server.protocol.base import Count, Pixels
from memlens.views.answers import Axis


class AnnotationsParams(Struct, frozen=True):
    """The lanes over ``[x0, x1]`` in ``columns`` pixels; with ``noise`` what is left out by default, too."""

    snapshot: str
    device: int
    axis: Axis
    x0: float
    x1: float
    columns: Pixels
    noise: bool = False


class StepsParams(Struct, frozen=True):
    """Some rows of the table of steps. A ``filter`` narrows the figures, not the steps."""

    snapshot: str
    device: int
    offset: Count
    limit: Annotated[int, Meta(ge=1, le=10_000)]
    filter: str = ""


class GrowthParams(Struct, frozen=True):
    """The lines that grow the most from step to step."""

    snapshot: str
    device: int
    limit: Annotated[int, Meta(ge=1, le=1_000)]
    filter: str = ""
