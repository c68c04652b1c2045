"""HPROF, the heap dumps of Java and Android, one record after the other in plain Python.

Written from the comment at the head of OpenJDK's ``heapDumper.cpp`` and from ``hprof.cc`` of Android's ART; sizes from
the layouts of its ``objLayout.hpp`` and ``arrayOop.hpp``.
"""

import gzip
import struct
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import zstandard

SIZES = {4: 1, 5: 2, 6: 4, 7: 8, 8: 1, 9: 2, 10: 4, 11: 8}
LETTERS = {4: "boolean", 5: "char", 6: "float", 7: "double", 8: "byte", 9: "short", 10: "int", 11: "long"}
DESCRIPTORS: dict[str, str] = dict(zip("ZCFDBSIJ", LETTERS.values(), strict=True))
REFERENCES = {
    "java.lang.ref.SoftReference": "soft referent",
    "java.lang.ref.WeakReference": "weak referent",
    "java.lang.ref.PhantomReference": "phantom referent",
    "java.lang.ref.FinalReference": "finalizer referent",
    "java.lang.ref.FinalizerReference": "finalizer referent",
}
ANDROID_ROOTS = (0x89, 0x8A, 0x8B, 0x8C, 0x8D, 0x90)

Edge = tuple[str, str, int]
"""Kind, name (or index) and the target's id."""


@dataclass
class Class:
    """A class and its own fields, each a name and a type."""

    id: int
    name: str = ""
    super_id: int = 0
    loader: int = 0
    instance_bytes: int = 0
    fields: list[tuple[str, int]] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    static_bytes: list[int] = field(default_factory=list)


@dataclass
class Object:
    """An object. ``data`` is an instance's fields or the elements of an array."""

    id: int
    tag: int
    stack: int = 0
    class_id: int = 0
    element: int = 0
    count: int = 0
    data: bytes = b""
    heap: str = ""


@dataclass
class Dump:
    """One dump of a file."""

    classes: dict[int, Class] = field(default_factory=dict)
    objects: list[Object] = field(default_factory=list)
    roots: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Tag, id, thread or 0, frame or 0."""


class File:
    """Reads a file; ``dumps`` are its heaps."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        elif path.suffix == ".zst":
            data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
        end = data.index(b"\0")
        self.android = data[:end].endswith(b"1.0.3")
        self.data, self.at = data, end + 13
        self.wide = data[end + 4] == 8
        self.id_bytes = 8 if self.wide else 4
        self.texts: dict[int, str] = {}
        self.loaded: dict[int, str] = {}
        self.dumps = [Dump()]
        self.heap = ""
        while self.at < len(data):
            tag, _, count = struct.unpack_from(">BII", data, self.at)
            body = self.at + 9
            if tag == 1:
                text = data[body + self.id_bytes : body + count]
                self.texts.setdefault(self.id_at(body), text.decode("utf-8", "replace"))
            elif tag == 2:
                self.loaded[self.id_at(body + 4)] = self.texts[self.id_at(body + 8 + self.id_bytes)]
            elif tag in (0x0C, 0x1C):
                if tag == 0x0C and self.dumps[-1].objects:
                    self.dumps.append(Dump())
                self.heap_records(body, body + count)
            elif tag == 0x2C and self.dumps[-1].objects:
                self.dumps.append(Dump())
            self.at = body + count
        if not self.dumps[-1].objects:
            self.dumps.pop()
        for dump in self.dumps:
            for each in dump.classes.values():
                each.name = written(self.loaded.get(each.id, ""))

    def id_at(self, at: int) -> int:
        return int(struct.unpack_from(">Q" if self.wide else ">I", self.data, at)[0])

    def ids(self, at: int, count: int) -> tuple[int, ...]:
        return struct.unpack_from(f">{count}{'Q' if self.wide else 'I'}", self.data, at)

    def type_bytes(self, kind: int) -> int:
        return self.id_bytes if kind == 2 else SIZES[kind]

    def heap_records(self, at: int, end: int) -> None:
        data, size, dump = self.data, self.id_bytes, self.dumps[-1]
        while at < end:
            tag = data[at]
            at += 1
            if tag == 0xFE:
                self.heap = self.texts[self.id_at(at + 4)]
                at += 4 + size
                continue
            object_id = self.id_at(at)
            at += size
            if tag in (0x21, 0x22, 0x23, 0xC3):
                at = self.object(tag, object_id, at)
            elif tag == 0x20:
                dump.objects.append(Object(object_id, tag, heap=self.heap))
                at = self.class_record(object_id, at)
            else:
                numbers = {0x01: size, 0x02: 8, 0x03: 8, 0x04: 4, 0x06: 4, 0x08: 8, 0x8E: 8}.get(tag, 0)
                assert numbers or tag in (0xFF, 0x05, 0x07, *ANDROID_ROOTS), hex(tag)
                thread, frame = struct.unpack_from(">II", data, at) if numbers == 8 and tag != 1 else (0, 0)
                if numbers == 4:
                    (thread,) = struct.unpack_from(">I", data, at)
                dump.roots.append((tag, object_id, thread, frame))
                at += numbers

    def object(self, tag: int, object_id: int, at: int) -> int:
        one = Object(object_id, tag, heap=self.heap)
        one.stack, number = struct.unpack_from(">II", self.data, at)
        if tag == 0x21:
            one.class_id = self.id_at(at + 4)
            (count,) = struct.unpack_from(">I", self.data, at + 4 + self.id_bytes)
            start = at + 8 + self.id_bytes
        elif tag == 0x22:
            one.class_id, one.element, one.count = self.id_at(at + 8), 2, number
            start, count = at + 8 + self.id_bytes, number * self.id_bytes
        else:
            one.element, one.count = self.data[at + 8], number
            start, count = at + 9, 0 if tag == 0xC3 else number * SIZES[one.element]
        one.data = self.data[start : start + count]
        self.dumps[-1].objects.append(one)
        return int(start + count)

    def class_record(self, object_id: int, at: int) -> int:
        super_id, loader, signers, domain, _, _ = self.ids(at + 4, 6)
        at += 4 + 6 * self.id_bytes
        (instance_bytes,) = struct.unpack_from(">I", self.data, at)
        one = Class(object_id, super_id=super_id, loader=loader, instance_bytes=instance_bytes)
        one.edges = [
            ("super class", "", super_id), ("class loader", "", loader), ("signers", "", signers),
            ("protection domain", "", domain),
        ]  # fmt: skip
        at += 4
        for label, head in (("constant", 2), ("static field", self.id_bytes)):
            (count,) = struct.unpack_from(">H", self.data, at)
            at += 2
            for _ in range(count):
                name = (
                    str(struct.unpack_from(">H", self.data, at)[0])
                    if head == 2
                    else self.texts[self.id_at(at)]
                )
                kind = self.data[at + head]
                at += head + 1
                if kind == 2:
                    one.edges.append((label, name, self.id_at(at)))
                if label == "static field":
                    one.static_bytes.append(kind)
                at += self.type_bytes(kind)
        (count,) = struct.unpack_from(">H", self.data, at)
        at += 2
        for _ in range(count):
            one.fields.append((self.texts[self.id_at(at)], self.data[at + self.id_bytes]))
            at += self.id_bytes + 1
        self.dumps[-1].classes[object_id] = one
        return at


def written(name: str) -> str:
    """A class's name as in source."""
    dimensions = len(name) - len(name.lstrip("["))
    name = name[dimensions:]
    if dimensions:
        name = DESCRIPTORS.get(name) or name.removeprefix("L").removesuffix(";")
    return name.replace("/", ".") + "[]" * dimensions


class Heap:
    """The meaning of a dump: classes' names, sizes, texts and references of objects."""

    def __init__(self, file: File, number: int = -1) -> None:
        self.file, self.dump = file, file.dumps[number]
        self.by_id: dict[int, Object] = {}
        for each in self.dump.objects:
            self.by_id.setdefault(each.id, each)
        self.class_named = {each.name: each for each in reversed(self.dump.classes.values())}
        self.by_file = [each for each in self.dump.objects if each.tag != 0x20]
        self.oop, self.header, self.array_header = self.layout()
        self.packed = self.is_packed()

    def layout(self) -> tuple[int, int, int]:
        """The bytes of references and headers: those with which most arrays end where the next object begins."""
        size = self.file.id_bytes
        plain = (size, 2 * size, up(2 * size + 4, size))
        if size == 4:
            return plain
        low = 0
        gaps: list[tuple[Object, int, int]] = []
        for each, after in pairwise(self.by_file):
            low |= each.id | after.id
            if each.tag != 0x21 and after.id > each.id:
                gaps.append((each, after.id - each.id, 8 if low & 8 else 16))
        fits, best = 0, plain
        layouts = ((4, 12, 16), (8, 16, 24), (8, 12, 16), (4, 8, 12), (8, 8, 12), (8, 16, 20))
        for oop, header, array_header in () if self.file.android else layouts:
            sizes = [self.array(each, oop, array_header) for each, _, _ in gaps]
            fitting = sum(
                16 if size >= 4096 else 1  # a small one may fit by chance
                for size, (_, gap, unit) in zip(sizes, gaps, strict=True)
                if 0 <= gap - size < unit
            )
            over = sum(size > gap for size, (_, gap, _) in zip(sizes, gaps, strict=True))
            if fitting > max(fits, 15) and over * 50 <= len(gaps):
                fits, best = fitting, (oop, header, array_header)
        aligned = all(each.id % 8 == 0 for each in self.dump.objects)
        too_near = any(each.tag == 0x22 and 24 + 8 * each.count > gap for each, gap, _ in gaps)
        return layouts[0] if not fits and aligned and too_near else best

    def array(self, one: Object, oop: int, header: int) -> int:
        """The bytes of an array without alignment. Elements of 8 bytes begin at a multiple of 8."""
        element = oop if one.element == 2 else SIZES[one.element]
        return (up(header, 8) if element == 8 else header) + one.count * element

    def is_packed(self) -> bool:
        """Whether a class's fields fill the gaps of its super classes' (JDK 15), which instances' distances show."""
        if self.file.id_bytes == 4 or self.file.android:
            return False
        rounded = packed = 0
        for each, after in pairwise(self.by_file):
            if each.tag == 0x21 and after.id > each.id and each.class_id in self.dump.classes:
                sizes = [up(self.instance(each.class_id, packed=way), 8) for way in (False, True)]
                if sizes[0] != sizes[1]:
                    rounded += sizes[0] == after.id - each.id
                    packed += sizes[1] == after.id - each.id
        newer = (self.oop, self.header, self.array_header) in (
            (8, 12, 16),
            (4, 8, 12),
            (8, 8, 12),
            (8, 16, 20),
        )
        return packed > rounded or (packed == rounded and newer)

    def instance(self, class_id: int, *, packed: bool) -> int:
        """The bytes of an instance without alignment."""
        total = self.header
        for each in reversed(self.supers(class_id)):
            total += sum(self.oop if kind == 2 else SIZES[kind] for _, kind in each.fields)
            if not packed:
                total = up(total, 4 if self.header < 16 else self.oop)
        return total

    def supers(self, class_id: int) -> list[Class]:
        """A class and its super classes, the most derived first."""
        found = []
        while class_id in self.dump.classes:
            found.append(self.dump.classes[class_id])
            class_id = found[-1].super_id
        return found

    def type_of(self, one: Object) -> str:
        if one.tag == 0x20:
            return "java.lang.Class"
        if one.tag in (0x23, 0xC3):
            return f"{LETTERS[one.element]}[]"
        return self.dump.classes[one.class_id].name

    def shallow(self, one: Object) -> int:
        """The bytes of an object as HotSpot lays it out; Android's dumps record those of instances."""
        oop = self.oop
        if one.tag == 0x20:
            of_class = self.class_named.get("java.lang.Class") if self.file.android else None
            own = of_class.instance_bytes if of_class else 0
            return up(
                own
                + sum(oop if kind == 2 else SIZES[kind] for kind in self.dump.classes[one.id].static_bytes),
                8,
            )
        if one.tag == 0x21 and self.file.android:
            return up(self.dump.classes[one.class_id].instance_bytes, 8)
        if one.tag == 0x21:
            return up(self.instance(one.class_id, packed=self.packed), 8)
        if self.file.android:
            element = oop if one.element == 2 else SIZES[one.element]
            return up((16 if element == 8 else 12) + one.count * element, 8)
        return up(self.array(one, oop, self.array_header), 8)

    def edges(self, one: Object) -> list[Edge]:
        """The references of an object, without those to null and to what isn't in the file."""
        found: list[Edge] = []
        of_class = self.class_named.get(self.type_of(one))
        if one.tag in (0x21, 0x22):
            found.append(("class", "", one.class_id))
        elif of_class is not None:
            found.append(("class", "", of_class.id))
        if one.tag == 0x20:
            its_class = self.dump.classes[one.id]
            for kind, name, target in its_class.edges:
                listed = (its_class.name, name) == ("java.lang.ref.Finalizer", "unfinalized")
                found.append(("finalizer list" if listed else kind, name, target))
        elif one.tag == 0x22:
            elements = struct.unpack(f">{one.count}{'Q' if self.file.wide else 'I'}", one.data)
            found += [("element", str(index), target) for index, target in enumerate(elements)]
        elif one.tag == 0x21:
            found += self.fields(one)
        return [edge for edge in found if edge[2] in self.by_id]

    def fields(self, one: Object) -> list[Edge]:
        found, at = [], 0
        supers = self.supers(one.class_id)
        strength = next(
            (REFERENCES[each.name] for each in supers if each.name in REFERENCES), "weak referent"
        )
        for each in supers:
            for name, kind in each.fields:
                if kind == 2:
                    weak = (each.name, name) == ("java.lang.ref.Reference", "referent")
                    (target,) = struct.unpack_from(">Q" if self.file.wide else ">I", one.data, at)
                    found.append((strength if weak else "field", name, target))
                at += self.file.type_bytes(kind)
        return found

    def value(self, one: Object, wanted: str) -> int | None:
        """A field of an instance as a number without a sign."""
        at = 0
        for each in self.supers(one.class_id):
            for name, kind in each.fields:
                count = self.file.type_bytes(kind)
                if name == wanted:
                    return int.from_bytes(one.data[at : at + count], "big")
                at += count
        return None

    def text(self, one: Object) -> str | None:
        """The text of an instance of java.lang.String."""
        array = self.by_id.get(self.value(one, "value") or 0)
        if array is None:
            return None
        if array.element == 5:
            whole = array.data.decode("utf-16-be", "replace")
        elif self.value(one, "coder"):
            whole = array.data.decode("utf-16-le", "replace")
        else:
            whole = array.data.decode("latin-1")
        start, count = self.value(one, "offset"), self.value(one, "count")
        return whole if start is None or count is None else whole[start : start + count]


def up(count: int, alignment: int) -> int:
    """The next multiple of an alignment."""
    return -(-count // alignment) * alignment
