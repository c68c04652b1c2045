"""The findings of two heap dumps compared: new, gone, larger and smaller ones."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from memlens.views.findings.answers import Figure, FindingName, SnapshotFinding

FindingChange = Literal["new", "gone", "grown", "shrunk", "same"]


class ComparedFinding(Struct, frozen=True):
    """A finding of one dump or of both, with its figure in each; None if a dump lacks it.

    ``rule``, ``title`` and ``subject`` are those by which it was found in both, and the figures are of these: where a
    dump has several findings of the same bytes as one, not always those that its sentence begins with. One of the two
    may be too small to be a finding of its dump alone. ``difference`` counts a missing one as 0.
    """

    rule: str
    title: str
    subject: str
    change: FindingChange
    before: SnapshotFinding | None
    after: SnapshotFinding | None
    before_figure: Figure | None
    after_figure: Figure | None
    difference: int

    @property
    def shown(self) -> SnapshotFinding:
        """The later dump's finding, or else the earlier one's."""
        found = self.after or self.before
        if found is None:
            raise ValueError("a compared finding of neither dump")
        return found

    def has(self, search: str) -> bool:
        """Whether title and sentence together contain all words of a search."""
        said = f"{self.title} {self.shown.text}".lower()
        return all(word in said for word in search.lower().split())


class FindingsComparison(Struct, frozen=True):
    """The findings of both dumps, the largest difference first; of equals, in the later dump's order."""

    rows: list[ComparedFinding]


Key = tuple[str, str, int]
"""A rule, a subject, and a rank by size among all findings of a dump that have both."""


class _Named(NamedTuple):
    """A finding's number and one of its names: its own, or that of another about the same bytes."""

    number: int
    finding: SnapshotFinding
    name: FindingName


def _by_key(findings: Sequence[SnapshotFinding]) -> dict[Key, _Named]:
    """A dump's findings by all their names; a finding's own name stands before those about the same bytes."""
    named = [
        _Named(number, finding, name) for number, finding in enumerate(findings) for name in finding.names
    ]
    alike: Counter[tuple[str, str]] = Counter()
    place: dict[int, Key] = {}
    for at in sorted(range(len(named)), key=lambda at: -named[at].name.figure.amount):
        name = named[at].name
        place[at] = (name.rule, name.subject, alike[name.rule, name.subject])
        alike[name.rule, name.subject] += 1
    return {place[at]: each for at, each in enumerate(named)}


def compared(
    before: Sequence[SnapshotFinding],
    after: Sequence[SnapshotFinding],
    little_before: Sequence[Sequence[SnapshotFinding]] = (),
    little_after: Sequence[Sequence[SnapshotFinding]] = (),
) -> FindingsComparison:
    """Pair the findings of two dumps by rule and subject.

    A finding whose own name the other dump lacks is matched by the names of others about the same bytes, or else with
    findings that are too small in the other dump (:func:`memlens.views.findings.table.compared_with`).
    """
    earlier, later = _by_key(before), _by_key(after)
    little_earlier, little_later = (
        [_by_key(each) for each in little] for little in (little_before, little_after)
    )
    rows: list[ComparedFinding] = []
    paired: set[int] = set()
    for names in _of_each(later):
        mine, found, is_said = _match(names, earlier, little_earlier)
        if found is not None and is_said:
            paired.add(found.number)
        rows.append(_row(mine.name, found, mine))
    for names in _of_each(earlier):
        if names[0][1].number not in paired:
            mine, found, _ = _match(names, later, little_later)
            rows.append(_row(mine.name, mine, found))
    # sorting keeps the order of equals
    return FindingsComparison(sorted(rows, key=lambda row: -abs(row.difference)))


def lacking(comparison: FindingsComparison) -> tuple[frozenset[str], frozenset[str]]:
    """The rules of new and of gone findings: those to look for in the earlier dump, and in the later one."""
    new, gone = (
        frozenset(row.rule for row in comparison.rows if row.change == change) for change in ("new", "gone")
    )
    return new, gone


def _of_each(keys: dict[Key, _Named]) -> list[list[tuple[Key, _Named]]]:
    """The names of each finding, in the order of the findings."""
    found: dict[int, list[tuple[Key, _Named]]] = defaultdict(list)
    for key, named in keys.items():
        found[named.number].append((key, named))
    return list(found.values())


def _match(
    names: list[tuple[Key, _Named]], said: dict[Key, _Named], little: list[dict[Key, _Named]]
) -> tuple[_Named, _Named | None, bool]:
    """The first of a finding's names that the other dump has, the finding with it there, and whether that one is
    listed.
    """
    for key, mine in names:
        if key in said:
            return mine, said[key], True
    key, own = names[0]
    return own, next((each[key] for each in little if key in each), None), False


def _row(name: FindingName, before: _Named | None, after: _Named | None) -> ComparedFinding:
    first = 0 if before is None else before.name.figure.amount
    second = 0 if after is None else after.name.figure.amount
    change: FindingChange
    if before is None:
        change = "new"
    elif after is None:
        change = "gone"
    elif first == second:
        change = "same"
    else:
        change = "grown" if first < second else "shrunk"
    return ComparedFinding(
        name.rule, name.title, name.subject, change,
        None if before is None else before.finding, None if after is None else after.finding,
        None if before is None else before.name.figure, None if after is None else after.name.figure, second - first,
    )  # fmt: skip
