"""The references that must go together: the kernel against every subset of small graphs, and what is said of dumps."""

import random
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from tests.python.command_line import memlens
from tests.python.heap_files import HeapFile

from memlens.kernels.base.work import Work
from memlens.kernels.graph.columns import References
from memlens.kernels.graph.least_cut import least_cut as kernel
from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot
from memlens.views.heap.paths.least_cut import MOST_REFERENCES, least_cut
from memlens.views.heap.retained.cuts import common_holder

Pairs = set[tuple[int, int]]
Opened = Callable[[Path], Snapshot]


def reached(pairs: Pairs, begins: set[int]) -> set[int]:
    found, todo = set(begins), list(begins)
    while todo:
        at = todo.pop()
        for source, target in pairs:
            if source == at and target not in found:
                found.add(target)
                todo.append(target)
    return found


def least(pairs: Pairs, holder: int, sought: set[int]) -> int:
    """How many references have to go at least, by trying all sets of them."""
    for count in range(len(pairs) + 1):
        for cut in combinations(sorted(pairs), count):
            if not reached(pairs - set(cut), {holder}) & sought:
                return count
    raise AssertionError


def asked(
    count: int, pairs: Pairs, holder: int, sought: set[int], most: int, rng: random.Random
) -> tuple[Pairs, Pairs] | int | None:
    """The kernel's paths and cut, of a graph in which some references stand twice."""
    rows = sorted((pair for pair in pairs for _ in range(rng.randint(1, 2))), key=lambda pair: pair[::-1])
    starts = np.searchsorted([target for _, target in rows], np.arange(count + 1)).astype(np.uint64)
    live = reached(pairs, {holder})
    distance = np.array([0 if number in live else NEVER for number in range(count)], np.uint32)
    sources = np.array([source for source, _ in rows], np.uint32)
    kinds, follows = np.zeros(len(rows), np.uint8), np.zeros(256, np.uint8)
    follows[0] = 1
    found = kernel(
        References(starts, sources, kinds, follows), distance, np.empty(0, np.uint32),
        np.array(sorted(sought), np.uint32), holder, most, 100, 1000, Work(),
    )  # fmt: skip
    if found is None or isinstance(found, int):
        return found
    sources, targets, cut = (column.tolist() for column in found)
    rows = list(zip(sources, targets, strict=True))
    return set(rows), {row for row, is_cut in zip(rows, cut, strict=True) if is_cut}


def test_no_smaller_set_of_references_cuts_all_paths() -> None:
    rng = random.Random(5)
    counts = [0] * 6
    for _ in range(150):
        count = rng.randint(3, 7)
        pairs = {(rng.randrange(count), rng.randrange(count)) for _ in range(rng.randint(3, 12))}
        pairs = {(source, target) for source, target in pairs if source != target}
        sought = set(rng.sample(range(1, count), rng.randint(1, 2)))
        wanted = least(pairs, 0, sought)
        counts[min(wanted, 5)] += 1
        found = asked(count, pairs, 0, sought, 6, rng)
        assert isinstance(found, tuple)
        paths, cut = found
        assert cut <= paths <= pairs
        assert len(cut) == wanted
        assert not reached(pairs - cut, {0}) & sought
        if wanted > 1:
            assert asked(count, pairs, 0, sought, wanted - 1, rng) == wanted
    assert all(counts[:4]), counts


def leak(*, extra: int = 0) -> HeapFile:
    """Sessions in a cache and, by the contexts of listeners, in a bus; ``extra`` objects hold one of them as well."""
    heap = HeapFile()
    root, app = heap.node("synthetic", ""), heap.node("object", "App", 100)
    heap.edge(root, "property", "app", app)
    cache, table = heap.node("object", "Cache", 50), heap.node("array", "", 500)
    bus, listeners = heap.node("object", "Bus", 50), heap.node("object", "Array", 400)
    heap.edge(app, "property", "cache", cache)
    heap.edge(cache, "internal", "table", table)
    heap.edge(app, "property", "bus", bus)
    heap.edge(bus, "property", "tick", listeners)
    for number in range(30):
        session, closure = heap.node("object", "Session", 1_000), heap.node("closure", "onTick", 64)
        heap.edge(table, "element", number, session)
        heap.edge(listeners, "element", number, closure)
        context = heap.node("object", "system / Context", 40)
        heap.edge(closure, "internal", "context", context)
        heap.edge(context, "context", "session", session)
        if number == 0:
            for one in range(extra):
                holder = heap.node("object", f"Holder{one}", 10)
                heap.edge(app, "property", f"holder{one}", holder)
                heap.edge(holder, "property", "last", session)
    return heap


def test_a_cache_and_listeners_both_hold(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "app.heapsnapshot"
    path.write_bytes(leak().data())
    snapshot = opened(path)
    names = snapshot.strings.texts(snapshot.types.name)
    sessions = np.flatnonzero(snapshot.objects.type == names.index("Session"))
    assert len(sessions) == 30
    together = least_cut(snapshot, sessions)
    assert together.holder is not None
    assert together.holder.type == "App"
    assert [each.way for each in together.references] == [".cache.table", ".bus.tick"]
    # V8's own array counts with the object that has it
    assert together.freed_bytes == 30 * (1_000 + 64 + 40) + 400
    (first,) = (least_cut(snapshot, sessions[:1]),)
    assert [each.way for each in first.references] == [".cache.table[0]", ".bus.tick[0].context.session"]
    assert (first.objects, first.count, first.freed_bytes) == (1, 2, 1_000)
    printed = memlens("paths", path, "--of", "type:Session").stdout
    assert printed.endswith(
        "2 references hold them independently below App @3; they are freed only without all of them, "
        "32.7 KiB in all:\n  .cache.table of Cache @5\n  .bus.tick of Bus @9\n"
    )


def test_the_common_holder_of_many_is_that_of_one_after_the_other(opened: Opened, tmp_path: Path) -> None:
    """Of a random tree, also where objects have no bytes of their own, so that one above retains as little."""
    rng = random.Random(7)
    heap, above = HeapFile(), [0]
    numbers = [heap.node("synthetic", "")]
    for number in range(1, 600):
        above.append(max(0, number - rng.randint(1, 40)))
        numbers.append(heap.node("object", "Part", rng.choice((0, 0, 24))))
        heap.edge(numbers[above[number]], "property", "part", numbers[number])
    file = tmp_path / "tree.heapsnapshot"
    file.write_bytes(heap.data())
    snapshot = opened(file)

    def way(number: int) -> list[int]:
        return [number] if number == 0 else [*way(above[number]), number]

    seen = set()
    for _ in range(60):
        begin = rng.randrange(500)
        sought = [number for number in range(1, 600) if begin in way(number)[:-1]]
        chosen = rng.sample(sought, min(len(sought), 200))
        if chosen:
            ways = [way(above[number]) for number in chosen]
            wanted = [each[0] for each in zip(*ways, strict=False) if len(set(each)) == 1][-1]
            assert common_holder(snapshot, np.array(chosen)) == wanted
            seen.add(len(chosen) > 64)
    assert seen == {True, False}


@pytest.mark.parametrize("extra", [1, 6, 7])
def test_more_holders_than_anybody_removes_are_counted(opened: Opened, tmp_path: Path, extra: int) -> None:
    path = tmp_path / "app.heapsnapshot"
    path.write_bytes(leak(extra=extra).data())
    snapshot = opened(path)
    names = snapshot.strings.texts(snapshot.types.name)
    found = least_cut(snapshot, np.flatnonzero(snapshot.objects.type == names.index("Session"))[:1])
    if 2 + extra <= MOST_REFERENCES:
        assert len(found.references) == 2 + extra
        assert {f".holder{one}.last" for one in range(extra)} < {each.way for each in found.references}
        assert found.freed_bytes == 1_000
    else:
        assert (found.references, found.freed_bytes) == ([], None)
        assert found.count == MOST_REFERENCES + 1
