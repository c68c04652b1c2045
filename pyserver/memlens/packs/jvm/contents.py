"""Contents of Java's and Android's collections: elements of lists, queues and sets, entries of maps.

They are in the collection's order, if it has one. Fields are those of the classes in OpenJDK and Android, in all
versions since Java 6; a subclass in the program has the contents of the library's class. Views and wrappers
(``keySet()``, ``Collections.unmodifiableMap``) have the contents of the collection behind them.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.contents import Content
from memlens.views.heap.objects.fields import FieldReader, field_reader

Reader = Callable[[FieldReader, int], Iterator[tuple[int | None, int | None]]]
Pair = tuple[int | None, int | None]
"""A key and a value; lists have no key."""

_COUNTED_AT_ONCE = 1_000
MOST_WITHIN = 20
"""Limit on nested wrappers around a collection."""


def _array(reader: FieldReader, number: int, field: str, size: str = "") -> Iterator[Pair]:
    """Yield the elements of an array up to a size, including nulls."""
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
    """Yield the elements of a circular array."""
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
    """Yield the contents of a linked list, without empty links such as the head of a queue."""
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
    """Until Java 6 the first link is empty, and the last one refers to it."""
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
    """Yield the entries of a hash table, bucket by bucket."""
    table = reader.references(number).get(field)
    # an entry is in one bucket
    seen: set[int] = set()
    for entry in [] if table is None else reader.elements(table)[1].tolist():
        if entry in seen:
            continue
        # a bucket of ConcurrentHashMap that is a tree begins with an object that refers to the first entry
        link: int | None = reader.references(entry).get("first", entry) if value == "val" else entry
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
        # the placeholder of a bucket that is being moved has neither
        if key is not None:
            yield key, value


def _linked_map(reader: FieldReader, number: int) -> Iterator[Pair]:
    """In insertion order if the entries record it, as in OpenJDK."""
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
    """The lowest level, which has all entries; its first link is not an entry."""
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

SLOTS, USED, COUNTED = "(slots)", "(used slots)", "(counted)"
"""How to determine the size without a field for it: the slots of the array, those that aren't null, or by counting."""


class Kind(NamedTuple):
    """How to read the contents and sizes of a class's collections."""

    read: Reader
    size: str = COUNTED
    """The field with the size, or SLOTS, USED or COUNTED."""
    array: str = ""
    """The field of the array that has the elements or entries; "" for none."""
    more: str = ""
    """A field with further contents, unless it is null."""


KINDS: dict[str, Kind] = {
    f"{_UTIL}ArrayList": Kind(partial(_array, field="elementData", size="size"), "size", "elementData"),
    f"{_UTIL}Vector": Kind(
        partial(_array, field="elementData", size="elementCount"), "elementCount", "elementData"
    ),
    f"{_UTIL}Arrays$ArrayList": Kind(partial(_array, field="a"), SLOTS, "a"),
    f"{_UTIL}ImmutableCollections$ListN": Kind(partial(_array, field="elements"), SLOTS, "elements"),
    f"{_UTIL}ImmutableCollections$SetN": Kind(partial(_known, field="elements"), "size", "elements"),
    f"{_UTIL}PriorityQueue": Kind(partial(_array, field="queue", size="size"), "size", "queue"),
    f"{_UTIL}ArrayDeque": Kind(partial(_ring, field="elements", head="head"), USED, "elements"),
    f"{_UTIL}LinkedList": Kind(_linked_list, "size"),
    f"{_UTIL}RegularEnumSet": Kind(_enum_set),
    f"{_UTIL}HashMap": Kind(partial(_table, field="table"), "size", "table"),
    f"{_UTIL}LinkedHashMap": Kind(_linked_map, "size", "table"),
    f"{_UTIL}Hashtable": Kind(partial(_table, field="table"), "count", "table"),
    f"{_UTIL}WeakHashMap": Kind(partial(_table, field="table", key="referent"), "size", "table"),
    f"{_UTIL}IdentityHashMap": Kind(partial(_alternating, field="table"), "size", "table"),
    f"{_UTIL}TreeMap": Kind(_tree, "size"),
    f"{_UTIL}EnumMap": Kind(_enum_map, "size", "vals"),
    f"{_UTIL}ImmutableCollections$MapN": Kind(partial(_alternating, field="table"), "size", "table"),
    f"{_CONCURRENT}ConcurrentHashMap": Kind(_concurrent, "baseCount", "table", more="counterCells"),
    f"{_CONCURRENT}ConcurrentSkipListMap": Kind(_skip_list),
    f"{_CONCURRENT}CopyOnWriteArrayList": Kind(partial(_array, field="array"), SLOTS, "array"),
    f"{_CONCURRENT}PriorityBlockingQueue": Kind(partial(_array, field="queue", size="size"), "size", "queue"),
    f"{_CONCURRENT}ArrayBlockingQueue": Kind(
        partial(_ring, field="items", head="takeIndex"), "count", "items"
    ),
    f"{_CONCURRENT}ConcurrentLinkedQueue": Kind(partial(_chain, first="head")),
    f"{_CONCURRENT}ConcurrentLinkedDeque": Kind(partial(_chain, first="head")),
    f"{_CONCURRENT}LinkedBlockingQueue": Kind(partial(_chain, first="head")),
    f"{_CONCURRENT}LinkedBlockingDeque": Kind(partial(_chain, first="first"), "count"),
    f"{_CONCURRENT}LinkedTransferQueue": Kind(partial(_chain, first="head")),
    f"{_CONCURRENT}ScheduledThreadPoolExecutor$DelayedWorkQueue": Kind(
        partial(_array, field="queue", size="size"), "size", "queue"
    ),
    "java.lang.ThreadLocal$ThreadLocalMap": Kind(
        partial(_table, field="table", key="referent"), "size", "table"
    ),
    "android.util.ArrayMap": Kind(partial(_alternating, field="mArray", size="mSize"), "mSize", "mArray"),
    "android.util.ArraySet": Kind(partial(_array, field="mArray", size="mSize"), "mSize", "mArray"),
    "android.util.SparseArray": Kind(partial(_known, field="mValues"), "mSize", "mValues"),
}
"""Collections of Java's and Android's libraries that store their own elements."""


def _pair(reader: FieldReader, number: int) -> Iterator[Pair]:
    """Yield one or two elements; a placeholder object stands for a missing second one."""
    none = reader.static(f"{_UTIL}ImmutableCollections", "EMPTY")
    for pair in _named(reader, number, "e0", "e1"):
        if pair[1] != none:
            yield pair


def _one_entry(reader: FieldReader, number: int, key: str, value: str) -> Iterator[Pair]:
    known = reader.references(number)
    yield known.get(key), known.get(value)


KINDS |= {
    f"{_UTIL}ImmutableCollections$List12": Kind(_pair),
    f"{_UTIL}ImmutableCollections$Set12": Kind(_pair),
    f"{_UTIL}ImmutableCollections$Map1": Kind(partial(_one_entry, key="k0", value="v0")),
    f"{_UTIL}Collections$SingletonMap": Kind(partial(_one_entry, key="k", value="v")),
    f"{_UTIL}Collections$SingletonList": Kind(partial(_one_entry, key="", value="element")),
    f"{_UTIL}Collections$SingletonSet": Kind(partial(_one_entry, key="", value="element")),
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
"""Classes that wrap another collection, and the field that refers to it."""

_KEYS = frozenset(
    (
        f"{_UTIL}HashSet", f"{_UTIL}TreeSet", f"{_CONCURRENT}ConcurrentSkipListSet",
        f"{_CONCURRENT}ConcurrentHashMap$KeySetView", f"{_UTIL}Collections$SetFromMap",
    )
)  # fmt: skip
"""Those of these classes that contain the keys of a map."""

_VIEW = re.compile(r"java\.util\.(?:concurrent\.)?\w+\$\w*?(KeySet|Values|ValueCollection|EntrySet)$")
"""Views of maps: the nested classes of keys, values and entries, each of which refers to its map."""
_MAP_OF_VIEW = ("this$0", "m", "map")


Only = Literal["keys", "values", "both"]


class _Found(NamedTuple):
    """The collection that stores the elements, how to read it, and whether only its keys or only its values count."""

    number: int
    kind: Kind
    only: Only


def kind_of(classes: tuple[str, ...]) -> Kind | None:
    """The kind of a collection that has its own elements, by its class and superclasses."""
    return next((KINDS[name] for name in classes if name in KINDS), None)


def fields_within(classes: tuple[str, ...]) -> tuple[str, ...]:
    """The fields, one of which refers to the collection that an object of this class wraps; none for other classes."""
    if _VIEW.match(classes[0]) is not None:
        return _MAP_OF_VIEW
    return tuple(_WITHIN[name] for name in classes if name in _WITHIN)[:1]


def _found(reader: FieldReader, number: int) -> _Found | None:
    only: Only = "both"
    for _ in range(MOST_WITHIN):
        classes = reader.classes(number)
        known = reader.references(number)
        view = _VIEW.match(classes[0])
        if view is not None:
            only = "keys" if view[1] == "KeySet" else "both" if view[1] == "EntrySet" else "values"
        else:
            only = only if _KEYS.isdisjoint(classes) else "keys"
        within = next((name for name in fields_within(classes) if name in known), None)
        if within is not None:
            number = known[within]
            continue
        kind = kind_of(classes)
        return None if kind is None else _Found(number, kind, only)
    return None


def contents_of(snapshot: Snapshot, number: int) -> Iterator[Content] | None:
    """Return a collection's contents; None for other objects."""
    reader = field_reader(snapshot)
    found = _found(reader, number)
    return None if found is None else _contents(reader, found)


def _contents(reader: FieldReader, found: _Found) -> Iterator[Content]:
    for position, (key, value) in enumerate(found.kind.read(reader, found.number)):
        if found.only == "both":
            yield Content(key, value, position)
        else:
            yield Content(None, key if found.only == "keys" else value, position)


def count_of(snapshot: Snapshot, number: int) -> int:
    """Return a collection's size by its own field, else by counting; 0 for other objects."""
    contents = contents_of(snapshot, number)
    reader = field_reader(snapshot)
    found = None if contents is None else _found(reader, number)
    if contents is None or found is None:
        return 0
    kind = found.kind
    said = reader.values(found.number).get(kind.size)
    if isinstance(said, int) and not (kind.more and kind.more in reader.references(found.number)):
        return min(max(said, 0), graph_of(snapshot.info).objects)
    counted = 0
    for counted, _ in enumerate(contents, 1):
        if not counted % _COUNTED_AT_ONCE:
            snapshot.go_on()
    return counted
