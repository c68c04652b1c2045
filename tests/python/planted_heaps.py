"""Heap dumps of each format with a secret in every kind of place, made by the formats' rules and one at a time.

They know nothing of what ``memlens redact`` does: a dump in which only one place has its secret is what it would write
if it left out this kind of record.
"""

import json
import struct
from collections.abc import Callable, Collection
from typing import Any

from tests.python import hprof_files, pyheap_files
from tests.python.heap_files import EDGE_TYPES, NODE_TYPES, HeapFile
from tests.python.hprof_files import BYTE, CHAR, DOUBLE, FLOAT, INT, LONG, OBJECT, SHORT

from memlens.dump import MAGIC
from memlens.packs.ruby.tests import ruby_files

Chosen = Collection[str]
"""The places that have their secrets; others have what tells nothing."""


class Secrets:
    """A text and a number for each place, which no other place has."""

    def __init__(self, chosen: Chosen, places: tuple[str, ...]) -> None:
        self._chosen, self._places = chosen, places

    def text(self, place: str, blank: str = "") -> str:
        return f"s3cret-{self._places.index(place):02}-of-ada" if place in self._chosen else blank

    def number(self, place: str, bits: int = 63) -> int:
        number = {15: 12_300, 31: 1_987_654_300, 63: 4_929_123_412_341_200}[bits]
        return number + self._places.index(place) if place in self._chosen else 0

    def has(self, place: str) -> bool:
        return place in self._chosen


HPROF = (
    "bytes", "chars", "utf-16 in bytes", "ints", "longs", "shorts", "doubles", "floats", "field long", "field int",
    "field double", "field float", "field char", "field short", "inherited field", "static long", "static int",
    "static double", "constant", "string", "symbol", "address", "element", "reference", "unknown class", "reserved id",
    "unknown record", "sites", "cpu samples", "time of the dump", "time of a record", "end of a load", "end of a frame",
    "end of a thread", "after the end of the dump", "name of a thread", "index of a constant", "number of a class",
    "number of a stack", "number of a thread", "id of a frame", "line of a frame", "class of a frame",
    "thread of a root", "frame of a root", "stack of an object",
)  # fmt: skip
ANDROID = (*HPROF, "number of a heap")
DAMAGE = (
    "unknown class", "end of a load", "end of a frame", "end of a thread", "after the end of the dump",
    "text in the trace", "object without a type",
)  # fmt: skip
"""What makes a dump one that is damaged. Damage that isn't seen, as an object of Python's whose type isn't in the file,
may make a name of a content."""


def hprof(chosen: Chosen, version: str = "1.0.2", id_bytes: int = 8) -> bytes:
    secret = Secrets(chosen, ANDROID)
    dump = hprof_files.small(version, id_bytes)
    struct.pack_into(">Q", dump.out, len(f"JAVA PROFILE {version}") + 5, secret.number("time of the dump"))
    low = 0x10_0000
    if version == "1.0.3":
        # a word of the runtime, which stays
        dump.add(0xFE, "IP", secret.number("number of a heap", 31), dump.name("zygote"))
    # those of the small heap are no secrets: what it has at these places stands in both files
    hidden = {
        name: secret.text(name, "\0" * 16) for name in ("bytes", "chars", "utf-16 in bytes", "ints", "string")
    }
    dump.numbers(0x20_0000, BYTE, hidden["bytes"].encode())
    dump.numbers(0x20_0100, CHAR, hidden["chars"].encode("utf-16-be"))
    dump.numbers(0x20_0200, BYTE, hidden["utf-16 in bytes"].encode("utf-16-le"))
    dump.numbers(0x20_0300, INT, hidden["ints"].encode("utf-32-be"))
    dump.numbers(0x20_0400, LONG, struct.pack(">2q", 0, secret.number("longs")))
    dump.numbers(0x20_0500, SHORT, struct.pack(">2h", 0, secret.number("shorts", 15)))
    dump.numbers(0x20_0600, DOUBLE, struct.pack(">2d", 0, secret.number("doubles")))
    dump.numbers(0x20_0700, FLOAT, struct.pack(">2f", 0, secret.number("floats", 15)))
    dump.numbers(0x20_0800, BYTE, hidden["string"].encode())
    dump.instance(0x20_0840, low + 0x40, "PbI", 0x20_0800, 0, 0)
    kinds = {"long": LONG, "int": INT, "double": DOUBLE, "float": FLOAT, "char": CHAR, "short": SHORT}
    bits = {"int": 31, "float": 15, "char": 15, "short": 15}
    of_fields = {name: secret.number(f"field {name}", bits.get(name, 63)) for name in kinds}
    base = dump.klass(0x20_0900, "com/example/Base", low, [("inherited", LONG)])
    account = dump.klass(
        0x20_0940, "com/example/Account", base, [*kinds.items(), ("owner", OBJECT)],
        [("CARD", LONG, secret.number("static long")), ("PIN", INT, secret.number("static int", 31)),
         ("SUM", DOUBLE, secret.number("static double"))],
        constants=[(secret.number("index of a constant", 15), LONG, secret.number("constant"))],
    )  # fmt: skip
    owner = secret.number("reference", 63 if id_bytes == 8 else 31)
    dump.instance(
        0x20_0A00, account, "qidfHhPq", *of_fields.values(), owner, secret.number("inherited field")
    )
    dump.name(secret.text("symbol", "x" * 14))
    dump.numbers(0x20_0E00, BYTE, secret.text("name of a thread", "thread-1").encode())
    dump.instance(0x20_0E40, low + 0x40, "PbI", 0x20_0E00, 0, 0)
    dump.instance(0x20_0E80, low + 0xE0, "PI", 0x20_0E40, 5)
    dump.add(0x08, "PII", 0x20_0E80, 7, 0)
    big = 63 if id_bytes == 8 else 31
    name, frame = dump.name("com/example/Named"), secret.number("id of a frame", big)
    dump.record(0x02, dump.pack("IPIP", secret.number("number of a class", 31), 0x20_0F00, 0, name))
    of_frame = (secret.number("class of a frame", 31), secret.number("line of a frame", 31))
    dump.record(0x04, dump.pack("PPPPIi", frame, *map(dump.name, ("go", "()J", "Go.java")), *of_frame))
    numbers = (secret.number("number of a stack", 31), secret.number("number of a thread", 31))
    dump.record(0x05, dump.pack("IIIP", *numbers, 1, frame))
    of_root = (secret.number("thread of a root", 31), secret.number("frame of a root", 31))
    dump.add(0x03, "PII", low + 0x1000, *of_root)
    dump.instance(0x20_0F40, low + 0x120, stack=secret.number("stack of an object", 31))
    dump.add(0x01, "PP", low + 0x10B8, secret.number("address", big))
    dump.objects(0x20_0B00, low + 0x80, [low + 0x1000, secret.number("element", big)])
    if secret.has("unknown class"):
        dump.instance(0x20_0C00, 0x66_0000, "q", secret.number("unknown class"))
    if secret.has("reserved id"):
        dump.load(0x20_0D00, "com/example/Odd")
        reserved = secret.number("reserved id", big)
        dump.heap += b"\x20" + dump.pack("PIPPPPPPIHHH", 0x20_0D00, 0, low, 0, 0, 0, reserved, 0, 0, 0, 0, 0)
    dump.segment()
    if secret.has("time of a record"):
        # its body is a thread's end, which has nothing else
        dump.out += struct.pack(">BIII", 0x0B, secret.number("time of a record", 31), 4, 1)
    if secret.has("unknown record"):
        dump.record(0x1A, secret.text("unknown record").encode())
    if secret.has("sites"):
        dump.record(0x06, dump.pack("HIIIqqI", 0, 0, 0, 0, secret.number("sites"), 0, 0))
    if secret.has("cpu samples"):
        dump.record(0x0D, dump.pack("II", secret.number("cpu samples", 31), 0))
    fixed = {
        "end of a load": (0x02, "IPIP"),
        "end of a frame": (0x04, "PPPPIi"),
        "end of a thread": (0x0B, "I"),
    }
    for place, (tag, form) in fixed.items():
        if secret.has(place):
            dump.record(tag, dump.pack(form, *[0] * len(form)) + secret.text(place).encode())
    return dump.end() + secret.text("after the end of the dump").encode()


V8 = (
    "string", "concatenated string", "sliced string", "regexp", "number", "bigint", "class without a function",
    "attribute of an element", "key of a WeakMap", "value of a WeakMap", "string that nothing has", "index",
    "unknown type of objects", "unknown type of references", "name of a type", "name of a type of references",
    "key of an object", "unknown field", "key of the header", "key of the meta", "section", "text in the trace",
    "address of a script", "number of objects", "number of references", "place of the root",
    "bytes outside of the heap", "line of a function", "node of the trace", "function of the trace",
    "bytes of the trace", "line of the trace", "last id of a sample",
)  # fmt: skip
TRACE = ("node of the trace", "function of the trace", "bytes of the trace", "line of the trace")
"""Numbers of a recording's allocations, which have no more than 12 digits."""


NUMBERS_OF_HEADER = {
    "number of objects": "node_count",
    "number of references": "edge_count",
    "place of the root": "root_index",
    "bytes outside of the heap": "extra_native_bytes",
}


def v8(chosen: Chosen) -> bytes:
    secret = Secrets(chosen, V8)
    heap = HeapFile()
    root = heap.node("synthetic", "")
    holder = heap.node("object", "Account", 64)
    heap.edge(root, "property", "account", holder)
    heap.edge(root, "property", "Account", heap.node("closure", "Account", 32))
    own_types = [*NODE_TYPES, "regexp", "bigint", "string in a table"]
    extra: list[tuple[int, int]] = []
    for number, kind in enumerate(
        ("string", "concatenated string", "sliced string", "regexp", "bigint", "number")
    ):
        blank = f"removed {number + 100}"
        text = (
            str(secret.number(kind))
            if kind in ("bigint", "number") and secret.has(kind)
            else secret.text(kind, blank)
        )
        node = heap.node(kind if kind in NODE_TYPES else "string", text, 40)
        extra.append((node, own_types.index(kind)))
        heap.edge(holder, "property", f"of{number}", node)
    heap.edge(
        holder,
        "property",
        "made",
        heap.node("object", secret.text("class without a function", "removed 99"), 24),
    )
    words = secret.text("attribute of an element", "removed 98")
    tag = f'<input value="{words}">' if secret.has("attribute of an element") else "<input removed 98>"
    heap.edge(holder, "element", 1, heap.node("native", tag, 72))
    key, value = secret.text("key of a WeakMap", "Account"), secret.text("value of a WeakMap", "Account")
    pair = f"7 / part of key ({key} @3) -> value ({value} @5) pair in WeakMap (table @7)"
    heap.edge(root, "internal", pair, holder)
    heap.edge(root, "internal", pair, root)
    index = secret.number("index", 31)
    heap.edge(holder, "element", index, root)
    node = heap.node("object", "Account", 8)
    if secret.has("unknown type of objects"):
        node = heap.node("string", secret.text("unknown type of objects"), 32)
        extra.append((node, own_types.index("string in a table")))
    heap.edge(holder, "property", "owner", node)
    heap.edge(
        holder,
        "property",
        f"{secret.text('key of an object')}@b.org" if secret.has("key of an object") else "k",
        root,
    )
    code = secret.text("address of a script", "removed 96")
    if secret.has("address of a script"):
        code = f"export%20const%20token=%22{code}%22"
    heap.edge(holder, "internal", "script", heap.node("code", f"data:text/javascript,{code}", 8))
    page = f"Window / data:text/html;base64,{code}" if secret.has("address of a script") else "Window"
    heap.edge(holder, "internal", "page", heap.node("native", page, 8))
    heap.string(secret.text("string that nothing has", "removed 97"))
    sections: dict[str, Any] = heap.sections()
    meta = sections["snapshot"]["meta"]
    meta["node_types"][0] = list(own_types)
    meta["edge_types"][0] = list(EDGE_TYPES)
    width = len(heap.node_fields)
    for node, of_type in extra:
        sections["nodes"][node * width] = of_type
    if secret.has("unknown type of references"):
        meta["edge_types"][0].append("value")
        sections["strings"].append(secret.text("unknown type of references"))
        sections["edges"][0:2] = [len(EDGE_TYPES), len(sections["strings"]) - 1]
    for place, types in (("name of a type", "node_types"), ("name of a type of references", "edge_types")):
        if secret.has(place):
            meta[types][0].append(secret.text(place))
    if secret.has("unknown field"):
        sections = _with_field(sections, secret.number("unknown field", 31))
    _put_numbers(sections["snapshot"], secret)
    sections["locations"] = [0, 1, secret.number("line of a function"), 0]
    _put_recording(sections, secret)
    for place, at in (
        ("key of the header", sections["snapshot"]),
        ("key of the meta", meta),
        ("section", sections),
    ):
        if secret.has(place):
            at["note"] = secret.text(place)
    order = [*heap.order, "note"]
    return json.dumps(
        {name: sections[name] for name in order if name in sections}, separators=(",", ":")
    ).encode()


def _put_numbers(header: dict[str, Any], secret: Secrets) -> None:
    for place, key in NUMBERS_OF_HEADER.items():
        header[key] = secret.number(place) or header.get(key, 0)


def _put_recording(sections: dict[str, Any], secret: Secrets) -> None:
    """What a recording of allocations has."""
    if any(secret.has(place) for place in TRACE):
        node, function, count = (secret.number(place) for place in TRACE[:3])
        name = sections["strings"].index("Account")
        sections["trace_tree"] = [1, 0, 0, 0, [node, function, 1, count, []]]
        sections["trace_function_infos"] = [1, name, name, 1, secret.number(TRACE[3]), 1]
    if secret.has("last id of a sample"):
        sections["samples"] = [1000, secret.number("last id of a sample")]
    if secret.has("text in the trace"):
        sections["trace_tree"] = [*sections["trace_tree"], secret.text("text in the trace")]


def _with_field(sections: dict[str, Any], number: int) -> dict[str, Any]:
    """A field of edges that V8 doesn't have."""
    sections["snapshot"]["meta"]["edge_fields"].append("key")
    sections["snapshot"]["meta"]["edge_types"].append("number")
    edges = sections["edges"]
    sections["edges"] = [each for at in range(0, len(edges), 3) for each in (*edges[at : at + 3], number)]
    return sections


RUBY = (
    "string", "symbol", "float", "key with a text", "key with a number", "key with codes", "name as a list",
    "superclass",
    "encoding", "size as a text", "flag", "reference", "type", "kind of roots", "name of a string", "nested",
    "line without an object", "key", "size",
)  # fmt: skip


def ruby(chosen: Chosen) -> bytes:
    secret = Secrets(chosen, RUBY)
    one: dict[str, Any] = {"address": "0x100", "type": "STRING", "class": "0x10", "memsize": 40}
    rows: list[Any] = [
        {**one, "value": secret.text("string", "") or None}, {**one, "address": "0x128", "type": "SYMBOL",
         "value": secret.text("symbol", "") or None},
        {**one, "address": "0x150", "type": "FLOAT", "value": secret.text("float", "") or None},
    ]  # fmt: skip
    odd: dict[str, dict[str, Any]] = {
        "key with a text": {"note": secret.text("key with a text")},
        "key with a number": {"card": secret.number("key with a number")},
        "key with codes": {"codes": [ord(each) for each in secret.text("key with codes")]},
        "name as a list": {"type": "CLASS", "name": [secret.text("name as a list")]},
        "superclass": {"type": "CLASS", "superclass": secret.text("superclass")},
        "encoding": {"encoding": f"{secret.text('encoding')}@example.org"},
        "size as a text": {"memsize": secret.text("size as a text")},
        "flag": {"flags": {"old": secret.text("flag")}},
        "reference": {"references": ["0x100", secret.text("reference")]},
        "type": {"type": f"{secret.text('type')}@example.org"},
        "name of a string": {"name": secret.text("name of a string")},
        "nested": {"deep": [{"name": secret.text("nested")}]},
        "key": {secret.text("key"): {"a": 1}},
        "size": {"memsize": secret.number("size")},
    }
    for number, (place, more) in enumerate(odd.items()):
        if secret.has(place):
            rows.append({**one, "address": hex(0x200 + 40 * number), **more})
    if secret.has("kind of roots"):
        rows.append(
            {"type": "ROOT", "root": f"{secret.text('kind of roots')}@example.org", "references": ["0x100"]}
        )
    if secret.has("line without an object"):
        rows.append([secret.text("line without an object")])
    lines = b"".join(json.dumps(row, separators=(", ", ":")).encode() + b"\n" for row in rows)
    return _without_values(ruby_files.small()) + lines


def _without_values(lines: bytes) -> bytes:
    """The small heap's own text is no secret, and stands in every copy otherwise."""
    rows = [json.loads(line) for line in lines.splitlines()]
    for row in rows:
        row.pop("value", None)
    return b"".join(json.dumps(row, separators=(", ", ":")).encode() + b"\n" for row in rows)


PYTHON = (
    "str", "bytes", "int", "float", "complex", "key of a dictionary", "text that nothing has", "unknown note",
    "unknown kind of roots", "object without a type", "process id", "build", "after the end", "attribute",
    "name of a thread", "depth of a frame", "variable",
)  # fmt: skip


def python(chosen: Chosen) -> bytes:
    secret = Secrets(chosen, PYTHON)
    out, texts, objects = bytearray(MAGIC + struct.pack("<II", 1, 8)), 0, 0

    def text(words: str) -> int:
        nonlocal texts
        out.extend(struct.pack("<cI", b"S", len(words.encode())) + words.encode())
        texts += 1
        return texts

    def record(tag: bytes, form: str, *values: int) -> None:
        out.extend(struct.pack(f"<c{form}", tag, *values))

    def thing(address: int, kind: int, words: str = "") -> None:
        nonlocal objects
        number = text(words) if words else 0
        record(b"O", "QQQIII", address, kind, 48, number, 0, 0xFFFF_FFFF)
        objects += 1

    module = text("builtins")
    types = {
        name: 0x50 + 16 * n for n, name in enumerate(("str", "bytes", "int", "float", "complex", "dict"))
    }
    for name, address in types.items():
        record(b"T", "QII", address, text(name), module)
    record(b"T", "QII", 0x900, text("Session"), text("app"))
    for key, words in (
        ("process_id", str(secret.number("process id") or "")),
        ("python", secret.text("build")),
    ):
        record(b"N", "II", text(key), text(words))
    thing(0x1000, types["str"], secret.text("str"))
    thing(0x1010, types["bytes"], secret.text("bytes"))
    thing(0x1020, types["int"], str(secret.number("int") or ""))
    thing(0x1030, types["float"], f"{secret.number('float')}.5" if secret.has("float") else "")
    thing(0x1040, types["complex"], f"({secret.number('complex')}+1j)" if secret.has("complex") else "")
    thing(0x1050, types["str"], secret.text("key of a dictionary"))
    thing(0x1060, types["dict"])
    record(b"d", "I2Q", 2, 0x1050, 0x1000)
    thing(0x1070, 0x900)
    record(b"n", "I2Q2I", 2, 0x1060, 0x1000, text("owners"), text(secret.text("attribute", "name")))
    record(b"A", "QIII", 0, text(secret.text("name of a thread", "MainThread")),
           secret.number("depth of a frame", 31), 0xFFFF_FFFF)  # fmt: skip
    record(b"G", "QIII", 0x1070, text("module"), text("app"), 0xFFFF_FFFF)
    local = text(secret.text("variable", "sessions") + " (MainThread)")
    record(b"G", "QIII", 0x1070, text("local"), local, 0xFFFF_FFFF)
    if secret.has("text that nothing has"):
        text(secret.text("text that nothing has"))
    if secret.has("unknown note"):
        record(b"N", "II", text("owner"), text(secret.text("unknown note")))
    if secret.has("unknown kind of roots"):
        record(b"G", "QIII", 0x1070, text("owner"), text(secret.text("unknown kind of roots")), 0xFFFF_FFFF)
    if secret.has("object without a type"):
        thing(0x1080, 0x777, secret.text("object without a type"))
    record(b"E", "Q", objects)
    return bytes(out) + secret.text("after the end").encode()


PYHEAP = (
    "str", "object", "int", "type", "time of the dump", "flags", "after the end", "name of a thread", "attribute",
    "frequent attribute", "attribute of a type of the language", "variable",
)  # fmt: skip


def pyheap(chosen: Chosen) -> bytes:
    secret = Secrets(chosen, PYHEAP)
    types = pyheap_files.TYPES
    things = (
        pyheap_files.Thing(0x2000, types["str"], 53, text=secret.text("str")),
        pyheap_files.Thing(
            0x3000,
            0x80,
            48,
            referents=(0x2000, 0x4000),
            attributes=(("name", 0x2000), (secret.text("attribute", "number"), 0x4000)),
            text=secret.text("object"),
        ),
        # attributes of one object alone may be data's
        *(
            pyheap_files.Thing(0x3100 + 64 * n, 0x80, 48, attributes=(("name", 0x2000), ("number", 0x4000)))
            for n in range(3)
        ),
        pyheap_files.Thing(0x4000, types["int"], 28, text=str(secret.number("int") or "")),
        pyheap_files.Thing(0x80, 0x70, 1064, text=secret.text("type")),
    )
    variables = ((secret.text("variable", "sessions"), 0x1000),)
    frames = [("/app/service.py", 12, "serve", variables)]
    thread = pyheap_files.Thread(secret.text("name of a thread", "MainThread"), frames)
    out = pyheap_files.pyheap(
        things,
        threads=(thread,),
        frequent=("__doc__", secret.text("frequent attribute", "name")),
        of_common=secret.text("attribute of a type of the language", "__doc__"),
    )
    created = secret.text("time of the dump").encode()
    out = out.replace(
        pyheap_files.text("2026-01-01T00:00:00+00:00"), struct.pack(">H", len(created)) + created
    )
    flags = 12 + 2 + len(created)
    if secret.has("flags"):
        out = out[:flags] + secret.number("flags").to_bytes(7) + out[flags + 7 :]
    return out + secret.text("after the end").encode()


FORMATS: dict[str, tuple[tuple[str, ...], Callable[[Chosen], bytes], str]] = {
    "hprof": (HPROF, hprof, "heap.hprof"),
    "android": (ANDROID, lambda chosen: hprof(chosen, "1.0.3", 4), "android.hprof"),
    "v8": (V8, v8, "heap.heapsnapshot"),
    "ruby": (RUBY, ruby, "heap.json"),
    "python": (PYTHON, python, "own.heap"),
    "pyheap": (PYHEAP, pyheap, "heap.pyheap"),
}
"""The places of each, what makes a dump, and its name."""
