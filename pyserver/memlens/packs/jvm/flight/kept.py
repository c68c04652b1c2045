"""Objects that were sampled when they were allocated and are still alive, and the chains of references that hold them.

Source: ``leakprofiler/sampling/objectSampler.cpp`` and ``leakprofiler/chains`` of HotSpot. The virtual machine keeps up
to 256 of the objects that it sampled, drops those that are collected, and writes the others when a recording is dumped
or ends, with ``path-to-gc-roots=true`` each with what holds it. Every dump has them all, so that only the last counts.
"""

from typing import NamedTuple

import numpy as np

from memlens.arrays import I64, U32, Mask
from memlens.model.distinct import grouped
from memlens.model.expansion import LEAST_ITEMS
from memlens.model.frames import NATIVE, SourceFrame
from memlens.packs.jvm import OBJECTS
from memlens.packs.jvm.flight.chunks import Chunk, Events
from memlens.packs.jvm.flight.code import ChunkCode, Code, declared_frame, type_name
from memlens.units import shortened

_OLD, _LIVE, _COLLECTION = "jdk.OldObjectSample", "profiler.LiveObject", "jdk.GarbageCollection"
_SUMMARY = "jdk.GCHeapSummary"
_POLL_NS = 10**9
"""How often async-profiler looks whether there was a collection: it writes a summary then, at the time of the look."""
KEPT_EVENTS = {
    _OLD: (
        "startTime", "allocationTime", "eventThread", "stackTrace", "object", "objectSize", "root",
    ),
    _LIVE: ("startTime", "allocationTime", "eventThread", "stackTrace", "objectClass", "allocationSize"),
    _COLLECTION: ("startTime",),
}  # fmt: skip
KEPT_CONSTANTS = {
    "jdk.types.OldObject": ("type", "description", "referrer"),
    "jdk.types.Reference": ("array", "field", "object"),
    "jdk.types.OldObjectField": ("name",),
    "jdk.types.OldObjectGcRoot": ("description", "system", "type"),
    "jdk.types.OldObjectRootSystem": ("system",),
    "jdk.types.OldObjectRootType": ("type",),
}
_MOST_LINKS = 4_096
"""References of one chain; virtual machines write up to 200."""

_MOST_FIELD, _MOST_NAME = 100, 2_000
"""Characters of a field's name, and of a class's in a description."""
_CLASS, _CLASS_NAME, _SIZE = "java.lang.Class", "Class Name: ", "Size: "
_MOST_BYTES = 2**48
_UNKNOWN = "<unknown>"


class Batch(NamedTuple):
    """The objects that were alive when the virtual machine last looked, a row for each.

    ``chains`` are stacks: the object's type first, the root last; 0 where nothing is known to hold it. ``holders`` are
    texts, as ``Leak.cache``: the static field, or else the field of the program's own, that is the nearest to the root.
    """

    time_ns: int
    allocated_ns: I64
    stacks: U32
    types: U32
    threads: U32
    sizes: I64
    """0 where they aren't known, as before Java 23."""
    chains: U32
    holders: U32
    roots: U32
    has_chains: bool
    is_of_profiler: bool = False
    """Whether async-profiler took them: all that it sampled and that are alive, without what holds them."""


class KeptObjects:
    """Collects what the chunks of a recording have."""

    def __init__(self, code: Code, file_bytes: int) -> None:
        self._code = code
        # each takes a byte at least where it isn't shared
        self._links = max(LEAST_ITEMS, file_bytes)
        self.last: Batch | None = None
        self.collected_ns: int | None = None
        """When the last collection began that is in the recording."""

    def add(self, chunk: Chunk, code: ChunkCode) -> None:
        """Take a chunk's objects, in place of those of earlier ones."""
        collections = chunk.events.get(_COLLECTION)
        if collections is not None and len(collections.rows):
            latest = int(chunk.header.time_ns(collections["startTime"]).max())
            self.collected_ns = max(latest, self.collected_ns or 0)
        old, live = chunk.events.get(_OLD), chunk.events.get(_LIVE)
        if old is not None and len(old.rows):
            # a chunk may have several dumps
            whole = old["startTime"]
            last = Events(old.columns, old.rows[whole == whole.max()])
            self.last = self._old(chunk, code, last)
        elif live is not None and len(live.rows):
            nothing = np.zeros(len(live.rows), np.uint32)
            self.last = Batch(
                int(chunk.header.time_ns(live["startTime"]).max()),
                chunk.header.time_ns(live["allocationTime"]),
                code.stacks(live["stackTrace"]),
                code.types(live["objectClass"]),
                code.threads(live["eventThread"]),
                np.clip(live["allocationSize"], 0, _MOST_BYTES),
                nothing, nothing, nothing, has_chains=False, is_of_profiler=True,
            )  # fmt: skip
            summaries = chunk.events.get(_SUMMARY)
            if summaries is not None and len(summaries.rows):
                looked = int(chunk.header.time_ns(summaries["startTime"]).max()) - _POLL_NS
                self.collected_ns = max(looked, self.collected_ns or 0)

    def survivors(self) -> Mask | None:
        """Which of the last batch survived a collection, or are known to be reachable; None without a batch."""
        if self.last is None:
            return None
        if self.collected_ns is None:
            return np.ones(len(self.last.stacks), np.bool_)
        return (self.last.allocated_ns < self.collected_ns) | (self.last.chains != 0)

    def _old(self, chunk: Chunk, code: ChunkCode, events: Events) -> Batch:
        objects = chunk.pool("jdk.types.OldObject")
        chains = _Chains(self._code, code, chunk)
        _, roots = np.unique(events["root"], return_inverse=True)
        held = grouped((events["object"], roots))
        found, classes = [], []
        for row in held.first.tolist():
            key, root = int(events["object"][row]), int(events["root"][row])
            found.append(chains.of(key, root, min(_MOST_LINKS, self._links)))
            self._links -= chains.followed
            classes.append(objects.value(key, "type") or 0)
        rows = np.array(found, np.uint32).reshape(-1, 3)[held.of_rows]
        return Batch(
            int(chunk.header.time_ns(events["startTime"]).max()),
            chunk.header.time_ns(events["allocationTime"]),
            code.stacks(events["stackTrace"]),
            code.types(np.array(classes, np.int64)[held.of_rows]),
            code.threads(events["eventThread"]),
            np.clip(events["objectSize"], 0, _MOST_BYTES),
            rows[:, 0], rows[:, 1], rows[:, 2],
            has_chains=bool((rows[:, 0] != 0).any()),
        )  # fmt: skip


class _Link(NamedTuple):
    """A reference towards the root: its frame, its name if it is the program's own, its object and the next one."""

    frame: SourceFrame
    own: str
    holder: int
    following: int


class _Chains:
    """Follows the references of a chunk."""

    def __init__(self, all_code: Code, code: ChunkCode, chunk: Chunk) -> None:
        self._all, self._code, self._chunk = all_code, code, chunk
        self._objects, self._references = (
            chunk.pool(f"jdk.types.{name}") for name in ("OldObject", "Reference")
        )
        self._links: dict[int, _Link | None] = {}
        self.followed = 0
        """How many references the last chain had."""

    def of(self, key: int, root: int, most: int) -> tuple[int, int, int]:
        """The chain of an object as a stack, its holder and its root as texts; zeros where nothing holds it."""
        self.followed = 0
        referrer = self._objects.value(key, "referrer")
        root_name = self._root(root)
        if not referrer and not root_name:
            return 0, 0, 0
        frames, holder, held = [declared_frame(self._type(key))], "", key
        while referrer and self.followed < most:
            self.followed += 1
            link = self._link(referrer)
            if link is None:
                break
            # a list of a thousand nodes is one step
            if link.frame != frames[-1]:
                frames.append(link.frame)
            if link.own:
                holder = f"{link.own}{self._of_size(held)}"
            held, referrer = link.holder, link.following
        frames.append(SourceFrame("", 0, f"({root_name or 'root'})", NATIVE))
        return self._all.stack(frames), self._all.text(holder), self._all.text(root_name)

    def _link(self, key: int) -> "_Link | None":
        if key not in self._links:
            self._links[key] = self._read_link(key)
        return self._links[key]

    def _read_link(self, key: int) -> "_Link | None":
        place = self._references.place(key)
        if place is None:
            return None
        holder = self._references.value(key, "object") or 0
        field = self._references.value(key, "field") or 0
        owner = self._type(holder)
        following = self._objects.value(holder, "referrer") or 0
        if not field:
            return _Link(declared_frame(owner), "", holder, following)
        name = self._text(self._chunk.pool("jdk.types.OldObjectField").value(field, "name"))
        # which many classes may have
        name = shortened(name, _MOST_FIELD)
        static = self._static_class(holder) if type_name(owner) == _CLASS else ""
        owner = self._all.names.of_method(static.replace(".", "/") or owner)
        title = f"{type_name(owner)}.{name}"
        packages = OBJECTS.platform.packages
        own = "" if packages is not None and packages.match(type_name(owner)) else title
        return _Link(declared_frame(owner, name), own, holder, following)

    def _of_size(self, key: int) -> str:
        """What follows the name of a field that has a collection: `` (HashMap of 6,000)``."""
        text = self._text(self._objects.value(key, "description"))
        size = text.removeprefix(_SIZE)
        if size == text or not size.isdigit():
            return ""
        return f" ({type_name(self._type(key)).rpartition('.')[2]} of {int(size):,})"

    def _text(self, position: int | None) -> str:
        return "" if position is None else self._chunk.text_at(position)

    def _type(self, key: int) -> str:
        return self._code.class_name(self._objects.value(key, "type") or 0)

    def _static_class(self, key: int) -> str:
        """The class that an object of type Class is."""
        text = self._text(self._objects.value(key, "description"))
        return text[len(_CLASS_NAME) : _MOST_NAME] if text.startswith(_CLASS_NAME) else ""

    def _root(self, key: int) -> str:
        """A root in words: ``Stack Variable, Threads``; "" for none."""
        pool = self._chunk.pool("jdk.types.OldObjectGcRoot")
        parts = []
        for field, kind in (("type", "OldObjectRootType"), ("system", "OldObjectRootSystem")):
            constant = pool.value(key, field)
            if constant is not None:
                parts.append(self._text(self._chunk.pool(f"jdk.types.{kind}").value(constant, field)))
        return ", ".join(part for part in parts if part not in ("", _UNKNOWN))
