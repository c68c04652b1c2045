"""The findings of two heap dumps: which are new, which are gone, and which are about more or less than before."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from memlens.views.findings.answers import Figure, FindingName, SnapshotFinding

FindingChange = Literal["new", "gone", "grown", "shrunk", "same"]


class ComparedFinding(Struct, frozen=True):
    """A finding of one dump or of both, with what its figure is in each; None where a dump doesn't have it.

    ``rule``, ``title`` and ``subject`` are those by which it was found in both, and the figures are of these: where a
    dump has several findings of the same bytes as one, not always those that its sentence begins with.
    ``difference`` counts what a dump doesn't have as 0.
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
        """The later dump's finding, else the earlier one's: one of them there is."""
        found = self.after or self.before
        if found is None:
            raise ValueError("a compared finding of neither dump")
        return found

    def has(self, search: str) -> bool:
        """Whether its title and its sentence together have all words of a search."""
        said = f"{self.title} {self.shown.text}".lower()
        return all(word in said for word in search.lower().split())


class FindingsComparison(Struct, frozen=True):
    """The largest difference first; of equals, the later dump's order."""

    rows: list[ComparedFinding]


class _Named(NamedTuple):
    """A finding by one of its names: its own, which is the 0th, or that of one about the same bytes."""

    finding: int
    place: int
    name: FindingName


Key = tuple[str, str, int]
"""A rule, a subject, and a place among all that have both, the largest first."""


class _Side:
    """A dump's findings by all their names."""

    def __init__(self, findings: Sequence[SnapshotFinding]) -> None:
        self.findings = findings
        named = [
            _Named(number, place, name)
            for number, finding in enumerate(findings)
            for place, name in enumerate(finding.names)
        ]
        self._by_key: dict[Key, _Named] = {}
        self._keys: dict[tuple[int, int], Key] = {}
        alike: Counter[tuple[str, str]] = Counter()
        for each in sorted(named, key=lambda each: -each.name.figure.amount):
            key = each.name.rule, each.name.subject
            self._by_key[*key, alike[key]] = each
            self._keys[each.finding, each.place] = (*key, alike[key])
            alike[key] += 1

    def names(self, number: int) -> list[tuple[Key, FindingName]]:
        """The names of a finding, its own first."""
        names = self.findings[number].names
        return [(self._keys[number, place], name) for place, name in enumerate(names)]

    def find(self, key: Key) -> _Named | None:
        """The finding of a name."""
        return self._by_key.get(key)


def compared(before: Sequence[SnapshotFinding], after: Sequence[SnapshotFinding]) -> FindingsComparison:
    """Pair the findings of two dumps by rule and subject.

    A finding whose own name the other dump doesn't have is found by the names of the others about the same bytes.
    """
    earlier, later = _Side(before), _Side(after)
    rows: list[ComparedFinding] = []
    paired: set[int] = set()
    for number, finding in enumerate(after):
        name, found = _match(later.names(number), earlier)
        if found is None:
            rows.append(_row(name, None, finding, None, name.figure))
            continue
        paired.add(found.finding)
        rows.append(_row(name, before[found.finding], finding, found.name.figure, name.figure))
    for number, finding in enumerate(before):
        if number in paired:
            continue
        name, found = _match(earlier.names(number), later)
        if found is None:
            rows.append(_row(name, finding, None, name.figure, None))
        else:
            rows.append(_row(name, finding, after[found.finding], name.figure, found.name.figure))
    # sorting keeps the order of equals
    return FindingsComparison(sorted(rows, key=lambda row: -abs(row.difference)))


def _match(names: list[tuple[Key, FindingName]], other: _Side) -> tuple[FindingName, _Named | None]:
    """The first of a finding's names that the other dump has, and what has it there; else its own name."""
    for key, name in names:
        found = other.find(key)
        if found is not None:
            return name, found
    return names[0][1], None


def _row(
    name: FindingName,
    before: SnapshotFinding | None,
    after: SnapshotFinding | None,
    before_figure: Figure | None,
    after_figure: Figure | None,
) -> ComparedFinding:
    first = 0 if before_figure is None else before_figure.amount
    second = 0 if after_figure is None else after_figure.amount
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
        name.rule, name.title, name.subject, change, before, after,
        before_figure, after_figure, second - first,
    )  # fmt: skip
