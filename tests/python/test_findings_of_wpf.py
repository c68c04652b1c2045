"""What only WPF keeps alive: made dumps with what its tables hold, as in its source, and real ones without leaks."""

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.python.conftest import real_heaps
from tests.python.gcdump_files import Node, gcdump
from tests.python.heap_archives import Opened, archived
from tests.python.recordings import DOTNET
from tests.python.said import assert_words_are_templates

from memlens.store.snapshot import Snapshot
from memlens.store.tables import fill as tables
from memlens.views.findings.ahead import findings
from memlens.views.findings.answers import SnapshotFinding
from memlens.views.sql.query import SqlSession

pytest_plugins = ("tests.python.heap_fixtures",)

RULES = {"bindings", "value_handlers", "collection_views", "named_elements", "undo_stacks", "freezables"}
BUCKETS = "System.Collections.Hashtable+bucket[] (Ptrs,ElemSize=12)"
VALUES = "System.Windows.EffectiveValueEntry[] (Ptrs,ElemSize=8)"
BIG = 40_000


class Heap:
    """A heap by the names of its types, with a window that a static variable holds."""

    def __init__(self) -> None:
        self.types: list[tuple[str | None, int, str | None]] = []
        self.nodes: list[tuple[int, int, list[int]]] = []
        root, statics = self.add("[.NET Roots]", size=0), self.add("[static vars]", size=0)
        self.statics = statics
        self.refer(root, statics)
        self.window = self.add("App.MainWindow")
        self.values = self.add(VALUES)
        self.refer(statics, self.window)
        self.refer(self.window, self.values)
        self.refer(self.values, self.add("System.Byte[]", size=1_000_000))

    def add(self, name: str, *children: int, size: int = 32) -> int:
        own = next((at for at, each in enumerate(self.types) if each[0] == name), len(self.types))
        if own == len(self.types):
            self.types.append((name, -1, None))
        self.nodes.append((own, size, list(children)))
        return len(self.nodes) - 1

    def refer(self, source: int, *targets: int) -> None:
        self.nodes[source][2].extend(targets)

    def element(self, name: str, *children: int) -> int:
        """An element of WPF with values of properties, 40,000 bytes of them its own."""
        return self.add(name, self.add(VALUES, *children), self.add("System.Byte[]", size=BIG))

    def written(self) -> bytes:
        nodes: list[Node] = [*self.nodes]
        return gcdump(self.types, nodes, tool="PerfView")


def said(snapshot: Snapshot) -> dict[str, SnapshotFinding]:
    """The findings about WPF by their rules, also those joined to others; their queries have their figures."""
    assert_words_are_templates(snapshot)
    tables.fill(snapshot, lambda *_: None)
    found = {}
    for each in findings(snapshot, None, 100).findings:
        for rule in {each.rule, *(name.rule for name in each.names)} & RULES:
            found[rule] = each
            with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
                assert list(session.stream(each.figure.sql)[1]) == [(each.figure.amount,)]
                if each.objects is not None and each.objects.kind == "query":
                    assert session.ask(each.objects.sql, limit=1).rows
    return found


def text(finding: SnapshotFinding) -> str:
    return re.sub(r" @[0-9a-fx]+", "", finding.text)


def bound(heap: Heap, *, by_list: bool = False) -> list[int]:
    """A view model, whose property is bound, and a list, whose count is: both are in a descriptor's table."""
    found = []
    for name in ("App.CustomerViewModel", "System.Collections.Generic.List<App.Order>"):
        source = heap.add(name, heap.add("System.Byte[]", size=BIG))
        record = heap.add("MS.Internal.Data.ValueChangedEventManager+ValueChangedRecord", source)
        listeners = heap.add(
            "System.Windows.WeakEventManager+ListenerList<MS.Internal.Data.ValueChangedEventArgs>"
        )
        handler = heap.add("System.EventHandler", record)
        hashtable = heap.add("System.Collections.Hashtable", heap.add(BUCKETS, source, handler))
        descriptor = heap.add("System.ComponentModel.ReflectPropertyDescriptor", hashtable)
        heap.refer(record, descriptor, listeners)
        # the table of WPF's weak events refers to the record as well
        node = heap.add("System.Collections.Specialized.ListDictionary+DictionaryNode", descriptor, record)
        events = heap.add(
            "System.Windows.WeakEventTable", heap.add("System.Collections.Specialized.HybridDictionary", node)
        )
        heap.refer(heap.statics, descriptor, events)
        found.append(source)
    return found


def modern(heap: Heap) -> list[int]:
    """A page whose property a handler was added to by a static descriptor, as newer files name the parts."""
    page = heap.element("App.Page")
    tracker = heap.add(
        "MS.Internal.ComponentModel.PropertyChangeTracker", heap.add("System.EventHandler", page)
    )
    of = "System.Windows.DependencyObject,MS.Internal.ComponentModel.PropertyChangeTracker"
    entries = heap.add(f"Entry<{of}>[]", page, tracker)
    table = heap.add(f"System.Collections.Generic.Dictionary<{of}>", entries)
    heap.refer(heap.statics, heap.add("MS.Internal.ComponentModel.DependencyObjectPropertyDescriptor", table))
    return [page]


def viewed(heap: Heap) -> list[int]:
    """A list whose view only WPF has."""
    current = heap.add("App.Order", size=BIG)
    orders = heap.add("System.Collections.Generic.List<App.Order>", heap.add("App.Order[]", current))
    view = heap.add("System.Windows.Data.ListCollectionView", current, orders)
    record = heap.add("MS.Internal.Data.ViewRecord", view)
    table = heap.add(
        "MS.Internal.Data.ViewTable",
        heap.add("System.Collections.Specialized.ListDictionary+DictionaryNode", record),
    )
    heap.refer(view, table)
    inactive = heap.add("System.Collections.Specialized.HybridDictionary", heap.add(BUCKETS, table))
    heap.refer(heap.statics, heap.add("MS.Internal.Data.ViewManager", inactive))
    return [orders]


def named(heap: Heap) -> list[int]:
    """A panel with a box in it that was taken out of the window, and is still registered there, both by name."""
    panel = heap.element("System.Windows.Controls.StackPanel")
    box = heap.element("System.Windows.Controls.TextBlock", panel)
    heap.refer(panel, box)
    name = heap.add("System.String")
    nodes = [
        heap.add("System.Collections.Specialized.ListDictionary+DictionaryNode", name, each)
        for each in (panel, box)
    ]
    heap.refer(nodes[0], nodes[1])
    names = heap.add("System.Collections.Specialized.ListDictionary", nodes[0])
    scope = heap.add(
        "System.Windows.NameScope", heap.add("System.Collections.Specialized.HybridDictionary", names)
    )
    heap.refer(heap.values, scope)
    return [panel, box]


def with_fields(heap: Heap) -> list[int]:
    """The same, of which the window's class has fields as well, as the compiler of XAML makes them."""
    panel, box = named(heap)
    heap.refer(heap.window, panel, box)
    return [panel]


def undone(heap: Heap) -> list[int]:
    units = heap.add(
        "System.Collections.Generic.List<MS.Internal.Documents.IUndoUnit>",
        heap.add("System.Byte[]", size=BIG),
    )
    box = heap.element("System.Windows.Controls.TextBox")
    manager = heap.add("MS.Internal.Documents.UndoManager", box, units)
    heap.refer(box, manager)
    heap.refer(heap.values, box)
    return [units]


def brushed(heap: Heap) -> list[int]:
    """A brush in the window's resources that isn't frozen, which two closed dialogs used."""
    context = heap.element("System.Windows.Controls.Border")
    listener = heap.element("App.Dialog")
    handlers = heap.add(
        "MS.Utility.FrugalObjectList<System.EventHandler>",
        heap.add("MS.Utility.SingleItemList<System.EventHandler>", heap.add("System.EventHandler", listener)),
    )
    storage = heap.add("System.Windows.Freezable+HandlerContextStorage", handlers, context)
    direct = heap.element("System.Windows.Controls.Grid")
    brushes = [heap.add("System.Windows.Media.SolidColorBrush", each) for each in (storage, direct)]
    heap.refer(heap.values, heap.add("System.Windows.ResourceDictionary", *brushes))
    return [context, listener, direct]


CASES: dict[str, tuple[Callable[[Heap], list[int]], str, str]] = {
    "bindings": (
        bound,
        "78.2 KiB (7%",
        "1 CustomerViewModel, 1 List<Order>, which only bindings to properties keep",
    ),
    "value_handlers": (modern, "39.1 KiB (4%", "1 Page, which only handlers of property descriptors keep"),
    "collection_views": (
        viewed,
        "39.2 KiB (4%",
        "1 List<Order>, which only views of WPF's data binding keep",
    ),
    "named_elements": (
        named,
        "78.2 KiB (7%",
        "1 StackPanel, 1 TextBlock, which only names in a NameScope keep",
    ),
    "named_elements, with fields": (
        with_fields,
        "78.2 KiB (7%",
        "1 StackPanel, 1 TextBlock, which only names in a NameScope and fields for x:Name keep",
    ),
    "freezables": (
        brushed,
        "117 KiB (11%",
        "1 Border, 1 Dialog, 1 Grid, which only brushes or other Freezables keep",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_only_wpf_keeps_alive(open_dump: Opened, case: str) -> None:
    """It is said of what nothing else holds, and of nothing that is also in the window's tree."""
    make, amount, kept_by = CASES[case]
    heap = Heap()
    kept = make(heap)
    found = said(open_dump(heap.written(), "leak.gcdump"))
    ((rule, finding),) = found.items()
    assert rule == case.split(",", 1)[0]
    assert f"{amount} of the reachable heap) is retained by {kept_by} alive." in text(finding)
    assert finding.inferred == (make in (brushed, with_fields))

    # what the window's values refer to is in use
    heap.refer(heap.values, *kept)
    assert said(open_dump(heap.written(), "used.gcdump")) == {}


def test_what_text_boxes_can_undo(open_dump: Opened) -> None:
    heap = Heap()
    undone(heap)
    snapshot = open_dump(heap.written(), "undo.gcdump")
    found = said(snapshot)
    assert set(found) == {"undo_stacks"}
    assert text(found["undo_stacks"]).startswith(
        "What 1 text box can undo retains 39.1 KiB (4% of the reachable heap); the largest is UndoManager, held by"
    )
    small = Heap()
    undone(small)
    small.nodes = [(kind, 100 if size == BIG else size, children) for kind, size, children in small.nodes]
    assert said(open_dump(small.written(), "small.gcdump")) == {}


@pytest.mark.parametrize("path", [DOTNET, *real_heaps("gcdump/*")], ids=lambda path: path.name)
def test_nothing_is_said_of_real_programs_that_do_not_leak(tmp_path: Path, path: Path) -> None:
    """One of them is a program of WPF, with bindings, names, resources and brushes in use."""
    with closing(archived(path, tmp_path)) as snapshot:
        assert said(snapshot) == {}
