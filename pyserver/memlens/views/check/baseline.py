"""Baselines: what limits need to know of a snapshot, in a few kilobytes, so that nobody has to keep the snapshot.

A baseline has figures, and the files, lines, functions and types that hold the most. It has nothing of what objects
contain.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import Struct

from memlens.errors import BadRequestError, MemlensError
from memlens.model.info import Model, SnapshotInfo
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.units import shortened
from memlens.views.check.answers import Limit, LimitLine, LimitName, Measured
from memlens.views.check.lines import Lines, lines_of
from memlens.views.check.measuring import measured

VERSION = 1
"""Raised whenever an older Memlens would misread a baseline."""
MOST_BYTES = 1 << 20
"""The largest file that may be a baseline."""
BASELINE_LINES, _FEWEST_LINES = 15, 3
_LONGEST_NAME = 160
_ALWAYS = (Limit("max-peak"), Limit("max-leaked"), Limit("max-growth-per-step"))
_DIGITS = 3


class BaselineLine(Struct, frozen=True, array_like=True):
    """A line with its part of a figure."""

    file: str
    line: int
    function: str
    amount: float


class BaselineFigure(Struct, frozen=True, omit_defaults=True):
    """What a limit is about, and the lines with the most of it; any other has at most ``rest``."""

    limit: LimitName
    amount: float
    unit: str = "bytes"
    of: str = ""
    device: int | None = None
    lines: list[BaselineLine] = []
    rest: float = 0


class Baseline(Struct, frozen=True):
    """What is known of a base. ``memlens_baseline`` is the version of the form."""

    memlens_baseline: int
    name: str
    model: Model
    kind: str
    figures: list[BaselineFigure]

    def figure(self, limit: Limit, device: int | None) -> BaselineFigure | None:
        """What the base has of a limit's figure."""
        for each in self.figures:
            if (each.limit, each.of, each.device) == (limit.name, limit.of, device):
                return each
        return None


class BaselineError(MemlensError):
    """A baseline that can't be used."""

    code = "baseline"
    retry = False
    advice = phrase("Make it again from its snapshot: memlens baseline FILE -o BASE.")


def baseline_of(snapshot: Snapshot, limits: Iterable[Limit], most_lines: int = BASELINE_LINES) -> Baseline:
    """The baseline of a snapshot, for some limits besides those that any file may answer; queries are added by
    :func:`with_figures`.
    """
    asked = {(limit.name, limit.of): limit for limit in (*_ALWAYS, *limits)}
    figures = [
        each
        for limit in asked.values()
        if limit.name not in ("max-sql", "no-finding")
        for each in _figures(snapshot, limit, most_lines)
    ]
    info = snapshot.info
    return Baseline(VERSION, PurePath(info.path).name, info.model, info.kind, figures)


def with_figures(baseline: Baseline, found: Iterable[tuple[Limit, Measured]]) -> Baseline:
    """A baseline with figures of queries."""
    more = [
        BaselineFigure(limit.name, each.amount, each.unit, limit.of, each.device) for limit, each in found
    ]
    return msgspec.structs.replace(baseline, figures=[*baseline.figures, *more])


def _figures(snapshot: Snapshot, limit: Limit, most_lines: int) -> Iterator[BaselineFigure]:
    try:
        found = measured(snapshot, limit)
    except BadRequestError:
        return
    for each in found:
        # a snapshot of many devices has a baseline as small
        rows, rest = lines_of(snapshot, limit, each.device, max(most_lines // len(found), _FEWEST_LINES))
        lines = [
            BaselineLine(_cut(row.file), row.line, shortened(row.function, _LONGEST_NAME), _short(row.amount))
            for row in rows
        ]
        yield BaselineFigure(
            limit.name, _short(each.amount), each.unit, limit.of, each.device, lines, _short(rest)
        )


def _cut(path: str) -> str:
    """A path of which the end stays, by which files are paired."""
    return path if len(path) <= _LONGEST_NAME else f"…{path[1 - _LONGEST_NAME :]}"


def _short(amount: float) -> float:
    """An amount as few digits write it: whole if it is."""
    return int(amount) if float(amount).is_integer() else round(amount, _DIGITS)


def lines_in(figure: BaselineFigure) -> Lines:
    """The lines that a base has of a figure."""
    rows = [LimitLine(each.file, each.line, each.function, each.amount, figure.unit) for each in figure.lines]
    return Lines(rows, figure.rest)


def encoded(baseline: Baseline) -> bytes:
    """A baseline as JSON, a line for each figure so that a diff is short."""
    head, *figures = (
        msgspec.json.encode(msgspec.structs.replace(baseline, figures=[])),
        *map(msgspec.json.encode, baseline.figures),
    )
    return head.removesuffix(b"[]}") + b"[\n" + b",\n".join(figures) + b"\n]}\n"


def decoded(content: bytes) -> Baseline | None:
    """The baseline in the content of a file; None if it is none. Raises :class:`BaselineError`."""
    try:
        found: Any = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(found, dict) or "memlens_baseline" not in found:
        return None
    version = found["memlens_baseline"]
    if isinstance(version, int) and version > VERSION:
        raise BaselineError(
            phrase(
                "The baseline was written by a newer Memlens: its form is {version}, and this one reads {own}",
                version=version,
                own=VERSION,
            ),
            advice=phrase("Update Memlens, or make the baseline again with this one."),
        )
    try:
        return msgspec.convert(found, Baseline)
    except msgspec.ValidationError as error:
        raise BaselineError(phrase("The baseline is damaged: {reason}", reason=str(error))) from None


def check_same_kind(baseline: Baseline, info: SnapshotInfo) -> None:
    """Raise :class:`BadRequestError` if a snapshot is of another format than its base, which may mean other figures."""
    if (baseline.model, baseline.kind) != (info.model, info.kind):
        raise BadRequestError(
            phrase(
                "{base} is of another format ({kind}) than this file ({other_kind})",
                base=baseline.name,
                kind=baseline.kind,
                other_kind=info.kind,
            ),
            advice=phrase("Compare with a base of the same format."),
        )


def figures_of_queries(limits: Sequence[Limit]) -> list[Limit]:
    """The limits whose figures are answers of queries."""
    return [limit for limit in limits if limit.name == "max-sql"]
