"""What Java's soft references hold is reachable, and what only they hold is known, against searches by the rule."""

import random
from collections.abc import Collection

import numpy as np
import pytest
from tests.python.graphs import random_graph
from tests.python.heap_archives import Opened
from tests.python.heap_files import heap_of
from tests.python.hprof_files import BYTE, OBJECT, Dump
from tests.python.tries import tries

from memlens.arrays import Mask
from memlens.errors import BadRequestError
from memlens.model.graph import Strength
from memlens.store.snapshot import Snapshot
from memlens.views.findings.ahead import findings
from memlens.views.heap.filters.filters import chosen
from memlens.views.heap.paths.merged import merged_paths
from memlens.views.heap.paths.to_object import paths
from memlens.views.heap.retained.by_objects import retained_set

pytest_plugins = ("tests.python.heap_fixtures",)

_SWITCHES: tuple[tuple[Strength, ...], ...] = ((), ("weak",), ("soft", "weak"))
_REFERENCES = {"strong": "Node", "soft": "java/lang/ref/SoftReference", "weak": "java/lang/ref/WeakReference"}


class Heap:
    """A random heap of nodes with two references each; of a soft or weak reference's object the first is that."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        count = rng.randint(3, 30)
        self.kinds = [rng.choice(("strong", "strong", "soft", "weak")) for _ in range(count)]
        self.targets = [tuple(rng.choice([*range(count), None]) for _ in range(2)) for _ in range(count)]
        self.roots = rng.sample(range(count), rng.randint(1, 2))

    def dump(self) -> bytes:
        out = Dump()
        base = out.klass(0x100, "java/lang/Object")
        reference = out.klass(0x140, "java/lang/ref/Reference", base, [("referent", OBJECT)])
        classes = {"strong": out.klass(0x180, "Node", base, [("left", OBJECT), ("right", OBJECT)])}
        for at, kind in ((0x200, "soft"), (0x240, "weak")):
            above = out.klass(at, _REFERENCES[kind], reference)
            classes[kind] = out.klass(at + 0x20, f"{kind}Entry", above, [("value", OBJECT)])
        for item, (kind, (first, second)) in enumerate(zip(self.kinds, self.targets, strict=True)):
            ids = [0 if each is None else _id(each) for each in (first, second)]
            # a class's own fields come before those of the classes above it
            out.instance(_id(item), classes[kind], "PP", *(ids if kind == "strong" else reversed(ids)))
        for root in self.roots:
            out.add(0x05, "P", _id(root))
        return out.end()

    def reached(self, through: Collection[str], without: int | None = None) -> set[int]:
        found, waiting = set[int](), [root for root in self.roots if root != without]
        while waiting:
            item = waiting.pop()
            if item in found or item == without:
                continue
            found.add(item)
            first, second = self.targets[item]
            follows = self.kinds[item] == "strong" or self.kinds[item] in through
            waiting += [each for each in (first if follows else None, second) if each is not None]
        return found


def _mask(snapshot: Snapshot, text: str) -> Mask:
    found = chosen(snapshot, text)
    assert found is not None
    return found.mask(snapshot)


def _id(item: int) -> int:
    return 0x1000 + 0x20 * item


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(tries(60)))
def test_what_soft_references_hold(seed: int, open_dump: Opened) -> None:
    heap = Heap(seed)
    snapshot = open_dump(heap.dump(), f"heap{seed}.hprof")
    ids = snapshot.objects.id.astype(np.int64)
    numbers = {int(each): number for number, each in enumerate(ids)}
    items = range(len(heap.kinds))

    def fitting(text: str) -> set[int]:
        mask = _mask(snapshot, text)
        return {item for item in items if mask[numbers[_id(item)]]}

    reachable, strongly = heap.reached(("soft",)), heap.reached(())
    assert fitting("unreachable") == set(items) - reachable
    assert fitting("is:softly-reachable") == reachable - strongly
    for item in items:
        number = numbers[_id(item)]
        assert bool(paths(snapshot, number).paths) == (item in reachable)
        for through in _SWITCHES:
            assert bool(paths(snapshot, number, through=through).paths) == (item in heap.reached(through))
        kept = retained_set(snapshot, np.array([number]))
        if item in reachable:
            freed = reachable - heap.reached(("soft",), item)
            assert {each for each in items if kept[numbers[_id(each)]]} == freed
    tree = merged_paths(snapshot, None, None, "", 0, 0, 100, through=())
    assert tree.unreachable == int(_mask(snapshot, "is:unreachable,softly-reachable").sum())


def test_a_cache_that_only_soft_references_hold_is_a_finding(open_dump: Opened) -> None:
    dump = Dump()
    base = dump.klass(0x100, "java/lang/Object")
    reference = dump.klass(0x140, "java/lang/ref/Reference", base, [("referent", OBJECT)])
    soft = dump.klass(0x180, "java/lang/ref/SoftReference", reference)
    page = dump.klass(0x1C0, "shop/Page", base, [("text", OBJECT)])
    elements = dump.klass(0x200, "[Ljava/lang/ref/SoftReference;", base)
    dump.klass(0x240, "shop/Pages", base, statics=[("CACHE", OBJECT, 0x400), ("OLD", OBJECT, 0x800)])
    entries = []
    for at in range(0x1_0000, 0x1_0000 + 50 * 0x100, 0x100):
        dump.numbers(at, BYTE, bytes(range(100)) * 40)
        dump.instance(at + 0x40, page, "P", at)
        entries.append(dump.instance(at + 0x80, soft, "P", at + 0x40))
    for at in (0, 1):
        dump.objects(0x400 * (at + 1), elements, entries[at::2])
    dump.add(0x05, "P", 0x240)
    # one is in use
    dump.add(0x05, "P", 0x1_0040)
    snapshot = open_dump(dump.end(), "cache.hprof")
    (found,) = (each for each in findings(snapshot, None, 100).findings if each.rule == "soft_references")
    words = str(found.sentence)
    assert "in 98 objects is held by soft references only, which refer to 49 Page" in words
    assert "held by Pages.OLD[0].referent" in words
    objects = snapshot.objects
    softly = _mask(snapshot, "is:softly-reachable")
    assert found.figure.amount == int(objects.shallow[softly].sum())
    assert int(softly.sum()) == 98


def test_a_dump_without_soft_references_has_no_such_term(open_dump: Opened) -> None:
    snapshot = open_dump(heap_of(random_graph(1)).data(), "small.heapsnapshot")
    with pytest.raises(BadRequestError, match="expected one of unreachable, root"):
        chosen(snapshot, "is:softly-reachable")
