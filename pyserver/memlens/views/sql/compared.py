"""The rows of one query about two snapshots beside each other: any table compared."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from memlens.texts import phrase
from memlens.views.sql.pages import Cell, SqlAnswer, SqlColumn
from memlens.views.sql.query import SqlError, SqlSort

MOST_COMPARED = 100_000
"""The most rows of each side."""

_OWN_NUMBERS = frozenset(
    (
        *("allocation", "annotation", "block", "class", "dominator", "event", "frame", "holder", "object"),
        *("ref", "sample", "segment", "source", "stack", "string", "target", "thread"),
    )
)
"""Columns whose numbers are those of one snapshot: they lead somewhere there, and a difference means nothing."""

_IDENTIFYING = frozenset(("line", "device", "depth"))
"""Columns of numbers by which rows are told apart, as by text."""

_NUMBERS = ("integer", "real")


class QuerySide(NamedTuple):
    """All rows of a query about one snapshot."""

    columns: list[SqlColumn]
    rows: list[list[Cell]]


class _Plan(NamedTuple):
    """What each column of the query is; numbers of columns."""

    keys: list[int]
    compared: list[int]
    others: list[int]


def compare_queries(
    before: QuerySide, after: QuerySide, key: Sequence[str] = (), *, own_after: bool = True
) -> QuerySide:
    """The rows of both sides, each pair as one, the largest difference in the first bytes, else number, first.

    Rows belong together whose columns of ``key`` are equal; where that is empty those that aren't numbers. Several
    rows of one key are paired in their order. Of other columns of numbers there are three: before, after, and the
    difference, in which a missing row counts as 0. Further columns, and numbers of objects and the like, are those of
    the side after if ``own_after``, else of the one before. Raises :class:`SqlError`.
    """
    names = [column.name for column in after.columns]
    if [column.name for column in before.columns] != names:
        raise SqlError(phrase("The query has other columns in the other file"))
    plan = _plan(before, after, key)
    own, other = (after, before) if own_after else (before, after)
    rows: list[list[Cell]] = []
    others_left = dict(_by_key(other, plan))
    for of_key, row in _by_key(own, plan):
        rows.append(_joined(plan, row, others_left.pop(of_key, None), own_after=own_after))
    rows += [_joined(plan, None, row, own_after=own_after) for row in others_left.values()]
    columns = [
        *(_column(before, after, number) for number in plan.keys),
        *(
            SqlColumn(f"{side} {names[number]}", _column(before, after, number).type)
            for number in plan.compared
            for side in ("before", "after", "difference")
        ),
        *(own.columns[number] for number in plan.others),
    ]
    if plan.compared:
        by = next((at for at, number in enumerate(plan.compared) if names[number].endswith("_bytes")), 0)
        difference = len(plan.keys) + 3 * by + 2
        rows.sort(key=lambda row: -abs(_amount(row[difference])))
    return QuerySide(columns, rows)


class Pages:
    """Collects all rows of a query, page by page. Raises :class:`SqlError` for too many."""

    def __init__(self) -> None:
        self._pages: list[SqlAnswer] = []

    @property
    def offset(self) -> int:
        """Where the next page begins."""
        return sum(len(page.rows) for page in self._pages)

    def add(self, page: SqlAnswer) -> bool:
        """Add the next page. Whether another one follows."""
        self._pages.append(page)
        if page.more and self.offset >= MOST_COMPARED:
            raise SqlError(
                phrase("The query has more than {most} rows", most=MOST_COMPARED),
                advice=phrase("Group them, or ask for fewer."),
            )
        return page.more

    @property
    def side(self) -> QuerySide:
        """All that was added."""
        first, *further = self._pages
        side = QuerySide(first.columns, list(first.rows))
        for page in further:
            side.rows.extend(page.rows)
            both = QuerySide(page.columns, page.rows)
            side = side._replace(columns=[_column(side, both, at) for at in range(len(side.columns))])
        return side


def answer_page(
    compared: QuerySide, offset: int, limit: int, sort: SqlSort | None, took_ms: float
) -> SqlAnswer:
    """A page of compared rows, as of a query. Raises :class:`SqlError` for a column that there isn't."""
    rows = compared.rows
    if sort is not None:
        if not 0 <= sort.column < len(compared.columns):
            raise SqlError(phrase("The result can't be sorted by that column"))
        # SQLite's order: NULL, numbers, text
        rows = sorted(rows, key=lambda row: _rank(row[sort.column]), reverse=sort.descending)
    page = rows[offset : offset + limit]
    return SqlAnswer(compared.columns, page, offset, offset + len(page) < len(rows), took_ms)


def _plan(before: QuerySide, after: QuerySide, key: Sequence[str]) -> _Plan:
    names = [column.name.lower() for column in after.columns]
    unknown = [name for name in key if name.lower() not in names]
    if unknown:
        raise SqlError(
            phrase("The query has no column {name}", name=unknown[0]),
            advice=phrase("It has {names}.", names=", ".join(names)),
        )
    wanted = {name.lower() for name in key}
    plan = _Plan([], [], [])
    for number, name in enumerate(names):
        is_number = _column(before, after, number).type in _NUMBERS
        if name in wanted or (not wanted and (name in _IDENTIFYING or not is_number)):
            plan.keys.append(number)
        elif is_number and name not in _OWN_NUMBERS:
            plan.compared.append(number)
        else:
            plan.others.append(number)
    if not plan.keys and max(len(before.rows), len(after.rows)) > 1:
        raise SqlError(
            phrase("No column of the query tells its rows apart"),
            advice=phrase("Name the columns that do as its key."),
        )
    return plan


def _column(before: QuerySide, after: QuerySide, number: int) -> SqlColumn:
    """A column with the type of the side that has values."""
    mine, theirs = after.columns[number], before.columns[number]
    if theirs.type in (mine.type, "none"):
        return mine
    if mine.type == "none":
        return theirs
    known = {mine.type, theirs.type}
    return SqlColumn(mine.name, "real" if known == {"integer", "real"} else "mixed")


def _by_key(side: QuerySide, plan: _Plan) -> list[tuple[tuple[Cell, ...], list[Cell]]]:
    seen: Counter[tuple[Cell, ...]] = Counter()
    found = []
    for row in side.rows:
        key = tuple(row[number] for number in plan.keys)
        found.append(((*key, seen[key]), row))
        seen[key] += 1
    return found


def _joined(plan: _Plan, own: list[Cell] | None, other: list[Cell] | None, *, own_after: bool) -> list[Cell]:
    either = own if own is not None else other
    if either is None:
        return []
    before, after = (other, own) if own_after else (own, other)
    cells = [either[number] for number in plan.keys]
    for number in plan.compared:
        sides = [None if row is None else row[number] for row in (before, after)]
        cells += [*sides, _amount(sides[1]) - _amount(sides[0])]
    return cells + [None if own is None else own[number] for number in plan.others]


def _amount(cell: Cell) -> float:
    return cell if isinstance(cell, int | float) else 0


def _rank(cell: Cell) -> tuple[int, float, str]:
    if cell is None:
        return 0, 0, ""
    return (2, 0, cell) if isinstance(cell, str) else (1, cell, "")
