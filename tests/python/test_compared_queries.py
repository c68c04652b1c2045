"""The rows of a query about two snapshots beside each other: against pairing by hand, and on real dumps."""

import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from tests.python.conftest import real_heaps
from tests.python.heap_files import small_heap
from tests.python.lsp_client import LspClient, RpcError
from tests.python.recordings import LEAK

from memlens.cli import main
from memlens.views.sql.compared import MOST_COMPARED, Pages, QuerySide, answer_page, compare_queries
from memlens.views.sql.pages import Cell, SqlAnswer, SqlColumn, SqlError, SqlSort

pytest_plugins = ("tests.python.server_fixtures",)

COLUMNS = [SqlColumn(*each) for each in (("name", "text"), ("line", "integer"), ("n", "integer"))]
COLUMNS += [SqlColumn("size_bytes", "integer"), SqlColumn("object", "integer")]


def side(rng: random.Random) -> QuerySide:
    def row() -> list[Cell]:
        name = rng.choice(["a", "b", None])
        return [
            name,
            rng.randrange(2),
            rng.randrange(9),
            rng.choice([None, rng.randrange(99)]),
            rng.randrange(99),
        ]

    return QuerySide(COLUMNS, [row() for _ in range(rng.randrange(12))])


@pytest.mark.parametrize("key", [(), ("name",), ("NAME", "n"), ("line",)])
@pytest.mark.parametrize("own_after", [True, False])
def test_rows_are_paired_as_by_hand(key: tuple[str, ...], own_after: bool) -> None:
    rng = random.Random(7)
    names = [column.name for column in COLUMNS]
    keys = [names.index(name.lower()) for name in key] or [0, 1]
    compared = [number for number in (1, 2, 3) if number not in keys]
    others = [number for number in (0, 4) if number not in keys]
    pairs = 0
    for _ in range(200):
        before, after = side(rng), side(rng)
        found = compare_queries([before, after], key, own=1 if own_after else 0)
        left: dict[Any, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
        for which, each in enumerate((before, after)):
            for row in each.rows:
                left[tuple(row[number] for number in sorted(keys))][which].append(row)
        expected = []
        for of_key, (old, new) in left.items():
            for at in range(max(len(old), len(new))):
                one, other = (rows[at] if at < len(rows) else None for rows in (old, new))
                own = other if own_after else one
                cells = list(of_key)
                for number in compared:
                    sides = [row and row[number] for row in (one, other)]
                    cells += [*sides, (sides[1] or 0) - (sides[0] or 0)]
                expected.append(cells + [own and own[number] for number in others])
                pairs += one is not None and other is not None
        assert sorted(map(str, found.rows)) == sorted(map(str, expected))
        titles = [column.name for column in found.columns]
        by = titles.index("difference size_bytes")
        differences = [abs(cell) for row in found.rows if isinstance(cell := row[by], int)]
        assert differences == sorted(differences, reverse=True)
        assert len(differences) == len(found.rows)
    assert pairs > 100


@pytest.mark.parametrize("own", [0, 1, 3])
def test_rows_of_a_series_are_those_of_its_pairs(own: int) -> None:
    rng = random.Random(own)
    titles = ["name", "line", "1 n", "2 n", "3 n", "4 n", "difference n"]
    titles += [*(f"{at} size_bytes" for at in range(1, 5)), "difference size_bytes", "object"]
    gone = 0
    for _ in range(200):
        sides = [side(rng) for _ in range(4)]
        found = compare_queries(sides, own=own)
        assert [column.name for column in found.columns] == titles
        # of each key as many rows as the dump that has most of them
        counts = [Counter(tuple(row[:2]) for row in each.rows) for each in sides]
        wanted = {of: max(each[of] for each in counts) for each in counts for of in each}
        assert Counter(tuple(row[:2]) for row in found.rows) == wanted
        for number, each in enumerate(sides):
            shown = [(*row[:2], row[2 + number], row[7 + number], row[12]) for row in found.rows]
            mine = [(*row[:4], row[4] if number == own else None) for row in each.rows]
            for row in mine:
                assert any(one[:4] == row[:4] and row[4] in (None, one[4]) for one in shown)
        # the first and the last alone have the same differences, as far as either has the row
        ends = compare_queries([sides[0], sides[-1]])
        changes = sorted(str((*row[:2], row[2], row[3], row[4], row[7])) for row in ends.rows)
        some = [row for row in found.rows if any(cell is not None for cell in (row[2], row[5]))]
        assert changes == sorted(str((*row[:2], row[2], row[5], row[6], row[11])) for row in some)
        gone += len(found.rows) - len(some)
    assert gone > 100


def test_what_can_not_be_compared_is_said() -> None:
    one = QuerySide([SqlColumn("n", "integer")], [[1], [2]])
    with pytest.raises(SqlError, match="tells its rows apart"):
        compare_queries([one, one])
    single = QuerySide(one.columns, [[5]])
    assert compare_queries([single, single]).rows == [[5, 5, 0]]
    with pytest.raises(SqlError, match="no column x"):
        compare_queries([one, one], ["x"])
    with pytest.raises(SqlError, match="same columns"):
        compare_queries([one, one, QuerySide([SqlColumn("m", "integer")], [])])
    pages = Pages()
    full = SqlAnswer(one.columns, [[1]] * (MOST_COMPARED // 2), 0, True, 0.0)
    assert pages.add(full)
    with pytest.raises(SqlError, match="more than 100,000 rows"):
        pages.add(full)


def test_pages_are_in_the_order_of_sqlite() -> None:
    values: list[Cell] = [3, None, "b", 1.5, "a", 20]
    compared = QuerySide([SqlColumn("x", "mixed")], [[value] for value in values])
    rows = answer_page(compared, 0, 4, SqlSort(0, descending=False), 0.0)
    assert ([row[0] for row in rows.rows], rows.more) == ([None, 1.5, 3, 20], True)
    assert [row[0] for row in answer_page(compared, 4, 4, None, 0.0).rows] == ["a", 20]
    with pytest.raises(SqlError):
        answer_page(compared, 0, 4, SqlSort(1, descending=False), 0.0)


LEAKS = [pair for pair in (LEAK, real_heaps("v8/leak_base*", "v8/leak_after*")[::-1]) if pair]


@pytest.mark.parametrize("pair", LEAKS, ids=["own", "real"][: len(LEAKS)])
def test_types_are_compared_as_by_the_comparison_itself(
    pair: list[Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = [*map(str, pair), "--cache-dir", str(tmp_path), "--json", "--top", "20"]
    assert main(["compare", *options]) == 0
    types = {row["type"]: row for row in json.loads(capsys.readouterr().out)["types"]}
    query = "SELECT type, sum(count) AS n, sum(retained_bytes) AS retained_bytes FROM types GROUP BY 1"
    assert main(["compare", *options, "--sql", query]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 20
    shared = 0
    again = [*options[:2], options[0], *options[2:]]
    assert main(["compare", *again, "--sql", query, "--key", "type"]) == 0
    for row in json.loads(capsys.readouterr().out):
        assert row["1 n"] == row["3 n"]
        assert row["difference retained_bytes"] == 0
    for row in rows:
        if row["type"] not in types:
            continue
        other = types[row["type"]]
        # NULL: the dump has no such type
        before, after = (row[f"{side} n"] or 0 for side in ("before", "after"))
        assert [before, after] == [other["before_count"], other["after_count"]]
        assert row["difference n"] == after - before
        shared += 1
    assert shared > 10


@pytest.mark.slow
def test_the_server_answers_pages_of_both(server: LspClient, tmp_path: Path) -> None:
    paths = []
    for number in (1, 2):
        heap = small_heap()
        for at in range(number):
            heap.node("object", f"Added{at}", 40 * number)
        path = tmp_path / f"{number}.heapsnapshot"
        path.write_bytes(heap.data())
        paths.append(path)
    names = [
        server.request("memlens/open", {"path": str(path), "view": f"v{number}"})["snapshot"]
        for number, path in enumerate(paths)
    ]
    asked = {"snapshot": names[1], "other": names[0], "other_first": True, "key": [], "limit": 1}
    asked["query"] = "SELECT type, count(*) AS n, sum(shallow_bytes) AS shallow_bytes FROM objects GROUP BY 1"
    first = server.request("memlens/compareSql", {**asked, "offset": 0})
    assert (first["rows"], first["more"]) == ([["Added1", None, 1, 1, None, 80, 80]], True)
    second = server.request("memlens/compareSql", {**asked, "offset": 1})
    assert second["rows"] == [["Added0", 1, 1, 0, 40, 80, 40]]
    both = {name: asked[name] for name in ("snapshot", "query", "key")}
    series = server.request("memlens/seriesSql", {**both, "dumps": [names[0], names[1], names[0]]})
    assert [column["name"] for column in series["columns"][1:5]] == ["1 n", "2 n", "3 n", "difference n"]
    assert ["Added1", None, 1, None, 0, None, 80, None, 0] in series["rows"]
    with pytest.raises(RpcError, match="one of the series"):
        server.request("memlens/seriesSql", {**both, "dumps": [names[0], names[0]]})
    with pytest.raises(RpcError, match="syntax error"):
        server.request("memlens/compareSql", {**asked, "query": "SELEC", "offset": 0})
