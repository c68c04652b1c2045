"""The detached DOM nodes of a heap snapshot: those that DevTools calls detached."""

import random
from pathlib import Path

from tests.python.heap_files import NODE_FIELDS, HeapFile

from memlens.packs.v8.tests.test_v8_heap import loaded

UNKNOWN, ATTACHED, DETACHED = range(3)
KINDS = ("property", "internal", "element", "weak", "hidden")
PASS_ON = ("property", "internal", "element")


def flagged(heap: HeapFile, folder: Path) -> list[int]:
    """The objects that are detached."""
    flags = loaded(heap.data(), folder).objects.flags
    assert flags is not None
    return [number for number, flag in enumerate(flags.tolist()) if flag]


def test_nodes_held_by_a_detached_node_are_detached(tmp_path: Path) -> None:
    heap = HeapFile()
    root = heap.node("synthetic", "")
    window = heap.node("object", "Window")
    kept = heap.node("native", "<div>", 80, detachedness=DETACHED)
    child = heap.node("native", "<span>", 80)
    image = heap.node("native", "<img>", 200)
    wrapper = heap.node("object", "HTMLImageElement", 20)
    beyond = heap.node("native", "<p>", 80)
    shown = heap.node("native", "<body>", 80, detachedness=ATTACHED)
    shared = heap.node("native", "ComputedStyle", 10)
    weakly = heap.node("native", "<b>", 10)
    for source, kind, target in (
        (root, "element", window), (window, "property", kept), (window, "property", shown), (kept, "internal", child),
        (child, "element", image), (image, "property", wrapper), (wrapper, "property", beyond),
        (kept, "internal", shared), (shown, "internal", shared), (kept, "weak", weakly),
    ):  # fmt: skip
        heap.edge(source, kind, f"of {target}" if kind != "element" else 1, target)
    # not through JavaScript objects, nor nodes that are also in the document
    assert flagged(heap, tmp_path) == [kept, child, image]


def test_objects_of_nodes_own_are_in_no_dom(tmp_path: Path) -> None:
    heap = HeapFile()
    root = heap.node("synthetic", "")
    groups = heap.node("synthetic", "(Detached)", detachedness=DETACHED)
    handle = heap.node("native", "Node / BindingData", 80, detachedness=DETACHED)
    node = heap.node("native", "HTMLDivElement", 80, detachedness=DETACHED)
    for target in (groups, handle, node):
        heap.edge(root, "element", target, target)
    assert flagged(heap, tmp_path) == [node]


def test_by_brute_force(tmp_path: Path) -> None:
    rng = random.Random(7)
    for _ in range(60):
        heap = HeapFile()
        heap.node("synthetic", "")
        count = rng.randrange(2, 40)
        for _ in range(count):
            is_native = rng.random() < 0.8
            state = rng.choice((UNKNOWN, UNKNOWN, UNKNOWN, ATTACHED, DETACHED)) if is_native else UNKNOWN
            heap.node("native" if is_native else "object", "<a>", 8, detachedness=state)
        for source in range(count + 1):
            for _ in range(rng.randrange(3)):
                kind = rng.choice(KINDS)
                heap.edge(
                    source, kind, 1 if kind in ("element", "hidden") else "x", rng.randrange(1, count + 1)
                )
        assert flagged(heap, tmp_path) == _detached(heap)


def _detached(heap: HeapFile) -> list[int]:
    """The states by propagation until nothing changes, attached first."""
    natives = {number for number, node in enumerate(heap.nodes) if node["type"] == heap_type("native")}
    state = [node["detachedness"] for node in heap.nodes]
    for passed in (ATTACHED, DETACHED):
        changed = True
        while changed:
            changed = False
            for source in natives:
                for kind, _, target in heap.edges[source] if state[source] == passed else ():
                    if kind in PASS_ON and target in natives and state[target] == UNKNOWN:
                        state[target], changed = passed, True
    return [number for number, each in enumerate(state) if each == DETACHED]


def heap_type(name: str) -> int:
    """The number of a node type."""
    heap = HeapFile()
    heap.node(name, "")
    return int(heap.nodes[0]["type"])


def test_old_files_mark_detached_nodes_by_name(tmp_path: Path) -> None:
    heap = HeapFile(node_fields=NODE_FIELDS[:-1])
    root = heap.node("synthetic", "")
    names = ("Detached HTMLDivElement", "HTMLDivElement", "Detached DOM tree")
    natives = [heap.node("native", name, 8) for name in names]
    heap.edge(root, "property", "text", heap.node("string", "Detached from it all", 8))
    assert flagged(heap, tmp_path) == [natives[0], natives[2]]
