"""Names that a Python program's data gave, or that tell its values, leave a redacted dump."""

import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.python import pyheap_files
from tests.python.graph_reading import load, type_names
from tests.python.redacted_files import names_of, redacted, reference_names

from memlens.dump import MAGIC
from memlens.model.graph import Graph

PROGRAM = """
import sys, memlens.dump
class Bag: pass
class Meta(type): pass
class Ledger:
    total = 0
    def __init__(self): self.entries, self.first, self.last = [], None, None
    @property
    def size(self): return len(self.entries)
    def add(self, entry): self.entries.append(entry)
def fill():
    for number in range(12):
        bag = Bag()
        bag.pin, bag.vip, bag.count = 5000 + number, number % 3 == 0, number % 2
        setattr(bag, "is_" + ("none" if number % 2 else "ada"), True)
        bags.append(bag)
        setattr(sessions, f"ada{number}", number)
        kinds.append(Meta(f"Kind{number}", (), {"limit": number, f"check_ada{number}": lambda self: 1}))
        scope = {}
        exec(f"def rule_{number:02}(): pass", scope)
        rules.append(scope.popitem()[1])
bags, sessions, kinds, rules, ledger = [], Bag(), [], [], Ledger()
fill()
globals()["user_ada"] = ledger
print(kinds[0].limit, ledger.size, Ledger.total)
memlens.dump.heap(sys.argv[1])
"""
MADE_FIELDS = """
import collections, dataclasses, sys, memlens.dump
def towns(row, record): return row.col_town, record.fld_town
row = collections.namedtuple("Row", ["col_town", "col_" + "ada"])(1, 2)
record = dataclasses.make_dataclass("Record", ["fld_town", "fld_" + "ada"])(1, 2)
towns(row, record)
memlens.dump.heap(sys.argv[1], force=True)
"""
ORDER = [f"rule_{number:02}" for number in range(12)]


@pytest.fixture(scope="module")
def heap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("python") / "own.heap"
    subprocess.run([sys.executable, "-c", PROGRAM, path], check=True, stdout=subprocess.DEVNULL)
    return path


def attributes(graph: Graph, name: str) -> list[list[str]]:
    """The names by which each object of a type refers to others, in their order."""
    start, numbers = graph.references.start, graph.references.name
    return [
        names_of(graph, numbers[start[row] : start[row + 1]].tolist())
        for row, each in enumerate(type_names(graph))
        if each == name
    ]


def texts_in(data: bytes, words: Sequence[str]) -> list[str]:
    """Words that a file has, in the order in which it has them."""
    return sorted(
        (word for word in words if word.encode() in data), key=lambda word: data.index(word.encode())
    )


def test_a_name_stays_only_if_the_code_has_it(heap: Path, tmp_path: Path) -> None:
    whole, copy = heap.read_bytes(), tmp_path / "copy.heap"
    for given in (b"is_none", b"is_ada", b"check_ada7", b"user_ada", b"ada11"):
        assert given in whole
    data, _ = redacted(heap, keeps_shared=False)
    for part in (b"is_none", b"is_ada", b"check_ada", b"user_ada", b"ada1"):
        assert part not in data
    copy.write_bytes(data)
    graph = load(copy)
    assert {"entries", "first", "last"} <= set(attributes(graph, "__main__.Ledger")[0])
    names = set(reference_names(graph, {"attribute", "value"}))
    assert {"pin", "vip", "limit", "size", "total", "add", "ledger", "sessions"} <= names
    details = names_of(graph, graph.roots["detail"].tolist())
    assert {"ledger (MainThread)", "removed (MainThread)"} <= set(details)
    # another redaction leaves what the first left
    copy.write_bytes(redacted(copy, keeps_shared=False)[0])
    again = load(copy)
    assert set(reference_names(again, {"attribute", "value"})) == names


def test_fields_that_data_named_are_no_names_of_code(tmp_path: Path) -> None:
    """A named tuple and a data class have methods that were made of the names of their fields."""
    program, path = tmp_path / "program.py", tmp_path / "own.heap"
    program.write_text(MADE_FIELDS)
    for arguments in ([str(program)], ["-c", MADE_FIELDS]):
        subprocess.run([sys.executable, *arguments, str(path)], check=True)
        assert all(field in path.read_bytes() for field in (b"col_ada", b"fld_ada", b"col_town", b"fld_town"))
        data, _ = redacted(path, keeps_shared=False)
        words = ["col_ada", "fld_ada", "col_town", "fld_town"]
        assert set(texts_in(data, words)) == {"col_town", "fld_town"}


def test_attributes_with_one_object_have_their_own_names(heap: Path, tmp_path: Path) -> None:
    """vip, count and is_… are the same object, or aren't."""
    for path in (heap, tmp_path / "copy.heap"):
        if path != heap:
            path.write_bytes(redacted(heap, keeps_shared=False)[0])
        found = [names[:4] for names in attributes(load(path), "__main__.Bag") if "pin" in names]
        assert len(found) == 12
        assert {tuple(names[:3]) for names in found} == {("pin", "vip", "count")}
        if path != heap:
            assert {names[3] for names in found} == {""}


def test_the_order_of_texts_tells_nothing(heap: Path) -> None:
    before = texts_in(heap.read_bytes(), ORDER)
    found = {tuple(texts_in(redacted(heap, keeps_shared=False)[0], ORDER)) for _ in range(4)}
    assert len(found) == 4
    assert all(sorted(each) == ORDER for each in found)
    assert texts_in(redacted(heap)[0], ORDER) == before


def older(objects: Sequence[Sequence[str]]) -> bytes:
    """A dump that says nothing of the code, of objects with attributes; those of one name have one object."""
    out, known = bytearray(MAGIC + struct.pack("<II", 1, 8)), dict[str, int]()

    def text(words: str) -> int:
        if words not in known:
            out.extend(struct.pack("<cI", b"S", len(words)) + words.encode())
            known[words] = len(known) + 1
        return known[words]

    numbers = [[text(name) for name in names] for names in objects]
    out.extend(struct.pack("<cQII", b"T", 0x900, text("Order"), text("app")))
    out.extend(struct.pack("<cQII", b"T", 0x910, text("object"), text("builtins")))
    for row, names in enumerate(numbers):
        out.extend(struct.pack("<cQQQIII", b"O", 0x1000 + 64 * row, 0x900, 48, 0, 0, 0xFFFF_FFFF))
        held = [0x5000 + 16 * number for number in names]
        out.extend(struct.pack(f"<cI{len(held)}Q{len(held)}I", b"n", len(held), *held, *names))
    others = [0x900, 0x910, *(0x5000 + 16 * number for number in known.values())]
    for address in others:
        out.extend(struct.pack("<cQQQIII", b"O", address, 0x910, 16, 0, 0, 0xFFFF_FFFF))
    return bytes(out + struct.pack("<cQ", b"E", len(objects) + len(others)))


def test_names_that_an_older_dump_borrowed_tell_no_equal_values(tmp_path: Path) -> None:
    """Where an attribute was called like an earlier one with its object, it has the name of the others."""
    path, copy = tmp_path / "old.heap", tmp_path / "copy.heap"
    plain = [["owner", "vip", "locked", f"is_ada{number}"] for number in range(4)]
    borrowed = [["owner", "vip", "vip", "vip"], ["owner", "vip", "locked", "vip"]]
    path.write_bytes(older([*plain, *borrowed, ["owner", "ada_once"]]))
    for keeps_shared in (False, True):
        data, _ = redacted(path, keeps_shared=keeps_shared)
        assert b"ada" not in data
        copy.write_bytes(data)
        found = sorted(attributes(load(copy), "app.Order"))
        assert found == [["owner", ""], *[["owner", "vip", "locked", ""]] * 6]


def test_attributes_of_a_dictionary_beside_others_in_pyheaps_dumps(tmp_path: Path) -> None:
    """One object has as many attributes as all others together, which hid what it is."""
    thing, own = pyheap_files.Thing, pyheap_files.TYPES
    values = [thing(0x4000 + 32 * number, own["int"], 28, text=str(5000 + number)) for number in range(12)]
    places = [each.address for each in values]

    def named(address: int, of_type: int, *names: str) -> pyheap_files.Thing:
        return thing(
            address, of_type, 48, referents=places, attributes=tuple(zip(names, places, strict=False))
        )

    bags = [
        named(0x6000 + 64 * number, 0x80, "pin", "vip", f"is_{('none', 'ada', 'eve')[number % 3]}")
        for number in range(12)
    ]
    sessions = named(0x8000, 0x80, *(f"ada{number}" for number in range(12)))
    lone = named(0x9000, 0x90, "ada_once", "queue")
    frame = ("/app/main.py", 1, "<module>", [("user_ada", 0x4000), ("sys", 0x4000)])
    path, copy = tmp_path / "bags.pyheap", tmp_path / "copy.pyheap"
    path.write_bytes(
        pyheap_files.pyheap(
            [*values, *bags, sessions, lone],
            threads=[pyheap_files.Thread("MainThread", [frame])],
            types={0x80: "Bag", 0x90: "Registry"},
        )
    )
    data, _ = redacted(path, keeps_shared=False)
    assert not [part for part in (b"ada", b"is_") if part in data]
    copy.write_bytes(data)
    graph = load(copy)
    assert [set(names) & {"pin", "vip"} for names in attributes(graph, "Bag")].count({"pin", "vip"}) == 12
    assert "queue" in attributes(graph, "Registry")[0]
    assert {"removed (MainThread)", "sys (MainThread)"} <= set(
        names_of(graph, graph.roots["detail"].tolist())
    )
