"""Writes heap dumps of Java and Android record by record, with what the recordings lack."""

import struct
from collections.abc import Iterable

OBJECT, BOOLEAN, CHAR, FLOAT, DOUBLE, BYTE, SHORT, INT, LONG = 2, 4, 5, 6, 7, 8, 9, 10, 11
FORMATS = {4: "B", 5: "H", 6: "f", 7: "d", 8: "b", 9: "h", 10: "i", 11: "q"}

Fields = Iterable[tuple[str, int]]


class Dump:
    """A file that grows; records of a heap are collected until :meth:`segment` writes them."""

    def __init__(self, version: str = "1.0.2", id_bytes: int = 8) -> None:
        self.letter = "Q" if id_bytes == 8 else "I"
        self.out = bytearray(
            f"JAVA PROFILE {version}\0".encode() + struct.pack(">IQ", id_bytes, 1_600_000_000_000)
        )
        self.heap = bytearray()
        self.names: dict[str, int] = {}
        self.serials = 0

    def pack(self, form: str, *values: float) -> bytes:
        """Big-endian numbers; ``P`` is an id."""
        return struct.pack(">" + form.replace("P", self.letter), *values)

    def record(self, tag: int, body: bytes, length: int | None = None) -> None:
        self.out += struct.pack(">BII", tag, 0, len(body) if length is None else length) + body

    def name(self, text: str) -> int:
        """The id of a text, which is written at its first use."""
        if text not in self.names:
            self.names[text] = 0x7F00_0000 + 8 * len(self.names)
            self.record(0x01, self.pack("P", self.names[text]) + text.encode())
        return self.names[text]

    def add(self, tag: int, form: str, *values: float) -> None:
        self.heap += bytes([tag]) + self.pack(form, *values)

    def load(self, object_id: int, name: str) -> int:
        """A loaded class; returns its serial number."""
        self.serials += 1
        text = self.name(name)
        self.record(0x02, self.pack("IPIP", self.serials, object_id, 0, text))
        return self.serials

    def klass(
        self,
        object_id: int,
        name: str,
        super_id: int = 0,
        fields: Fields = (),
        statics: Iterable[tuple[str, int, float]] = (),
        loader: int = 0,
        instance_bytes: int = 0,
        constants: Iterable[tuple[int, int, float]] = (),
    ) -> int:
        """A class, loaded and dumped; returns its id."""
        self.load(object_id, name)
        # in place: bytes are copied at each step by an allocator under sanitizers
        body = bytearray(self.pack("PIPPPPPPI", object_id, 0, super_id, loader, 0, 0, 0, 0, instance_bytes))
        for head, rows in (("H", list(constants)), ("P", [(self.name(row[0]), *row[1:]) for row in statics])):
            body += self.pack("H", len(rows))
            for first, kind, value in rows:
                body += self.pack(f"{head}B{FORMATS.get(kind, 'P')}", first, kind, value)
        own = [(self.name(each), kind) for each, kind in fields]
        body += self.pack("H", len(own)) + b"".join(self.pack("PB", *each) for each in own)
        self.heap += b"\x20" + body
        return object_id

    def instance(self, object_id: int, class_id: int, form: str = "", *values: float, stack: int = 0) -> int:
        body = self.pack(form, *values)
        self.add(0x21, "PIPI", object_id, stack, class_id, len(body))
        self.heap += body
        return object_id

    def objects(self, object_id: int, class_id: int, elements: Iterable[int]) -> int:
        ids = list(elements)
        self.add(0x22, f"PIIP{len(ids)}P", object_id, 0, len(ids), class_id, *ids)
        return object_id

    def numbers(self, object_id: int, kind: int, data: bytes) -> int:
        width = struct.calcsize(FORMATS[kind])
        self.add(0x23, "PIIB", object_id, 0, len(data) // width, kind)
        self.heap += data
        return object_id

    def segment(self, tag: int = 0x1C, length: int | None = None) -> None:
        self.record(tag, bytes(self.heap), length)
        self.heap.clear()

    def end(self) -> bytes:
        """The end of a dump, and the file so far."""
        if self.heap:
            self.segment()
        self.record(0x2C, b"")
        return bytes(self.out)


def small(version: str = "1.0.2", id_bytes: int = 8, seed: int = 0) -> Dump:
    """A heap with some of everything, whose ids begin after ``seed``."""
    dump = Dump(version, id_bytes)
    fill(dump, seed)
    return dump


def fill(dump: Dump, seed: int = 0) -> None:
    """Add a heap with some of everything."""
    base = 0x10_0000 + seed
    object_class = dump.klass(base, "java/lang/Object")
    dump.klass(base + 0x20, "java/lang/Class", object_class)
    string = dump.klass(
        base + 0x40, "java/lang/String", object_class, [("value", OBJECT), ("coder", BYTE), ("hash", INT)]
    )
    dump.klass(base + 0x60, "[B", object_class)
    strings = dump.klass(base + 0x80, "[Ljava/lang/String;", object_class)
    reference = dump.klass(
        base + 0xA0, "java/lang/ref/Reference", object_class, [("referent", OBJECT), ("next", OBJECT)]
    )
    weak = dump.klass(base + 0xC0, "java/lang/ref/WeakReference", reference)
    thread = dump.klass(base + 0xE0, "java/lang/Thread", object_class, [("name", OBJECT), ("priority", INT)])
    user = dump.klass(
        base + 0x100, "com/example/Cache$Entry", object_class,
        [("key", OBJECT), ("count", LONG), ("ratio", DOUBLE), ("on", BOOLEAN), ("half", FLOAT), ("small", SHORT)],
        [("SHARED", OBJECT, base + 0x1000), ("limit", INT, -7)], loader=base + 0x1400,
        constants=[(0, OBJECT, base + 0x1000)],
    )  # fmt: skip
    loader = dump.klass(base + 0x120, "com/example/Loader", object_class)
    dump.numbers(base + 0x1020, BYTE, b"caf\xe9")
    dump.instance(base + 0x1000, string, "PbI", base + 0x1020, 0, 5)
    dump.numbers(base + 0x1060, BYTE, "日本 😀".encode("utf-16-le"))
    dump.instance(base + 0x1040, string, "PbI", base + 0x1060, 1, 0)
    dump.objects(base + 0x1080, strings, [base + 0x1000, 0, base + 0x1040, base + 0x1000, 0x666])
    dump.instance(base + 0x10B8, weak, "PP", base + 0x1000, 0)
    dump.instance(base + 0x1100, thread, "PI", base + 0x1040, 5)
    dump.instance(base + 0x1140, user, "Pqd?fh", base + 0x1080, -5, 0.25, True, 0.5, -3)
    dump.instance(base + 0x1400, loader)
    dump.instance(base + 0x1440, user, "Pqd?fh", base + 0x1140, 5, 1e300, False, -0.5, 3)
    dump.instance(base + 0x1480, loader)
    dump.record(
        0x04, dump.pack("PPPPIi", 77, dump.name("run"), dump.name("()V"), dump.name("Cache.java"), 9, 34)
    )
    dump.record(0x05, dump.pack("IIIP", 12, 4, 1, 77))
    dump.add(0x05, "P", object_class)
    dump.add(0x08, "PII", base + 0x1100, 4, 12)
    dump.add(0x03, "PII", base + 0x1140, 4, 0)
    dump.add(0x01, "PP", base + 0x10B8, 0x1234)
    dump.add(0x03, "PII", base + 0x1440, 99, 0)
    dump.add(0x03, "PII", base + 0x1480, 4, 7)
    dump.segment()
