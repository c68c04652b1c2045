"""``memlens lines`` and ``memlens flame`` of heap dumps without allocation stacks: definitions and dominators."""

import json
from pathlib import Path

import pytest
from tests.python.heap_files import HeapFile
from tests.python.hprof_files import BYTE, OBJECT, Dump

from memlens.cli import main
from memlens.units import format_bytes

FIXTURES = Path(__file__).parents[1] / "fixtures" / "heap"


def shop() -> HeapFile:
    """Orders of a class that is defined in a script, held by one list, and a closure; nothing was tracked."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    window = heap.node("object", "Window", 40)
    script = heap.node("hidden", "/home/me/shop.js", 8)
    shared = heap.node("code", "onBuy", 30)
    bought = heap.node("closure", "onBuy", 64)
    orders = heap.node("object", "Array", 16)
    heap.edge(root, "element", 1, window)
    heap.edge(window, "property", "orders", orders)
    heap.edge(window, "property", "onBuy", bought)
    heap.edge(bought, "internal", "shared", shared)
    heap.edge(shared, "internal", "script", script)
    heap.locations.append((bought, 5, 6, 2))
    for number in range(20):
        order, name = heap.node("object", "Order", 100), heap.node("string", f"order; {number}", 50)
        heap.edge(orders, "element", number, order)
        heap.edge(order, "property", "name", name)
        heap.locations.append((order, 5, 2, 4))
    return heap


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "shop.heapsnapshot"
    path.write_bytes(shop().data())
    return path


def printed(capfd: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(argument) for argument in arguments]) == 0
    return capfd.readouterr().out


def test_lines_are_those_of_definitions(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cache = ("--cache-dir", path.parent / "cache")
    rows = json.loads(printed(capfd, "lines", path, "--json", *cache))["lines"]
    names = ("file", "line", "name", "count", "shallow_bytes", "retained_bytes")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("/home/me/shop.js", 3, "Order", 20, 2_000, 3_000), ("/home/me/shop.js", 7, "onBuy", 1, 64, 102)
    ]  # fmt: skip
    text = printed(capfd, "lines", path, "--top", 1, *cache).splitlines()
    assert len(text) == 2
    assert text[1].split() == ["2.93", "KiB", "1.95", "KiB", "20", "/home/me/shop.js:3", "Order"]


def test_classes_of_java_lead_to_their_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """HPROF doesn't have lines of definitions: the file follows from the name of the class, also for its instances."""
    dump, cache = FIXTURES / "sessions.hprof.zst", ("--cache-dir", tmp_path)
    rows = json.loads(printed(capfd, "lines", dump, "--json", "--top", 1_000, *cache))["lines"]
    sessions = next(row for row in rows if "Sessions$Session" in row["name"])
    assert (sessions["file"].split("/")[-1], sessions["line"], sessions["count"]) == (
        "Sessions.java",
        None,
        400,
    )
    text = printed(capfd, "lines", dump, "--top", 1_000, *cache)
    assert any("Sessions.java shop.Sessions$Session " in line for line in text.splitlines())
    assert all(len(line) <= 80 for line in text.splitlines())
    query = "SELECT file, line, count(*) FROM objects WHERE type LIKE '%Sessions$Session' GROUP BY 1, 2"
    (answer,) = json.loads(printed(capfd, "sql", dump, query, "--json", *cache))
    assert list(answer.values()) == [sessions["file"], None, 400]


def test_a_dump_without_lines_is_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    heap = shop()
    heap.locations.clear()
    bare = tmp_path / "bare.heapsnapshot"
    bare.write_bytes(heap.data())
    assert "neither allocation stacks nor lines" in printed(
        capfd, "lines", bare, "--cache-dir", tmp_path / "cache"
    )


def test_flame_is_the_dominator_tree(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cache = ("--cache-dir", path.parent / "cache")
    groups = json.loads(printed(capfd, "flame", path, "--json", *cache))["groups"]
    names = ("depth", "type", "objects", "shallow_bytes", "retained_bytes")
    assert [tuple(row[name] for name in names) for row in groups] == [
        (0, "(synthetic)", 1, 0, 3_158), (1, "Window", 1, 40, 3_158), (2, "Array", 1, 16, 3_016),
        (3, "Order", 20, 2_000, 3_000), (4, "(string)", 20, 1_000, 1_000), (2, "Function", 1, 64, 102),
        (3, "(compiled code)", 1, 38, 38),
    ]  # fmt: skip
    text = printed(capfd, "flame", path, *cache).splitlines()
    # the script, an internal part of the closure's code, belongs to it
    for line, row in zip(text[1:], groups, strict=True):
        assert line.endswith(f"% {' ' * int(row['depth'])}{row['type']}")
    stacks = printed(capfd, "flame", path, "--folded", *cache).splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in stacks) == sum(
        node["self_size"] for node in shop().nodes
    )
    assert "(synthetic);Window;Array;Order 2000" in stacks


def test_flame_is_the_tree_of_shortest_paths_on_demand(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cache = ("--cache-dir", path.parent / "cache")
    groups = json.loads(printed(capfd, "flame", path, "--tree", "paths", "--json", *cache))["groups"]
    whole = sum(node["self_size"] for node in shop().nodes)
    assert (groups[0]["type"], groups[0]["total_bytes"]) == ("(synthetic)", whole)
    assert all("retained_bytes" not in row for row in groups)
    text = printed(capfd, "flame", path, "--tree", "paths", *cache).splitlines()
    assert text[0].split() == ["total", "shallow", "objects", "share"]
    assert len(text) == len(groups) + 1
    stacks = printed(capfd, "flame", path, "--tree", "paths", "--folded", *cache).splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in stacks) == whole
    for of in ("dominators", "sunburst"):
        picture = printed(capfd, "picture", path, "--of", of, "--tree", "paths", *cache)
        assert "shortest paths from roots by type" in picture
    for option, said in [
        (("--bottom-up",), "--bottom-up is for allocations"),
        (("--filter", "x"), "--filter is"),
    ]:
        assert main(["flame", str(path), "--tree", "paths", *option, *map(str, cache)]) == 2
        assert said in capfd.readouterr().err


@pytest.mark.parametrize("option", [("--value", "live"), ("--bottom-up",), ("--filter", "x")])
def test_options_for_allocations_are_refused(
    option: tuple[str, ...], path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["flame", str(path), *option, "--cache-dir", str(path.parent / "cache")]) == 1
    assert "no allocation stacks" in capfd.readouterr().err


def test_shares_are_of_what_roots_reach(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Large arrays, of which most are garbage: the report's table has the share that its sentences have."""
    dump = Dump()
    dump.klass(0x10, "java/lang/Object")
    dump.klass(0x20, "com/example/Cache", 0x10, [("data", OBJECT)])
    for number in range(10):
        dump.instance(0x1000 + 16 * number, 0x20, "P", 0x100000 * (number + 1))
        dump.numbers(0x100000 * (number + 1), BYTE, bytes([1]) * 40_000)
    dump.add(0xFF, "P", 0x1000)
    dump.add(0xFF, "P", 0x1010)
    path, cache = tmp_path / "dump.hprof", ("--cache-dir", tmp_path / "cache")
    path.write_bytes(dump.end())
    lines = printed(capfd, "types", path, *cache).splitlines()
    assert [line.split()[-2:] for line in lines if line.endswith("byte[]")] == [["8", "byte[]"]]
    assert "unreachable" in lines[0]
    assert lines[-1] == "unreachable: how many of them no root reaches; --filter=-unreachable leaves them out"
    reached = printed(capfd, "types", path, "--filter", "-unreachable", *cache)
    assert "unreachable" not in reached
    rows = {row["type"]: row for row in json.loads(printed(capfd, "types", path, "--json", *cache))["types"]}
    assert rows["byte[]"]["unreachable_count"] == rows["com.example.Cache"]["unreachable_count"] == 8
    assert rows["byte[]"]["unreachable_bytes"] * 10 == rows["byte[]"]["shallow_bytes"] * 8
    info = json.loads(printed(capfd, "info", path, "--json", *cache))
    report = printed(capfd, "report", path, "--markdown", *cache)
    (row,) = [line for line in report.splitlines() if line.startswith("| com.example.Cache")]
    retained = rows["com.example.Cache"]["retained_bytes"] * 2 / 10
    assert row.split(" | ")[2] == f"{retained / info['reachable_bytes']:.1%}"
    assert row.split(" | ")[-1] == "2 |"
    lost = info["shallow_bytes"] - info["reachable_bytes"]
    assert (
        f"shares are of the reachable heap; {format_bytes(lost)} in 16 objects that no root reaches" in report
    )


def test_merged_paths_of_a_filter(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cache = ("--cache-dir", path.parent / "cache")
    found = json.loads(printed(capfd, "paths", path, "--of", "type:=Order", "--json", *cache))
    assert (found["explained"], found["bytes"], found["steps"], found["without"]) == (20, 3_000, 3, None)
    rows = {row["node"]: row for row in found["rows"]}
    steps = [
        (row["name"], row["type"], row["objects"], row["ends"], row["freed_bytes"]) for row in rows.values()
    ]
    assert steps[1:] == [("orders", "Array", 20, 0, 3_016), ("[…]", "Order", 20, 20, 3_000)]
    assert [row["above"] for row in rows.values()] == [0, *list(rows)[:-1]]
    lines = printed(capfd, "paths", path, "--of", "type:=Order", *cache).splitlines()
    assert lines[0] == "The shortest paths from roots to 20 objects that retain 2.93 KiB"
    # what all paths lead through is named, as a class would be
    array = next(row["example"]["id"] for row in rows.values() if row["name"] == "orders")
    assert [line.split()[-3:] for line in lines[-2:]] == [
        ["orders:", "Array", f"@{array}"],
        ["KiB", "[…]:", "Order"],
    ]
    assert [len(line) - len(line[35:].lstrip()) for line in lines[-3:]] == [36, 37, 38]
    marked = printed(capfd, "paths", path, "--of", "type:=Order", "--markdown", *cache).splitlines()
    assert marked[-1] == "    - `[…]`: `Order`, 20 objects of 2.93 KiB; without it 2.93 KiB would be freed"
    fewer = printed(capfd, "paths", path, "--of", "type:=Order", "--top", 1, *cache).splitlines()
    assert "The 1 largest of 3 steps: --top prints more" in fewer
    gone = printed(
        capfd, "paths", path, "--of", "type:=Order", "--without", "Window.orders", *cache
    ).splitlines()
    assert "and 20 objects that only what is left out keeps alive" in gone
    for wrong, said in (
        ((), "takes the ID of an object, or a filter"),
        (("1", "--of", "type:Order"), "takes the ID of an object, or a filter"),
        (("1", "--markdown"), "--markdown is for --of"),
    ):
        assert main(["paths", str(path), *wrong, *map(str, cache)]) == 2
        assert said in capfd.readouterr().err
