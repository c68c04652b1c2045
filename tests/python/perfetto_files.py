"""Writes traces of Perfetto with heap graphs of ART."""

import random
import zlib
from typing import Any

from tests.python.graphs import WEAK, SmallGraph

from memlens.packs.go.tests.pprof_files import encode

SCHEMA = {
    "TRACE": {1: "PACKET packet"},
    "PACKET": {
        2: "PROCESSES process_tree", 8: "int timestamp", 10: "int sequence", 50: "bytes compressed",
        56: "GRAPH heap_graph", 64: "MAPPING mapping", 37: "PROFILE profile", 131: "FAILURE failure",
    },
    "PROCESSES": {1: "PROCESS processes"},
    "PROCESS": {1: "int pid", 2: "int ppid", 3: "string cmdline"},
    "GRAPH": {
        1: "int pid", 2: "OBJECT objects", 7: "ROOT roots", 9: "TYPE types", 4: "NAME field_names",
        8: "NAME location_names", 5: "int continued", 6: "int index",
    },
    "OBJECT": {
        1: "int id", 7: "int id_delta", 2: "int type", 3: "int size", 6: "int base", 4: "ints fields",
        5: "ints targets", 10: "ints runtime", 9: "int heap", 8: "int native", 13: "int width", 14: "int height",
    },
    "ROOT": {1: "ints objects", 2: "int kind"},
    "TYPE": {
        1: "int id", 2: "int location", 3: "string name", 4: "int size", 5: "int superclass", 6: "ints fields",
        7: "int kind", 8: "int loader",
    },
    "NAME": {1: "int iid", 2: "string text"},
    "MAPPING": {1: "string package", 3: "CLASS classes"},
    "CLASS": {1: "string short", 2: "string name", 3: "MEMBER members"},
    "MEMBER": {1: "string short", 2: "string name"},
    "PROFILE": {},
    "FAILURE": {
        1: "int pid", 2: "int uid", 3: "string process", 4: "string package", 5: "int allocation", 6: "int free",
        7: "int until_limit", 8: "STACK stack", 9: "string message",
    },
    "STACK": {1: "FRAME frames"},
    "FRAME": {1: "string method", 2: "string file", 3: "int line"},
}  # fmt: skip
"""Fields by their numbers, as ``trace_packet.proto``, ``heap_graph.proto``, ``deobfuscation.proto`` and
``art_process_metadata.proto`` have them."""

Packet = dict[str, Any]


def trace(packets: list[Packet], *, packed: bool = True) -> bytes:
    """The bytes of a trace."""
    return encode({"packet": packets}, "TRACE", packed=packed, schema=SCHEMA)


def compressed(packets: list[Packet]) -> Packet:
    """A packet with others in it."""
    return {"compressed": zlib.compress(trace(packets))}


def graph_packet(
    pid: int = 7, index: int = 0, sequence: int = 1, *, more: bool = False, **graph: Any
) -> Packet:
    """A packet of a heap graph; with ``more`` another one follows."""
    said = {"pid": pid, "index": index, "continued": int(more), **graph}
    return {"timestamp": 10, "sequence": sequence, "heap_graph": [said]}


def processes(**pids: int) -> Packet:
    """The names of processes."""
    known = [{"pid": pid, "ppid": 1, "cmdline": [name]} for name, pid in pids.items()]
    return {"process_tree": [{"processes": known}]}


def packets_of(graph: SmallGraph, seed: int) -> list[Packet]:
    """A small graph as packets, in one of the forms that recorders write: ids as they are or as differences, targets
    less a base, fields in the objects or in their types, several packets. Object ``n`` has the id ``100 + 8 * n``.

    Types 0 to 2 are ``app.T0`` to ``app.T2`` with a field for each reference; weak references are from objects of
    a type of their own for each of these, which refer to the target and nothing else.
    """
    rng = random.Random(seed)
    of_types, with_base, with_delta = rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.5
    most = max(map(len, graph.edges), default=0)
    objects: list[dict[str, Any]] = []
    last = 0
    for number, edges in enumerate(graph.edges):
        one: dict[str, Any] = {"type": graph.types[number] + 1, "size": graph.shallow[number] + 1, "heap": 1}
        if with_delta and number:
            one["id_delta"] = 100 + 8 * number - last
        else:
            one["id"] = 100 + 8 * number
        last = 100 + 8 * number
        base = rng.randrange(1, 100) if with_base and edges else 0
        one["targets"] = [100 + 8 * target - base for target, kind in edges if kind != WEAK]
        one["base"] = base
        if not of_types:
            one["fields"] = [1 + each for each in range(len(one["targets"]))]
        # null, which fields that aren't set have
        one["targets"] += [0] * (most - len(one["targets"])) if of_types else []
        objects.append(one)
    names = [{"iid": each + 1, "text": [f"int app.T.f{each}"]} for each in range(most)]
    own = [each + 1 for each in range(most)] if of_types else []
    types = [{"id": kind + 1, "name": [f"app.T{kind}"], "fields": own, "kind": 1} for kind in range(3)]
    roots = [{"objects": [100 + 8 * each for each in graph.roots], "kind": 1}]
    parts: list[dict[str, Any]] = [{"objects": objects[at : at + 5]} for at in range(0, len(objects), 5)]
    parts.append({"types": types, "field_names": names, "roots": roots})
    found = [graph_packet(index=at, more=at < len(parts) - 1, **part) for at, part in enumerate(parts)]
    return [compressed(found)] if rng.random() < 0.3 else found


def small() -> bytes:
    """A trace with everything that the reader knows of, but for compressed packets."""
    types = [
        {
            "id": 1,
            "name": ["a"],
            "fields": [1, 2],
            "superclass": 2,
            "size": 24,
            "location": 1,
            "kind": 1,
            "loader": 72,
        },
        {"id": 2, "name": ["app.Base"], "fields": [3], "kind": 1},
        {"id": 3, "name": ["a[]"], "kind": 4, "location": 1},
        {"id": 4, "name": ["java.lang.Class<a>"], "kind": 5, "location": 1},
        {"id": 5, "name": ["java.lang.ref.WeakReference"], "superclass": 6, "kind": 9},
        {"id": 6, "name": ["java.lang.ref.Reference"], "fields": [4], "kind": 1},
        {"id": 7, "name": ["sun.misc.Cleaner"], "superclass": 6, "fields": [5, 6], "kind": 11},
        {"id": 8, "name": ["libcore.util.NativeAllocationRegistry$CleanerThunk"], "fields": [7], "kind": 1},
        {"id": 9, "name": ["libcore.util.NativeAllocationRegistry"], "kind": 1},
        {"id": 10, "name": ["android.graphics.Bitmap"], "size": 48, "kind": 1},
        {"id": 11, "name": ["dalvik.system.PathClassLoader"], "size": 60, "kind": 6},
    ]
    names = (
        "int a.b", "a[] a.c", "app.Base.next", "java.lang.ref.Reference.referent", "sun.misc.Cleaner.next",
        "sun.misc.Cleaner.thunk", "libcore.util.NativeAllocationRegistry$CleanerThunk.this$0", "a.INSTANCE",
        "java.lang.Class.classLoader",
    )  # fmt: skip
    objects = [
        {"id": 8, "type": 1, "targets": [16, 24, 0], "heap": 1},
        {"id_delta": 8, "type": 3, "targets": [8, 0, 8], "size": 40},
        {"id_delta": 8, "type": 4, "targets": [1, 65], "fields": [8, 9], "base": 7, "size": 200},
        {"id_delta": 8, "type": 5, "targets": [8], "size": 16, "heap": 2},
        {"id_delta": 8, "type": 7, "targets": [0, 48, 64], "size": 36, "heap": 1},
        {"id_delta": 8, "type": 8, "targets": [56], "size": 24},
        {"id_delta": 8, "type": 9, "native": 4097, "size": 32},
        {"id_delta": 8, "type": 10, "width": 40, "height": 30},
        {"id_delta": 8, "type": 11, "runtime": [24]},
    ]
    roots = [{"objects": [24, 40], "kind": 5}, {"objects": [8], "kind": 1}]
    mapping = {"short": ["a"], "name": ["app.Cache"], "members": [{"short": ["b"], "name": ["all"]}]}
    texts = [{"iid": number, "text": [text]} for number, text in enumerate(names, 1)]
    location = [{"iid": 1, "text": ["/data/app/~~x==/com.app-y==/base.apk"]}]
    return trace([
        processes(init=1, app=7),
        {"mapping": [{"package": ["com.app"], "classes": [mapping]}]},
        graph_packet(objects=objects, more=True),
        graph_packet(index=1, types=types, field_names=texts, location_names=location, roots=roots),
    ])  # fmt: skip
