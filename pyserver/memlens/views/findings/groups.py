"""The groups that have the most of a set, with the names and links that sentences need."""

from dataclasses import dataclass

import numpy as np

from memlens.store.snapshot import Snapshot
from memlens.views.answers import Frame
from memlens.views.findings.answers import Evidence, LineLink
from memlens.views.selection.items import meaning_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import AMOUNT
from memlens.views.tables.groupings import GroupKind
from memlens.views.tables.groups import Branch, groups


@dataclass(frozen=True, slots=True)
class TopGroup:
    """A group: its name for a sentence, what it has, where to look."""

    name: str
    amount: int
    count: int | None
    line: LineLink | None
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class TopGroups:
    """The groups with the most, the most first, and the whole set's sum."""

    groups: list[TopGroup]
    total: int
    unit: str


def top_groups(snapshot: Snapshot, of: AllocationSet, by: GroupKind, limit: int) -> TopGroups:
    """The first groups of a set. Raises :class:`BadRequestError`."""
    answer = groups(snapshot, Branch(of, [by]), "bytes", 0, limit, descending=True)
    found = [
        TopGroup(
            group.name,
            group.bytes,
            group.count,
            line_link(snapshot, group.place),
            Evidence(
                "liveSet",
                AllocationSet(of.device, of.kind, of.from_moment, of.to_moment, group.filter, of.value),
            ),
        )
        for group in answer.rows
    ]
    return TopGroups(found, answer.set_bytes, meaning_of(snapshot, of).types[AMOUNT].unit)


def line_link(snapshot: Snapshot, place: Frame | None) -> LineLink | None:
    """The line of a place, None for what has none."""
    if place is None or not place.file or not place.line:
        return None
    frames = snapshot.frames
    file = snapshot.strings.find(frames.file, place.file)
    found = np.flatnonzero((frames.file == file) & (frames.line == place.line))
    return LineLink(place.file, place.line, place.function, int(found[0]), place.source)


def share(amount: int, total: int) -> str:
    """A share of a whole in parentheses, empty without a whole."""
    return f" ({100 * amount / total:.0f}%)" if total > 0 and amount >= 0 else ""
