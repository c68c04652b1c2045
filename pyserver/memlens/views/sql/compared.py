"""The rows of one query about two snapshots or more beside each other: any table compared."""

from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from memlens.texts import phrase
from memlens.views.naming.stable_names import stable_name
from memlens.views.sql.pages import Cell, SqlAnswer, SqlColumn, SqlError, SqlSort

MOST_COMPARED = 100_000
"""The most rows of each side."""

_OWN_NUMBERS = frozenset(
    (
        *("allocation", "annotation", "block", "class", "dominator", "event", "frame", "holder", "object"),
        *("ref", "sample", "segment", "source", "stack", "string", "target", "thread", "type_id"),
    )
)
"""Columns whose numbers are those of one snapshot: they lead somewhere there, and a difference means nothing."""

_IDENTIFYING = frozenset(("line", "device", "depth"))
"""Columns of numbers that distinguish rows, as text does."""

_NUMBERS = ("integer", "real")


class QuerySide(NamedTuple):
    """All rows of a query about one snapshot."""

    columns: list[SqlColumn]
    rows: list[list[Cell]]
    contents: bool = False
    """As :attr:`SqlAnswer.contents`."""


_Shared: TypeAlias = list[list[Cell] | None]
"""The rows of one key, of each side; None where it has none."""


class _Plan(NamedTuple):
    """The role of each column of the query, by column number."""

    keys: list[int]
    compared: list[int]
    others: list[int]


def compare_queries(sides: Sequence[QuerySide], key: Sequence[str] = (), *, own: int = -1) -> QuerySide:
    """The rows of all sides, shared ones as one; the largest difference in the first bytes, else number, first.

    Rows belong together whose columns of ``key`` are equal; where that is empty those that aren't numbers. Several
    rows of one key are paired in their order, and so are those that no other side has and whose texts differ only in
    what is true of one process (:func:`memlens.views.naming.stable_names.stable_name`). Other columns of numbers
    become one for each side, and the difference between the last and the first, in which a missing row counts as 0.
    Further columns, and numbers of objects and the like, are those of the side ``own``. Raises :class:`SqlError`.
    """
    names = [column.name for column in sides[own].columns]
    if any([column.name for column in side.columns] != names for side in sides):
        raise SqlError(phrase("The query doesn't have the same columns in every file"))
    own %= len(sides)
    columns = _columns(sides, own)
    plan = _plan(sides, columns, key)
    order = [own, *(number for number in range(len(sides)) if number != own)]
    rows: dict[tuple[Cell, ...], _Shared] = {}
    for side in order:
        for of_key, row in _by_key(sides[side], plan):
            missing: _Shared = [None] * len(sides)
            rows.setdefault(of_key, missing)[side] = row
    joined = [_joined(plan, cells, shared, own) for cells, shared in _by_stable_names(rows)]
    shown = [
        *(columns[number] for number in plan.keys),
        *(
            SqlColumn(f"{word} {names[number]}", columns[number].type)
            for number in plan.compared
            for word in _words(len(sides))
        ),
        *(sides[own].columns[number] for number in plan.others),
    ]
    if plan.compared:
        by = next((at for at, number in enumerate(plan.compared) if names[number].endswith("_bytes")), 0)
        difference = len(plan.keys) + (len(sides) + 1) * (by + 1) - 1
        joined.sort(key=lambda row: -abs(_amount(row[difference])))
    return QuerySide(shown, joined, any(side.contents for side in sides))


def _words(sides: int) -> list[str]:
    """Prefixes of the compared columns: one per side, then the one for the difference."""
    return [*(("before", "after") if sides == 2 else map(str, range(1, sides + 1))), "difference"]


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
                advice=phrase("Group them, or request fewer."),
            )
        return page.more

    @property
    def side(self) -> QuerySide:
        """All that was added."""
        first, *further = self._pages
        side = QuerySide(first.columns, list(first.rows), first.contents)
        for page in further:
            side.rows.extend(page.rows)
            side = side._replace(columns=_columns([side, QuerySide(page.columns, page.rows)], 1))
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
    more = offset + len(page) < len(rows)
    return SqlAnswer(compared.columns, page, offset, more, took_ms, compared.contents)


def _plan(sides: Sequence[QuerySide], columns: Sequence[SqlColumn], key: Sequence[str]) -> _Plan:
    names = [column.name.lower() for column in columns]
    unknown = [name for name in key if name.lower() not in names]
    if unknown:
        raise SqlError(
            phrase("The query has no column {name}", name=unknown[0]),
            advice=phrase("It has {names}.", names=", ".join(names)),
        )
    wanted = {name.lower() for name in key}
    plan = _Plan([], [], [])
    for number, name in enumerate(names):
        is_number = columns[number].type in _NUMBERS
        if name in wanted or (not wanted and (name in _IDENTIFYING or not is_number)):
            plan.keys.append(number)
        elif is_number and name not in _OWN_NUMBERS:
            plan.compared.append(number)
        else:
            plan.others.append(number)
    if not plan.keys and max(len(side.rows) for side in sides) > 1:
        raise SqlError(
            phrase("No column of the query tells its rows apart"),
            advice=phrase("Name the columns that do as its key."),
        )
    return plan


def _columns(sides: Sequence[QuerySide], own: int) -> list[SqlColumn]:
    """The columns, each with the type of the sides that have values in it."""
    found = []
    for number, column in enumerate(sides[own].columns):
        known = {side.columns[number].type for side in sides} - {"none"}
        if len(known) > 1:
            found.append(SqlColumn(column.name, "real" if known == set(_NUMBERS) else "mixed"))
        else:
            found.append(SqlColumn(column.name, known.pop() if known else column.type))
    return found


def _by_key(side: QuerySide, plan: _Plan) -> list[tuple[tuple[Cell, ...], list[Cell]]]:
    seen: Counter[tuple[Cell, ...]] = Counter()
    found: list[tuple[tuple[Cell, ...], list[Cell]]] = []
    for row in side.rows:
        key = tuple(row[number] for number in plan.keys)
        found.append(((*key, seen[key]), row))
        seen[key] += 1
    return found


def _by_stable_names(rows: dict[tuple[Cell, ...], _Shared]) -> list[tuple[list[Cell], _Shared]]:
    """The rows with the cells of their keys; as one those that sides lack and that have stable names in common."""
    found: list[tuple[list[Cell], _Shared]] = []
    lacking: defaultdict[tuple[Cell, ...], dict[int, deque[int]]] = defaultdict(dict)
    for (*cells, _), shared in rows.items():
        having = sum(1 << side for side, row in enumerate(shared) if row is not None)
        if having == (1 << len(shared)) - 1:
            found.append((cells, shared))
            continue
        # where the rows are that the others lack, by which sides have them
        stable = tuple(stable_name(cell) if isinstance(cell, str) else cell for cell in cells)
        alike = lacking[stable]
        fitting = [(places[0], sides) for sides, places in alike.items() if places and not sides & having]
        if fitting:
            place, sides = min(fitting)
            alike[sides].popleft()
            others, there = found[place]
            both = [one or other for one, other in zip(there, shared, strict=True)]
            found[place] = (cells if cells == others else list(stable), both)
            having |= sides
        else:
            place = len(found)
            found.append((cells, shared))
        alike.setdefault(having, deque()).append(place)
    return found


def _joined(plan: _Plan, key: list[Cell], shared: _Shared, own: int) -> list[Cell]:
    mine = shared[own]
    cells = list(key)
    for number in plan.compared:
        values = [None if row is None else row[number] for row in shared]
        cells += [*values, _amount(values[-1]) - _amount(values[0])]
    return cells + [None if mine is None else mine[number] for number in plan.others]


def _amount(cell: Cell) -> float:
    return cell if isinstance(cell, int | float) else 0


def _rank(cell: Cell) -> tuple[int, float, str]:
    if cell is None:
        return 0, 0, ""
    return (2, 0, cell) if isinstance(cell, str) else (1, cell, "")
