"""What Java's and Android's collections contain: the elements of lists, queues and sets, the entries of maps.

In their order, where they have one. The fields are those of the classes in OpenJDK and Android, of all versions since
Java 6; a class of the program's own has what the library's class above it has. Views and wrappers (``keySet()``,
``Collections.unmodifiableMap``) contain what they are made of.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np

from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.views.graph.fields import FieldReader, field_reader


class Content(NamedTuple):
    """An element of a collection, or an entry of a map: the numbers of its key, None for none, and of its value."""

    key: int | None
    value: int | None
    """None for null, and for the keys of maps that are sets."""
    position: int
    """The index in a list, else how many come before."""


Reader = Callable[[FieldReader, int], Iterator[tuple[int | None, int | None]]]
Pair = tuple[int | None, int | None]
"""A key and a value; of a list no key."""

_MOST_WITHIN = 20
"""Wrappers around a collection."""


def _array(reader: FieldReader, number: int, field: str, size: str = "") -> Iterator[Pair]:
    """The elements of an array up to a size, with the places of those that are null."""
    array = reader.references(number).get(field)
    count = reader.integer(number, size) if size else None
    if array is None:
        return
    places, targets = reader.elements(array)
    length = reader.length(array) or 0
    if count is not None:
        length = min(length, count)
    at = 0
    for place, target in zip(places.tolist(), targets.tolist(), strict=True):
        if not at <= place < length:
            break
        for _ in range(place - at):
            yield None, None
        yield None, target
        at = place + 1
    for _ in range(length - at):
        yield None, None


def _known(reader: FieldReader, number: int, field: str) -> Iterator[Pair]:
    """The elements of an array that aren't null."""
    array = reader.references(number).get(field)
    for target in [] if array is None else reader.elements(array)[1].tolist():
        yield None, target


def _ring(reader: FieldReader, number: int, field: str, head: str) -> Iterator[Pair]:
    """The elements of an array that begin in the middle and go on at the start."""
    array, first = reader.references(number).get(field), reader.integer(number, head)
    if array is None:
        return
    places, targets = reader.elements(array)
    at = int(np.searchsorted(places, first or 0))
    for target in [*targets[at:].tolist(), *targets[:at].tolist()]:
        yield None, target


def _named(reader: FieldReader, number: int, *fields: str) -> Iterator[Pair]:
    known = reader.references(number)
    for field in fields:
        if field in known:
            yield None, known[field]


def _chain(
    reader: FieldReader, number: int, first: str, item: str = "item", value: str = "", after: str = "next"
) -> Iterator[Pair]:
    """What is in links, each of which refers to the next; without those that hold nothing, as the first of a queue."""
    link = reader.references(number).get(first)
    yield from _links(reader, link, item, value, after)


def _links(reader: FieldReader, link: int | None, item: str, value: str, after: str) -> Iterator[Pair]:
    seen: set[int] = set()
    while link is not None and link not in seen:
        seen.add(link)
        known = reader.references(link)
        if item in known or (value and value in known):
            yield (known.get(item), known.get(value)) if value else (None, known.get(item))
        link = known.get(after)


def _linked_list(reader: FieldReader, number: int) -> Iterator[Pair]:
    """Until Java 6 the first link is one that holds nothing, to which the last one leads back."""
    header = reader.references(number).get("header")
    if header is None:
        yield from _chain(reader, number, "first")
        return
    link, seen = reader.references(header).get("next"), {header}
    while link is not None and link not in seen:
        seen.add(link)
        known = reader.references(link)
        yield None, known.get("element")
        link = known.get("next")


def _table(
    reader: FieldReader, number: int, field: str, key: str = "key", value: str = "value"
) -> Iterator[Pair]:
    """The entries in the buckets of a hash table, a bucket after the other."""
    table = reader.references(number).get(field)
    for entry in [] if table is None else reader.elements(table)[1].tolist():
        # a bucket of ConcurrentHashMap that is a tree begins with an object that refers to the first entry
        first = reader.references(entry).get("first", entry) if value == "val" else entry
        seen: set[int] = set()
        link: int | None = first
        while link is not None and link not in seen:
            seen.add(link)
            known = reader.references(link)
            yield known.get(key), known.get(value)
            link = known.get("next")


def _concurrent(reader: FieldReader, number: int) -> Iterator[Pair]:
    """Until Java 7 a ConcurrentHashMap has a table for each of its segments."""
    known = reader.references(number)
    if "segments" in known:
        for segment in reader.elements(known["segments"])[1].tolist():
            yield from _table(reader, segment, "table")
        return
    for key, value in _table(reader, number, "table", "key", "val"):
        # what stands for a bucket that is being moved has neither
        if key is not None:
            yield key, value


def _linked_map(reader: FieldReader, number: int) -> Iterator[Pair]:
    """In the order of insertion where the entries have it, as in OpenJDK."""
    if "head" in reader.references(number):
        yield from _chain(reader, number, "head", "key", "value", "after")
    else:
        yield from _table(reader, number, "table")


def _alternating(reader: FieldReader, number: int, field: str, size: str = "") -> Iterator[Pair]:
    """An array in which each key is followed by its value."""
    array = reader.references(number).get(field)
    if array is None:
        return
    places, targets = reader.elements(array)
    count = reader.integer(number, size) if size else None
    keys: dict[int, int] = {}
    values: dict[int, int] = {}
    for place, target in zip(places.tolist(), targets.tolist(), strict=True):
        if count is None or place < 2 * count:
            (values if place % 2 else keys)[place // 2] = target
    for place in sorted({*keys, *values}):
        yield keys.get(place), values.get(place)


def _tree(reader: FieldReader, number: int) -> Iterator[Pair]:
    """The entries of a search tree, in its order."""
    above: list[int] = []
    seen: set[int] = set()
    entry = reader.references(number).get("root")
    while entry is not None or above:
        while entry is not None and entry not in seen:
            seen.add(entry)
            above.append(entry)
            entry = reader.references(entry).get("left")
        if not above:
            return
        known = reader.references(above.pop())
        yield known.get("key"), known.get("value")
        entry = known.get("right")


def _skip_list(reader: FieldReader, number: int) -> Iterator[Pair]:
    """The lowest row, which has all entries; its first link is none."""
    head = reader.references(number).get("head")
    first = None if head is None else reader.references(head).get("node")
    while head is not None and "down" in (known := reader.references(head)):
        head = known["down"]
        first = reader.references(head).get("node", first)
    for key, value in _links(reader, first, "key", "val" if _has_val(reader, first) else "value", "next"):
        if key is not None:
            yield key, value


def _has_val(reader: FieldReader, link: int | None) -> bool:
    after = None if link is None else reader.references(link).get("next")
    return after is not None and "val" in reader.references(after)


def _enum_map(reader: FieldReader, number: int) -> Iterator[Pair]:
    known = reader.references(number)
    if "keyUniverse" in known and "vals" in known:
        keys = dict(zip(*(column.tolist() for column in reader.elements(known["keyUniverse"])), strict=True))
        for place, value in zip(*(column.tolist() for column in reader.elements(known["vals"])), strict=True):
            yield keys.get(place), value


def _enum_set(reader: FieldReader, number: int) -> Iterator[Pair]:
    universe, bits = reader.references(number).get("universe"), reader.integer(number, "elements") or 0
    if universe is not None:
        for place, target in zip(*(column.tolist() for column in reader.elements(universe)), strict=True):
            if place < 64 and bits >> place & 1:
                yield None, target


_UTIL, _CONCURRENT = "java.util.", "java.util.concurrent."

_CONTENTS: dict[str, Reader] = {
    f"{_UTIL}ArrayList": partial(_array, field="elementData", size="size"),
    f"{_UTIL}Vector": partial(_array, field="elementData", size="elementCount"),
    f"{_UTIL}Arrays$ArrayList": partial(_array, field="a"),
    f"{_UTIL}ImmutableCollections$ListN": partial(_array, field="elements"),
    f"{_UTIL}ImmutableCollections$SetN": partial(_known, field="elements"),
    f"{_UTIL}PriorityQueue": partial(_array, field="queue", size="size"),
    f"{_UTIL}ArrayDeque": partial(_ring, field="elements", head="head"),
    f"{_UTIL}LinkedList": _linked_list,
    f"{_UTIL}RegularEnumSet": _enum_set,
    f"{_UTIL}HashMap": partial(_table, field="table"),
    f"{_UTIL}LinkedHashMap": _linked_map,
    f"{_UTIL}Hashtable": partial(_table, field="table"),
    f"{_UTIL}WeakHashMap": partial(_table, field="table", key="referent"),
    f"{_UTIL}IdentityHashMap": partial(_alternating, field="table"),
    f"{_UTIL}TreeMap": _tree,
    f"{_UTIL}EnumMap": _enum_map,
    f"{_UTIL}ImmutableCollections$MapN": partial(_alternating, field="table"),
    f"{_CONCURRENT}ConcurrentHashMap": _concurrent,
    f"{_CONCURRENT}ConcurrentSkipListMap": _skip_list,
    f"{_CONCURRENT}CopyOnWriteArrayList": partial(_array, field="array"),
    f"{_CONCURRENT}PriorityBlockingQueue": partial(_array, field="queue", size="size"),
    f"{_CONCURRENT}ArrayBlockingQueue": partial(_ring, field="items", head="takeIndex"),
    f"{_CONCURRENT}ConcurrentLinkedQueue": partial(_chain, first="head"),
    f"{_CONCURRENT}ConcurrentLinkedDeque": partial(_chain, first="head"),
    f"{_CONCURRENT}LinkedBlockingQueue": partial(_chain, first="head"),
    f"{_CONCURRENT}LinkedBlockingDeque": partial(_chain, first="first"),
    f"{_CONCURRENT}LinkedTransferQueue": partial(_chain, first="head"),
    f"{_CONCURRENT}ScheduledThreadPoolExecutor$DelayedWorkQueue": partial(_array, field="queue", size="size"),
    "java.lang.ThreadLocal$ThreadLocalMap": partial(_table, field="table", key="referent"),
    "android.util.ArrayMap": partial(_alternating, field="mArray", size="mSize"),
    "android.util.ArraySet": partial(_array, field="mArray", size="mSize"),
    "android.util.SparseArray": partial(_known, field="mValues"),
}  # fmt: skip


def _pair(reader: FieldReader, number: int) -> Iterator[Pair]:
    """One or two elements; in the place of a second that isn't there is an object that stands for it."""
    none = reader.static(f"{_UTIL}ImmutableCollections", "EMPTY")
    for pair in _named(reader, number, "e0", "e1"):
        if pair[1] != none:
            yield pair


def _one_entry(reader: FieldReader, number: int, key: str, value: str) -> Iterator[Pair]:
    known = reader.references(number)
    yield known.get(key), known.get(value)


_CONTENTS |= {
    f"{_UTIL}ImmutableCollections$List12": _pair,
    f"{_UTIL}ImmutableCollections$Set12": _pair,
    f"{_UTIL}ImmutableCollections$Map1": partial(_one_entry, key="k0", value="v0"),
    f"{_UTIL}Collections$SingletonMap": partial(_one_entry, key="k", value="v"),
    f"{_UTIL}Collections$SingletonList": partial(_one_entry, key="", value="element"),
    f"{_UTIL}Collections$SingletonSet": partial(_one_entry, key="", value="element"),
}

_WITHIN = {
    f"{_UTIL}HashSet": "map",
    f"{_UTIL}TreeSet": "m",
    f"{_UTIL}Properties": "map",
    f"{_CONCURRENT}ConcurrentSkipListSet": "m",
    f"{_CONCURRENT}CopyOnWriteArraySet": "al",
    f"{_CONCURRENT}ConcurrentHashMap$CollectionView": "map",
    **{f"{_UTIL}Collections${kind}{what}": field
       for kind in ("Unmodifiable", "Synchronized", "Checked")
       for what, field in (("Collection", "c"), ("Map", "m"))},
    f"{_UTIL}Collections$SetFromMap": "m",
    f"{_CONCURRENT}DelayQueue": "q",
    "android.util.LruCache": "map",
}  # fmt: skip
"""Collections that are made of another, and the field that refers to it."""

_KEYS = frozenset(
    (
        f"{_UTIL}HashSet", f"{_UTIL}TreeSet", f"{_CONCURRENT}ConcurrentSkipListSet",
        f"{_CONCURRENT}ConcurrentHashMap$KeySetView", f"{_UTIL}Collections$SetFromMap",
    )
)  # fmt: skip
"""Those of these that contain the keys of a map."""

_SIZES = ("size", "elementCount", "count", "mSize")


_VIEW = re.compile(r"java\.util\.(?:concurrent\.)?\w+\$\w*?(KeySet|Values|ValueCollection|EntrySet)$")
"""Views of maps: the nested classes of keys, values and entries, each of which refers to its map."""
_MAP_OF_VIEW = ("this$0", "m", "map")


Only = Literal["keys", "values", "both"]


class _Found(NamedTuple):
    """The collection that has the elements, how they are read, and whether only its keys count, or only its values."""

    number: int
    read: Reader
    only: Only


def _found(reader: FieldReader, number: int) -> _Found | None:
    only: Only = "both"
    for _ in range(_MOST_WITHIN):
        classes = reader.classes(number)
        known = reader.references(number)
        view = _VIEW.match(classes[0])
        if view is not None:
            within = next((name for name in _MAP_OF_VIEW if name in known), None)
            only = "keys" if view[1] == "KeySet" else "both" if view[1] == "EntrySet" else "values"
        else:
            within = next((_WITHIN[name] for name in classes if name in _WITHIN), None)
            only = only if _KEYS.isdisjoint(classes) else "keys"
        if within is not None and within in known:
            number = known[within]
            continue
        read = next((_CONTENTS[name] for name in classes if name in _CONTENTS), None)
        return None if read is None else _Found(number, read, only)
    return None


def contents_of(snapshot: Snapshot, number: int) -> Iterator[Content] | None:
    """What a collection contains, None for another object."""
    if snapshot.info.kind != "hprof":
        return None
    reader = field_reader(snapshot)
    found = _found(reader, number)
    return None if found is None else _contents(reader, found)


def _contents(reader: FieldReader, found: _Found) -> Iterator[Content]:
    for position, (key, value) in enumerate(found.read(reader, found.number)):
        if found.only == "both":
            yield Content(key, value, position)
        else:
            yield Content(None, key if found.only == "keys" else value, position)


def count_of(snapshot: Snapshot, number: int) -> int:
    """How many elements or entries a collection has: what it says of itself, else counted; 0 for another object."""
    contents = contents_of(snapshot, number)
    if contents is None:
        return 0
    reader = field_reader(snapshot)
    found = _found(reader, number)
    sizes = {} if found is None else reader.values(found.number)
    said = next((sizes[name] for name in _SIZES if isinstance(sizes.get(name), int)), None)
    if isinstance(said, int) and not isinstance(said, bool):
        return min(max(said, 0), graph_of(snapshot.info).objects)
    return sum(1 for _ in contents)


def some_contents(snapshot: Snapshot, number: int, offset: int, limit: int) -> list[Content]:
    """A page of what a collection contains; nothing for another object."""
    return list(islice(contents_of(snapshot, number) or iter(()), offset, offset + limit))
