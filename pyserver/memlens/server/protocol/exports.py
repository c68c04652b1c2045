"""A snapshot's pictures and report as texts to save, and a heap dump without its values."""

from typing import Literal

from msgspec import Struct


class SvgResult(Struct, frozen=True):
    """A picture as an SVG document."""

    svg: str


class ReportResult(Struct, frozen=True):
    """A report as one page of HTML, or as Markdown; or one finding as Markdown."""

    text: str


class RedactParams(Struct, frozen=True):
    """Write the heap dump at ``path`` without its values to ``out``, which is replaced if it exists.

    With a file for the ``mapping`` that leads back, which heap dumps have, classes of the program and what belongs
    to them get other names; empty if they stay.
    Cancelling this request removes what was written. Progress comes as ``memlens/progress`` notifications with that
    ``view``.
    """

    path: str
    out: str
    mapping: str
    view: str


class RedactResult(Struct, frozen=True):
    """``note`` says where the dump breaks off; empty for a whole one.

    ``mapping`` is the file that leads back to the names; empty where they stay. ``staying`` are lines about the texts
    that stay in the copy, for the user to look at before it is sent.
    """

    note: str
    mapping: str
    staying: str


class SaveParams(Struct, frozen=True):
    """Write what a view has made to the file ``path``, which the user has chosen, and confirmed if it exists.

    It is refused for ``source``, the file of the view, for archives and for snapshots, and appears whole or not at all.
    """

    source: str
    path: str
    text: str
    form: Literal["utf8", "base64"]
