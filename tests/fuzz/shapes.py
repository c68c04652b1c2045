"""Small files that stand for much: each by the rules of its format, made by a function of one size.

A format lets a few bytes refer to something many times: stacks to inlined lines, objects to stacks, classes to their
superclasses, samples to labels. :data:`SHAPES` has a generator for each such kind, at a size that once took minutes,
gigabytes or a screen without an end.
"""

import json
import pickle
import random
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.fuzz import memray_shapes
from tests.python import perfetto_files
from tests.python.heap_files import HeapFile
from tests.python.hprof_files import BYTE, INT, OBJECT, Dump
from tests.python.image_files import ImageDump
from tests.python.native_files import NativeDump
from tests.python.pyheap_files import FREQUENT, THINGS, Thing, Thread, pyheap

from memlens.packs.android.tests import native_heap_files
from memlens.packs.dotnet.tests import gcdump_files
from memlens.packs.go.tests.pprof_files import Builder, encode
from memlens.packs.jvm.tests import flight_files
from memlens.packs.jvm.tests.flight_files import Recording

LINE = b"\x22\x04\x08\x01\x10\x03"


class Shape(NamedTuple):
    """A kind of file: its suffix, what makes it from a size, and the size that is tried."""

    suffix: str
    make: Callable[[int], bytes]
    size: int


def varint(value: int) -> bytes:
    """A number as protobuf writes it."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def block(field: int, data: bytes) -> bytes:
    """A field of protobuf with bytes."""
    return varint(field << 3 | 2) + varint(len(data)) + data


def number(field: int, value: int) -> bytes:
    """A field of protobuf with a number."""
    return varint(field << 3) + varint(value)


_STRINGS = b"".join(block(6, text) for text in (b"", b"inuse_space", b"bytes", b"main", b"/a/b.go", b"key"))
_TYPES = block(1, number(1, 1) + number(2, 2))
_FUNCTION = block(5, number(1, 1) + number(2, 3) + number(4, 4))


def pprof_inlined(size: int) -> bytes:
    """One sample that names a place ``size`` times, where as many lines are inlined."""
    place = block(4, number(1, 1) + LINE * size)
    sample = block(2, block(1, b"\x01" * size) + block(2, b"\x05"))
    return _TYPES + sample + place + _FUNCTION + _STRINGS


def pprof_labels(size: int) -> bytes:
    """One sample with ``size`` labels."""
    label = block(3, number(1, 5) + number(2, 3))
    sample = block(2, block(1, b"\x01") + block(2, b"\x05") + label * size)
    return _TYPES + sample + block(4, number(1, 1) + LINE) + _FUNCTION + _STRINGS


def pprof_one_stack(size: int) -> bytes:
    """One stack of ``size`` different frames."""
    places = b"".join(
        block(4, number(1, each) + block(4, number(1, 1) + number(2, each))) for each in range(1, size + 1)
    )
    sample = block(2, block(1, b"".join(map(varint, range(1, size + 1)))) + block(2, b"\x05"))
    return _TYPES + sample + places + _FUNCTION + _STRINGS


def pprof_lines_of_a_name(size: int) -> bytes:
    """A function whose name has 16,000 letters, with ``size`` lines, each with a label of 2,000."""
    strings = b"".join(
        block(6, text)
        for text in (b"", b"inuse_space", b"bytes", b"m" * 16_000, b"/" + b"a" * 4_000, b"k" * 2_000)
    )
    label = block(3, number(1, 5) + number(2, 5))
    places = (
        block(4, number(1, each) + block(4, number(1, 1) + number(2, each))) for each in range(1, size + 1)
    )
    samples = (block(2, block(1, varint(each)) + block(2, b"\x05") + label) for each in range(1, size + 1))
    return _TYPES + b"".join(samples) + b"".join(places) + _FUNCTION + strings


def _pprof_of_files(files: list[bytes]) -> bytes:
    """A sample in a function called main of each file."""
    numbers = range(1, len(files) + 1)
    functions = b"".join(block(5, number(1, each) + number(2, 3) + number(4, 5 + each)) for each in numbers)
    places = b"".join(
        block(4, number(1, each) + block(4, number(1, each) + number(2, 3))) for each in numbers
    )
    samples = b"".join(block(2, block(1, varint(each)) + block(2, b"\x05")) for each in numbers)
    return _TYPES + samples + places + functions + _STRINGS + b"".join(block(6, file) for file in files)


def pprof_deep_paths(size: int) -> bytes:
    """``size`` files that are 7,000 folders deep."""
    return _pprof_of_files([b"/%d%b/x.go" % (each, b"/a" * 7_000) for each in range(size)])


def pprof_many_projects(size: int) -> bytes:
    """``size`` files, each in a project of its own."""
    return _pprof_of_files([b"/home/u/p%d/src/x.c" % each for each in range(size)])


def pprof_comments(size: int) -> bytes:
    """``size`` comments, all of them one text of 5,000 letters."""
    sample = block(2, block(1, b"\x01") + block(2, b"\x05"))
    place = block(4, number(1, 1) + LINE)
    return _TYPES + sample + place + _FUNCTION + _STRINGS + block(6, b"c" * 5_000) + block(13, b"\x06" * size)


def pprof_random_stacks(size: int) -> bytes:
    """``size`` stacks of 200 frames in any order, of functions whose names have 1,000 letters."""
    numbers, chance = range(1, 51), random.Random(36)
    places = b"".join(
        block(4, number(1, each) + block(4, number(1, each) + number(2, each))) for each in numbers
    )
    functions = b"".join(block(5, number(1, each) + number(2, 5 + each) + number(4, 4)) for each in numbers)
    samples = b"".join(
        block(2, block(1, bytes(chance.choices(numbers, k=200))) + block(2, b"\x05")) for _ in range(size)
    )
    names = b"".join(block(6, b"%d" % each + b"f" * 1_000) for each in numbers)
    return _TYPES + samples + places + functions + _STRINGS + names


def pprof_slow_pattern(size: int) -> bytes:
    """``size`` functions whose long names match none of the many alternatives of frames to drop."""
    pattern = b"|".join(b".*.*[^f0-9]%d" % (each % 10) for each in range(2_000))
    strings = _STRINGS + block(6, pattern)
    strings += b"".join(block(6, b"f" * 1_000 + b"%d" % each) for each in range(size))
    functions = (
        block(5, number(1, each) + number(2, 6 + each) + number(4, 4)) for each in range(1, size + 1)
    )
    places = (
        block(4, number(1, each) + block(4, number(1, each) + number(2, 3))) for each in range(1, size + 1)
    )
    samples = (block(2, block(1, varint(each)) + block(2, b"\x05")) for each in range(1, size + 1))
    return _TYPES + b"".join([*samples, *places, *functions, strings, number(7, 6)])


def pprof_nested_arguments(size: int) -> bytes:
    """``size`` functions, each with template arguments that are nested as deep as a name may be long."""
    texts = ["", "inuse_space", "bytes", *(f"f{each}{'<' * 8_000}{'>' * 8_000}" for each in range(size))]
    data = _TYPES + b"".join(block(6, text.encode()) for text in texts)
    for each in range(1, size + 1):
        data += block(5, number(1, each) + number(2, each + 2))
        data += block(4, number(1, each) + block(4, number(1, each)))
        data += block(2, block(1, varint(each)) + block(2, varint(100 + each)))
    return data


def pprof_long_name(size: int) -> bytes:
    """A function whose name has ``size`` characters, and so has the value."""
    builder = Builder(("inuse_space" + "v" * size, "bytes"))
    builder.sample([builder.location(("f" * size, "/a/" + "d" * size + ".go", 3))], 5, key="l" * size)
    return encode(builder.message)


def v8_deep_trace(size: int) -> bytes:
    """Two objects, and a tree of allocations as deep as ``size``: every place in it is a stack."""
    tree = "[1,0,0,0," + "".join(f"[{each + 2},0,1,8," for each in range(size)) + "[]" + "]" * (size + 1)
    return _v8(tree, '"A"', size)


def v8_branches(size: int) -> bytes:
    """Two objects, and a tree of allocations with ``size`` branches of 200 calls: every place in it is a stack."""
    deep = 200
    branches = (
        "".join(f"{branch * deep + each + 2},0,1,8,[" for each in range(deep)) + "]" * deep
        for branch in range(size)
    )
    return _v8(f"[1,0,0,0,[{','.join(branches)}]]", '"A"', 1)


def v8_shared_listeners(size: int) -> bytes:
    """``size`` emitters that share their events, each of which has one array of as many listeners."""
    heap = HeapFile()
    root, table = heap.node("synthetic", ""), heap.node("object", "Object", 24)
    array = heap.node("object", "Array", 16)
    heap.edge(table, "property", "data", array)
    for each in range(size):
        emitter = heap.node("object", "EventEmitter", 40)
        heap.edge(root, "property", f"e{each}", emitter)
        heap.edge(emitter, "property", "_events", table)
        heap.edge(array, "element", each, heap.node("closure", "f", 64))
    return heap.data()


def v8_long_name(size: int) -> bytes:
    """A class whose name has ``size`` characters."""
    return _v8("[1,0,0,0,[]]", f'"{"N" * size}"', 1)


def _v8(tree: str, name: str, trace: int) -> bytes:
    sections = HeapFile().sections()["snapshot"]["meta"]
    head = {"meta": sections, "node_count": 2, "edge_count": 1, "trace_function_count": 1}
    return (
        f'{{"snapshot":{json.dumps(head)},"nodes":[7,0,1,0,1,0,0,3,1,3,8,0,{trace},0],"edges":[2,1,7],'
        f'"trace_function_infos":[0,1,1,1,1,1],"trace_tree":{tree},"samples":[],"strings":["",{name}]}}'
    ).encode()


def v8_objects_of_a_long_name(size: int) -> bytes:
    """``size`` objects of a class, and as many references, whose names have 8,000 characters."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    for _ in range(size):
        heap.edge(root, "property", "p" * 8_000, heap.node("object", "N" * 8_000, 8))
    return heap.data()


def v8_list(size: int) -> bytes:
    """A chain of ``size`` objects, each of which has 8 bytes and holds the next."""
    count = size + 1
    nodes = ",".join(
        ["9,0,1,0,1,0,0", *(f"3,1,{2 * each + 1},8,{int(each < size)},0,0" for each in range(1, count))]
    )
    edges = ",".join(f"2,1,{7 * each}" for each in range(1, count))
    head = {"meta": HeapFile().sections()["snapshot"]["meta"], "node_count": count, "edge_count": size}
    return (
        f'{{"snapshot":{json.dumps(head)},"nodes":[{nodes}],"edges":[{edges}],"trace_function_infos":[],'
        '"trace_tree":[],"samples":[],"strings":["","A"]}'
    ).encode()


def v8_deep_sampling(size: int) -> bytes:
    """A sampling profile with ``size`` functions, in chains as deep as JSON is read, each with bytes of its own."""
    deep = 300
    call = '{"functionName":"f","scriptId":"1","url":"/a.js","lineNumber":1,"columnNumber":1}'

    def chain(first: int) -> str:
        nodes = (
            f'{{"callFrame":{call},"selfSize":8,"id":{first + each},"children":[' for each in range(deep)
        )
        return "".join(nodes) + "]}" * deep

    chains = ",".join(chain(2 + first) for first in range(0, size, deep))
    return (
        f'{{"head":{{"callFrame":{call},"selfSize":0,"id":1,"children":[{chains}]}},"samples":[]}}'.encode()
    )


def heaptrack_deep(size: int) -> bytes:
    """A chain of ``size`` calls, each of which allocated 10 bytes."""
    calls = "".join(f"t 1 {each:x}\n" for each in range(size))
    allocations = "".join(f"a 10 {each + 1:x}\n+ {each:x}\n" for each in range(size))
    return f"v 10400 3\nX p\nI 1000 10\ns 4 main\ns 6 main.c\ni 1 1 1 2 5\n{calls}{allocations}c 5\n".encode()


def heaptrack_deep_calls_of_a_name(size: int) -> bytes:
    """A chain of ``size`` calls of a function whose name has 1,000 letters, each of which allocated 10 bytes."""
    calls = "".join(f"t 1 {each:x}\n" for each in range(size))
    allocations = "".join(f"a 10 {each + 1:x}\n+ {each:x}\n" for each in range(size))
    name = f"s 3e8 {'m' * 1_000}\n"
    return f"v 10400 3\nX p\nI 1000 10\n{name}s 6 main.c\ni 1 1 1 2 5\n{calls}{allocations}c 5\n".encode()


def massif_deep(size: int) -> bytes:
    """``size`` snapshots, each with a tree of calls as deep as massif's may be."""
    deep = 1_000
    tree = "".join(f"{' ' * each}n1: 100 0x1: f (a.c:1)\n" for each in range(deep))
    tree += f"{' ' * deep}n0: 100 0x2: g (a.c:2)\n"
    snapshots = "".join(
        f"#-----------\nsnapshot={each}\n#-----------\ntime={each}\nmem_heap_B=100\nmem_heap_extra_B=0\n"
        f"mem_stacks_B=0\nheap_tree=detailed\n{tree}"
        for each in range(size)
    )
    return f"desc: --x\ncmd: ./p\ntime_unit: i\n{snapshots}".encode()


def dhat_points(size: int) -> bytes:
    """``size`` places with a stack of three frames each, no two alike."""
    points = [
        {
            "tb": 100 + each % 977,
            "tbk": 1,
            "tl": 5,
            "mb": 50,
            "mbk": 1,
            "gb": 50,
            "gbk": 1,
            "eb": 0,
            "ebk": 0,
            "fs": [1, 2, each + 3],
        }
        for each in range(size)
    ]
    frames = ["[root]", *(f"0x{each:X}: f{each} (a.c:{each})" for each in range(1, size + 4))]
    head = {"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": True, "bkacc": False, "tu": "instrs",
            "Mtu": "Minstr", "tuth": 500, "cmd": "./p", "pid": 1, "te": 100, "tg": 50}  # fmt: skip
    return json.dumps({**head, "pps": points, "ftbl": frames}).encode()


def perfetto_superclasses(size: int) -> bytes:
    """A chain of ``size`` classes, each with one field and one object."""
    objects = [
        {"id": 8 + 8 * each, "type": 1 + each, "size": 8, "targets": [8, 8, 8]} for each in range(size)
    ]
    types = [
        {"id": 1 + each, "name": [f"C{each}"], "superclass": each, "fields": [1], "kind": 1}
        for each in range(size)
    ]
    names = [{"iid": 1, "text": ["a.A a.A.next"]}]
    packet = perfetto_files.graph_packet(
        objects=objects, types=types, field_names=names, roots=[{"objects": [8], "kind": 1}]
    )
    return perfetto_files.trace([packet])


def hprof_superclasses(size: int) -> bytes:
    """A chain of ``size`` classes, each with ten fields and one object."""
    dump = Dump()
    above = dump.klass(0x1000, "java/lang/Object")
    for each in range(size):
        fields = [(f"f{one}", INT) for one in range(10)]
        above = dump.klass(0x2000 + 8 * each, f"C{each}", above, fields)
        dump.instance(0x10_0000 + 8 * each, above, "I", 1)
        dump.add(0xFF, "P", 0x10_0000 + 8 * each)
    return dump.end()


def hprof_nested_groups(size: int) -> bytes:
    """``size`` objects in a circle, each of a class and a package of its own, of which each retains the next."""
    dump = Dump()
    above = dump.klass(0x1000, "java/lang/Object")
    for each in range(size):
        dump.klass(0x10_0000 + 16 * each, f"p{each}/q{each}/C{each}", above, [("n", OBJECT)])
        dump.instance(
            0x100_0000 + 16 * each, 0x10_0000 + 16 * each, "P", 0x100_0000 + 16 * ((each + 1) % size)
        )
    dump.add(0xFF, "P", 0x100_0000)
    return dump.end()


def hprof_threads(size: int) -> bytes:
    """``size`` threads, all with one stack of ``size`` frames."""
    dump = Dump()
    above = dump.klass(0x1000, "java/lang/Object")
    thread = dump.klass(0x1100, "java/lang/Thread", above, [("name", OBJECT)])
    dump.record(4, dump.pack("PPPPIi", 77, dump.name("run"), dump.name("()V"), dump.name("A.java"), 1, 34))
    dump.record(5, dump.pack("III", 12, 1, size) + dump.pack("P", 77) * size)
    for each in range(size):
        dump.instance(0x10_0000 + 8 * each, thread, "P", 0)
        dump.add(8, "PII", 0x10_0000 + 8 * each, each + 1, 12)
    return dump.end()


def hprof_methods_of_a_name(size: int) -> bytes:
    """``size`` methods of a class whose name has 16,000 letters, in stacks of 1,000 frames."""
    dump = Dump()
    above = dump.klass(0x1000, "java/lang/Object")
    thread = dump.klass(0x1100, "java/lang/Thread", above, [("name", OBJECT)])
    # the third class that is loaded
    dump.klass(0x1200, "p/" * 4_000 + "C" * 8_000, above)
    method = (dump.name("()V"), dump.name("A.java"), 3)
    for each in range(size):
        dump.record(4, dump.pack("PPPPIi", 77 + each, dump.name(f"m{each}"), *method, each + 1))
    for stack, first in enumerate(range(0, size, 1_000)):
        frames = b"".join(dump.pack("P", 77 + each) for each in range(first, min(first + 1_000, size)))
        dump.record(5, dump.pack("III", 12 + stack, stack + 1, len(frames) // 8) + frames)
        dump.instance(0x10_0000 + 8 * stack, thread, "P", 0)
        dump.add(8, "PII", 0x10_0000 + 8 * stack, stack + 1, 12 + stack)
    return dump.end()


def hprof_threads_of_a_name(size: int) -> bytes:
    """``size`` threads that share a name of 100,000 characters."""
    dump = Dump()
    above = dump.klass(0x1000, "java/lang/Object")
    text = dump.klass(0x1080, "java/lang/String", above, [("value", OBJECT), ("coder", BYTE)])
    thread = dump.klass(0x1100, "java/lang/Thread", above, [("name", OBJECT)])
    name = dump.instance(0x2000, text, "Pb", dump.numbers(0x3000, BYTE, b"n" * 100_000), 0)
    for each in range(size):
        dump.instance(0x10_0000 + 8 * each, thread, "P", name)
        dump.add(8, "PII", 0x10_0000 + 8 * each, each + 1, 0)
    return dump.end()


def hprof_shared_table(size: int) -> bytes:
    """``size`` maps of Java that share a table with as many entries."""
    dump = Dump()
    above = dump.klass(0x1000, "java/lang/Object")
    fields = [("hash", INT), ("key", OBJECT), ("value", OBJECT), ("next", OBJECT)]
    entry = dump.klass(0x1100, "java/util/HashMap$Node", above, fields)
    map_ = dump.klass(0x1200, "java/util/HashMap", above, [("table", OBJECT), ("size", INT)])
    array = dump.klass(0x1300, "[Ljava/util/HashMap$Node;", above)
    first = 0x20_0000
    for each in range(size):
        dump.instance(first + 16 * each, entry, "iPPP", each, first, first, first + 16 * ((each + 1) % size))
    table = dump.objects(0x1F_0000, array, [first + 16 * each for each in range(size)])
    for each in range(size):
        dump.add(0xFF, "P", dump.instance(0x400_0000 + 16 * each, map_, "Pi", table, size))
    return dump.end()


def hprof_shared_chain(size: int) -> bytes:
    """``size`` queues of Java that share a chain of as many links, and a map with all of these in each bucket."""
    dump = Dump()
    above = dump.klass(0x1000, "java/lang/Object")
    package = "java/util/concurrent/"
    link = dump.klass(
        0x1100, f"{package}ConcurrentLinkedQueue$Node", above, [("item", OBJECT), ("next", OBJECT)]
    )
    queue = dump.klass(0x1200, f"{package}ConcurrentLinkedQueue", above, [("head", OBJECT)])
    map_ = dump.klass(0x1300, f"{package}ConcurrentHashMap", above, [("table", OBJECT)])
    array = dump.klass(0x1400, f"[L{package}ConcurrentHashMap$Node;", above)
    first = 0x20_0000
    for each in range(size):
        after = first + 16 * (each + 1) if each + 1 < size else 0
        dump.instance(first + 16 * each, link, "PP", first, after)
        dump.add(0xFF, "P", dump.instance(0x400_0000 + 16 * each, queue, "P", first))
    table = dump.objects(0x1F_0000, array, [first] * size)
    dump.add(0xFF, "P", dump.instance(0x1F_8000_0000, map_, "P", table))
    return dump.end()


def hprof_shared_locals(size: int) -> bytes:
    """Twenty threads of Java that share a map of ``size`` thread locals, all with one key."""
    dump = Dump()
    above = dump.klass(0x1000, "java/lang/Object")
    map_name = "java/lang/ThreadLocal$ThreadLocalMap"
    entry = dump.klass(0x1100, f"{map_name}$Entry", above, [("referent", OBJECT), ("value", OBJECT)])
    map_ = dump.klass(0x1200, map_name, above, [("table", OBJECT)])
    array = dump.klass(0x1300, f"[L{map_name}$Entry;", above)
    thread = dump.klass(0x1400, "java/lang/Thread", above, [("threadLocals", OBJECT)])
    first = 0x20_0000
    entries = [dump.instance(first + 16 * each, entry, "PP", first, first) for each in range(size)]
    shared = dump.instance(0x1F_8000, map_, "P", dump.objects(0x1F_0000, array, entries))
    for each in range(20):
        dump.instance(0x10_0000 + 16 * each, thread, "P", shared)
        dump.add(8, "PII", 0x10_0000 + 16 * each, each + 1, 0)
    return dump.end()


def hprof_long_name(size: int) -> bytes:
    """A class whose name has ``size`` characters."""
    dump = Dump()
    above = dump.klass(0x1000, "java/lang/Object")
    named = dump.klass(0x1100, "a/" + "N" * size, above)
    dump.add(0xFF, "P", dump.instance(0x2000, named))
    return dump.end()


def torch_zero_sizes(size: int) -> bytes:
    """Allocations without bytes."""
    return _torch([_event(each, 0, [_FRAME]) for each in range(size)])


def torch_shared_stack(size: int) -> bytes:
    """``size`` allocations, all with one list of as many frames, which the pickle has once."""
    frames = [{"filename": "/a/b.py", "line": each + 1, "name": "f"} for each in range(size)]
    return _torch([_event(each, 512, frames) for each in range(size)])


def torch_notes(size: int) -> bytes:
    """``size`` allocations that share a note of as many characters."""
    note = "n" * size
    trace = [_event(each, 512, [_FRAME]) | {"user_metadata": note} for each in range(size)]
    return _torch(trace)


def torch_empty_traces(size: int) -> bytes:
    """A trace, and ``size`` without events."""
    trace = [_event(0, 512, [_FRAME])]
    return pickle.dumps({"segments": [], "device_traces": [trace, *([] for _ in range(size))]}, 4)


def torch_annotations(size: int) -> bytes:
    """A trace, and ``size`` annotations, each of which has a name of its own that may be that of a step."""
    letters = ("".join(chr(97 + int(digit)) for digit in str(each)) for each in range(size))
    named = [
        {"stage": stage, "name": f"{'_' * 20}step_{name}", "device": 0, "time_us": 2 * each + end + 1}
        for each, name in enumerate(letters)
        for end, stage in enumerate(("START", "END"))
    ]
    trace = [_event(each, 512, [_FRAME]) | {"time_us": 2 * each + 1} for each in range(size)]
    return pickle.dumps({"segments": [], "device_traces": [trace], "external_annotations": named}, 4)


def torch_categories(size: int) -> bytes:
    """``size`` allocations, each of a category of its own."""
    return _torch([_event(each, 512, [_FRAME]) | {"category": f"c{each}"} for each in range(size)])


def torch_ooms(size: int) -> bytes:
    """``size`` requests that fail, between every two of them a segment that comes and goes."""
    mib, at = 1 << 20, 1 << 40
    trace: list[dict[str, Any]] = []

    def happens(action: str, address: int, size_mib: int, **more: Any) -> None:
        event = _event(len(trace), size_mib * mib, [_FRAME])
        trace.append({**event, "action": action, "addr": address, **more})

    happens("segment_alloc", at, 20)
    happens("alloc", at, 8)
    for number in range(size):
        happens("oom", 0, 64, device_free=32 * mib)
        there = at + (number + 1) * 64 * mib
        if number % 2:
            happens("segment_alloc", there, 14)
            for action in ("alloc", "free_requested", "free_completed"):
                happens(action, there, 13)
            happens("segment_free", there, 14)
    blocks = [
        {"size": 8 * mib, "requested_size": 8 * mib, "state": "active_allocated", "frames": [_FRAME]},
        {"size": 12 * mib, "requested_size": 0, "state": "inactive", "frames": []},
    ]
    segment = {
        "device": 0, "address": at, "total_size": 20 * mib, "allocated_size": 8 * mib, "active_size": 8 * mib,
        "stream": 0, "segment_type": "large", "frames": [], "blocks": blocks,
    }  # fmt: skip
    return pickle.dumps({"segments": [segment], "device_traces": [trace], "allocator_settings": {}}, 4)


def torch_nested(size: int) -> bytes:
    """A list of ten lists, each of which is a list of ten lists and so on, ``size`` deep."""
    value: Any = "x"
    for _ in range(size):
        value = [value] * 10
    return pickle.dumps({"segments": [], "device_traces": [[_event(0, 512, [_FRAME])]], "extra": value}, 4)


_FRAME = {"filename": "/a/b.py", "line": 3, "name": "f"}


def _event(number: int, size: int, frames: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "action": "alloc",
        "addr": 4096 + 1024 * number,
        "size": size,
        "stream": 0,
        "frames": frames,
        "time_us": number + 1,
    }


def _torch(trace: list[dict[str, Any]]) -> bytes:
    return pickle.dumps({"segments": [], "device_traces": [trace]}, 4)


def gcdump_long_name(size: int) -> bytes:
    """A type whose name has ``size`` characters."""
    return gcdump_files.gcdump([("[root]", 0, None), ("N" * size, 24, "a.dll")], [(0, 0, [1]), (1, None, [])])


def gcdump_shared_delegates(size: int) -> bytes:
    """``size`` delegates that share the array of their listeners, which are they themselves."""
    types = [("[root]", 0, None), ("System.Action", 64, "a.dll"), ("System.Object[]", 8 * size, "a.dll")]
    every = list(range(1, size + 1))
    return gcdump_files.gcdump(
        types, [(0, 0, [1]), *((1, None, [size + 1]) for _ in every), (2, None, every)]
    )


def gcdump_list(size: int) -> bytes:
    """A chain of ``size`` objects."""
    nodes = [(0, 0, [1]), *((1, None, [each + 1] if each < size else []) for each in range(1, size + 1))]
    return gcdump_files.gcdump([("[root]", 0, None), ("A.B", 24, "a.dll")], nodes)


def ruby_long_name(size: int) -> bytes:
    """A class whose name has ``size`` characters."""
    rows = [
        {"type": "ROOT", "root": "vm", "references": ["0x8", "0x10"]},
        {
            "address": "0x8",
            "type": "CLASS",
            "class": "0x8",
            "name": "N" * size,
            "memsize": 40,
            "slot_size": 40,
        },
        {"address": "0x10", "type": "OBJECT", "class": "0x8", "memsize": 40, "slot_size": 40},
    ]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def heap_text_deep(size: int) -> bytes:
    """A heap profile in text with ``size`` stacks, as deep as they may be and all of the same addresses."""
    stack = " ".join(f"0x{4096 + each:x}" for each in range(4_000))
    stacks = "".join(f" 1: {each + 1} [1: {each + 1}] @ {stack}\n" for each in range(size))
    total = size * (size + 1) // 2
    return f"heap profile: {size}: {total} [{size}: {total}] @ heap_v2/524288\n{stacks}\nMAPPED_LIBRARIES:\n".encode()


def java_heap_blanks(size: int) -> bytes:
    """A heap profile of Java in text, with names of ``size`` blanks, parentheses and colons."""
    names = (
        b"a" + b" " * size + b"b",
        b"c" + b" " * size + b"d (e",
        b"f" + b" (" * size,
        b"g (h" + b":1" * size + b")",
    )
    addresses = b"".join(b" 0x%x" % each for each in range(1, 1 + len(names)))
    lines = b"".join(b"0x%x %s\n" % (number, name) for number, name in enumerate(names, 1))
    return b"--- heapz 1 ---\nformat = java\nresolution = bytes\n 1 100 @" + addresses + b"\n\n" + lines


def hprof_cycle(size: int) -> bytes:
    """Classes that are their own superclasses, in a circle of ``size``."""
    dump = Dump()
    for each in range(size):
        dump.klass(0x2000 + 8 * each, f"C{each}", 0x2000 + 8 * ((each + 1) % size), [("f", INT)])
        dump.instance(0x10_0000 + 8 * each, 0x2000 + 8 * each, "I", 1)
    dump.add(0xFF, "P", 0x10_0000)
    return dump.end()


def v8_sampling_samples(size: int) -> bytes:
    """A sampling profile with ``size`` samples of one function whose name has 5,000 letters."""
    function, url = "f" * 5_000, "/" + "a" * 5_000
    call = f'{{"functionName":"{function}","scriptId":"1","url":"{url}","lineNumber":1,"columnNumber":1}}'
    samples = ",".join(f'{{"size":8,"nodeId":2,"ordinal":{each}}}' for each in range(size))
    child = f'{{"callFrame":{call},"selfSize":{8 * size},"id":2,"children":[]}}'
    return f'{{"head":{{"callFrame":{call},"selfSize":0,"id":1,"children":[{child}]}},"samples":[{samples}]}}'.encode()


def perfetto_fields_of_a_name(size: int) -> bytes:
    """``size`` objects of one class, each with a reference by one field whose name has 50,000 letters."""
    objects = [{"id": 8 + 8 * each, "type": 1, "size": 8, "targets": [8]} for each in range(size)]
    types = [{"id": 1, "name": ["a." + "C" * 50_000], "fields": [1], "kind": 1, "location": 1}]
    packet = perfetto_files.graph_packet(
        objects=objects,
        types=types,
        field_names=[{"iid": 1, "text": ["a.A a.A." + "n" * 50_000]}],
        location_names=[{"iid": 1, "text": ["/" + "p" * 50_000]}],
        roots=[{"objects": [8 + 8 * each for each in range(size)], "kind": 1}],
    )
    return perfetto_files.trace([packet])


def perfetto_all_to_all(size: int) -> bytes:
    """Objects of Android that all refer to ``size`` others, which a field of their class names as often."""
    targets = [8 + 8 * each for each in range(size)]
    objects = [
        {"id": 8 + 8 * each, "type": 1, "size": 8, "targets": targets, "fields": [1] * size}
        for each in range(size)
    ]
    packet = perfetto_files.graph_packet(
        objects=objects,
        types=[{"id": 1, "name": ["a.A[]"], "kind": 1}],
        field_names=[{"iid": 1, "text": ["a.A a.A.next"]}],
        roots=[{"objects": [8], "kind": 1}],
    )
    return perfetto_files.trace([packet])


def gcdump_all_to_all(size: int) -> bytes:
    """Arrays of .NET that all refer to ``size`` others, of types whose names have 5,000 letters."""
    types = [("[root]", 0, None), *((f"{each}" + "N" * 5_000, 24, "m" * 5_000) for each in range(20))]
    every = list(range(1, size + 1))
    return gcdump_files.gcdump(types, [(0, 0, every), *((1 + each % 20, None, every) for each in every)])


def gcdump_counts(size: int) -> bytes:
    """Two objects, the second of which is said to stand for as many as a fraction of a byte allows, ``size`` times."""
    return gcdump_files.gcdump(
        [("[root]", 0, None), ("A.B", (1 << 31) - 1, "a.dll")],
        [(0, 0, [1]), (1, (1 << 31) - 1, [0] * size)],
        multipliers=[1e9, 1e9],
        multiplier=1e9,
        total=1 << 62,
    )


def ruby_shared_names(size: int) -> bytes:
    """``size`` objects of a class whose name has 50,000 letters, all referred to by each of 100 arrays."""
    rows: list[dict[str, Any]] = [
        {"type": "ROOT", "root": "vm", "references": ["0x8", *(hex(16 + 8 * each) for each in range(100))]},
        {"address": "0x8", "type": "CLASS", "class": "0x8", "name": "N" * 50_000, "memsize": 40},
    ]
    objects = [hex(0x10_0000 + 8 * each) for each in range(size)]
    rows += (
        {
            "address": hex(16 + 8 * each),
            "type": "ARRAY",
            "class": "0x8",
            "length": size,
            "references": objects,
            "memsize": 40,
        }
        for each in range(100)
    )
    rows += ({"address": address, "type": "OBJECT", "class": "0x8", "memsize": 40} for address in objects)
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


def tracemalloc_shared(size: int) -> bytes:
    """``size`` blocks that share one stack of as many frames, which the pickle has once."""
    stack = tuple(("/a/b.py", each + 1) for each in range(size))
    traces = [(0, 512 + each, stack, size) for each in range(size)]
    return pickle.dumps(tracemalloc.Snapshot(traces, size), 4)


def tracemalloc_lines(size: int) -> bytes:
    """``size`` blocks, each made by another line of one file with a long path."""
    file = "/a" * 100 + ".py"
    traces = [(0, 1 << 20, ((file, each + 1),), 1) for each in range(size)]
    return pickle.dumps(tracemalloc.Snapshot(traces, 1), 4)


def tracemalloc_long_file(size: int) -> bytes:
    """``size`` blocks, each with a stack of 50 lines of one file whose path has 20,000 letters."""
    file = "/a/" + "f" * 20_000 + ".py"
    shared = tuple((file, line) for line in range(1, 50))
    traces = [(0, 512, (*shared, (file, 100 + each)), 50) for each in range(size)]
    return pickle.dumps(tracemalloc.Snapshot(traces, 50), 4)


def jfr_shared_chain(size: int) -> bytes:
    """``size`` objects, each held by another field of the program, and below it by a chain of 4,000 fields."""
    recording = Recording()
    links = [(f"f{number}", "app/Node", "") for number in range(4_000)]
    shared = recording.held("[B", *links)
    for number in range(size):
        field = recording.constant("jdk.types.OldObjectField", name=f"own{number}")
        referrer = recording.constant("jdk.types.Reference", field=field, object=shared)
        held = recording.constant("jdk.types.OldObject", type=recording.class_("[B"), referrer=referrer)
        recording.event("jdk.OldObjectSample", startTime=10**10, object=held)
    return recording.build()


def jfr_deep_stack(size: int) -> bytes:
    """``size`` samples of one stack of 4,000 frames of a class with a name of 2,000 letters, each of its own thread."""
    recording = Recording()
    stack = recording.stack(*(("a" * 2_000, f"m{number}", number) for number in range(4_000)))
    kind = recording.class_("[B")
    for number in range(size):
        thread = recording.thread(f"t{number}")
        recording.event(
            "jdk.ObjectAllocationSample", startTime=number, eventThread=thread, stackTrace=stack,
            objectClass=kind, weight=512,
        )  # fmt: skip
    return recording.build()


def heapprofd_shared_stack(size: int) -> bytes:
    """``size`` processes, each with a sample of one stack of 4,000 functions with names of 2,000 letters."""
    words = native_heap_files.Interning()
    stack = words.stack(tuple(native_heap_files.Code(f"f{each}" + "a" * 2_000) for each in range(4_000)))
    heaps = [
        native_heap_files.heap(each, [(stack, {"allocated": 512, "allocations": 1})]) for each in range(size)
    ]
    return native_heap_files.trace(native_heap_files.dump(heaps, words, in_a_row=False))


def heapprofd_inlined(size: int) -> bytes:
    """One stack that names a place ``size`` times, where as many lines are inlined."""
    words, code = native_heap_files.Interning(), native_heap_files.Code()
    heap = native_heap_files.heap(1, [(words.stack((code,) * size), {"allocated": 512})])
    line = {"function": ["f"], "file": ["/a/b.cc"], "line": 3}
    symbols = {"path": [code.path], "build_id": code.build_id, "addresses": [
        {"address": code.rel_pc, "lines": [line] * size}
    ]}  # fmt: skip
    packets = native_heap_files.dump([heap], words, in_a_row=False)
    return native_heap_files.trace([*packets, {"symbols": [symbols]}])


def heapprofd_dumps(size: int) -> bytes:
    """``size`` dumps, each of another moment and of a sequence that interns all anew."""
    packets = []
    for each in range(size):
        words = native_heap_files.Interning()
        row = (words.stack((native_heap_files.Code("f"),)), {"allocated": 512 * (each + 1), "allocations": 1})
        packets.append(native_heap_files.beginning(each))
        packets += native_heap_files.dump(
            [native_heap_files.heap(1, [row], at=1 + each)], words, sequence=each
        )
    return native_heap_files.trace(packets)


def heapprofd_mappings(size: int) -> bytes:
    """``size`` mappings of libraries whose paths share 200 folders with names of 2,000 letters."""
    words = native_heap_files.Interning()
    folders = "/".join("p" * 2_000 + str(each) for each in range(200))
    stack = words.stack(tuple(
        native_heap_files.Code("", f"/{folders}/{each}.so", rel_pc=each) for each in range(size)
    ))  # fmt: skip
    heap = native_heap_files.heap(1, [(stack, {"allocated": 512})])
    return native_heap_files.trace(native_heap_files.dump([heap], words, in_a_row=False))


def _with_a_sample(recording: Recording) -> bytes:
    """A recording with a sample, which isn't refused for having none."""
    recording.event("jdk.ObjectAllocationSample", startTime=1, objectClass=recording.class_("[B"), weight=8)
    return recording.build()


def jfr_lines_of_a_method(size: int) -> bytes:
    """``size`` lines of a method whose name has 60,000 letters, each of two bytes, in stacks of 4,000 frames."""
    recording = Recording()
    name = recording.constant("jdk.types.Symbol", string=recording.text("m" * 60_000, 4))
    method = recording.constant("jdk.types.Method", type=recording.class_("a/B"), name=name)
    for first in range(0, size, 4_000):
        frames = [
            {"method": method, "lineNumber": line} for line in range(first + 1, min(first + 4_000, size) + 1)
        ]
        stack = recording.constant("jdk.types.StackTrace", truncated=0, frames=frames)
        recording.event("jdk.ObjectAllocationSample", startTime=1, stackTrace=stack, weight=8)
    return _with_a_sample(recording)


def jfr_threads_of_a_name(size: int) -> bytes:
    """``size`` samples, each of another thread, all of which refer to one name of 60,000 letters."""
    recording = Recording()
    recording.constants["java.lang.String"] = {1: recording.text("t" * 60_000, 4)}
    for number in range(size):
        name = b"\2" + recording.integer(1, 8)
        thread = recording.constant("java.lang.Thread", osThreadId=number, javaName=name)
        recording.event("jdk.ObjectAllocationSample", startTime=1, eventThread=thread, weight=8)
    return _with_a_sample(recording)


def jfr_nested_types(size: int) -> bytes:
    """Types without values that have ``size`` fields of another such type each, eight deep."""
    types = dict(flight_files.TYPES)
    for depth in range(8):
        types[f"t{depth}"] = tuple((f"f{number}", f"t{depth + 1}") for number in range(size))
    types["t8"] = ()
    types["profiler.LiveObject"] = (("nested", "t0"),)
    return _with_a_sample(Recording(types=types))


def jfr_wide_types(size: int) -> bytes:
    """``size`` types of constants that all have one field of 2,000 values."""
    types = dict(flight_files.TYPES)
    types["wide"] = tuple((f"f{number}", "byte") for number in range(2_000))
    types |= {f"t{number}": (("a", "wide"),) for number in range(size)}
    recording = Recording(types=types)
    recording.constants |= {f"t{number}": {} for number in range(size)}
    return _with_a_sample(recording)


def jfr_empty_chunks(size: int) -> bytes:
    """A recording with ``size`` chunks in which there is nothing."""
    empty = Recording(types={"a": (("b", "long"),)}).build()
    return _with_a_sample(Recording()) + empty * size


_LONG_CLASS = "$$Lambd" * 9_000


def jfr_objects_of_a_class(size: int) -> bytes:
    """``size`` samples of one object that is alive, whose class has a name of 63,000 letters."""
    recording = Recording()
    held = recording.held(_LONG_CLASS, ("field", "app/Node", ""))
    for number in range(size):
        recording.event("jdk.OldObjectSample", startTime=10**10, allocationTime=number, object=held)
    return recording.build()


def jfr_classes_of_a_name(size: int) -> bytes:
    """``size`` samples, each of another class, all of which refer to one name of 63,000 letters."""
    recording = Recording()
    name = recording.constant("jdk.types.Symbol", string=_LONG_CLASS)
    for number in range(size):
        kind = recording.constant("java.lang.Class", name=name, classLoader=number)
        recording.event("jdk.ObjectAllocationSample", startTime=1, objectClass=kind, weight=8)
    return recording.build()


def jfr_fields_of_a_name(size: int) -> bytes:
    """A chain of ``size`` references by fields of as many classes, all with one name of 60,000 letters."""
    recording = Recording()
    field, referrer = recording.constant("jdk.types.OldObjectField", name="f" * 60_000), 0
    for number in range(size):
        kind = recording.class_(f"app/N{number}")
        held = recording.constant("jdk.types.OldObject", type=kind, referrer=referrer)
        referrer = recording.constant("jdk.types.Reference", field=field, object=held)
        if number % 100 == 0:
            recording.event("jdk.OldObjectSample", startTime=10**10, object=held)
    return recording.build()


def heapprofd_empty_heaps(size: int) -> bytes:
    """A dump with ``size`` heaps of two bytes each, of which nothing is said."""
    words = native_heap_files.Interning()
    heap = native_heap_files.heap(1, [(words.stack((native_heap_files.Code("f"),)), {"allocated": 512})])
    first = native_heap_files.trace(native_heap_files.dump([heap], words, in_a_row=False))
    return first + block(1, number(10, 7) + block(37, number(7, 0) + b"\x2a\0" * size))


def heapprofd_empty_samples(size: int) -> bytes:
    """A dump with a heap of ``size`` samples of two bytes each, of which nothing is said."""
    words = native_heap_files.Interning()
    heap = native_heap_files.heap(1, [(words.stack((native_heap_files.Code("f"),)), {"allocated": 512})])
    first = native_heap_files.trace(native_heap_files.dump([heap], words, in_a_row=False))
    return first + block(
        1, number(10, 7) + block(37, number(7, 0) + block(5, number(1, 1) + b"\x12\0" * size))
    )


_LONG_NAME = "n" * 60_000


def pyheap_variables_of_a_thread(size: int) -> bytes:
    """A frame with ``size`` variables without a name, in a thread whose name has 60,000 letters."""
    frame = ("/app/service.py", 12, "serve", [("", 0x1000)] * size)
    return pyheap(THINGS, threads=[Thread(_LONG_NAME, [frame])])


def pyheap_attributes_of_a_name(size: int) -> bytes:
    """An object with ``size`` attributes, all of one name of 60,000 letters."""
    one = Thing(0x3000, 0x80, 48, attributes=[("name", 0x3000)] * size, text="")
    return pyheap([one], frequent=[FREQUENT[0], _LONG_NAME])


def pyheap_objects_of_a_type(size: int) -> bytes:
    """``size`` objects, each held by the one before, of a type whose name has 60,000 letters."""
    things = [Thing(0x10000 + 16 * each, 0x80, 48, referents=[0x10010 + 16 * each]) for each in range(size)]
    frame = ("/app/service.py", 12, "serve", [("first", 0x10000)])
    return pyheap(things, threads=[Thread("MainThread", [frame])], types={0x80: _LONG_NAME})


def hprof_bitmaps_of_an_array(size: int) -> bytes:
    """``size`` bitmaps that have their pixels in the same array of 1 MiB."""
    dump = ImageDump()
    array = dump.numbers(dump.id(), BYTE, bytes(range(256)) * 4096)
    made = [
        dump.instance(dump.id(), dump.bitmap_class, "Pqii?", array, 0, 512, 512, True) for _ in range(size)
    ]
    dump.add(0xFF, "P", dump.objects(dump.id(), dump.klass(0x800, "[Landroid/graphics/Bitmap;", 0x100), made))
    return dump.end()


def hprof_bitmaps_of_a_file(size: int) -> bytes:
    """``size`` bitmaps whose pixels are in one file of a picture, which says that it has 2^40 of them."""
    dump = ImageDump()
    made = [dump.bitmap(1 << 20, 1 << 20, None, native=7) for _ in range(size)]
    sides = (1 << 20).to_bytes(4) * 2
    dump.dump_data([7], [b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR" + sides + bytes(1 << 20)])
    dump.add(0xFF, "P", dump.objects(dump.id(), dump.klass(0x800, "[Landroid/graphics/Bitmap;", 0x100), made))
    return dump.end()


def hprof_natives_of_a_registry(size: int) -> bytes:
    """``size`` objects in a chain, each with memory by the same registry and thunk."""
    dump = NativeDump()
    holder = dump.klass(0x900, "app/Holder", dump.object_class, [("next", OBJECT)])
    registry = dump.instance(dump.id(), dump.registry_class, "q", (1 << 40) - 1)
    thunk = dump.instance(dump.id(), dump.thunk_class, "qP", 0x7000, registry)
    below = 0
    for _ in range(size):
        below = dump.instance(dump.id(), holder, "P", below)
        dump.cleaner(below, thunk)
    dump.add(0xFF, "P", below)
    return dump.end()


def hprof_cleaners_of_an_object(size: int) -> bytes:
    """An object whose memory ``size`` cleaners free, each by a thunk of its own."""
    dump = NativeDump()
    owner = dump.instance(dump.id(), dump.object_class)
    for each in range(size):
        dump.register(owner, 1 + each)
    dump.add(0xFF, "P", owner)
    return dump.end()


SHAPES: dict[str, Shape] = {
    "pyheap-variables-of-a-thread": Shape("pyheap", pyheap_variables_of_a_thread, 50_000),
    "pyheap-attributes-of-a-name": Shape("pyheap", pyheap_attributes_of_a_name, 50_000),
    "pyheap-objects-of-a-type": Shape("pyheap", pyheap_objects_of_a_type, 50_000),
    "hprof-bitmaps-of-an-array": Shape("hprof", hprof_bitmaps_of_an_array, 20_000),
    "hprof-bitmaps-of-a-file": Shape("hprof", hprof_bitmaps_of_a_file, 20_000),
    "hprof-natives-of-a-registry": Shape("hprof", hprof_natives_of_a_registry, 20_000),
    "hprof-cleaners-of-an-object": Shape("hprof", hprof_cleaners_of_an_object, 20_000),
    "heapprofd-empty-samples": Shape("pftrace", heapprofd_empty_samples, 2_000_000),
    "heapprofd-empty-heaps": Shape("pftrace", heapprofd_empty_heaps, 2_000_000),
    "jfr-objects-of-a-class": Shape("jfr", jfr_objects_of_a_class, 100_000),
    "jfr-classes-of-a-name": Shape("jfr", jfr_classes_of_a_name, 100_000),
    "jfr-fields-of-a-name": Shape("jfr", jfr_fields_of_a_name, 5_000),
    "heapprofd-shared-stack": Shape("pftrace", heapprofd_shared_stack, 20_000),
    "heapprofd-inlined": Shape("pftrace", heapprofd_inlined, 4_000),
    "heapprofd-dumps": Shape("pftrace", heapprofd_dumps, 20_000),
    "heapprofd-mappings": Shape("pftrace", heapprofd_mappings, 2_000),
    "jfr-shared-chain": Shape("jfr", jfr_shared_chain, 10_000),
    "jfr-deep-stack": Shape("jfr", jfr_deep_stack, 20_000),
    "jfr-lines-of-a-method": Shape("jfr", jfr_lines_of_a_method, 100_000),
    "jfr-threads-of-a-name": Shape("jfr", jfr_threads_of_a_name, 20_000),
    "jfr-nested-types": Shape("jfr", jfr_nested_types, 60),
    "jfr-wide-types": Shape("jfr", jfr_wide_types, 2_000),
    "jfr-empty-chunks": Shape("jfr", jfr_empty_chunks, 10_000),
    "pprof-inlined": Shape("pb", pprof_inlined, 250),
    "pprof-inlined-refused": Shape("pb", pprof_inlined, 8_000),
    "pprof-labels": Shape("pb", pprof_labels, 1_000_000),
    "pprof-one-stack": Shape("pb", pprof_one_stack, 1_000_000),
    "pprof-lines-of-a-name": Shape("pb", pprof_lines_of_a_name, 20_000),
    "pprof-deep-paths": Shape("pb", pprof_deep_paths, 300),
    "pprof-many-projects": Shape("pb", pprof_many_projects, 50_000),
    "pprof-comments": Shape("pb", pprof_comments, 100_000),
    "pprof-random-stacks": Shape("pb", pprof_random_stacks, 1_000),
    "pprof-slow-pattern": Shape("pb", pprof_slow_pattern, 1_000),
    "pprof-nested-arguments": Shape("pb", pprof_nested_arguments, 300),
    "pprof-long-name": Shape("pb", pprof_long_name, 10_000_000),
    "v8-deep-trace": Shape("heapsnapshot", v8_deep_trace, 50_000),
    "v8-branches": Shape("heapsnapshot", v8_branches, 1_000),
    "v8-shared-listeners": Shape("heapsnapshot", v8_shared_listeners, 5_000),
    "v8-long-name": Shape("heapsnapshot", v8_long_name, 10_000_000),
    "v8-objects-of-a-long-name": Shape("heapsnapshot", v8_objects_of_a_long_name, 100_000),
    "v8-list": Shape("heapsnapshot", v8_list, 100_000),
    "v8-deep-sampling": Shape("heapprofile", v8_deep_sampling, 20_000),
    "heaptrack-deep": Shape("heaptrack", heaptrack_deep, 50_000),
    "heaptrack-deep-calls-of-a-name": Shape("heaptrack", heaptrack_deep_calls_of_a_name, 4_000),
    "massif-deep": Shape("massif", massif_deep, 20),
    "dhat-points": Shape("json", dhat_points, 40_000),
    "perfetto-superclasses": Shape("pftrace", perfetto_superclasses, 10_000),
    "hprof-superclasses": Shape("hprof", hprof_superclasses, 10_000),
    "hprof-cycle": Shape("hprof", hprof_cycle, 10_000),
    "hprof-nested-groups": Shape("hprof", hprof_nested_groups, 20_000),
    "hprof-threads": Shape("hprof", hprof_threads, 10_000),
    "hprof-methods-of-a-name": Shape("hprof", hprof_methods_of_a_name, 20_000),
    "hprof-threads-of-a-name": Shape("hprof", hprof_threads_of_a_name, 20_000),
    "hprof-shared-table": Shape("hprof", hprof_shared_table, 10_000),
    "hprof-shared-locals": Shape("hprof", hprof_shared_locals, 20_000),
    "hprof-shared-chain": Shape("hprof", hprof_shared_chain, 5_000),
    "hprof-long-name": Shape("hprof", hprof_long_name, 10_000_000),
    "torch-zero-sizes": Shape("pickle", torch_zero_sizes, 1),
    "torch-shared-stack": Shape("pickle", torch_shared_stack, 20_000),
    "torch-notes": Shape("pickle", torch_notes, 20_000),
    "torch-empty-traces": Shape("pickle", torch_empty_traces, 1_000_000),
    "torch-annotations": Shape("pickle", torch_annotations, 20_000),
    "torch-categories": Shape("pickle", torch_categories, 10_000),
    "torch-ooms": Shape("pickle", torch_ooms, 40_000),
    "torch-nested": Shape("pickle", torch_nested, 30),
    "tracemalloc-shared": Shape("pickle", tracemalloc_shared, 20_000),
    "tracemalloc-long-file": Shape("pickle", tracemalloc_long_file, 15_000),
    "tracemalloc-lines": Shape("pickle", tracemalloc_lines, 100_000),
    "gcdump-long-name": Shape("gcdump", gcdump_long_name, 10_000_000),
    "gcdump-shared-delegates": Shape("gcdump", gcdump_shared_delegates, 60_000),
    "gcdump-list": Shape("gcdump", gcdump_list, 100_000),
    "ruby-long-name": Shape("json", ruby_long_name, 10_000_000),
    "v8-sampling-samples": Shape("heapprofile", v8_sampling_samples, 200_000),
    "perfetto-fields-of-a-name": Shape("pftrace", perfetto_fields_of_a_name, 50_000),
    "perfetto-all-to-all": Shape("pftrace", perfetto_all_to_all, 1_000),
    "gcdump-all-to-all": Shape("gcdump", gcdump_all_to_all, 1_000),
    "gcdump-counts": Shape("gcdump", gcdump_counts, 100_000),
    "ruby-shared-names": Shape("json", ruby_shared_names, 2_000),
    "heap-text-deep": Shape("heap", heap_text_deep, 50),
    "java-heap-blanks": Shape("heap", java_heap_blanks, 100_000),
    "memray-mappings-downwards": Shape("bin", memray_shapes.mappings_downwards, 300_000),
    "memray-overlapping-mappings": Shape("bin", memray_shapes.overlapping_mappings, 20_000),
    "memray-shrinking-mappings": Shape("bin", memray_shapes.shrinking_mappings, 50_000),
    "memray-stacked-mappings": Shape("bin", memray_shapes.stacked_mappings, 50_000),
    "memray-instructions-of-a-table": Shape("bin", memray_shapes.instructions_of_a_table, 50_000),
    "memray-instructions-of-a-name": Shape("bin", memray_shapes.instructions_of_a_name, 50_000),
    "memray-native-generations": Shape("bin", memray_shapes.native_generations, 5_000),
    "memray-native-stacks": Shape("bin", memray_shapes.native_stacks, 20_000),
    "memray-native-tails": Shape("bin", memray_shapes.native_tails, 20_000),
    "memray-sizes-of-blocks": Shape("bin", memray_shapes.sizes_of_blocks, 300_000),
    "memray-threads": Shape("bin", memray_shapes.threads, 100_000),
    "memray-memory-records": Shape("bin", memray_shapes.memory_records, 500_000),
    "memray-lives": Shape("bin", memray_shapes.lives, 200_000),
    "memray-one-stack": Shape("bin", memray_shapes.one_stack, 300_000),
    "memray-deep-stacks": Shape("bin", memray_shapes.deep_stacks, 100_000),
}
