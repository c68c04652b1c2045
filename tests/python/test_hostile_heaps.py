"""Heap dumps made to take the square of their size: what many refer to, stacks that all share, classes without end.

Without bounds each would take gigabytes or hours; the figures here are small enough to be quick with them.
"""

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.python.graph_reading import load
from tests.python.heap_files import HeapFile
from tests.python.hprof_files import BYTE, INT, LONG, OBJECT, Dump
from tests.python.image_files import ImageDump
from tests.python.pyheap_files import MAGIC, text

from memlens.formats.containers import open_source
from memlens.formats.redacted import VALUES, Wanted
from memlens.formats.redaction import redact
from memlens.model.graph import NONE, Graph
from memlens.packs.python.kernels import redaction as python_redaction
from memlens.packs.python.kernels import survey
from memlens.packs.v8.kernels import parts, redaction
from memlens.store.snapshot import Snapshot
from memlens.views.heap.listing.one_object import MOST_LISTED, describe
from memlens.views.heap.listing.threads import threads, variables

Opened = Callable[[Path], Snapshot]
MANY = 60_000


def read(path: Path, data: bytes) -> Graph:
    path.write_bytes(data)
    return load(path)


def java() -> Dump:
    """A dump with a class of threads."""
    dump = Dump()
    base = dump.klass(0x100, "java/lang/Object")
    dump.klass(0x160, "java/lang/Thread", base, [("name", OBJECT), ("holder", OBJECT), ("threadStatus", INT)])
    return dump


def test_a_phantom_reference_with_many_referents(tmp_path: Path) -> None:
    dump = java()
    reference = dump.klass(0x200, "java/lang/ref/Reference", 0x100, [("referent", OBJECT)] * MANY)
    dump.klass(0x220, "java/lang/ref/PhantomReference", reference)
    freeing = [("size", LONG), ("address", LONG)]
    freed = dump.instance(
        0x5000, dump.klass(0x240, "java/nio/DirectByteBuffer$Deallocator", 0x100, freeing), "qq", 64, 5
    )
    dump.instance(0x1_0000, 0x220, f"{MANY}P", *[freed] * MANY)
    assert read(tmp_path / "made.hprof", dump.end()).natives["bytes"].tolist() == [64 * MANY]


def test_images_that_share_an_object_with_many_fields(tmp_path: Path) -> None:
    dump = ImageDump()
    dump.klass(0x400, "java/awt/image/WritableRaster", dump.raster_class, [("f", INT)] * MANY)
    raster = dump.instance(dump.id(), 0x400, f"{MANY}iiiP", *[9] * MANY, 5, 4, 0)
    for _ in range(20_000):
        dump.instance(dump.id(), dump.image_class, "iP", 2, raster)
    images = read(tmp_path / "made.hprof", dump.end()).images
    assert (len(images), set(images["width"].tolist()), set(images["height"].tolist())) == (20_000, {5}, {4})


def test_many_lists_of_the_same_images(tmp_path: Path) -> None:
    dump = ImageDump()
    file = dump.numbers(dump.id(), BYTE, b"file")
    pointers = dump.numbers(dump.id(), LONG, struct.pack(f">{MANY}q", *range(MANY)))
    files = dump.objects(0x7000_0000, dump.arrays_class, [file] * MANY)
    for _ in range(3_000):
        dump.instance(dump.id(), dump.data_class, "iiPP", MANY, 1, pointers, files)
    dump.bitmap(3, 2, None, native=7)
    assert read(tmp_path / "made.hprof", dump.end()).images["elements"].tolist() != [NONE]


@pytest.mark.slow
def test_a_chain_of_classes(tmp_path: Path) -> None:
    dump = ImageDump()
    above = dump.bitmap_class
    for number in range(MANY):
        above = dump.klass(0x8000_0000 + 32 * number, f"K{number}", above)
    dump.instance(dump.id(), above, "Pqii?", 0, 0, 3, 2, False)
    # and one that is above itself
    dump.klass(0x9000_0000, "Circle", 0x9000_0020)
    dump.klass(0x9000_0020, "Circled", 0x9000_0000)
    assert read(tmp_path / "made.hprof", dump.end()).images["width"].tolist() == [3]


def test_threads_that_share_an_object_and_a_stack(opened: Opened, tmp_path: Path) -> None:
    dump, count = java(), 20_000
    dump.record(0x04, dump.pack("PPPPIi", 77, dump.name("run"), dump.name("()V"), dump.name("A.java"), 1, 3))
    dump.record(0x05, dump.pack(f"III{count * 5}P", 5, 1, count * 5, *[77] * count * 5))
    wide = dump.klass(0x400, "Wide", 0x160, [("a", OBJECT)] * MANY)
    shared = dump.instance(0x1000, wide, f"{MANY}PPPi", *[0x100] * MANY, 0, 0x100, 5)
    for number in range(count):
        dump.add(0x08, "PII", shared, number + 1, 5)
        dump.add(0x03, "PII", 0x100, number + 1, number)
    path = tmp_path / "made.hprof"
    graph = read(path, dump.end())
    assert len(graph.threads.frames) <= 2 << 20
    assert "shared-stacks" in {warning.code for warning in graph.warnings}
    snapshot = opened(path)
    found = threads(snapshot, "type:java", 0, 1_000)
    assert (found.total, found.rows[0].state) == (count, "runnable")
    last = variables(snapshot, count - 1, "no frame", None)
    assert (last.total, last.rows[0].kind) == (1, "local variable")


def test_an_object_with_more_roots_and_fields_than_anyone_reads(opened: Opened, tmp_path: Path) -> None:
    dump = java()
    wide = dump.klass(0x400, "Wide", 0x100, [("f", INT)] * MANY)
    dump.instance(0x1000, wide, f"{MANY}i", *range(MANY))
    for number in range(5_000):
        dump.add(0x01, "PP", 0x1000, number)
    dump.add(0x08, "PII", 0x1000, 1, 1)
    path = tmp_path / "made.hprof"
    path.write_bytes(dump.end())
    snapshot = opened(path)
    found = describe(snapshot, snapshot.objects.id.tolist().index(0x1000))
    assert (len(found.fields), found.fields_total) == (MOST_LISTED, MANY)
    # a thread comes first, and what is alike is there once
    assert [root.kind for root in found.roots] == ["thread", "JNI global"]
    assert found.roots_total == 5_001 - MOST_LISTED + 2


def test_strings_and_threads_that_lead_to_a_large_class(tmp_path: Path) -> None:
    dump, count = java(), 20_000
    dump.klass(0x140, "java/lang/String", 0x100, [("value", OBJECT)])
    statics = [(f"s{number % 9}", OBJECT, 0) for number in range(MANY)]
    dump.klass(0x400, "Large", 0x160, [("f", OBJECT)] * MANY, statics)
    for number in range(count):
        dump.instance(0x10_0000 + 64 * number, 0x140, "P", 0x400)
        dump.instance(0x1000_0000 + 64 * number, 0x400, "b", 0)
        dump.add(0x08, "PII", 0x1000_0000 + 64 * number, number + 1, 0)
    path = tmp_path / "made.hprof"
    graph = read(path, dump.end())
    assert len(graph.threads.rows) == count
    with open_source(path, tmp_path, lambda *_: None) as source, (tmp_path / "out").open("wb") as out:
        # instances without the bytes of their fields are damage
        assert redact(source, out, Wanted(VALUES, allows_damage=True), lambda *_: None) is not None


@pytest.mark.parametrize(
    "text",
    [
        "1 / part of key (K @{0}) pair in WeakMap (table @5)",
        "{0}) pair in WeakMap (table @5)",
        "1 / part of key (K @{0}) -> value (V @{0}) pair in WeakMap (table @5)",
        "1 / part of key ({0} -> value (V @{0}) pair in WeakMap (table @{0})",
    ],
)
def test_what_is_left_of_a_weak_maps_entry_is_not_longer_than_it(text: str) -> None:
    """It is written where there is room for a text and little more."""
    name = text.format("9" * 3_000)
    heap = HeapFile()
    heap.node("synthetic", "")
    heap.edge(0, "internal", name, heap.node("object", "A"))
    data = heap.data(order=("strings",))
    start, end = data.index(b'"strings":[') + len(b'"strings":'), len(data) - 1
    strings = redaction.Strings(data, start, end)
    while strings.run(end) == redaction.MORE:
        pass
    count = int(strings.count)
    strings.write(start, np.full(count, redaction.NAME, np.uint8), np.arange(count, dtype=np.uint32), 0)
    out, filled, found = bytearray(128), np.zeros(1, np.uint32), bytearray()
    while strings.scatter(out, filled, count) == 0:
        assert filled[0] <= len(out)
        found += out[: filled[0]]
        filled[0] = 0
    written = parts.gathered(found + out[: filled[0]], 0, count)
    assert len(written) <= end - start + 64
    assert len(json.loads(b"[" + written[2:] + b"]")) == count


def pyheap(common: list[int], objects: list[bytes]) -> bytes:
    """A dump of PyHeap's with these types without attributes."""
    known = [
        text(name) + struct.pack(">Q", each) for each, name in enumerate(("dict", "list", "set", "tuple"))
    ]
    magic = struct.pack(">Q", MAGIC)
    head = [
        magic,
        struct.pack(">I", 1),
        text("now"),
        struct.pack(">QI", 1, 4),
        *known,
        struct.pack(">III", 0, 0, len(common)),
    ]
    types = [struct.pack(">QI", each, 0) for each in common]
    return b"".join([*head, *types, struct.pack(">I", len(objects)), *objects, bytes(4), magic])


def test_types_and_attributes_of_pyheap(tmp_path: Path) -> None:
    objects = [struct.pack(">QQIIIH", 0x1000 + each, 7 << 32, 8, 0, 0, 0) for each in range(MANY)]
    assert len(read(tmp_path / "types.pyheap", pyheap([*range(100, MANY)], objects)).objects) == MANY
    values = struct.pack(f">{MANY}Q", *(0x1000 + each % 4_000 for each in range(MANY)))
    attributes = b"".join(struct.pack(">HQ", 0, 0x1000 + each % 4_000) for each in range(MANY))
    wide = struct.pack(">QQII", 0x1000, 9, 8, MANY) + values + struct.pack(">I", MANY) + attributes + bytes(2)
    assert len(read(tmp_path / "wide.pyheap", pyheap([], [wide])).objects) == 1


def test_many_types_of_contents_in_a_dump_of_python() -> None:
    text = struct.pack("<cI3s", b"S", 3, b"str") + struct.pack("<cI8s", b"S", 8, b"builtins")
    types = b"".join(struct.pack("<cQII", b"T", each, 1, 2) for each in range(MANY))
    objects = b"".join(struct.pack("<cQQQIII", b"O", each, 1 << 40, 8, 1, 0, NONE) for each in range(MANY))
    data = text + types + objects + struct.pack("<cQ", b"E", MANY)
    dump = python_redaction.Dump(data, 0, False)
    while dump.stage != survey.WRITE:
        assert dump.run(len(data)) == survey.OK
    out = bytearray(len(data))
    assert dump.fill(out) == len(data) - 9
