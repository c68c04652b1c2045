"""Small heap dumps of each format, with every given name in each of their fields; all formats together in a table."""

import struct
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from tests.python import hostile_profiles, pyheap_files
from tests.python.conftest import ROOT
from tests.python.heap_files import HeapFile
from tests.python.hostile_names import Planted, fit
from tests.python.hprof_files import BYTE, INT, OBJECT, Dump

from memlens import dump
from memlens.packs.dotnet.tests import gcdump_files
from memlens.packs.ruby.tests import ruby_files


def v8_heap(names: Sequence[str]) -> Planted:
    """Types, strings, properties, elements of the DOM, functions, scripts, variables, stacks of allocations."""
    names = fit(names, surrogates=True)
    heap = HeapFile()
    root = heap.node("synthetic", "")
    everything = heap.node("object", "global", 100)
    heap.edge(root, "shortcut", "global", everything)
    heap.functions = [("(root)", "", 0)]
    children: list[Any] = []
    for number, name in enumerate(names, 1):
        script, shared = heap.node("hidden", f"/src/{name}.js", 8), heap.node("code", name, 40)
        closure, context = heap.node("closure", name, 64), heap.node("object", "system / Context", 40)
        held = heap.node("object", name, 1_000 * number, trace_node_id=number + 1)
        for source, kind, edge, target in (
            (everything, "property", name, held), (everything, "property", f"{name} tick", closure),
            (closure, "internal", "shared", shared), (shared, "internal", "script", script),
            (closure, "internal", "context", context), (context, "context", name, held),
            (held, "property", name, heap.node("string", name, 400)),
            (held, "internal", name, heap.node("native", f"Detached <{name}>", 90, detachedness=2)),
            (held, "element", number, heap.node("concatenated string", name, 32)),
            (held, "weak", name, everything), (root, "property", name, heap.node("synthetic", f"({name})")),
        ):  # fmt: skip
            heap.edge(source, kind, edge, target)
        heap.locations.append((held, number, 8, 2))
        heap.scopes.append((script, number, 0, [name], [(number, 0)]))
        heap.functions.append((name, f"/src/{name}.js", 5))
        children += [number + 1, number, 1, 48, []]
    heap.trace_tree = [1, 0, 0, 0, children]
    return Planted(heap.data(), names)


def ruby(names: Sequence[str]) -> Planted:
    """Classes, files, methods, texts, roots, what the interpreter calls its own."""
    names = fit(names)
    rows = []
    for number, name in enumerate(names):
        klass, one, text, inner = (0x7F00_0000_0000 + 40 * (4 * number + each) for each in range(4))
        of: dict[str, Any] = {"class": klass}
        rows += [
            ruby_files.root(name, klass, one, inner),
            ruby_files.line(klass, "CLASS", name=name, memsize=500),
            ruby_files.line(one, "OBJECT", [text, inner], **of, ivars=3, file=f"/src/{name}.rb", line=12,
                            method=name, memsize=80 + number, generation=7),
            ruby_files.line(text, "STRING", **of, value=name, file=name, line=3, bytesize=len(name)),
            ruby_files.line(inner, "IMEMO", [text], imemo_type=name),
        ]  # fmt: skip
    return Planted(ruby_files.made(*rows), names)


def hprof(names: Sequence[str]) -> Planted:
    """Classes, loaders, fields, statics, heaps, methods, signatures, files, threads, strings."""
    names = fit(names)
    dump_ = Dump("1.0.3")
    base = 0x10_0000
    above = dump_.klass(base, "java/lang/Object")
    text = dump_.klass(base + 0x40, "java/lang/String", above, [("value", OBJECT), ("coder", BYTE)])
    thread = dump_.klass(
        base + 0xE0, "java/lang/Thread", above, [("name", OBJECT), ("contextClassLoader", OBJECT)]
    )
    maker = dump_.klass(base + 0x120, "java/net/URLClassLoader", above, [("name", OBJECT)])
    for number, name in enumerate(names, 1):
        own = base + 0x1000 * number
        data = (name * 2).encode("utf-16-le", "replace")
        dump_.add(0xFE, "IP", number, dump_.name(name))
        dump_.numbers(own + 0x20, BYTE, data)
        words = dump_.instance(own + 0x40, text, "Pb", own + 0x20, 1)
        loader = dump_.instance(own + 0x60, maker, "P", words)
        fields = [(name, OBJECT), ("n", INT)]
        klass = dump_.klass(own + 0x80, name, above, fields, [(name, OBJECT, words)], loader=loader)
        inner = dump_.klass(
            own + 0xA0, f"com/{name}/In${name}", klass, [(f"{name} too", OBJECT)], loader=loader
        )
        held = dump_.instance(own + 0xC0, inner, "PPI", words, words, 7)
        dump_.instance(own + 0xE0, klass, "PI", held, 7)
        dump_.objects(own + 0x120, dump_.klass(own + 0x100, f"[L{name};", above), [own + 0xE0, held])
        dump_.instance(own + 0x140, thread, "PP", words, loader)
        frame = dump_.pack(
            "PPPPIi", 0x5000 + number, dump_.name(name), dump_.name(name), dump_.name(f"{name}.java"), 1, 34
        )
        dump_.record(4, frame)
        dump_.record(5, dump_.pack("IIIP", 100 + number, number, 1, 0x5000 + number))
        dump_.add(8, "PII", own + 0x140, number, 100 + number)
        dump_.add(3, "PII", own + 0x120, number, 0)
    return Planted(dump_.end(), names)


def gcdump(names: Sequence[str]) -> Planted:
    """Types, their files, kinds of roots, static variables, the program that wrote it."""
    names = fit(names)
    types: list[tuple[str | None, int, str | None]] = [("[.NET Roots]", 0, None)]
    nodes: list[Any] = [(0, 0, [])]
    for name in names:
        kind, variable, own = len(types), len(types) + 1, len(types) + 2
        types += [
            (f"[{name}]", 0, None),
            (f"[static var App.{name}.{name}]", 0, name),
            (name, 24, f"/app/{name}.dll"),
        ]
        nodes[0][2].append(len(nodes))
        nodes += [(kind, 0, [len(nodes) + 1]), (variable, 0, [len(nodes) + 2]), (own, 64, [])]
    return Planted(gcdump_files.gcdump(types, nodes, tool="".join(names)[:1000]), names)


def python_heap(names: Sequence[str]) -> Planted:
    """Types, modules, attributes, keys, texts, roots, threads, functions, files, settings."""
    names = fit(names)
    texts: list[str] = ["python"]

    def number(text: str) -> int:
        texts.append(text)
        return len(texts)

    def record(tag: bytes, form: str, *values: int) -> bytes:
        return tag + struct.pack(f"<{form}", *values)

    rows = b""
    for each, name in enumerate(names):
        kind, own = 0x9000_0000 + 256 * each, 0x1000 + 256 * each
        stack, file = each + 1, number(f"/src/{name}.py")
        called, thread, plain = number(name), number(f"{name} (MainThread)"), number(name)
        rows += (
            record(b"N", "II", called, plain)
            + record(b"F", "III", file, called, 12)
            + record(b"K", "II", 1, each)
        )
        rows += record(b"A", "QIII", own, called, 0, 0) + record(b"G", "QIII", own, plain, thread, 0)
        rows += record(b"T", "QII", kind, number(name), number(name))
        rows += record(b"O", "QQQIII", own, kind, 72 + each, plain, stack, 0xFFFFFFFF)
        rows += record(b"n", "IQI", 1, own, called) + record(b"d", "IQQ", 2, own, own)
        rows += record(b"L", "QI", own, plain)
    head = dump.MAGIC + struct.pack("<II", dump.VERSION, 8)
    words = b"".join(b"S" + struct.pack("<I", len(text.encode())) + text.encode() for text in texts)
    return Planted(head + words + rows + record(b"E", "Q", len(names)), names)


def pyheap(names: Sequence[str]) -> Planted:
    """Types, threads, files, functions, variables, attributes, texts."""
    names = fit(names)
    things, threads, types = [], [], {}
    for number, name in enumerate(names, 1):
        own = 0x1000 * number
        attributes = ((name, own + 16), (f"{name} too", own))
        things += [
            pyheap_files.Thing(
                own, own + 32, 48 + number, referents=(own + 16,), attributes=attributes, text=name
            ),
            pyheap_files.Thing(own + 16, pyheap_files.TYPES["str"], 53, text=name),
        ]
        types[own + 32] = name
        threads.append(pyheap_files.Thread(name, [(f"/src/{name}.py", 12, name, [(name, own)])]))
    return Planted(pyheap_files.pyheap(things, threads=threads, types=types), names)


PLANTED: dict[str, Callable[[Sequence[str]], Planted]] = {
    **{
        name: getattr(hostile_profiles, name)
        for name in (
            "tracemalloc", "dhat", "torch", "snapviewer", "pprof", "heaptrack", "memray", "massif",
            "heap_text", "java_heap",
        )
    },
    "v8-sampling": hostile_profiles.v8_sampling, "v8": v8_heap, "ruby": ruby,
    "hprof": hprof, "gcdump": gcdump,
    "python_heap": python_heap, "pyheap": pyheap,
}  # fmt: skip
"""A function for each format, by the name of its reader, which writes one file with all of the names it is given.

Those of a pack may lie in its own folder, in ``PLANTED`` of ``tests/hostile.py``; another file of a format has what it
is after a comma.
"""
for _path in sorted((ROOT / "pyserver/memlens/packs").glob("*/tests/hostile.py")):
    PLANTED |= import_module(f"memlens.packs.{_path.parts[-3]}.tests.hostile").PLANTED
