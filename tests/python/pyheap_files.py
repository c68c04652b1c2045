"""Writes PyHeap's files, for tests that need to know their contents."""

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

MAGIC = 123_000_321
TYPES = {"dict": 0x10, "list": 0x20, "set": 0x30, "tuple": 0x40, "str": 0x50, "int": 0x60, "object": 0x70}
COMMON = ("int", "str", "list", "set", "dict")
FREQUENT = ("__doc__", "name")
SESSION = {0x80: "Session"}
"""The types of a program, by address."""


class Thing(NamedTuple):
    """An object; ``content`` is of containers, a dict's keys and values in turn."""

    address: int
    type: int
    size: int
    content: Sequence[int] = ()
    referents: Sequence[int] = ()
    attributes: Sequence[tuple[str, int]] = ()
    text: str = ""


def text(value: str) -> bytes:
    return struct.pack(">H", len(value.encode())) + value.encode()


def addresses(values: Sequence[int]) -> bytes:
    return struct.pack(f">I{len(values)}Q", len(values), *values)


def attribute(name: str, value: int) -> bytes:
    words = struct.pack(">h", -1 - FREQUENT.index(name)) if name in FREQUENT else text(name)
    return words + struct.pack(">Q", value)


def thing(one: Thing, *, with_texts: bool) -> bytes:
    out = struct.pack(">QQI", one.address, one.type, one.size)
    is_container = one.type in [TYPES[name] for name in ("dict", "list", "set", "tuple")]
    if one.type == TYPES["dict"]:
        out += struct.pack(f">I{len(one.content)}Q", len(one.content) // 2, *one.content)
    elif is_container:
        out += addresses(one.content)
    out += addresses(one.referents)
    if one.type not in [TYPES[name] for name in COMMON]:
        out += struct.pack(">I", len(one.attributes)) + b"".join(attribute(*each) for each in one.attributes)
    return out + (text(one.text) if with_texts and not is_container else b"")


Variables = Sequence[tuple[str, int]]
"""Names and addresses."""


class Thread(NamedTuple):
    """A thread; each frame has a file, a line, a function and its variables, the innermost first."""

    name: str
    frames: Sequence[tuple[str, int, str, Variables]]
    is_alive: bool = True


THREADS = (Thread("MainThread", [("/app/service.py", 12, "serve", [("sessions", 0x1000)])]),)


def written(thread: Thread) -> bytes:
    out = text(thread.name) + bytes([thread.is_alive, 0]) + struct.pack(">I", len(thread.frames))
    for file, line, function, variables in thread.frames:
        out += text(file) + struct.pack(">I", line) + text(function) + struct.pack(">I", len(variables))
        out += b"".join(text(name) + struct.pack(">Q", own) for name, own in variables)
    return out


def pyheap(
    things: Sequence[Thing],
    *,
    with_texts: bool = True,
    count: int | None = None,
    threads: Sequence[Thread] = THREADS,
    types: Mapping[int, str] = SESSION,
    frequent: Sequence[str] = FREQUENT,
    of_common: str = "__doc__",
) -> bytes:
    """A whole file; ``count`` is the number of objects that it declares, 0 in an unfinished one.

    Attributes have the number of a name among FREQUENT, which is that of another if ``frequent`` is.
    """
    out = (
        struct.pack(">QI", MAGIC, 1) + text("2026-01-01T00:00:00+00:00") + struct.pack(">Q", int(with_texts))
    )
    out += struct.pack(">I", len(TYPES)) + b"".join(
        text(name) + struct.pack(">Q", own) for name, own in TYPES.items()
    )
    out += struct.pack(">I", len(threads)) + b"".join(map(written, threads))
    out += struct.pack(">I", len(frequent)) + b"".join(map(text, frequent))
    out += struct.pack(">I", len(COMMON)) + b"".join(
        struct.pack(">QI", TYPES[name], 1) + attribute(of_common, 0x9000) for name in COMMON
    )
    out += struct.pack(">I", len(things) if count is None else count)
    out += b"".join(thing(each, with_texts=with_texts) for each in things)
    names = {**{own: name for name, own in TYPES.items()}, **types}
    out += struct.pack(">I", len(names)) + b"".join(
        struct.pack(">Q", own) + text(name) for own, name in names.items()
    )
    return out + struct.pack(">Q", MAGIC)


THINGS = (
    Thing(0x1000, TYPES["dict"], 232, content=(0x2000, 0x3000), referents=(0x7000,)),
    Thing(0x2000, TYPES["str"], 53, text="user é"),
    Thing(0x3000, 0x80, 48, referents=(0x4000, 0x5000, 0x80),
          attributes=(("name", 0x2000), ("events", 0x4000), ("__doc__", 0x9000), ("__class__", 0x80)),
          text="<Session>"),
    Thing(0x4000, TYPES["list"], 72, content=(0x2000, 0x6000)),
    Thing(0x5000, TYPES["set"], 216, content=(0x2000,)),
    Thing(0x6000, TYPES["tuple"], 40, content=()),
    Thing(0x80, 0x70, 1064, text="<class Session>"),
)  # fmt: skip


def small() -> bytes:
    """A heap with some of everything."""
    return pyheap(THINGS)
