"""What rules find in heap dumps of .NET: made ones, and real ones."""

import re
from contextlib import closing
from pathlib import Path

import pytest
from tests.python.conftest import real_heaps
from tests.python.heap_archives import Opened, archived
from tests.python.recordings import DOTNET
from tests.python.test_findings_of_heaps import texts

from memlens.packs.dotnet.tests.gcdump_files import Node, gcdump
from memlens.views.findings.ahead import headline

pytest_plugins = ("tests.python.heap_fixtures",)


def dotnet_heap(*, has: bool) -> bytes:
    """A process with pinned buffers, free blocks, an event with many handlers and thread-local variables, or few."""
    many = 120 if has else 2
    types = [
        ("[.NET Roots]", 0, None), ("[static vars]", 0, None), ("[pinning Handles]", 0, None),
        ("System.Byte[]", -1, "System.Private.CoreLib"), ("Free", -1, None), ("App.Shop", 24, "App.dll"),
        ("System.Action<App.Order>", 64, "System.Private.CoreLib"), ("System.Object[]", -1, "System.Private.CoreLib"),
        ("App.View", 24, "App.dll"), ("System.Threading.ThreadLocal.LinkedSlotVolatile<App.Cache>[]", -1, "System"),
    ]  # fmt: skip
    nodes: list[Node] = [(0, None, [1, 2]), (1, None, [3]), (2, None, [])]

    def add(kind: int, size: int | None, *children: int) -> int:
        nodes.append((kind, size, children))
        return len(nodes) - 1

    shop = add(5, None)
    held = [add(3, 20_000) for _ in range(100)]
    handlers = [add(6, None, add(8, None, add(3, 1_000))) for _ in range(many)]
    event = add(6, None, add(7, 8 * many, *handlers))
    slots = add(9, 800, add(3, 60_000 if has else 60))
    nodes[shop] = (5, None, [*held, event, slots])
    statics = add(7, 1_000_000)
    nodes[2] = (2, None, [*(add(3, 500) for _ in range(many)), statics])
    for _ in range(many):
        add(4, 20_000)
    return gcdump(types, nodes)


@pytest.mark.parametrize("has", [True, False])
def test_rules_for_dotnet(open_dump: Opened, has: bool) -> None:
    found = texts(open_dump(dotnet_heap(has=has), "app.gcdump"))
    own = {"pinned", "free_blocks", "listeners", "thread_locals"}
    assert own & set(found) == (own if has else set())
    if has:
        assert found["pinned"].startswith(
            "120 objects are pinned and retain 58.6 KiB (2% of the reachable heap)"
        )
        assert found["free_blocks"].startswith("120 free blocks between objects take 2.29 MiB (")
        assert found["listeners"].startswith("Action<Order> has 120 listeners, and they retain ")
        assert found["thread_locals"].startswith("Thread-local variables retain 59.4 KiB (2%")


@pytest.mark.parametrize("held", ["by events", "by a list as well"])
def test_pages_that_only_events_keep(open_dump: Opened, held: str) -> None:
    """Closed pages that handlers of a window's event lead to, one through what a lambda captured; others are shown."""
    core, app = "System.Private.CoreLib", "App.dll"
    types = [
        ("[.NET Roots]", 0, None), ("[static vars]", 0, None), ("App.Window", 64, app), ("App.Page", 64, app),
        ("System.EventHandler", 64, core), ("System.Delegate[]", 64, core), ("System.Byte[]", -1, core),
        ("App.Window.<>c__DisplayClass5_0", 24, app), ("App.Page[]", 64, app), ("System.String", -1, core),
        ("App.Settings", 40_000, app),
    ]  # fmt: skip
    nodes: list[Node] = [(0, None, [1]), (1, None, [2])]

    def add(kind: int, size: int | None, *children: int) -> int:
        nodes.append((kind, size, children))
        return len(nodes) - 1

    nodes.append((2, None, []))
    pages = [add(3, None, add(6, 9_000)) for _ in range(3)]
    shown = [add(3, None, add(6, 9_000)) for _ in range(2)]
    captured = add(7, None, pages[2])
    # one of a kind is no leak, and what is the platform's is none of the program's
    alone, platform = add(10, None), [add(9, 20_000) for _ in range(2)]
    targets = [*pages[:2], captured, *shown, alone, *platform]
    event = add(4, None, add(5, None, *(add(4, None, each) for each in targets)))
    nodes[2] = (
        2,
        None,
        [event, add(8, None, *(pages if held != "by events" else []), *shown), add(6, 900_000)],
    )
    snapshot = open_dump(gcdump(types, nodes), "app.gcdump")
    found = texts(snapshot)
    assert ("subscribers" in found) == (held == "by events")
    if held == "by events":
        assert found["subscribers"] == (
            "3 Page retain 26.6 KiB (3% of the reachable heap), and only event handlers of Window keep them alive. "
            "Unsubscribe them when they are done."
        )
        assert found["subscribers"] in re.sub(r" @[0-9a-fx]+", "", headline(snapshot, None).text)


@pytest.mark.parametrize("path", [DOTNET, *real_heaps("gcdump/*")], ids=lambda path: path.name)
def test_pages_that_leak_are_told_from_those_that_do_not(tmp_path: Path, path: Path) -> None:
    with closing(archived(path, tmp_path)) as snapshot:
        text = headline(snapshot, None).text
    assert ("LeakyPage" in text) == path.name.startswith("jp_")
