"""What names, counts and orders tell of values isn't left in a redacted dump."""

import hashlib
import itertools
import os
import random
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.python import planted_heaps, pyheap_files
from tests.python.graph_reading import load, type_names
from tests.python.hprof_files import Dump
from tests.python.redacted_files import names_of, redacted

from memlens.dump import MAGIC
from memlens.kernels.base.random import permutation
from memlens.model.graph import Graph
from memlens.proof.items import Keeps
from memlens.proof.verify import verify


def rows_of(graph: Graph, name: str) -> list[int]:
    return [row for row, each in enumerate(type_names(graph)) if each == name]


# ---- secrets -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", planted_heaps.FORMATS)
def test_no_byte_of_a_copy_depends_on_a_secret(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dumps that differ in one secret have the same copy, if what is drawn at random is the same as well."""
    places, make, file = planted_heaps.FORMATS[name]
    whole = [place for place in places if place not in planted_heaps.DAMAGE]
    path, differs = tmp_path / file, ""
    text, number = planted_heaps.Secrets.text, planted_heaps.Secrets.number

    def other_text(secrets: planted_heaps.Secrets, place: str, blank: str = "") -> str:
        found = text(secrets, place, blank)
        return found.replace("ada", "bob") if place == differs else found

    def other_number(secrets: planted_heaps.Secrets, place: str, bits: int = 63) -> int:
        return number(secrets, place, bits) + 1_000 * (place == differs)

    def copy() -> bytes:
        drawn = itertools.count()

        def draw(count: int) -> bytes:
            return hashlib.shake_256(str(next(drawn)).encode()).digest(count)

        path.write_bytes(make(whole))
        with monkeypatch.context() as fixed:
            fixed.setattr(os, "urandom", draw)
            fixed.setattr(random, "_urandom", draw)
            return redacted(path, keeps_shared=False, keeps_time=False, keeps_threads=False)[0]

    monkeypatch.setattr(planted_heaps.Secrets, "text", other_text)
    monkeypatch.setattr(planted_heaps.Secrets, "number", other_number)
    first, dump = copy(), path.read_bytes()
    tried, told = [], []
    for differs in whole:
        if copy() != first:
            told.append(differs)
        if path.read_bytes() != dump:
            tried.append(differs)
    assert tried == whole
    assert told == []


# ---- random orders -----------------------------------------------------------------------------------------------


def chacha20(key: bytes, block: int) -> list[int]:
    """A block of the key stream as RFC 8439 says, without a nonce."""
    first = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key), block, 0, 0, 0]
    state = list(first)

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for to, by, mixed, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[to] = (state[to] + state[by]) & 0xFFFFFFFF
            word = state[mixed] ^ state[to]
            state[mixed] = (word << bits | word >> (32 - bits)) & 0xFFFFFFFF

    for _ in range(10):
        for each in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)):
            quarter(*each)
        for each in ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            quarter(*each)
    return [(one + other) & 0xFFFFFFFF for one, other in zip(state, first, strict=True)]


def test_orders_are_those_of_a_stream_cipher() -> None:
    # the first test vector of RFC 8439, A.1
    assert struct.pack("<16I", *chacha20(bytes(32), 0))[:8].hex() == "76b8e0ada0f13d90"
    key, count = bytes(range(32)), 3000
    words = itertools.chain.from_iterable(chacha20(key, block) for block in itertools.count())
    order = [0] * count
    for number in range(count):
        while True:
            product = next(words) * (number + 1)
            if product & 0xFFFFFFFF >= (1 << 32) % (number + 1):
                break
        order[number] = order[product >> 32]
        order[product >> 32] = number
    assert np.asarray(permutation(count, key)).tolist() == order
    assert sorted(order) == list(range(count))
    assert np.asarray(permutation(count)).tolist() != np.asarray(permutation(count)).tolist()
    assert np.asarray(permutation(0)).tolist() == []
    with pytest.raises(ValueError, match="32 bytes"):
        permutation(4, b"short")


def test_elements_of_a_large_array_of_java_stand_anywhere(tmp_path: Path) -> None:
    """Customers by their numbers: that some are near each other isn't left."""
    count, own = 1_500_000, 200
    dump = Dump()
    root = dump.klass(0x1000, "java/lang/Object")
    customer = dump.klass(0x1100, "com/acme/Customer", root)
    array = dump.klass(0x1200, "[Lcom/acme/Customer;", root)
    elements = [0] * count
    for at in range(count // 2, count // 2 + own):
        elements[at] = 0x20_0000 + 0x10 * at
        dump.instance(elements[at], customer)
    dump.objects(0x3000, array, elements)
    for each in (0x1000, 0x1100, 0x1200, 0x3000):
        dump.add(0x05, "P", each)
    path, copy = tmp_path / "table.hprof", tmp_path / "copy.hprof"
    path.write_bytes(dump.end())
    copy.write_bytes(redacted(path, keeps_shared=False)[0])
    after = load(copy)
    (row,) = rows_of(after, "com.acme.Customer[]")
    start, end = after.references.start[row : row + 2].tolist()
    targets = after.references.target[start:end]
    is_element = np.isin(targets, rows_of(after, "com.acme.Customer"))
    places = np.sort(after.references.name[start:end][is_element].astype(np.int64))
    assert len(np.unique(targets[is_element])) == len(np.unique(places)) == own
    assert places[0] < 0.1 * count
    assert places[-1] > 0.9 * count
    assert 0.3 < np.median(places) / count < 0.7


# ---- PyHeap ------------------------------------------------------------------------------------------------------


def pyheap_with_flags(path: Path, flags: list[tuple[bool, bool]], ages: list[tuple[int, int]]) -> None:
    types = {**pyheap_files.SESSION, 0xB0: "bool"}
    thing, own = pyheap_files.Thing, pyheap_files.TYPES
    singles = [thing(0xC00 + 32 * each, 0xB0, 28 + 4 * each, text=str(bool(each))) for each in range(2)]
    singles += [thing(0x8000 + 32 * each, own["int"], 28, text=str(each)) for each in range(40)]
    owners = []
    for number, (two, years) in enumerate(zip(flags, ages, strict=True)):
        addresses = [0xC00 + 32 * each for each in two] + [0x8000 + 32 * each for each in years]
        named = zip(("vip", "locked", "age", "visits"), addresses, strict=True)
        # PyHeap writes what an object refers to as a set
        owners.append(
            thing(
                0x20000 + 64 * number,
                0x80,
                48,
                referents=tuple(dict.fromkeys(addresses)),
                attributes=tuple(named),
            )
        )
    path.write_bytes(pyheap_files.pyheap([*singles, *owners], types=types))


def test_what_two_references_of_pyheap_lead_to_does_not_tell_that_they_are_equal(tmp_path: Path) -> None:
    path, copy = tmp_path / "flags.pyheap", tmp_path / "copy.pyheap"
    counts, said = set[int](), set[str]()
    for flags, ages in (
        ([(True, True), (True, False), (False, False)], [(3, 3), (3, 4), (5, 6)]),
        ([(False, True), (True, True), (True, True)], [(7, 9), (1, 1), (2, 2)]),
    ):
        pyheap_with_flags(path, flags, ages)
        copy.write_bytes(redacted(path, keeps_shared=False)[0])
        after = load(copy)
        sessions = rows_of(after, "Session")
        assert len(sessions) == 3
        counts |= {int(np.diff(after.references.start[row : row + 2])[0]) for row in sessions}
        (warning,) = (each for each in after.warnings if each.code == "redirected-references")
        said.add(warning.said.values["n"].text)
        assert verify(path, copy, Keeps(time=True)).found == []
    assert len(counts) == 1
    # nor does the number of references that lead to one of their kind
    assert len(said) == 1
    twice = pyheap_files.Thing(0x20000, 0x80, 48, referents=(0xC00, 0xC00))
    copy.write_bytes(pyheap_files.pyheap([twice], types={**pyheap_files.SESSION}))
    assert "reference that is there twice" in {
        each.stands for each in verify(path, copy, Keeps(time=True)).found
    }


def test_which_of_the_shared_objects_stands_for_all_is_drawn(tmp_path: Path) -> None:
    """The first in the file is the one that an object has which was looked at first, so it tells that value."""
    path, copy = tmp_path / "flags.pyheap", tmp_path / "copy.pyheap"
    pyheap_with_flags(path, [(True, False)], [(3, 4)])
    sizes = set[int]()
    for _ in range(24):
        copy.write_bytes(redacted(path, keeps_shared=False)[0])
        after = load(copy)
        held = {after.references.target[each] for row in rows_of(after, "Session")
                for each in range(*after.references.start[row : row + 2].tolist())}  # fmt: skip
        sizes |= {int(after.objects.shallow[row]) for row in rows_of(after, "bool") if row in held}
    assert sizes == {28, 32}


# ---- Python ------------------------------------------------------------------------------------------------------

FLAGS = """
import sys, threading, memlens.dump

class Account:
    vip = False
    mode = 0
    def __init__(self, number):
        self.owner = [number]
        self.locked = number % 3 == 0
        if number % 4 == 3:
            self.vip = number % 2 == 0
        self.visits = 0 if number % 5 else 7

class Slotted:
    __slots__ = ("vip", "owner")
    def __init__(self, number):
        self.vip, self.owner = number % 2 == 0, [number]

accounts = [Account(number) for number in range(60)]
slotted = [Slotted(number) for number in range(9)]

frames = []
def kept(flag, number):
    frames.append(sys._getframe())

for number in range(6):
    kept(number % 2 == 0, number % 2)

def wait_for(flag, number, started):
    started.set()
    threading.Event().wait()

for number in range(6):
    started = threading.Event()
    threading.Thread(target=wait_for, args=(number % 2 == 0, number % 2, started), daemon=True).start()
    started.wait()
for number in range(40):
    globals()[f"zz_{chr(97 + number % 26)}_own_name_{number}"] = accounts

def uses():
    return (zz_a_own_name_0, accounts[0].aa_own_attribute, accounts[0].zz_own_attribute, slotted)

accounts[0].aa_own_attribute = accounts[0].zz_own_attribute = [1]
memlens.dump.heap(sys.argv[1])
"""


@pytest.fixture(scope="module")
def flags_heap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("flags") / "flags.heap"
    subprocess.run([sys.executable, "-c", FLAGS, path], check=True)
    return path


def names_of_targets(graph: Graph, row: int) -> dict[str, str]:
    """The types of what an object refers to, by the names of the references."""
    start, end = graph.references.start[row : row + 2].tolist()
    named = names_of(graph, graph.references.name[start:end].tolist())
    types = type_names(graph)
    return dict(
        zip(named, (types[each] for each in graph.references.target[start:end].tolist()), strict=True)
    )


def test_a_flag_has_the_same_name_whatever_it_is(flags_heap: Path) -> None:
    """By a flag of the interpreter's frame, or a default of the class, a value would be called by what it equals."""
    graph = load(flags_heap)
    frames = rows_of(graph, "frame")
    of_frames = [name for row in frames for name in names_of_targets(graph, row)]
    assert frames
    assert not {"f_trace_lines", "f_trace_opcodes", "f_lineno"} & set(of_frames)
    accounts = rows_of(graph, "__main__.Account")
    assert len(accounts) == 60
    # by how many attributes of their own they have
    by_count: dict[int, set[frozenset[str]]] = {}
    for row in accounts:
        found = names_of_targets(graph, row)
        if "aa_own_attribute" not in found:
            count = int(np.diff(graph.references.start[row : row + 2])[0])
            by_count.setdefault(count, set()).add(frozenset(found))
    assert all(len(names) == 1 for names in by_count.values()), by_count
    assert any("vip" in next(iter(names)) for names in by_count.values())
    slotted = {frozenset(names_of_targets(graph, row)) for row in rows_of(graph, "__main__.Slotted")}
    assert slotted == {frozenset({"vip", "owner", "__class__"})}


def records_of(data: bytes) -> list[bytes]:
    """The records of a dump by ``memlens.dump`` after its head."""
    sizes = {b"O": 37, b"F": 13, b"L": 13, b"T": 17, b"A": 21, b"G": 21, b"N": 9, b"E": 9}
    found, at = [], 16
    while at < len(data):
        tag = data[at : at + 1]
        size = sizes.get(tag)
        if size is None:
            (count,) = struct.unpack_from("<I", data, at + 1)
            size = 5 + count * {b"S": 1, b"K": 4, b"n": 12}.get(tag, 8)
        found.append(data[at : at + size])
        at += size
    return found


def is_chance(order: list[str]) -> bool:
    ascending = sum(one < other for one, other in itertools.pairwise(order))
    return abs(ascending - len(order) / 2) < 5 * len(order) ** 0.5


@pytest.mark.parametrize("renamed", [False, True])
def test_names_of_code_and_roots_are_in_no_order(flags_heap: Path, renamed: bool) -> None:
    mapping: list[str] | None = [] if renamed else None
    data, _ = redacted(flags_heap, mapping=mapping, keeps_shared=False, keeps_time=False)
    records = records_of(data)
    texts = ["", *(each[5:].decode() for each in records if each[:1] == b"S")]
    notes = {texts[struct.unpack_from("<I", each, 1)[0]] for each in records if each[:1] == b"N"}
    assert {"removed", "redirected"} <= notes
    assert not {"peak_bytes", "seconds"} & notes
    before = dict(line.split(" -> ")[::-1] for line in mapping or ())
    labels = [texts[struct.unpack_from("<I", each, 9)[0]] for each in records
              if each[:1] == b"L" and not any(each[1:9])]  # fmt: skip
    assert len(labels) > 200
    assert is_chance([before.get(each, each) for each in labels])
    if renamed:
        # nor are the other names numbered in that order
        new = [each for each in before if each[1:].isdigit()]
        assert len(new) > 100
        assert is_chance([before[each] for each in sorted(new, key=lambda each: int(each[1:]))])
    modules = [texts[struct.unpack_from("<I", each, 13)[0]] for each in records if each[:1] == b"G"]
    plain = records_of(flags_heap.read_bytes())
    own = ["", *(each[5:].decode() for each in plain if each[:1] == b"S")]
    listed = [own[struct.unpack_from("<I", each, 13)[0]] for each in plain if each[:1] == b"G"]
    known = [before.get(each, each) for each in modules]
    places = [listed.index(each) for each in known if each in listed]
    assert len(places) > 40
    assert places != sorted(places)


def test_the_copy_of_an_earlier_dump_does_not_call_a_variable_by_a_flag_of_its_frame(tmp_path: Path) -> None:
    """As dumps were written before: a True among what a frame has is called by the flag."""
    words = ("frame", "bool", "builtins", "f_trace_lines", "f_back", "type")
    out = bytearray(MAGIC + struct.pack("<II", 1, 8))
    for word in words:
        out += struct.pack("<cI", b"S", len(word)) + word.encode()
    out += struct.pack("<cQII", b"T", 0x900, 1, 3) + struct.pack("<cQII", b"T", 0x910, 2, 3)
    out += struct.pack("<cQII", b"T", 0x920, 6, 3)
    objects = [*((0x910, each) for each in (0x100, 0x120)), *((0x900, 0x1000 + 64 * each) for each in range(4)),
               (0x920, 0x900), (0x920, 0x910), (0x920, 0x920)]  # fmt: skip
    for row, (kind, address) in enumerate(objects):
        out += struct.pack("<cQQQIII", b"O", address, kind, 48, 0, 0, 0xFFFF_FFFF)
        if kind == 0x900:
            held = [0x1000, 0x100 + 32 * (row % 2)]
            out += struct.pack("<cI2Q2I", b"n", 2, *held, 5, 0 if row % 2 else 4)
    path, copy = tmp_path / "earlier.heap", tmp_path / "copy.heap"
    path.write_bytes(out + struct.pack("<cQ", b"E", len(objects)))
    found = []
    for each in (path, copy):
        if each == copy:
            copy.write_bytes(redacted(path, keeps_shared=False)[0])
        graph = load(each)
        found.append({frozenset(names_of_targets(graph, row)) for row in rows_of(graph, "frame")})
    assert found == [
        {frozenset({"f_back", "f_trace_lines"}), frozenset({"f_back", ""})},
        {frozenset({"f_back", ""})},
    ]
