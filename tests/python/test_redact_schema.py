"""What a format doesn't have isn't written: surplus bytes, keys and types, and texts in the place of numbers."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from tests.python import hprof_files, pyheap_files
from tests.python.graph_reading import load
from tests.python.heap_files import HeapFile, small_heap
from tests.python.hprof_files import BYTE
from tests.python.redacted_files import assert_same_graph, redacted, reference_names

from memlens.dump import MAGIC
from memlens.formats.errors import DamagedSnapshotError
from memlens.model.graph import ENTRY
from memlens.packs.ruby.tests import ruby_files
from memlens.proof.items import Keeps
from memlens.proof.verify import verify

CARD, MAIL = "4929123412341234", "ada@example.org"


def forms(text: str) -> list[bytes]:
    """What a file could have of a text: itself in several encodings, and the numbers of its characters."""
    codes = ",".join(str(ord(each)) for each in text)
    encoded = [text.encode(form) for form in ("utf-8", "utf-16-be", "utf-16-le")]
    return [*encoded, codes.encode(), codes.replace(",", ", ").encode()]


def has_any(data: bytes) -> bool:
    return any(form in data for text in (CARD, MAIL) for form in forms(text))


def planted(path: Path, data: bytes) -> Path:
    assert has_any(data)
    path.write_bytes(data)
    return path


# ---- Java ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "size"),
    [(2, 24), (3, 4), (4, 40), (5, 12), (6, 34), (7, 24), (10, 40), (11, 4), (13, 8), (14, 6), (0x2C, 0)],
)
def test_bytes_after_the_end_of_a_record_are_damage(tag: int, size: int, tmp_path: Path) -> None:
    path = tmp_path / "heap.hprof"
    dump = hprof_files.small()
    dump.record(tag, bytes(size))
    path.write_bytes(dump.end())
    assert redacted(path)[1] is None
    dump = hprof_files.small()
    dump.record(tag, bytes(size) + f"{MAIL} {CARD}".encode())
    planted(path, dump.end())
    with pytest.raises(DamagedSnapshotError):
        redacted(path)
    assert not has_any(redacted(path, allows_damage=True)[0])


def test_a_record_that_swallows_the_heap_is_damage(tmp_path: Path) -> None:
    """One bit of its length is wrong, and the arrays in it would be copied as they are."""
    dump = hprof_files.small()
    at = len(dump.out)
    dump.record(0x05, dump.pack("III", 13, 1, 0))
    dump.numbers(0x20_0000, BYTE, f"{MAIL} {CARD}".encode())
    dump.numbers(0x20_1000, BYTE, bytes(300_000))
    data = bytearray(dump.end())
    data[at + 6] ^= 4
    path = planted(tmp_path / "bit.hprof", bytes(data))
    with pytest.raises(DamagedSnapshotError):
        redacted(path)
    assert not has_any(redacted(path, allows_damage=True)[0])


@pytest.mark.parametrize("grows", ["objects", "instance", "name"])
def test_what_a_wrong_length_makes_part_of_a_record_is_not_written(grows: str, tmp_path: Path) -> None:
    """Where records end as before, so that nothing else is wrong: no element is an id of an object, no text a name."""
    dump = hprof_files.small()
    secret = (MAIL.encode() * 20)[:286]
    array = dump.klass(0x30_0000, "[Ljava/lang/Object;", 0x10_0000)
    if grows == "name":
        dump.record(0x01, dump.pack("P", 0x66_0000) + b"owner" + b"\x01" + bytes(8) + secret)
        dump.heap += b"\x20" + dump.pack(
            "PIPPPPPPIHHHPB", 0x30_0100, 0, 0x10_0000, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x66_0000, 10
        )
        dump.load(0x30_0100, "com/example/Wide")
    elif grows == "objects":
        dump.add(0x22, "PIIP", 0x30_0200, 0, (18 + len(secret)) // 8, array)
        dump.heap += (b"\x23" + dump.pack("PIIB", 0x30_0400, 0, len(secret), BYTE) + secret)[
            : (18 + len(secret)) // 8 * 8
        ]
    else:
        dump.add(0x21, "PIPI", 0x30_0200, 0, 0x10_0120, len(secret))
        dump.heap += secret
    path = planted(tmp_path / "grown.hprof", dump.end())
    assert not has_any(redacted(path, allows_damage=True)[0])
    if grows == "instance":
        with pytest.raises(DamagedSnapshotError):
            redacted(path)


def test_records_and_ids_of_java_that_nobody_reads(tmp_path: Path) -> None:
    """Unknown records, those of profilers, the address of a global reference, reserved ids of classes."""
    dump = hprof_files.small()
    eight = MAIL.encode()[:8]
    (number,) = struct.unpack(">Q", eight)
    dump.record(0x1A, f"{MAIL} {CARD}".encode())
    dump.record(0x07, eight * 3)
    dump.record(0x0A, dump.pack("IPIPPP", 1, number, 0, number, number, number))
    dump.add(0x01, "PP", 0x10_1000, number)
    dump.add(0x05, "P", number)
    dump.load(0x30_0000, "com/example/Odd")
    dump.heap += b"\x20" + dump.pack(
        "PIPPPPPPIHHH", 0x30_0000, 0, 0x10_0000, number, number, number, number, number, 0, 0, 0, 0
    )
    path = tmp_path / "heap.hprof"
    path.write_bytes(dump.end())
    assert eight in path.read_bytes()
    again, note = redacted(path)
    assert note is None
    assert eight not in again


# ---- V8 --------------------------------------------------------------------------------------------------------


def v8(**changed: Any) -> dict[str, Any]:
    # a copy, since tests change the lists of types
    sections: dict[str, Any] = json.loads(small_heap().data())
    sections["snapshot"] = {**sections["snapshot"], **changed.pop("snapshot", {})}
    return sections | changed


def test_keys_sections_and_fields_that_v8_has_not(tmp_path: Path) -> None:
    codes = [ord(each) for each in CARD]
    heap = v8(snapshot={"owner": MAIL, "card": CARD}, note=f"{MAIL} {CARD}", codes=codes)
    meta = heap["snapshot"]["meta"]
    meta["owner"] = MAIL
    meta["sample_fields"] = [*meta["sample_fields"], MAIL]
    meta["node_types"][1:] = [MAIL] * (len(meta["node_types"]) - 1)
    # a field of its own, with a character of the card in each object
    rows, width = heap["nodes"], len(meta["node_fields"])
    meta["node_fields"] = [*meta["node_fields"], CARD]
    meta["node_types"].append("number")
    heap["nodes"] = [
        number
        for place in range(0, len(rows), width)
        for number in [*rows[place : place + width], codes[place // width % len(codes)]]
    ]
    heap["edges"] = [
        number // width * (width + 1) if place % 3 == 2 else number
        for place, number in enumerate(heap["edges"])
    ]
    heap["locations"] = []
    path = planted(tmp_path / "odd.heapsnapshot", json.dumps(heap).encode())
    again, _ = redacted(path)
    assert not has_any(again)
    after = tmp_path / "again.heapsnapshot"
    after.write_bytes(again)
    assert load(after).objects.shallow.tolist() == load(path).objects.shallow.tolist()


KEYS = ("alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi")
NAMES = ("owner", "token", "literal", "expire")


def dictionaries(*, has_constants: bool) -> HeapFile:
    """Sessions by the names of users, in many objects of no class; code looked one up."""
    heap = HeapFile()
    root, window = heap.node("synthetic", ""), heap.node("object", "Window / page", 40)
    heap.edge(root, "element", 1, window)
    function, prototype = heap.node("closure", "Session", 64), heap.node("object", "Object", 40)
    heap.edge(window, "property", "Session", function)
    heap.edge(function, "property", "prototype", prototype)
    heap.edge(prototype, "property", "constructor", function)
    heap.edge(prototype, "property", "expire", heap.node("closure", "", 64))
    shared, part, feedback = (heap.node("code", name, 64) for name in (
        "(shared function info)", "(constant pool)" if has_constants else "(code)", "system / FeedbackVector",
    ))  # fmt: skip
    heap.edge(function, "internal", "shared", shared)
    heap.edge(shared, "internal", "0", part)
    heap.edge(shared, "internal", "1", feedback)
    for number, name in enumerate(("owner", "token", "literal")):
        heap.edge(part, "internal", str(number), heap.node("string", name, 24))
    heap.edge(feedback, "internal", "0", heap.node("string", KEYS[0], 24))
    if has_constants:
        # of globalThis: what is loaded on its first use, a key, and what an accessor is called
        heap.edge(window, "property", "performance", heap.node("hidden", "system / AccessorPair", 24))
        heap.edge(window, "property", "get atob", heap.node("closure", "get", 64))
        heap.edge(window, "property", "NaN", heap.node("number", "heap number", 12))
        heap.edge(window, "property", KEYS[1], prototype)
        # no prototype, though one of its keys is called so
        odd = heap.node("object", "Object", 56)
        heap.edge(window, "element", 99, odd)
        heap.edge(odd, "property", "constructor", function)
        heap.edge(odd, "property", KEYS[2], prototype)
    for number in range(0, len(KEYS), 2):
        users = heap.node("object", "Object", 56)
        heap.edge(window, "element", number, users)
        heap.edge(users, "property", "literal", prototype)
        for key in KEYS[number : number + 2]:
            session = heap.node("object", "Session", 40)
            heap.edge(users, "property", key, session)
            heap.edge(session, "property", "owner", heap.node("string", key, 24))
            heap.edge(session, "property", "token", session)
    return heap


@pytest.mark.parametrize("has_constants", [True, False])
def test_keys_that_look_like_names_of_v8_are_contents(has_constants: bool, tmp_path: Path) -> None:
    path, copy = tmp_path / "keys.heapsnapshot", tmp_path / "copy.heapsnapshot"
    path.write_bytes(dictionaries(has_constants=has_constants).data())
    copy.write_bytes(redacted(path)[0])
    texts = json.loads(copy.read_bytes())["strings"]
    assert set(NAMES) <= set(texts)
    assert not has_constants or {"performance", "get atob", "NaN"} <= set(texts)
    assert not set(KEYS) & set(texts)
    # the same ones are entries, which aren't shown to whoever may not see contents
    before, after = load(path), load(copy)
    assert set(reference_names(before, {ENTRY})) == set(KEYS)
    assert_same_graph(before, after)
    assert verify(path, copy, Keeps(shared=True)).found == []
    assert set(KEYS) <= {each.what for each in verify(path, path, Keeps()).found if "key" in each.stood}
    # another redaction has nothing to tell them by, and leaves what the first left
    assert set(NAMES) <= set(json.loads(redacted(copy)[0])["strings"])


def test_attributes_that_data_set_in_python_are_contents(tmp_path: Path) -> None:
    thing, types, rooms = pyheap_files.Thing, pyheap_files.TYPES, range(0, len(KEYS), 2)
    held = [0x4000, 0x4100, 0x4200]
    things = [thing(0x80, types["object"], 1064), *(thing(each, types["list"], 56) for each in held)]
    things += [
        thing(
            0x6000 + 16 * number,
            0x80,
            48,
            referents=held,
            attributes=tuple(zip((*KEYS[number : number + 2], "literal"), held, strict=True)),
        )
        for number in rooms
    ]
    path, copy = tmp_path / "keys.pyheap", tmp_path / "copy.pyheap"
    path.write_bytes(pyheap_files.pyheap(things, types=pyheap_files.SESSION))
    copy.write_bytes(redacted(path)[0])
    before = load(path)
    assert set(reference_names(before, {ENTRY})) == set(KEYS)
    assert "literal" in reference_names(before, {"attribute"})
    assert [key for key in (*KEYS, "literal") if key.encode() in copy.read_bytes()] == ["literal"]


def test_names_of_types_that_v8_has_not_are_contents(tmp_path: Path) -> None:
    heap = v8()
    meta = heap["snapshot"]["meta"]
    meta["node_types"][0].append(CARD)
    meta["edge_types"][0].append("value")
    heap["strings"] += [MAIL, CARD]
    width = len(meta["node_fields"])
    mail = len(heap["strings"]) - 2
    heap["nodes"][-width : -width + 2] = [len(meta["node_types"][0]) - 1, mail]
    heap["edges"][:2] = [len(meta["edge_types"][0]) - 1, mail + 1]
    path = planted(tmp_path / "odd.heapsnapshot", json.dumps(heap).encode())
    assert not has_any(redacted(path)[0])


@pytest.mark.parametrize("trace", [[1, 0, 0, 0], [1, 0, 0, 0, [9]], [1, 0, [2], 0, []], [MAIL, 0, 0, 0, []]])
def test_a_trace_that_is_none_is_refused(trace: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "odd.heapsnapshot"
    path.write_bytes(json.dumps(v8(trace_tree=trace)).encode())
    with pytest.raises(DamagedSnapshotError):
        redacted(path)


# ---- Ruby ------------------------------------------------------------------------------------------------------


def test_keys_and_forms_that_ruby_has_not(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "address": "0x10",
            "type": "CLASS",
            "class": "0x10",
            "name": [MAIL],
            "superclass": MAIL,
            "memsize": 40,
        },
        {"address": "0x20", "type": "STRING", "class": "0x10", "value": CARD, "note": CARD, "encoding": MAIL},
        {
            "address": "0x30",
            "type": "OBJECT",
            "class": "0x10",
            "card": int(CARD),
            "codes": [ord(c) for c in MAIL],
        },
        {
            "address": "0x40",
            "type": "STRING",
            "class": "0x10",
            "name": MAIL,
            "struct": CARD,
            "memsize": f"{CARD}",
        },
        {"address": "0x50", "type": "OBJECT", "flags": {"old": True, "note": MAIL, "wb_protected": CARD}},
        {"address": "0x60", "type": "ARRAY", "references": ["0x10", MAIL]},
        {"address": "0x70", "type": MAIL},
        {"type": "ROOT", "root": CARD, "references": ["0x10"]},
        {"address": "0x80", "type": "OBJECT", "deep": [{"name": MAIL, "memsize": CARD}], "memsize": 4},
    ]
    lines = b"".join(json.dumps(row, separators=(", ", ":")).encode() + b"\n" for row in rows)
    path = planted(tmp_path / "odd.json", ruby_files.small() + lines)
    again, _ = redacted(path)
    assert not has_any(again)
    written = [json.loads(line) for line in again.splitlines()[-len(rows) :]]
    assert written[0] == {"address": "0x10", "type": "CLASS", "class": "0x10", "memsize": 40}
    assert written[4] == {"address": "0x50", "type": "OBJECT", "flags": {"old": True}}
    assert written[8] == {"address": "0x80", "type": "OBJECT", "memsize": 4}


# ---- Python ----------------------------------------------------------------------------------------------------


def own(*records: bytes, objects: int = 1) -> bytes:
    return MAGIC + struct.pack("<II", 1, 8) + b"".join(records) + struct.pack("<cQ", b"E", objects)


def text(words: bytes, count: int | None = None) -> bytes:
    return struct.pack("<cI", b"S", len(words) if count is None else count) + words


TYPE = text(b"Session") + text(b"app") + struct.pack("<cQII", b"T", 0x50, 1, 2)
OBJECT = struct.pack("<cQQQIII", b"O", 0x1000, 0x50, 48, 0, 0, 0xFFFF_FFFF)


def test_notes_roots_and_bytes_that_a_python_dump_has_not(tmp_path: Path) -> None:
    records = [
        TYPE, OBJECT, text(b"owner"), text(MAIL.encode()), struct.pack("<cII", b"N", 3, 4),
        struct.pack("<cQIII", b"G", 0x1000, 4, 4, 0xFFFF_FFFF),
    ]  # fmt: skip
    path = planted(tmp_path / "own.heap", own(*records) + CARD.encode())
    again, note = redacted(path)
    assert note is None
    assert not has_any(again)


def test_what_a_wrong_count_makes_an_address_of_python_is_not_written(tmp_path: Path) -> None:
    swallowed = text(MAIL.encode() * 9)
    count = len(swallowed) // 8
    lists = struct.pack("<cI", b"r", count) + swallowed[: 8 * count]
    path = planted(tmp_path / "own.heap", own(TYPE, OBJECT, lists))
    assert not has_any(redacted(path)[0])
    # a text that has become longer, and the name of an object
    name = text(b"owner" + swallowed)
    named = OBJECT[:25] + struct.pack("<I", 3) + OBJECT[29:]
    path = planted(tmp_path / "own.heap", own(TYPE, name, named))
    assert not has_any(redacted(path)[0])
    with pytest.raises(DamagedSnapshotError):
        redacted(planted(path, own(TYPE, OBJECT, swallowed, objects=2)))


def test_flags_and_bytes_that_pyheap_has_not(tmp_path: Path) -> None:
    data = bytearray(pyheap_files.small() + f"{MAIL} {CARD}".encode())
    at = data.index(struct.pack(">Q", 1), 20)
    data[at : at + 7] = MAIL.encode()[:7]
    path = planted(tmp_path / "odd.pyheap", bytes(data))
    again, _ = redacted(path)
    assert not has_any(again)
    assert MAIL.encode()[:7] not in again
