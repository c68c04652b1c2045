"""What belongs to each realm of V8, against a second reading of dumps by the rules of DevTools."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import memlens
from tests.python.heap_files import HeapFile

from memlens.errors import BadRequestError
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.views.heap.filters.filters import chosen
from memlens.views.heap.listing.overview import overview
from memlens.views.heap.objects.realms import realm_of, realms

REALM = "system / NativeContext"
SHARED = -1


def belonging(dump: dict[str, Any]) -> list[int | None]:
    """The realm of each object: a number of an object, SHARED, or None."""
    meta, strings = dump["snapshot"]["meta"], dump["strings"]
    fields, edge_kinds = meta["node_fields"], meta["edge_types"][0]
    width, name_at, count_at = len(fields), fields.index("name"), fields.index("edge_count")
    nodes, flat = dump["nodes"], dump["edges"]
    names = [strings[nodes[at + name_at]] for at in range(0, len(nodes), width)]
    edges: list[list[tuple[str, str, int]]] = []
    at = 0
    for node in range(0, len(nodes), width):
        own = []
        for _ in range(nodes[node + count_at]):
            kind, name, target = flat[at : at + 3]
            is_named = edge_kinds[kind] not in ("element", "hidden")
            own.append((edge_kinds[kind], strings[name] if is_named else "", target // width))
            at += 3
        edges.append(own)

    def internal(node: int | None, wanted: str) -> int | None:
        if node is None:
            return None
        return next((to for kind, name, to in edges[node] if (kind, name) == ("internal", wanted)), None)

    def is_realm(node: int | None) -> bool:
        name = "" if node is None else names[node].removeprefix("Detached ")
        return name == REALM or name.startswith(f"{REALM} / ")

    owner: list[int | None] = [None] * len(names)
    for number in range(len(names)):
        context = internal(internal(internal(number, "map"), "map"), "native_context")
        owner[number] = number if is_realm(number) else context if is_realm(context) else None
    fixed = [each is not None for each in owner]
    # what each realm leads to, one after the other
    leading: list[set[int]] = [set() for _ in names]
    for realm in {each for each in owner if each is not None}:
        waiting = [number for number, each in enumerate(owner) if each == realm]
        seen = set(waiting)
        while waiting:
            for kind, _, target in edges[waiting.pop()]:
                if kind not in ("weak", "shortcut") and not fixed[target] and target not in seen:
                    seen.add(target)
                    waiting.append(target)
        for number in seen:
            leading[number].add(realm)
    return [
        own if own is not None else None if not leads else SHARED if len(leads) > 1 else min(leads)
        for own, leads in zip(owner, leading, strict=True)
    ]


def some_heap(seed: int) -> HeapFile:
    """Objects of three realms, one of them detached, with strings and arrays that some of them share."""
    rng, heap = random.Random(seed), HeapFile()
    root = heap.node("synthetic", "")
    contexts = [
        heap.node("native", name, 100)
        for name in (f"{REALM} / https://a.example", f"Detached {REALM} / https://a.example", REALM)
    ]
    heap.node("native", "system / NativeContextCell", 8)
    metas = [heap.node("object", "system / Map", 40) for _ in contexts]
    for context, meta in zip(contexts, metas, strict=True):
        heap.edge(root, "property", f"realm{context}", context)
        heap.edge(meta, "internal", "native_context", context)
        heap.edge(meta, "internal", "map", meta)
    maps = [heap.node("object", "system / Map", 40) for _ in range(6)]
    for each in maps[:-1]:
        heap.edge(each, "internal", "map", rng.choice(metas))
    others = [heap.node("object", f"Type{number % 5}", rng.randrange(1, 99)) for number in range(30)]
    others += [heap.node(rng.choice(("string", "array")), f"text {number}", 16) for number in range(30)]
    for each in others[:30]:
        if rng.random() < 0.6:
            heap.edge(each, "internal", "map", rng.choice(maps))
    for _ in range(90):
        kind = rng.choice(("property", "element", "weak", "internal", "context", "shortcut", "hidden"))
        name: str | int = rng.randrange(9) if kind in ("element", "hidden") else "x"
        heap.edge(rng.choice([root, *contexts, *others]), kind, name, rng.choice(others))
    return heap


def agrees(snapshot: Snapshot, dump: dict[str, Any]) -> None:
    """Each object's realm, and that realms with what is shared and of none are the reachable heap."""
    expected = belonging(dump)
    assert [realm_of(snapshot, number) for number in range(len(expected))] == expected
    reached = [int(distance) != 0xFFFFFFFF for distance in snapshot.objects.distance]
    shallow = snapshot.objects.shallow.tolist()
    rows = realms(snapshot)
    *own, shared, none = rows
    sums = {row.object: row.shallow_bytes for row in own} | {
        SHARED: shared.shallow_bytes,
        None: none.shallow_bytes,
    }
    for realm, size in sums.items():
        whole = zip(expected, shallow, reached, strict=True)
        assert size == sum(size for each, size, is_reached in whole if each == realm and is_reached)
    assert sum(row.shallow_bytes for row in rows) == graph_of(snapshot.info).reachable_bytes
    for row in rows:
        found = chosen(snapshot, row.filter)
        assert found is not None
        assert int((found.mask(snapshot) & reached).sum()) == row.objects
    assert overview(snapshot).realms == rows


@pytest.mark.slow
def test_realms_of_small_heaps(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    path, several = tmp_path / "page.heapsnapshot", 0
    for seed in range(30):
        path.write_bytes(some_heap(seed).data())
        snapshot = opened(path)
        agrees(snapshot, json.loads(path.read_text()))
        rows = realms(snapshot)
        names = [row.name.text for row in rows]
        assert len(set(names)) == len(names) == 5
        assert "https://a.example, detached" in names
        several += rows[-2].objects > 1 and rows[-1].objects > 1
    assert several > 3


def test_dumps_without_several_realms(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    heap, path = HeapFile(), tmp_path / "node.heapsnapshot"
    root = heap.node("synthetic", "")
    heap.edge(root, "property", "realm", heap.node("native", REALM, 100))
    path.write_bytes(heap.data())
    snapshot = opened(path)
    assert overview(snapshot).realms == []
    with pytest.raises(BadRequestError, match="no realms"):
        chosen(snapshot, "realm:shared")
    assert json.loads(memlens("sql", path, "SELECT realm_of(object) AS r FROM objects", "--json").stdout) == [
        {"r": None}, {"r": None},
    ]  # fmt: skip
