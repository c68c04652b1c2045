"""Traces with every given name in each of their fields."""

from collections.abc import Sequence

from tests.python import perfetto_files
from tests.python.hostile_names import Planted, fit
from tests.python.perfetto_files import Packet

from memlens.packs.android.tests.native_heap_files import Code, Interning, beginning, dump, heap, trace


def perfetto(names: Sequence[str]) -> Planted:
    """Processes, packages, classes, fields, files, the names behind obfuscated ones, a full heap, and samples."""
    names = fit(names)
    types, objects, fields, files, mappings = [], [], [], [], []
    for number, name in enumerate(names, 1):
        types.append(
            {"id": number, "name": [name], "size": 8, "fields": [number], "kind": 1, "location": number}
        )
        objects.append({"id": 8 * number, "type": number, "size": 8 + number, "targets": [8 * number]})
        fields.append({"iid": number, "text": [f"{name} {name}.{name}"]})
        files.append({"iid": number, "text": [f"/data/app/{name}/base.apk"]})
        types.append(
            {"id": len(names) + number, "name": [f"s{number}"], "size": 8, "fields": [number], "kind": 1}
        )
        objects.append(
            {"id": 8 * (len(names) + number), "type": len(names) + number, "size": 8, "targets": [8 * number]}
        )
        known = {
            "short": [f"s{number}"],
            "name": [f"app.{name}"],
            "members": [{"short": [name], "name": [name]}],
        }
        mappings.append({"mapping": [{"package": [name], "classes": [known]}]})
    roots = [{"objects": [each["id"] for each in objects], "kind": 1}]
    every = "".join(names)
    frames = [{"method": [name], "file": [name], "line": 3} for name in names]
    failure = {"pid": 7, "process": [every], "package": [every], "allocation": 512, "free": 5, "until_limit": 5,
               "stack": [{"frames": frames}], "message": [every]}  # fmt: skip
    return Planted(trace([
        # a first packet that fits into what is looked at to recognise the format
        perfetto_files.processes(init=1),
        {"process_tree": [{"processes": [{"pid": 7, "ppid": 1, "cmdline": [every]}]}]}, *mappings,
        perfetto_files.graph_packet(
            objects=objects, types=types, field_names=fields, location_names=files, roots=roots
        ),
        {"timestamp": 11, "failure": [failure]}, *_samples(names),
    ]), names)  # fmt: skip


def samples(names: Sequence[str]) -> Planted:
    """Processes, heaps, libraries, functions, files, and methods of Java behind obfuscated ones."""
    names = fit(names)
    processes = [{"pid": 100 + number, "ppid": 1, "cmdline": [name]} for number, name in enumerate(names)]
    first = perfetto_files.processes(init=1)
    return Planted(trace([first, {"process_tree": [{"processes": processes}]}, *_samples(names)]), names)


def _samples(names: Sequence[str]) -> list[Packet]:
    words = Interning()
    heaps, symbols, classes = [], [], []
    for number, name in enumerate(names):
        library = Code(name, f"/data/app/{name}/lib.so", 0x1000, b"\x01", source=f"/src/{name}.cc", line=1)
        named = library._replace(function="", rel_pc=0x2000, source="", line=0)
        java = Code(f"s{number}.m", "/data/app/x/base.apk", 0x30, b"")
        stack = words.stack((library, named, java, Code("", name, 0x40)))
        figures = {"allocated": 512 + number, "allocations": 1, "freed": 8, "frees": 1}
        heaps.append(heap(100 + number, [(stack, figures)], name=name, at=1))
        line = {"function": [name], "file": [f"/src/{name}.h"], "line": 7}
        symbols.append({"path": [named.path], "build_id": named.build_id, "addresses": [
            {"address": named.rel_pc, "lines": [line]}
        ]})  # fmt: skip
        methods = [{"short": ["m"], "name": [name]}]
        classes.append({"short": [f"s{number}"], "name": [f"app.{name}"], "methods": methods})
    return [
        beginning(), *dump(heaps, words), {"symbols": symbols},
        {"mapping": [{"package": ["x"], "classes": classes}]},
    ]  # fmt: skip


PLANTED = {"perfetto": perfetto, "perfetto, samples": samples}
