"""Writes small V8 heap snapshots, for tests that need to know their contents."""

import json
from dataclasses import dataclass, field
from typing import Any

from tests.python.graphs import WEAK, SmallGraph

NODE_TYPES = [
    "hidden", "array", "string", "object", "code", "closure", "native", "synthetic", "number", "concatenated string",
    "sliced string", "symbol", "object shape",
]  # fmt: skip
EDGE_TYPES = ["context", "element", "property", "internal", "hidden", "shortcut", "weak"]
SCOPE_FIELDS = {
    "scope_fields": [
        "script_node_index",
        "scope_id",
        "depth",
        "scope_context_vars_count",
        "scope_uses_count",
    ],
    "scope_context_var_fields": ["name"],
    "scope_use_fields": ["declaring_scope_id", "slot_index"],
}
NODE_FIELDS = ["type", "name", "id", "self_size", "edge_count", "trace_node_id", "detachedness"]


@dataclass
class HeapFile:
    """A builder of a snapshot; ``order`` are its sections in the order in which they are written."""

    node_fields: list[str] = field(default_factory=lambda: list(NODE_FIELDS))
    order: tuple[str, ...] = (
        "snapshot", "nodes", "edges", "trace_function_infos", "trace_tree", "samples", "locations", "scopes",
        "scope_context_vars", "scope_uses", "strings",
    )  # fmt: skip
    nodes: list[dict[str, Any]] = field(default_factory=list)
    edges: list[list[tuple[str, str | int, int]]] = field(default_factory=list)
    strings: dict[str, int] = field(default_factory=lambda: {"<dummy>": 0})
    functions: list[tuple[str, str, int]] = field(default_factory=list)
    trace_tree: list[Any] = field(default_factory=list)
    locations: list[tuple[int, int, int, int]] = field(default_factory=list)
    scopes: list[tuple[int, int, int, list[str], list[tuple[int, int]]]] = field(default_factory=list)
    """Each the script, its id, its depth, its variables, and which it uses: the declaring scope and its variable."""

    def string(self, text: str) -> int:
        """The number of a string."""
        return self.strings.setdefault(text, len(self.strings))

    def node(self, kind: str, name: str, size: int = 0, **more: int) -> int:
        """Add an object and return its number; the file's ids are odd."""
        number = len(self.nodes)
        values = {"trace_node_id": 0, "detachedness": 0, "id": 2 * number + 1, **more}
        self.nodes.append(
            {"type": NODE_TYPES.index(kind), "name": self.string(name), "self_size": size, **values}
        )
        self.edges.append([])
        return number

    def edge(self, source: int, kind: str, name: str | int, target: int) -> None:
        """Add a reference."""
        self.edges[source].append((kind, name, target))

    def sections(self) -> dict[str, Any]:
        """The file's contents as Python values."""
        width = len(self.node_fields)
        for node, edges in zip(self.nodes, self.edges, strict=True):
            node["edge_count"] = len(edges)
        rows: list[list[int]] = [
            [EDGE_TYPES.index(kind), name if isinstance(name, int) else self.string(name), target * width]
            for of_node in self.edges
            for kind, name, target in of_node
        ]
        infos = [
            [number, self.string(name), self.string(script), 1, line, 1]
            for number, (name, script, line) in enumerate(self.functions)
        ]
        others = ["number"] * (width - 2)
        meta = {
            "node_fields": self.node_fields, "node_types": [NODE_TYPES, "string", *others],
            "edge_fields": ["type", "name_or_index", "to_node"],
            "edge_types": [EDGE_TYPES, "string_or_number", "node"],
            "trace_function_info_fields": ["function_id", "name", "script_name", "script_id", "line", "column"],
            "trace_node_fields": ["id", "function_info_index", "count", "size", "children"],
            "sample_fields": ["timestamp_us", "last_assigned_id"],
            "location_fields": ["object_index", "script_id", "line", "column"],
        }  # fmt: skip
        scopes: dict[str, list[int]] = {}
        if self.scopes:
            meta |= SCOPE_FIELDS
            scopes = {
                "scopes": [
                    number
                    for script, scope, depth, variables, uses in self.scopes
                    for number in (script * width, scope, depth, len(variables), len(uses))
                ],
                "scope_context_vars": [
                    self.string(name) for _, _, _, names, _ in self.scopes for name in names
                ],
                "scope_uses": [number for *_, uses in self.scopes for use in uses for number in use],
            }
        return {
            **scopes,
            "snapshot": {"meta": meta, "node_count": len(self.nodes), "edge_count": len(rows)},
            "nodes": [node[name] for node in self.nodes for name in self.node_fields],
            "edges": [number for row in rows for number in row],
            "trace_function_infos": [number for info in infos for number in info],
            "trace_tree": self.trace_tree,
            "samples": [],
            "locations": [
                number
                for item, script, line, column in self.locations
                for number in (item * width, script, line, column)
            ],
            "strings": list(self.strings),
        }

    def data(self, **changed: Any) -> bytes:
        """The file's bytes, with some sections replaced."""
        sections = {**self.sections(), **changed}
        ordered = {name: sections[name] for name in self.order if name in sections}
        return json.dumps(ordered, separators=(",", ":")).encode()


def heap_of(graph: SmallGraph) -> HeapFile:
    """A snapshot of a small graph below V8's root; object ``o`` of the graph is object ``o + 1`` of the file."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    for item in graph.objects:
        heap.node("object", f"Type{graph.types[item]}", graph.shallow[item])
    for item in graph.roots:
        heap.edge(root, "property", f"root{item}", item + 1)
    for item in graph.objects:
        for number, (target, kind) in enumerate(graph.edges[item]):
            heap.edge(item + 1, "weak" if kind == WEAK else "property", f"field{number}", target + 1)
    return heap


def small_heap() -> HeapFile:
    """A heap with one of everything: a closure with its script, a WeakMap, tracked allocations, a detached node."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    roots = heap.node("synthetic", "(GC roots)")
    stack = heap.node("synthetic", "(Stack roots)")
    everything = heap.node("object", "global", 100)
    closure = heap.node("closure", "onTick", 64)
    shared = heap.node("code", "onTick", 40)
    script = heap.node("hidden", "/home/me/app/leak.js", 8)
    holder = heap.node("object", "Session", 48, trace_node_id=3)
    words = 'a "quoted"\n\u00e9\u20ac\U0001f600 text'
    text = heap.node("string", words, 32)
    table = heap.node("array", "(object properties)", 200)
    weak_map = heap.node("object", "WeakMap", 24)
    key, value = heap.node("object", "Key", 16), heap.node("object", "Value", 1_000)
    detached = heap.node("native", "Detached HTMLDivElement", 72, detachedness=2)
    heap.edge(root, "shortcut", "global", everything)
    heap.edge(root, "element", 1, roots)
    heap.edge(roots, "element", 1, stack)
    heap.edge(stack, "hidden", 1, key)
    heap.edge(everything, "property", "onTick", closure)
    heap.edge(closure, "internal", "shared", shared)
    heap.edge(shared, "internal", "script", script)
    heap.edge(everything, "property", "session", holder)
    heap.edge(everything, "property", "map", weak_map)
    heap.edge(everything, "property", "key", key)
    heap.edge(weak_map, "internal", "table", table)
    ids = [2 * number + 1 for number in (key, value, table)]
    pair = "0 / part of key (Key @{}) -> value (Value @{}) pair in WeakMap (table @{})".format(*ids)
    heap.edge(table, "internal", pair, value)
    heap.edge(key, "internal", pair, value)
    heap.edge(holder, "property", "name", text)
    heap.edge(holder, "element", 7, detached)
    heap.edge(holder, "weak", "owner", everything)
    heap.edge(holder, "element", 8, heap.node("string", words, 32))
    heap.locations = [(closure, 5, 8, 2), (holder, 5, 2, 0)]
    heap.functions = [
        ("(root)", "", 0),
        ("main", "/home/me/app/leak.js", 20),
        ("make", "/home/me/app/leak.js", 3),
    ]
    heap.trace_tree = [1, 0, 0, 0, [2, 1, 0, 0, [3, 2, 1, 48, []], 4, 2, 0, 0, []]]
    return heap
