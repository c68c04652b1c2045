"""The input of the rules for profiles: values by meaning, and their sums by line."""

from dataclasses import dataclass

from memlens.model.attribution import Attribution
from memlens.model.info import ProfileInfo, ProfileValue, ValueMeaning
from memlens.model.profile import value_with
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.findings.answers import Evidence, Figure, FigureKind
from memlens.views.findings.groups import TopGroup, TopGroups, sample_sql, top_groups
from memlens.views.lines.charged import charged_amounts
from memlens.views.selection.sets import AllocationSet

MOST_LINES = 200
_OWN_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class ProfileCase:
    """A profile."""

    snapshot: Snapshot
    info: ProfileInfo

    @property
    def main(self) -> ProfileValue:
        """The value that is shown first."""
        return self.info.values[self.info.default_value]

    def number(self, unit: str, *meanings: ValueMeaning) -> int | None:
        """The number of the value with a unit and the first available of some meanings; None if there is none."""
        found = (value_with(self.info.values, meaning, unit) for meaning in meanings)
        return next((number for number in found if number is not None), None)

    def total(self, value: int) -> int:
        """The sum of all samples."""
        return self.info.values[value].total

    def of(self, value: int) -> AllocationSet:
        """All samples, by a value."""
        return AllocationSet(0, value=value)

    @property
    def attribution(self) -> Attribution:
        """The attribution of lines: "any" code if the user's has less than 2% of the main value."""
        return _attribution(self.snapshot, self.info.default_value)

    def by_line(self, value: int, kind: FigureKind) -> TopGroups:
        """The sums of a value by line, the largest first."""
        return _by_line(self.snapshot, value, kind, self.attribution)

    def amounts(self, value: int) -> dict[str, int]:
        """The sum of a value for each line, by the line's filter."""
        return {group.evidence.of.filter: group.amount for group in self.by_line(value, "value").groups}

    def whole(self, value: int, kind: FigureKind) -> Figure:
        """The sum of all samples as a figure."""
        return Figure(self.total(value), self.info.values[value].unit, kind, sample_sql(value))

    def unnamed_sql(self, value: int) -> str:
        """A query for the sum charged to functions known by address only."""
        unnamed = "(function LIKE '0x%' OR function LIKE '% at 0x%') AND kind = 'native'"
        return sample_sql(value, unnamed, self.attribution)

    def evidence(self, value: int) -> Evidence:
        """All samples by line."""
        return Evidence("liveSet", self.of(value), "line")


def is_own(group: TopGroup) -> bool:
    """Whether a group is a line of the user's code."""
    return group.kind == "user" and group.line is not None


@kept
def _attribution(snapshot: Snapshot, value: int) -> Attribution:
    charged, total = charged_amounts(snapshot, value, "mine")
    own = sum(each.amount for each in charged if each.to == "user")
    return "mine" if own >= _OWN_SHARE * total and own > 0 else "any"


@kept
def _by_line(snapshot: Snapshot, value: int, kind: FigureKind, attribution: Attribution) -> TopGroups:
    of = AllocationSet(0, value=value)
    return top_groups(snapshot, of, "line", MOST_LINES, kind, attribution=attribution)
