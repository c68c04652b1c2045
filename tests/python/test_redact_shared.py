"""What order and shared objects tell of values isn't left in a redacted dump."""

import json
import re
import subprocess
import sys
from bisect import bisect_left
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.python import hprof_files, pyheap_files
from tests.python.graph_reading import load, type_names
from tests.python.heap_files import NODE_FIELDS, HeapFile
from tests.python.redacted_files import names_of, redacted, written_anew

from memlens.model.graph import Graph
from memlens.packs.ruby.tests import ruby_files
from memlens.proof.items import Keeps
from memlens.proof.verify import verify

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
    assert sorted(before.objects.shallow.tolist()) == sorted(after.objects.shallow.tolist())
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


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


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


class Node(NamedTuple):
    """An object of a snapshot; sizes are unlike each other, so that they say which is which in the copy."""

    kind: str
    name: str
    id: int
    size: int
    place: int


class Edge(NamedTuple):
    """A reference of a snapshot: what has it, how it is called, and which object it leads to."""

    source: Node
    name: str | int
    target: Node


def edges_of(data: bytes) -> list[Edge]:
    """The references of a snapshot, read without the reader."""
    file = json.loads(data)
    meta, strings = file["snapshot"]["meta"], file["strings"]
    fields = meta["node_fields"]
    kind, name, id_, size, count = (
        fields.index(each) for each in ("type", "name", "id", "self_size", "edge_count")
    )
    rows = [file["nodes"][at : at + len(fields)] for at in range(0, len(file["nodes"]), len(fields))]
    nodes = [
        Node(meta["node_types"][0][row[kind]], strings[row[name]], row[id_], row[size], place)
        for place, row in enumerate(rows)
    ]
    found, at = list[Edge](), 0
    for source, row in zip(nodes, rows, strict=True):
        for _ in range(row[count]):
            type_, called, target = file["edges"][at : at + 3]
            by_index = meta["edge_types"][0][type_] in ("element", "hidden")
            found.append(Edge(source, called if by_index else strings[called], nodes[target // len(fields)]))
            at += 3
    return found


def leads_to(edges: list[Edge], name: str, source: str = "Account") -> list[int]:
    """The sizes of what is called so, by which objects are known in a copy as well."""
    return [each.target.size for each in edges if each.name == name and each.source.name == source]


def told_apart(heap: HeapFile) -> bytes:
    """The snapshot with a size for each object that no other has."""
    for number, node in enumerate(heap.nodes):
        node["self_size"] = 1000 + number
    return heap.data()


def test_names_symbols_and_order_of_v8_tell_no_values(tmp_path: Path) -> None:
    path = tmp_path / "shop.heapsnapshot"
    path.write_bytes(told_apart(shop()))
    again, _ = redacted(path, keeps_shared=False)
    before, after = edges_of(path.read_bytes()), edges_of(again)
    # a state is the same object as the name in the description of a class, or as the constant
    assert len(set(leads_to(before, "state"))) == len(set(leads_to(before, "symbol"))) == 3
    assert len(set(leads_to(after, "state"))) == len(set(leads_to(after, "symbol"))) == 1
    for name in ("(constant pool)", "system / DescriptorArray"):
        own = [
            sorted(each.target.size for each in edges if each.source.name == name)
            for edges in (before, after)
        ]
        assert own[0] == own[1]
    # elements are counted from 0, and those of the engine's arrays too: an index may be an age or a PIN
    for kind in (("object", "Array"), ("array", "(object elements)"), ("synthetic", "")):
        old, new = (
            [
                each
                for each in edges
                if (each.source.kind, each.source.name) == kind and str(each.name).isdigit()
            ]
            for edges in (before, after)
        )
        assert Counter(each.target.size for each in old) == Counter(each.target.size for each in new)
        assert [each.target.size for each in old] != [each.target.size for each in new]
        assert [int(each.name) for each in new] == list(range(len(new)))
    assert b"4711" not in again
    # a symbol's description is a name if code can have written it
    assert MAIL.encode() not in again
    assert len(leads_to(after, "<symbol kState>")) == ORDERED
    # initials can't be told by the order of the objects that have them, nor by that of the texts
    file = json.loads(again)
    keys = [
        each.name
        for each in after
        if (each.source.kind, each.source.name) == ("object", "Object") and each.name not in STATES
    ]
    assert len(set(keys)) == ORDERED
    assert all(str(each).startswith("removed ") for each in keys)
    accounts = [each.target.size for each in after if each.name in keys]
    assert accounts != sorted(accounts)
    names = [each.target.name for each in after if each.name == "single"]
    assert not set(names) & set(keys)
    # also those that led to the one of all: how many didn't would tell how many had another value
    were = {(each.source.size, each.target.size) for each in before}
    common = {each.target for each in after if (each.source.size, each.target.size) not in were}
    assert file["snapshot"]["memlens_redirected"] == sum(each.target in common for each in after)


def test_which_symbol_stands_for_all_is_drawn(tmp_path: Path) -> None:
    """The first in the file is that of the object which was looked at first."""
    path = written(tmp_path / "shop.heapsnapshot", told_apart(shop()))
    found = {
        size
        for _ in range(24)
        for size in leads_to(edges_of(redacted(path, keeps_shared=False)[0]), "symbol")
    }
    assert len(found) == len(STATES)


def is_chance(order: list[int]) -> bool:
    """Whether about half of the neighbours ascend, as in a random order."""
    ascending = sum(one < other for one, other in pairwise(order))
    return abs(ascending - len(order) / 2) < 5 * len(order) ** 0.5


HASHED = 400


def test_the_order_of_objects_references_and_ids_of_v8_tells_nothing(tmp_path: Path) -> None:
    """The engine's table of strings is in the order of hashes, whose seed a few texts that are known give away."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    table = heap.node("synthetic", "(Internalized strings)")
    accounts = heap.node("object", "Accounts", 40)
    heap.edge(root, "element", 1, table)
    heap.edge(root, "element", 2, accounts)
    heap.edge(root, "property", "Accounts", heap.node("closure", "Accounts", 32))
    for number in range(HASHED):
        function = heap.node("closure", f"handler{number}", 32)
        text = heap.node("string", f"handler{number}", 24)
        heap.edge(table, "internal", str(number), text)
        heap.edge(function, "internal", "name_or_scope_info", text)
        heap.edge(accounts, "property", f"handler{number}", function)
        heap.locations.append((function, 1, number, 0))
    path = tmp_path / "hashed.heapsnapshot"
    path.write_bytes(told_apart(heap))
    again, _ = redacted(path, keeps_shared=False)
    after = edges_of(again)
    file = json.loads(again)
    assert after[0].source.name == ""
    for source in ("(Internalized strings)", "Accounts"):
        own = [each.target for each in after if each.source.name == source]
        assert sorted(each.size for each in own) == sorted(
            each.target.size for each in edges_of(path.read_bytes()) if each.source.name == source
        )
        # as they are referred to, as they are in the file, and by their ids
        if source != "Accounts":
            assert is_chance([each.size for each in own])
        assert is_chance([each.size for each in sorted(own, key=lambda each: each.place)])
        assert is_chance([each.size for each in sorted(own, key=lambda each: each.id)])
    named = [each for each in after if each.source.name == "(Internalized strings)"]
    assert is_chance([each.target.size for each in sorted(named, key=lambda each: int(each.name))])

    # properties are in an order that is the same for each copy, unless their names are others
    def order(mapping: list[str] | None) -> list[str]:
        data, _ = redacted(path, mapping=mapping, keeps_shared=False)
        old = dict(line.split(" -> ")[::-1] for line in mapping or ())
        return [old.get(str(each.name), str(each.name)) for each in edges_of(data)
                if each.source.kind == "object"]  # fmt: skip

    assert order(None) == order(None)
    assert len(order(None)) == HASHED
    assert order([]) != order([])
    assert sorted(order([])) == sorted(order(None))
    # lines of functions are where these are
    functions = {each.target.place: each.target.name for each in after if each.source.name == "Accounts"}
    width = len(NODE_FIELDS)
    rows = [file["locations"][at : at + 4] for at in range(0, len(file["locations"]), 4)]
    assert all(functions[place // width] == f"handler{line}" for place, _, line, _ in rows)
    assert is_chance([line for _, _, line, _ in rows])
    # texts stand in an order of their own
    texts = [text for text in file["strings"] if text.startswith("handler")]
    assert is_chance([int(text.removeprefix("handler")) for text in texts])
    assert verify(path, written(tmp_path / "copy.heapsnapshot", again), Keeps()).found == []
    kept, _ = redacted(path, keeps_shared=True)
    found = verify(path, written(tmp_path / "kept.heapsnapshot", kept), Keeps()).found
    assert {each.stands for each in found} == {"order of texts"}
    assert edges_of(kept)[0].target.id == edges_of(path.read_bytes())[0].target.id


def test_numbers_in_descriptions_of_classes_tell_no_names_and_no_order(tmp_path: Path) -> None:
    """By a hash of its name stands a transition, and by when it was added a property, also one whose name is gone."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    of_kinds = {
        ("object shape", "system / DescriptorArray"): ("internal", 3),
        ("object shape", "system / TransitionArray"): ("weak", 2),
        ("code", "(constant pool)"): ("internal", 1),
        ("array", "(object elements)"): ("weak", 1),
        ("object shape", "system / EnumCache"): ("hidden", 1),
        ("array", "(script list)"): ("element", 5),
    }
    for (kind, name), (edge, step) in of_kinds.items():
        holder = heap.node(kind, name, 80)
        heap.edge(root, "internal", "held", holder)
        for number in range(HASHED):
            called = step * number
            heap.edge(
                holder,
                edge,
                called if edge in ("hidden", "element") else str(called),
                heap.node("object", "Object", 24),
            )
    path = written(tmp_path / "shapes.heapsnapshot", told_apart(heap))
    again, _ = redacted(path, keeps_shared=False)
    after = edges_of(again)
    for name in of_kinds:
        own = [each for each in after if (each.source.kind, each.source.name) == name]
        assert [int(each.name) for each in own] == list(range(HASHED)), name
        assert is_chance([each.target.size for each in own]), name
    assert verify(path, written(tmp_path / "copy.heapsnapshot", again), Keeps()).found == []
    kept, _ = redacted(path, keeps_shared=True)
    found = verify(path, written(tmp_path / "kept.heapsnapshot", kept), Keeps()).found
    assert {each.stands for each in found} >= {"index of elements"}


def test_in_which_interval_of_a_recording_something_was_made_stays(tmp_path: Path) -> None:
    heap = HeapFile()
    root = heap.node("synthetic", "")
    for _ in range(HASHED):
        heap.edge(root, "element", 1, heap.node("object", "Object", 16))
    data = json.loads(told_apart(heap))
    data["snapshot"]["meta"]["sample_fields"] = ["timestamp_us", "last_assigned_id"]
    lasts = [101, 301, 2 * HASHED + 1]
    data["samples"] = [each for number, last in enumerate(lasts) for each in (number, last)]
    path = tmp_path / "recording.heapsnapshot"
    path.write_bytes(json.dumps(data).encode())
    again, _ = redacted(path, keeps_shared=False)
    assert json.loads(again)["samples"] == data["samples"]
    before, after = (
        {each.target.size: each.target.id for each in edges_of(file)} for file in (path.read_bytes(), again)
    )
    intervals = [{size: bisect_left(lasts, id_) for size, id_ in ids.items()} for ids in (before, after)]
    assert intervals[0] == intervals[1]
    assert sorted(before.values()) == sorted(after.values())
    for interval in range(len(lasts)):
        order = [after[size] for size in sorted(after) if intervals[0][size] == interval]
        assert order != sorted(order)


def test_what_a_weak_map_s_entry_leads_to_isn_t_named(tmp_path: Path) -> None:
    """The flag is another object in the copy; its id in the entry's name would be that of the original."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    flags = [heap.node("hidden", name, 16) for name in ("true", "false")]
    table = heap.node("array", "", 64)
    heap.edge(root, "element", 1, table)
    for number in range(8):
        key = heap.node("object", "Object", 16)
        heap.edge(root, "element", number, key)
        ids = [heap.nodes[each]["id"] for each in (key, flags[number % 2], table)]
        entry = (
            f"{number} / part of key (Object @{ids[0]}) -> value ({('true', 'false')[number % 2]} @{ids[1]})"
            f" pair in WeakMap (table @{ids[2]})"
        )
        for owner in (key, table):
            heap.edge(owner, "internal", entry, flags[number % 2])
    path = tmp_path / "weak.heapsnapshot"
    path.write_bytes(told_apart(heap))
    again, _ = redacted(path, keeps_shared=False)
    entries = [each for each in edges_of(again) if "WeakMap" in str(each.name)]
    (held,) = {each.source for each in entries if each.source.kind == "array"}
    assert len({each.target for each in entries}) == 1
    # the number of an entry is by its key's hash: each has another in the copy
    named = rf"\d+ / part of key \(removed\) -> value \(removed\) pair in WeakMap \(table @{held.id}\)"
    assert all(re.fullmatch(named, str(each.name)) for each in entries)
    assert len({each.name for each in entries}) == 8
    assert {str(each.name).split()[0] for each in entries} != {str(number) for number in range(8)}


CONDITIONS = ("none", "paid", "anaemia of two")


@pytest.mark.parametrize("kind", ["string", "concatenated string"])
def test_constants_of_code_and_engine_tell_no_equal_text_of_v8(kind: str, tmp_path: Path) -> None:
    """A text is known by the engine's name for it, or by the code that has it; also that of a copy of its own."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    roots = heap.node("synthetic", "(Read-only roots)")
    handles = heap.node("synthetic", "(Eternal handles)")
    pool = heap.node("code", "(constant pool)", 80)
    texts = [heap.node("string", each, 24) for each in CONDITIONS]
    heap.edge(roots, "internal", "none_string", texts[0])
    heap.edge(pool, "internal", "0", texts[1])
    heap.edge(pool, "internal", "1", heap.node("string", "condition", 24))
    heap.edge(handles, "element", 0, texts[2])
    for held in (roots, handles, pool):
        heap.edge(root, "element", 1, held)
    heap.edge(root, "internal", "empty_string", heap.node("string", "", 16))
    heap.edge(root, "property", "Account", heap.node("closure", "Account", 32))
    for number in range(6):
        account = heap.node("object", "Account", 64)
        heap.edge(root, "element", number, account)
        copy = heap.node(kind, CONDITIONS[number % 3], 24)
        heap.edge(account, "property", "condition", texts[number % 3] if number < 3 else copy)
    path = tmp_path / "known.heapsnapshot"
    path.write_bytes(told_apart(heap))
    again, _ = redacted(path, keeps_shared=False)
    before, after = edges_of(path.read_bytes()), edges_of(again)
    assert len(set(leads_to(before, "condition"))) == 6
    assert len(set(leads_to(after, "condition"))) == 1
    # what knows them still leads to them, by which they aren't told from others
    assert leads_to(after, "none_string", "(Read-only roots)") == leads_to(
        before, "none_string", "(Read-only roots)"
    )
    known = {
        each.target.name for each in after if each.source.name in ("(Read-only roots)", "(constant pool)")
    }
    assert known == {""}


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


def test_where_a_number_s_text_stands_does_not_tell_that_it_was_a_content(tmp_path: Path) -> None:
    heap = HeapFile()
    root = heap.node("synthetic", "", 0)
    # texts are listed in the order in which the engine came upon them
    for pin in ("7", "3"):
        heap.edge(root, "element", int(pin), heap.node("string", pin, 16))
    array = heap.node("array", "(object elements)", 800)
    heap.edge(root, "internal", "held", array)
    for number in range(10):
        heap.edge(array, "internal", str(number), heap.node("object", "Account", 64))
    path = tmp_path / "pins.heapsnapshot"
    path.write_bytes(heap.data())

    def numbers(data: bytes) -> list[str]:
        return [text for text in json.loads(data)["strings"] if text.isdigit()]

    assert numbers(path.read_bytes())[:2] == ["7", "3"]
    again, _ = redacted(path, keeps_shared=False)
    assert sorted(numbers(again)) == [str(number) for number in range(10)]
    assert len({tuple(numbers(redacted(path, keeps_shared=False)[0])) for _ in range(4)}) > 1
    named = {each.name for each in edges_of(again) if each.source.name == "(object elements)"}
    assert named == set(numbers(again))


def test_a_number_s_text_is_not_taken_for_that_of_an_element(tmp_path: Path) -> None:
    """Elements of the engine's arrays are called by texts, as a PIN below their count may be."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    table = heap.node("synthetic", "(Internalized strings)")
    heap.edge(root, "element", 1, table)
    heap.edge(root, "internal", "empty_string", heap.node("string", "", 16))
    heap.edge(root, "property", "Account", heap.node("closure", "Account", 32))
    for number in range(30):
        heap.edge(table, "internal", str(number), heap.node("object", "Object", 24))
    for number, pin in enumerate(("12", "17", "7391", "8000")):
        account = heap.node("object", "Account", 64)
        heap.edge(root, "element", number, account)
        heap.edge(account, "property", "pin", heap.node("string", pin, 24))
    path = written(tmp_path / "pins.heapsnapshot", told_apart(heap))
    again, _ = redacted(path, keeps_shared=False)
    after = edges_of(again)
    assert sorted(leads_to(after, "pin")) == sorted(leads_to(edges_of(path.read_bytes()), "pin"))
    pins = {each.target.name for each in after if each.name == "pin"}
    assert len(pins) == 4
    assert all(pin.startswith("removed ") for pin in pins)
    assert {each.name for each in after if each.source.name == "(Internalized strings)"} == {
        str(number) for number in range(30)
    }
