"""Recordings of Java Flight Recorder, written by the format's rules for tests."""

import struct
from collections.abc import Iterable, Mapping
from typing import Any

Fields = tuple[tuple[str, str], ...]
"""Names and types; a type with ``@`` before it is a constant's key, one with ``[]`` after it an array."""

PRIMITIVES = ("long", "int", "short", "char", "byte", "boolean", "float", "double", "java.lang.String")
_STAMPS = (
    ("startTime", "long"),
    ("eventThread", "@java.lang.Thread"),
    ("stackTrace", "@jdk.types.StackTrace"),
)
TYPES: dict[str, Fields] = {
    "java.lang.Class": (("classLoader", "@jdk.types.ClassLoader"), ("name", "@jdk.types.Symbol")),
    "jdk.types.ClassLoader": (("name", "@jdk.types.Symbol"),),
    "jdk.types.Symbol": (("string", "java.lang.String"),),
    "jdk.types.Method": (("type", "@java.lang.Class"), ("name", "@jdk.types.Symbol"), ("hidden", "boolean")),
    "jdk.types.StackFrame": (
        ("method", "@jdk.types.Method"), ("lineNumber", "int"), ("type", "@jdk.types.FrameType"),
    ),
    "jdk.types.FrameType": (("description", "java.lang.String"),),
    "jdk.types.StackTrace": (("truncated", "boolean"), ("frames", "jdk.types.StackFrame[]")),
    "java.lang.Thread": (
        ("osName", "java.lang.String"), ("osThreadId", "long"), ("javaName", "java.lang.String"),
        ("virtual", "boolean"),
    ),
    "jdk.types.OldObject": (
        ("address", "long"), ("type", "@java.lang.Class"), ("description", "java.lang.String"),
        ("referrer", "@jdk.types.Reference"),
    ),
    "jdk.types.Reference": (
        ("array", "@jdk.types.OldObjectArray"), ("field", "@jdk.types.OldObjectField"),
        ("object", "@jdk.types.OldObject"), ("skip", "int"),
    ),
    "jdk.types.OldObjectArray": (("size", "int"), ("index", "int")),
    "jdk.types.OldObjectField": (("name", "java.lang.String"), ("modifiers", "short")),
    "jdk.types.OldObjectGcRoot": (
        ("description", "java.lang.String"), ("system", "@jdk.types.OldObjectRootSystem"),
        ("type", "@jdk.types.OldObjectRootType"),
    ),
    "jdk.types.OldObjectRootSystem": (("system", "java.lang.String"),),
    "jdk.types.OldObjectRootType": (("type", "java.lang.String"),),
    "jdk.types.GCWhen": (("when", "java.lang.String"),),
    "jdk.types.VirtualSpace": (("start", "long"), ("committedSize", "long")),
    "jdk.ObjectAllocationSample": (*_STAMPS, ("objectClass", "@java.lang.Class"), ("weight", "long")),
    "jdk.ObjectAllocationInNewTLAB": (
        *_STAMPS, ("objectClass", "@java.lang.Class"), ("allocationSize", "long"), ("tlabSize", "long"),
    ),
    "jdk.ObjectAllocationOutsideTLAB": (
        *_STAMPS, ("objectClass", "@java.lang.Class"), ("allocationSize", "long"),
    ),
    "jdk.OldObjectSample": (
        ("startTime", "long"), ("duration", "long"), *_STAMPS[1:], ("allocationTime", "long"),
        ("objectSize", "long"), ("object", "@jdk.types.OldObject"), ("arrayElements", "int"),
        ("root", "@jdk.types.OldObjectGcRoot"),
    ),
    "profiler.LiveObject": (
        *_STAMPS, ("objectClass", "@java.lang.Class"), ("allocationSize", "long"), ("allocationTime", "long"),
    ),
    "profiler.Malloc": (*_STAMPS, ("address", "long"), ("size", "long")),
    "profiler.Free": (*_STAMPS, ("address", "long")),
    "jdk.GarbageCollection": (("startTime", "long"), ("duration", "long"), ("name", "java.lang.String")),
    "jdk.GCHeapSummary": (
        ("startTime", "long"), ("when", "@jdk.types.GCWhen"), ("heapSpace", "jdk.types.VirtualSpace"),
        ("heapUsed", "long"),
    ),
    "jdk.ObjectCountAfterGC": (
        ("startTime", "long"), ("gcId", "int"), ("objectClass", "@java.lang.Class"), ("count", "long"),
        ("totalSize", "long"),
    ),
    "jdk.JVMInformation": (("startTime", "long"), ("jvmArguments", "java.lang.String"), ("jvmStartTime", "long")),
    "jdk.ThreadAllocationStatistics": (
        ("startTime", "long"), ("allocated", "long"), ("thread", "@java.lang.Thread"),
    ),
    "jdk.types.NMTType": (("name", "java.lang.String"),),
    "jdk.NativeMemoryUsage": (
        ("startTime", "long"), ("type", "@jdk.types.NMTType"), ("reserved", "long"), ("committed", "long"),
    ),
    "jdk.InitialSystemProperty": (("startTime", "long"), ("key", "java.lang.String"), ("value", "java.lang.String")),
    "jdk.CPULoad": (("startTime", "long"), ("user", "float"), ("machine", "double"), ("tags", "java.lang.String[]")),
}  # fmt: skip


class Recording:
    """One chunk. Events and constants are dictionaries of their fields; what is left out is 0 or null."""

    def __init__(
        self, *, is_compressed: bool = True, types: Mapping[str, Fields] = TYPES, start_ns: int = 10**18
    ):
        self.is_compressed, self.types, self.start_ns = is_compressed, dict(types), start_ns
        self.ids = {name: 100 + number for number, name in enumerate([*PRIMITIVES, *self.types])}
        self.events: list[bytes] = []
        self.constants: dict[str, dict[int, Any]] = {}
        self._keys: dict[tuple[str, str], int] = {}

    # ---- what is in it ----

    def constant(self, type_name: str, **fields: Any) -> int:
        """Add a constant, once, and return its key."""
        pool = self.constants.setdefault(type_name, {})
        key = self._keys.setdefault((type_name, repr(fields)), len(pool) + 1)
        pool[key] = fields
        return key

    def class_(self, name: str) -> int:
        """The key of a class by its internal name."""
        return self.constant("java.lang.Class", name=self.constant("jdk.types.Symbol", string=name))

    def stack(self, *frames: tuple[str, str, int], truncated: bool = False) -> int:
        """The key of a stack of classes, methods and lines, innermost first."""
        rows = [
            {
                "method": self.constant(
                    "jdk.types.Method", type=self.class_(owner), name=self.constant("jdk.types.Symbol", string=name)
                ),
                "lineNumber": line,
            }
            for owner, name, line in frames
        ]  # fmt: skip
        return self.constant("jdk.types.StackTrace", truncated=int(truncated), frames=rows)

    def thread(self, name: str, *, virtual: bool = False) -> int:
        """The key of a thread."""
        return self.constant("java.lang.Thread", osName=name, javaName=name, virtual=int(virtual))

    def held(self, type_name: str, *links: tuple[str, str, str]) -> int:
        """The key of an object, and ``links`` from it to its root: a field, its object's type and description."""
        referrer = 0
        for field, owner, description in reversed(links):
            holder = self.constant(
                "jdk.types.OldObject", type=self.class_(owner), description=description, referrer=referrer
            )
            named = self.constant("jdk.types.OldObjectField", name=field) if field else 0
            referrer = self.constant("jdk.types.Reference", field=named, object=holder)
        return self.constant("jdk.types.OldObject", type=self.class_(type_name), referrer=referrer)

    def root(self, kind: str, system: str) -> int:
        """The key of a root."""
        return self.constant(
            "jdk.types.OldObjectGcRoot",
            type=self.constant("jdk.types.OldObjectRootType", type=kind),
            system=self.constant("jdk.types.OldObjectRootSystem", system=system),
        )  # fmt: skip

    def event(self, type_name: str, **fields: Any) -> None:
        """Add an event; its times are in nanoseconds since the beginning."""
        body = self.integer(self.ids[type_name], 8) + self.value(type_name, fields)
        self.events.append(self._sized(body))

    # ---- bytes ----

    def integer(self, value: int, width: int) -> bytes:
        """An integer of a field of so many bytes."""
        if not self.is_compressed:
            return (value & (1 << 8 * width) - 1).to_bytes(width, "big")
        value &= (1 << 64) - 1
        found = bytearray()
        while value >= 0x80 and len(found) < 8:
            found.append(value & 0x7F | 0x80)
            value >>= 7
        return bytes((*found, value))

    def text(self, text: str | None, form: int = 3) -> bytes:
        """A string, by default in UTF-8."""
        if text is None:
            return b"\0"
        if form == 4:
            units = struct.unpack(f"<{len(text.encode('utf-16-le')) // 2}H", text.encode("utf-16-le"))
            return b"\4" + self.integer(len(units), 4) + b"".join(self.integer(unit, 2) for unit in units)
        coded = text.encode("utf-8" if form == 3 else "latin-1", "surrogatepass")
        return bytes((form,)) + self.integer(len(coded), 4) + coded

    def value(self, type_name: str, value: Any) -> bytes:
        """A value of a type: a number, a text or a dictionary of fields."""
        match type_name:
            case "long" | "int" | "short" | "char":
                return self.integer(value or 0, {"long": 8, "int": 4}.get(type_name, 2))
            case "byte" | "boolean":
                return bytes((int(value or 0),))
            case "float":
                return struct.pack(">f", value or 0)
            case "double":
                return struct.pack(">d", value or 0)
            case "java.lang.String":
                return value if isinstance(value, bytes) else self.text(value)
        found = b""
        for name, of in self.types[type_name]:
            field = (value or {}).get(name)
            if of.endswith("[]"):
                items = field or []
                found += self.integer(len(items), 4) + b"".join(self.value(of[:-2], each) for each in items)
            elif of.startswith("@"):
                found += self.integer(field or 0, 8)
            else:
                found += self.value(of, field)
        return found

    def _sized(self, body: bytes) -> bytes:
        if not self.is_compressed:
            return self.integer(len(body) + 4, 4) + body
        size = len(body) + 1
        while len(self.integer(size, 4)) + len(body) != size:
            size += 1
        return self.integer(size, 4) + body

    def _metadata(self) -> bytes:
        strings: dict[str, int] = {}

        def number(text: str) -> bytes:
            return self.integer(strings.setdefault(text, len(strings)), 4)

        def element(name: str, attributes: Mapping[str, str], children: Iterable[bytes]) -> bytes:
            parts = list(children)
            found = number(name) + self.integer(len(attributes), 4)
            found += b"".join(number(key) + number(value) for key, value in attributes.items())
            return found + self.integer(len(parts), 4) + b"".join(parts)

        def described(name: str, of: str) -> bytes:
            attributes = {"name": name, "class": str(self.ids[of.removeprefix("@").removesuffix("[]")])}
            attributes |= {"constantPool": "true"} if of.startswith("@") else {}
            attributes |= {"dimension": "1"} if of.endswith("[]") else {}
            return element("field", attributes, [element("annotation", {"class": "7"}, [])])

        classes = [element("class", {"name": name, "id": str(self.ids[name])}, []) for name in PRIMITIVES]
        classes += [
            element("class", {"name": name, "id": str(self.ids[name])}, [described(*each) for each in fields])
            for name, fields in self.types.items()
        ]
        tree = element(
            "root", {}, [element("metadata", {}, classes), element("region", {"locale": "en"}, [])]
        )
        head = self.integer(0, 8) + self.integer(0, 8) + self.integer(0, 8) + self.integer(1, 8)
        texts = self.integer(len(strings), 4) + b"".join(self.text(text) for text in strings)
        return self._sized(head + texts + tree)

    def _checkpoint(self) -> bytes:
        body = self.integer(1, 8) + self.integer(0, 8) * 3 + b"\0" + self.integer(len(self.constants), 4)
        for type_name, pool in self.constants.items():
            body += self.integer(self.ids[type_name], 8) + self.integer(len(pool), 4)
            for key, fields in pool.items():
                body += self.integer(key, 8) + self.value(type_name, fields)
        return self._sized(body)

    def build(self, *, size: int | None = None) -> bytes:
        """The file; ``size`` is what the header says of its length instead of the truth."""
        checkpoint, metadata = self._checkpoint(), self._metadata()
        events = b"".join(self.events)
        at = 68 + len(events)
        whole = at + len(checkpoint) + len(metadata)
        head = b"FLR\0" + struct.pack(
            ">HHqqqqqqq4B", 2, 1, whole if size is None else size, at, at + len(checkpoint), self.start_ns, 10**9, 0,
            10**9, 0, 0, 0, int(self.is_compressed),
        )  # fmt: skip
        return head + events + checkpoint + metadata


def leaking(recording: Recording | None = None, names: tuple[str, ...] = ("cache",)) -> Recording:
    """Objects that ``app/Leak.fill`` keeps in a static map, and what it allocated otherwise, over ten seconds."""
    made = recording or Recording()
    fill = made.stack(("app/Leak", "fill", 4), ("app/Leak", "main", 9))
    churn = made.stack(("java/lang/StringBuilder", "append", 173), ("app/Leak", "churn", 6))
    main, worker = made.thread("main"), made.thread("worker")
    array, node, after = (
        made.class_("[B"),
        made.class_("java/lang/String"),
        made.constant("jdk.types.GCWhen", when="After GC"),
    )
    for second in range(10):
        at = 10**9 * second
        made.event(
            "jdk.ObjectAllocationSample",
            startTime=at,
            eventThread=worker,
            stackTrace=churn,
            objectClass=node,
            weight=3000,
        )
        made.event(
            "jdk.ObjectAllocationSample",
            startTime=at + 5,
            eventThread=main,
            stackTrace=fill,
            objectClass=array,
            weight=1000,
        )
        made.event("jdk.GarbageCollection", startTime=at + 10)
        made.event(
            "jdk.GCHeapSummary",
            startTime=at + 10,
            when=after,
            heapUsed=1000 * (second + 1),
            heapSpace={"committedSize": 20_000},
        )
    for name in names:
        held = made.held(
            "[B", ("value", "java/util/HashMap$Node", ""), ("", "[Ljava/util/HashMap$Node;", ""),
            ("table", "java/util/HashMap", "Size: 6000"), (name, "java/lang/Class", "Class Name: app.Leak"),
        )  # fmt: skip
        for number in range(30):
            made.event(
                "jdk.OldObjectSample", startTime=10**10, allocationTime=10**9 * number // 3, eventThread=main,
                stackTrace=fill, object=held, arrayElements=100, root=made.root("Static Field", "Class Loader Data"),
            )  # fmt: skip
    return made
