"""Java Flight Recorder's recordings, read by following the offsets of each chunk's header, value by value."""

import re
import struct
from pathlib import Path
from typing import Any

import zstandard
from tests.python.replays.stacks import Frame, Profile

PRIMITIVES = {
    "B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short", "Z": "boolean",
}  # fmt: skip
CUT = Frame("(stack cut off)", "", 0)


class Chunk:
    """A chunk whose integers are compressed."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.size, constants, description = struct.unpack(">3q", data[8:32])
        self.types = self.described(description)
        self.ids = {name: number for number, (name, _) in self.types.items()}
        self.pools: dict[str, dict[int, Any]] = {}
        self.constants(constants)

    def number(self) -> int:
        value = 0
        for shift in range(0, 64, 7):
            byte = self.data[self.at]
            self.at += 1
            value |= (byte if shift == 56 else byte & 0x7F) << shift
            if byte < 0x80 or shift == 56:
                break
        return value - (1 << 64) if value >> 63 else value

    def text(self) -> str | None:
        form = self.data[self.at]
        self.at += 1
        if form < 2:
            return [None, ""][form]
        assert form in (3, 4, 5)
        length = self.number()
        if form == 4:
            units = b"".join(self.number().to_bytes(2, "little") for _ in range(length))
            return units.decode("utf-16-le")
        self.at += length
        return self.data[self.at - length : self.at].decode(["", "", "", "utf-8", "", "latin-1"][form])

    def described(self, offset: int) -> dict[int, tuple[str, list[dict[str, str]]]]:
        self.at = offset
        assert [self.number() for _ in range(5)][1] == 0
        strings = [self.text() or "" for _ in range(self.number())]

        def element() -> tuple[str, dict[str, str], list[Any]]:
            name = strings[self.number()]
            attributes = {strings[self.number()]: strings[self.number()] for _ in range(self.number())}
            return name, attributes, [element() for _ in range(self.number())]

        root = element()
        assert root[0] == "root"
        classes = [each for each in root[2][0][2] if each[0] == "class"]
        return {
            int(of["id"]): (of["name"], [field for kind, field, _ in parts if kind == "field"])
            for _, of, parts in classes
        }

    def constants(self, offset: int) -> None:
        while offset:
            self.at = offset
            self.number()
            assert self.number() == 1
            self.number(), self.number()
            before = self.number()
            self.at += 1
            for _ in range(self.number()):
                kind = self.number()
                pool = self.pools.setdefault(self.types[kind][0], {})
                for _ in range(self.number()):
                    key = self.number()
                    pool[key] = self.value(kind)
            offset = offset + before if before else 0

    def value(self, kind: int) -> Any:
        name, fields = self.types[kind]
        match name:
            case "long" | "int" | "short" | "char":
                return self.number()
            case "byte" | "boolean":
                self.at += 1
                return self.data[self.at - 1]
            case "float" | "double":
                self.at += 4 if name == "float" else 8
                return None
            case "java.lang.String":
                return self.text()
        found = {}
        for field in fields:
            of = int(field["class"])

            def one(of: int = of, *, key: bool = field.get("constantPool") == "true") -> Any:
                return (self.types[of][0], self.number()) if key else self.value(of)

            found[field["name"]] = [one() for _ in range(self.number())] if "dimension" in field else one()
        return found

    def constant(self, key: tuple[str, int]) -> Any:
        return self.pools.get(key[0], {}).get(key[1])

    def events(self) -> list[tuple[str, dict[str, Any]]]:
        found, start = [], 68
        while start < self.size:
            self.at = start
            size, kind = self.number(), self.number()
            name = self.types[kind][0] if kind in self.types else ""
            if name in ("jdk.ObjectAllocationSample", "jdk.OldObjectSample", "jdk.GarbageCollection"):
                found.append((name, self.value(kind)))
            start += size
        return found

    # ---- what constants stand for ----

    def class_name(self, key: tuple[str, int]) -> str:
        of = self.constant(key)
        return self.constant(of["name"])["string"] if of else ""

    def stack(self, key: tuple[str, int]) -> list[Frame]:
        trace = self.constant(key)
        if trace is None:
            return []
        frames = []
        for each in trace["frames"]:
            method = self.constant(each["method"])
            owner = self.class_name(method["type"])
            name = self.constant(method["name"])["string"]
            frames.append(
                Frame(f"{readable(owner)}.{name}", file_of(owner), each["lineNumber"] % 2**32 % (2**32 - 1))
            )
        return [*frames, CUT] if trace["truncated"] else frames

    def chain(self, event: dict[str, Any]) -> list[Frame]:
        here = self.constant(event["object"])
        owner = self.class_name(here["type"])
        frames = [Frame(readable(owner), file_of(element(owner)), 0)]
        while (link := self.constant(here["referrer"])) is not None:
            here = self.constant(link["object"])
            owner = self.class_name(here["type"])
            field = self.constant(link["field"])
            if field is None:
                frame = Frame(readable(owner), file_of(element(owner)), 0)
            else:
                if owner == "java/lang/Class":
                    owner = (here["description"] or "").removeprefix("Class Name: ").replace(".", "/")
                frame = Frame(f"{readable(owner)}.{field['name']}", file_of(owner), 0)
            frames += [frame] if frame != frames[-1] else []
        root = self.constant(event["root"])
        words = [self.constant(root[part]) for part in ("type", "system")] if root else []
        named = ", ".join(
            each[part]
            for part, each in zip(("type", "system"), words, strict=False)
            if each and each[part] != "<unknown>"
        )
        return [*frames, Frame(f"({named or 'root'})", "", 0)] if named or len(frames) > 1 else []


def readable(name: str) -> str:
    """A class's name as in source."""
    depth = len(name) - len(name.lstrip("["))
    name = name[depth:]
    name = (PRIMITIVES.get(name) or name.removeprefix("L").removesuffix(";")) if depth else name
    return re.sub(r"(\$\$Lambda)[^a-zA-Z].*", r"\1", name).replace("/", ".") + "[]" * depth


def element(name: str) -> str:
    """The class of an array's elements; of any other class the class itself."""
    return re.sub(r"^\[+L(.*);$", r"\1", name)


def file_of(name: str) -> str:
    """The file that a class's name lets one expect."""
    package, _, simple = re.sub(r"\$.*", "", name).rpartition("/")
    return "" if name.startswith("[") or not simple else "/".join(filter(None, (package, f"{simple}.java")))


def read(path: Path) -> Profile:
    """Read a recording that was packed by zstandard."""
    data = zstandard.decompress(path.read_bytes(), max_output_size=1 << 26)
    chunk = Chunk(data)
    assert chunk.size == len(data)
    events = chunk.events()
    collected = max(each["startTime"] for name, each in events if name == "jdk.GarbageCollection")
    profile = Profile(["kept_samples", "held_samples", "allocated_bytes"])
    limit_firsts([event for name, event in events if name == "jdk.ObjectAllocationSample"])
    for name, event in events:
        if name == "jdk.ObjectAllocationSample":
            profile.add(chunk.stack(event["stackTrace"]), [0, 0, event["weight"]])
        elif name == "jdk.OldObjectSample":
            chain = chunk.chain(event)
            if event["allocationTime"] < collected or chain:
                profile.add(chunk.stack(event["stackTrace"]), [1, 0, 0])
                profile.add(chain, [0, 1, 0])
    return profile


def limit_firsts(samples: list[dict[str, Any]]) -> None:
    """Limit the first sample of each thread to the thread's largest other one, else to the largest that is no first."""
    threads: dict[int, list[dict[str, Any]]] = {}
    for each in sorted(samples, key=lambda each: each["startTime"]):
        threads.setdefault(each["eventThread"], []).append(each)
    largest = max(each["weight"] for rows in threads.values() for each in rows[1:])
    for first, *others in threads.values():
        limit = max((each["weight"] for each in others), default=largest)
        first["weight"] = min(first["weight"], limit)
