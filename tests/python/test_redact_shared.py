"""What order and shared objects tell of values isn't left in a redacted dump."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.python import hprof_files, pyheap_files
from tests.python.graph_reading import load, type_names
from tests.python.heap_files import HeapFile
from tests.python.redacted_files import names_of, redacted, written_anew

from memlens.model.graph import Graph
from memlens.packs.ruby.tests import ruby_files

PIN = "7391"
MAIL = "ada@example.org"


def snapshot(called: str = "") -> HeapFile:
    """A PIN as its characters, as a key and as a flag, and a class that is called as the program wants.

    Constants have their own names, or are all ``called`` the same.
    """
    heap = HeapFile()
    root = heap.node("synthetic", "")
    table = heap.node("array", "(single character strings)", 80)
    heap.edge(root, "element", 1, table)
    digits = [heap.node("string", str(digit), 16) for digit in range(10)]
    for digit, node in enumerate(digits):
        heap.edge(table, "element", 48 + digit, node)
    names = ("true", "false", "null", "undefined")
    constants = {name: heap.node("hidden", called or name, 16) for name in names}
    for name, node in constants.items():
        heap.edge(root, "internal", f"{name}_value", node)
    heap.edge(root, "property", "Account", heap.node("closure", "Account", 32))
    account = heap.node("object", "Account", 64)
    heap.edge(root, "property", "account", account)
    characters = heap.node("array", "", 48)
    heap.edge(account, "property", "pin", characters)
    for place, char in enumerate(PIN):
        heap.edge(characters, "element", place, digits[int(char)])
    for name in ("true", "false", "null"):
        heap.edge(account, "property", f"is {name}", constants[name])
    heap.edge(account, "element", int(PIN), heap.node("object", "Object", 16))
    heap.edge(account, "property", "tag", heap.node("object", MAIL, 16))
    return heap


def targets(graph: Graph, source: str) -> list[int]:
    """What the only object of a type refers to, in order."""
    (place,) = (number for number, name in enumerate(type_names(graph)) if name == source)
    start, end = graph.references.start[place : place + 2].tolist()
    return list(graph.references.target[start:end].tolist())


@pytest.mark.parametrize("called", ["", "system / Oddball"], ids=["Node.js 24", "Node.js 20"])
def test_shared_objects_and_indexes_of_v8(called: str, tmp_path: Path) -> None:
    path = tmp_path / "pin.heapsnapshot"
    path.write_bytes(snapshot(called).data())
    again, _ = redacted(path, keeps_shared=False)
    assert MAIL.encode() not in again
    assert PIN.encode() not in again
    copy = tmp_path / "again.heapsnapshot"
    copy.write_bytes(again)
    before, after = load(path), load(copy)
    assert len(set(targets(before, "Account"))) == 6
    # one for all characters, one for all constants, and the objects of its own
    assert len(set(targets(after, "Account"))) == 4
    characters = [
        after.references.target[start:end].tolist()
        for start, end in zip(
            after.references.start[:-1].tolist(), after.references.start[1:].tolist(), strict=True
        )
        if end - start == len(PIN)
    ]
    assert [len(set(each)) for each in characters if len(each) == len(PIN)].count(1) == 1
    assert before.objects.shallow.tolist() == after.objects.shallow.tolist()
    assert "redirected-references" in {warning.code for warning in after.warnings}
    # a class without a function is none, one with a function is
    assert "Account" in type_names(after)
    assert MAIL in names_of(before, before.objects.name.tolist()) + type_names(before)


def test_they_stay_if_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "pin.heapsnapshot"
    path.write_bytes(snapshot().data())
    after = written_anew(path, tmp_path)
    assert "redirected-references" not in {warning.code for warning in after.warnings}
    before = load(path)
    assert before.references.target.tolist() == after.references.target.tolist()
    assert before.references.name.tolist()[:1] == after.references.name.tolist()[:1]


STATES = ("ACTIVE", "LOCKED", "CLOSED")
ORDERED = 30


def shop() -> HeapFile:
    """Accounts in the order of their salaries, with states that are also names, symbols, initials and ages."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    heap.edge(root, "property", "Account", heap.node("closure", "Account", 32))
    heap.edge(root, "internal", "empty", heap.node("string", "", 16))
    texts = {state: heap.node("string", state, 24) for state in STATES}
    symbols = {state: heap.node("symbol", "symbol", 24) for state in STATES}
    states = heap.node("object", "Object", 40)
    shape = heap.node("object shape", "system / DescriptorArray", 80)
    constants = heap.node("code", "(constant pool)", 80)
    for number, state in enumerate(STATES):
        heap.edge(states, "property", state, symbols[state])
        heap.edge(symbols[state], "internal", "name", texts[state])
        heap.edge(shape, "internal", str(3 * number), texts[state])
        heap.edge(constants, "internal", str(number), texts[state])
    for name in ("state", "symbol", "status"):
        heap.edge(constants, "internal", name, heap.node("string", name, 24))
    for held in (states, shape, constants):
        heap.edge(root, "internal", "held", held)
    accounts = [heap.node("object", "Account", 64) for _ in range(ORDERED)]
    by_initial = heap.node("object", "Object", 24)
    for number, account in enumerate(accounts):
        heap.edge(account, "property", "state", texts[STATES[number % 3]])
        heap.edge(account, "property", "symbol", symbols[STATES[number % 3]])
        heap.edge(account, "property", f"<symbol user:{MAIL}>", by_initial)
        heap.edge(account, "property", "<symbol kState>", by_initial)
        initial = heap.node("string", chr(ord("A") + number), 16)
        heap.edge(root, "internal", "single", initial)
        heap.edge(by_initial, "property", chr(ord("A") + number), account)
    ordered, by_age = heap.node("object", "Array", 32), heap.node("array", "(object elements)", 800)
    for number, account in enumerate(accounts):
        heap.edge(ordered, "element", number, account)
        heap.edge(by_age, "internal", str(2 * number), account)
    heap.edge(by_age, "internal", "4711", accounts[0])
    heap.edge(root, "property", "ordered", ordered)
    heap.edge(root, "property", "byAge", by_age)
    for number in range(ORDERED):
        heap.edge(root, "internal", str(number), accounts[number])
    return heap


class Edge(NamedTuple):
    """A reference of a snapshot: what has it, by its type and name, how it is called, and which object it leads to."""

    source: tuple[str, str]
    name: str | int
    target: int


def edges_of(data: bytes) -> list[Edge]:
    """The references of a snapshot, read without the reader."""
    file = json.loads(data)
    meta, strings = file["snapshot"]["meta"], file["strings"]
    fields = meta["node_fields"]
    width, kind, name, count = len(fields), *(fields.index(each) for each in ("type", "name", "edge_count"))
    edges, nodes, found = file["edges"], file["nodes"], []
    at = 0
    for node in range(0, len(nodes), width):
        source = (meta["node_types"][0][nodes[node + kind]], strings[nodes[node + name]])
        for _ in range(nodes[node + count]):
            by_index = meta["edge_types"][0][edges[at]] in ("element", "hidden")
            called = edges[at + 1] if by_index else strings[edges[at + 1]]
            found.append(Edge(source, called, edges[at + 2] // width))
            at += 3
    return found


def leads_to(edges: list[Edge], name: str, source: str = "Account") -> list[int]:
    return [each.target for each in edges if each.name == name and each.source[1] == source]


def test_names_symbols_and_order_of_v8_tell_no_values(tmp_path: Path) -> None:
    path = tmp_path / "shop.heapsnapshot"
    path.write_bytes(shop().data())
    again, _ = redacted(path, keeps_shared=False)
    before, after = edges_of(path.read_bytes()), edges_of(again)
    # a state is the same object as the name in the description of a class, or as the constant
    assert len(set(leads_to(before, "state"))) == len(set(leads_to(before, "symbol"))) == 3
    assert len(set(leads_to(after, "state"))) == len(set(leads_to(after, "symbol"))) == 1
    for name in ("(constant pool)", "system / DescriptorArray"):
        own = [each for each in after if each.source[1] == name]
        assert own == [each for each in before if each.source[1] == name]
    # elements are counted from 0, and those of the engine's arrays too: an index may be an age or a PIN
    for kind in (("object", "Array"), ("array", "(object elements)")):
        old, new = ([each for each in edges if each.source == kind] for edges in (before, after))
        assert Counter(each.target for each in old) == Counter(each.target for each in new)
        assert [each.target for each in old] != [each.target for each in new]
        assert [int(each.name) for each in new] == list(range(len(new)))
    assert b"4711" not in again
    # a symbol's description is a name if code can have written it
    assert MAIL.encode() not in again
    assert len(leads_to(after, "<symbol kState>")) == ORDERED
    # initials can't be told by the order of the objects that have them, nor by that of the texts
    file = json.loads(again)
    (keys,) = [
        [each.name for each in after if each.source == ("object", "Object") and each.name not in STATES]
    ]
    assert len(set(keys)) == ORDERED
    assert all(str(each).startswith("removed ") for each in keys)
    assert keys != sorted(keys, key=file["strings"].index)
    names = [file["strings"][file["nodes"][7 * each + 1]] for each in leads_to(after, "single", "")]
    assert not set(names) & set(keys)
    changed = sum(old.target != new.target for old, new in zip(before, after, strict=True))
    moved = ("Array", "(object elements)")
    within = sum(
        old.target != new.target for old, new in zip(before, after, strict=True) if old.source[1] in moved
    )
    assert file["snapshot"]["memlens_redirected"] == changed - within


def test_what_a_ruby_object_refers_to_is_in_a_random_order(tmp_path: Path) -> None:
    addresses = [0x7F00_1000_0000 + 40 * number for number in range(ORDERED)]
    lines = ruby_files.small() + ruby_files.made(
        *(
            ruby_files.line(each, "STRING", [], value=MAIL, bytesize=100 + at)
            for at, each in enumerate(addresses)
        ),
        ruby_files.line(0x7F00_2000_0000, "ARRAY", addresses, length=ORDERED),
    )
    path = tmp_path / "order.json"
    path.write_bytes(lines)
    found = {}
    for keeps_shared in (True, False):
        again, _ = redacted(path, keeps_shared=keeps_shared)
        assert MAIL.encode() not in again
        rows = [json.loads(line) for line in again.splitlines()]
        places = {row["address"]: row["bytesize"] - 100 for row in rows if row.get("bytesize", 0) >= 100}
        (array,) = (row for row in rows if row.get("length") == ORDERED)
        found[keeps_shared] = [places[each] for each in array["references"]]
    assert found[True] == list(range(ORDERED))
    assert found[False] != found[True]
    assert sorted(found[False]) == found[True]


ACCOUNTS = """
import enum, sys, threading, memlens.dump
class State(enum.Enum):
    ACTIVE = 1
    LOCKED = 2
class Account:
    def __init__(self, number):
        self.age, self.vip, self.kind = 34 + number, number % 2 == 0, "age"
        self.state = State.LOCKED if number % 3 else State.ACTIVE
        self.digits = list("7391")
class Session: pass
accounts = [Account(number) for number in range(12)]
sessions = [Session() for _ in accounts]
for number, each in enumerate(sessions):
    each.started = each.owner = number
    setattr(each, f"ada_{number}", accounts)
    setattr(each, "ada@example.org", number)
table = [None] * 5000
table[int("4711")] = accounts[7]
threading.Thread(target=threading.Event().wait, name="worker of ada", daemon=True).start()
memlens.dump.heap(sys.argv[1])
"""


@pytest.fixture(scope="module")
def own_heap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("python") / "own.heap"
    subprocess.run([sys.executable, "-c", ACCOUNTS, path], check=True)
    return path


def rows_of(graph: Graph, name: str) -> list[int]:
    return [row for row, each in enumerate(type_names(graph)) if each == name]


def attributes(graph: Graph, row: int) -> dict[str, int]:
    start, end = graph.references.start[row : row + 2].tolist()
    named = names_of(graph, graph.references.name[start:end].tolist())
    return dict(zip(named, graph.references.target[start:end].tolist(), strict=True))


def test_python_objects_tell_no_values_by_their_places(own_heap: Path, tmp_path: Path) -> None:
    before, copy = load(own_heap), tmp_path / "copy.heap"
    places, ranks = set[int](), set[tuple[int, ...]]()
    for _ in range(6):
        data, _ = redacted(own_heap, keeps_shared=False, keeps_threads=False)
        copy.write_bytes(data)
        after = load(copy)
        owners = rows_of(after, "__main__.Account")
        assert len(owners) == 12
        ranks.add(tuple(owners))
        (table,) = (row for row in rows_of(after, "list") if int(after.objects.shallow[row]) > 5000 * 8)
        start, end = after.references.start[table : table + 2].tolist()
        targets = after.references.target[start:end].tolist()
        places.update(targets.index(row) for row in owners if row in targets)
    assert len(places) == len(ranks) == 6
    assert Counter(type_names(before)) == Counter(type_names(after))
    assert int(before.objects.shallow.sum()) == int(after.objects.shallow.sum())
    assert before.objects.ids.tolist() != sorted(after.objects.ids.tolist())
    of_owners = [attributes(after, row) for row in owners]
    for name, kind in (("age", "int"), ("vip", "bool"), ("state", "__main__.State"), ("kind", "str")):
        (one,) = {each[name] for each in of_owners}
        assert type_names(after)[one] == kind
        # also where the text is the name of an attribute, as the account's kind is
        assert names_of(after, [int(after.objects.name[one])]) == [""]
    digits = [each["digits"] for each in of_owners]
    for row in digits:
        start, end = after.references.start[row : row + 2].tolist()
        assert len(set(after.references.target[start:end].tolist())) == 1
    (said,) = [each for each in after.warnings if each.code == "redirected-references"]
    assert int(said.said.values["n"].text.replace(",", "")) > 100


def test_names_that_are_data_leave_a_python_dump(own_heap: Path, tmp_path: Path) -> None:
    """Attributes that each object has others of, those that are no identifiers, and threads."""
    data, _ = redacted(own_heap, keeps_shared=False, keeps_threads=False)
    copy = tmp_path / "copy.heap"
    copy.write_bytes(data)
    after = load(copy)
    assert b"ada_" not in data
    assert b"ada@" not in data
    assert b"worker of ada" not in data
    assert b"worker of ada" in redacted(own_heap, keeps_shared=False)[0]
    sessions = [attributes(after, row) for row in rows_of(after, "__main__.Session")]
    assert all({"started", "__class__"} <= set(each) for each in sessions)
    assert {"MainThread", "thread-1"} <= set(names_of(after, after.threads.rows["name"].tolist()))


def test_pyheap_objects_tell_no_values_by_their_places(tmp_path: Path) -> None:
    types = {**pyheap_files.SESSION, 0x90: "State", 0xA0: "EnumMeta", 0xB0: "bool"}
    thing, own = pyheap_files.Thing, pyheap_files.TYPES
    numbers = [thing(0x8000 + 32 * n, own["int"], 28, text=str(n)) for n in range(40)]
    flags = [thing(each, 0xB0, 28, text="True") for each in (0xC00, 0xC20)]
    states = [thing(each, 0x90, 48, text="<State>") for each in (0xD00, 0xD20)]
    owners = [
        thing(0x20000 + 64 * n, 0x80, 48, referents=(0x8000 + 32 * n, 0xC00 + 32 * (n % 2), 0xD00 + 32 * (n % 2)),
              attributes=(("age", 0x8000 + 32 * n), ("vip", 0xC00 + 32 * (n % 2)), ("state", 0xD00 + 32 * (n % 2)),
                          (f"ada_{n}", 0x8000 + 32 * n)))
        for n in range(12)
    ]  # fmt: skip
    table = thing(0x5000, own["list"], 80_000, content=[0x20000 + 64 * 7] + [0x8000] * 500)
    path, copy = tmp_path / "small.pyheap", tmp_path / "copy.pyheap"
    thread = pyheap_files.Thread("worker of ada", [("/app/main.py", 1, "main", [("owner", 0x20000)])])
    path.write_bytes(
        pyheap_files.pyheap(
            [*numbers, *flags, thing(0x90, 0xA0, 1064), *states, *owners, table],
            threads=[thread],
            types=types,
        )
    )
    before, ranks, places = load(path), set(), set()
    for _ in range(6):
        data, _ = redacted(path, keeps_shared=False, keeps_threads=False)
        copy.write_bytes(data)
        after = load(copy)
        assert Counter(type_names(before)) == Counter(type_names(after))
        ranks.add(tuple(np.argsort(after.objects.ids[rows_of(after, "Session")]).tolist()))
        (row,) = rows_of(after, "list")
        start, end = after.references.start[row : row + 2].tolist()
        found = after.references.target[start:end].tolist()
        places.add(found.index(next(each for each in found if type_names(after)[each] == "Session")))
    assert len(ranks) > 4
    assert len(places) > 4
    sessions = [attributes(after, row) for row in rows_of(after, "Session")]
    for name, kind in (("age", "int"), ("vip", "bool"), ("state", "State")):
        (one,) = {each[name] for each in sessions}
        assert type_names(after)[one] == kind
    assert b"ada" not in data
    assert "redirected-references" in {warning.code for warning in after.warnings}
    assert "owner (thread-1)" in names_of(after, after.roots["detail"].tolist())


def test_time_process_and_build_go_unless_they_are_asked_for(tmp_path: Path) -> None:
    java = tmp_path / "small.hprof"
    java.write_bytes(hprof_files.small().end())
    python = tmp_path / "own.heap"
    subprocess.run(
        [sys.executable, "-c", "import memlens.dump, sys; memlens.dump.heap(sys.argv[1])", python], check=True
    )
    pyheap = tmp_path / "small.pyheap"
    pyheap.write_bytes(pyheap_files.small())
    known = {"written_ms", "process_id", "python", "seconds"}
    for path in (java, python, pyheap):
        for keeps in (False, True):
            again = tmp_path / f"again-{path.name}"
            again.write_bytes(redacted(path, keeps_time=keeps)[0])
            before, after = load(path).settings, load(again).settings
            assert {name for name in known if name in before and name in after} == (
                known & set(before) if keeps else set()
            )
            assert (after.get("created", "") == before.get("created", "")) == (
                keeps or "created" not in before
            )
