"""A plain reading of V8's heap snapshots: header, rows of objects and references, strings.

:mod:`memlens.packs.v8.proof_keys` decides which property names are dictionary keys, for originals only: copies lack the
constants of code that show it.
"""

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from memlens.arrays import F64, I64
from memlens.packs.v8 import proof_list
from memlens.packs.v8.proof_keys import IDENTIFIER, Properties
from memlens.packs.v8.proof_uses import (
    CLASS,
    CONTENT,
    DECLARED,
    EVERY_REASON,
    FIRST_REASON,
    NUMBER,
    NUMBERS,
    OF_EDGES,
    OF_NODES,
    ONLY,
    PATH,
    REASONS,
    REMOVED,
    REMOVED_BEGINS,
    UNDECLARED,
    WITH_PATHS,
    bit_of,
    sections,
    words_of,
)  # fmt: skip
from memlens.proof import json_stream
from memlens.proof.items import Item, Keeps, Reason, by_reason, is_long
from memlens.proof.stream import Stream

_FLAT = {
    "nodes": "node_fields", "edges": "edge_fields", "trace_function_infos": "trace_function_info_fields",
    "samples": "sample_fields", "locations": "location_fields", "scopes": "scope_fields",
    "scope_context_vars": "scope_context_var_fields", "scope_uses": "scope_use_fields",
}  # fmt: skip
_META = {
    "node_fields", "node_types", "edge_fields", "edge_types", "trace_function_info_fields", "trace_node_fields",
    "sample_fields", "location_fields", "scope_fields", "scope_context_var_fields", "scope_use_fields",
}  # fmt: skip
_HEADER = {
    "meta", "node_count", "edge_count", "root_index", "trace_function_count", "extra_native_bytes", "memlens",
    "memlens_redirected", "memlens_allocated_bytes",
}  # fmt: skip
_MOST_NUMBER = 10**12
"""Beyond sizes, lines and times: numbers of cards and accounts have more digits."""

_INDEXED = ("element", "hidden")
_RUN = 8
"""Length of the runs of names whose order is compared."""

_FIELD_NAMES = {
    "type", "name", "id", "self_size", "edge_count", "trace_node_id", "detachedness", "name_or_index", "to_node",
    "function_id", "script_name", "script_id", "line", "column", "timestamp_us", "last_assigned_id", "object_index",
    "count", "size", "children", "function_info_index", "scope_id", "depth", "scope_context_vars_count",
    "scope_uses_count", "declaring_scope_id", "slot_index", "script_node_index",
}  # fmt: skip
_FORMS = {"string", "number", "node", "string_or_number"}
_ELEMENT = re.compile(r"(?:Detached )?<(?!symbol )[\w-]+ ")
_ENTRY = re.compile(r"part of key \((.*) @\d+\) -> value \((.*) @\d+\) pair", re.DOTALL)
_LONG_NUMBER = re.compile(rb"\d{13,}")
"""A number of no allocation's size, count or place."""
_DATA = re.compile(r"(?<![\w$])data:[\w$+./-]*(?=[,;])[^,]*,(.*)", re.DOTALL)
_ENGINES = {"", "heap number", "smi number", "int", "bool", "bigint"}
"""Texts that the engine gives to all objects of a kind."""

_CLASSES = {
    "Object", "Array", "Math", "JSON", "Reflect", "Atomics", "Intl", "WebAssembly", "Module", "Generator",
    "AsyncGenerator", "Arguments", "Iterator", "console", "process", "Temporal", "Symbol", "global", "Window",
    "Array Iterator", "Map Iterator", "Set Iterator", "String Iterator", "RegExp String Iterator", "Iterator Helper",
    "Async-from-Sync Iterator",
}  # fmt: skip
_CLASSES_BEGIN = (
    "system / ", "Window / ", "Window (", "Window [", "global / ", "global (", "Object (global", "Intl.",
    "WebAssembly.",
)  # fmt: skip
"""Prefixes of class names without a function, which the engine gives to its own objects."""


def recognises(words: bytes) -> bool:
    """Return whether a file with these first bytes is a heap snapshot, by its first keys."""
    return words.startswith(b"{") and b'"snapshot"' in words and b'"meta"' in words


class V8Reader:
    """Reads one snapshot. Keeps a number per string and per object in memory."""

    def __init__(self, path: Path, keeps: Keeps) -> None:
        self._path, self._keeps = path, keeps
        self._uses = np.zeros(0, np.uint16)
        self._edge_counts: list[I64] = []
        self._counted: I64 | None = None
        self._ends = np.zeros(0, np.int64)
        self._done = 0
        self._strings_at = 0
        self._meta: dict[str, Any] = {}
        self._properties: Properties | None = None
        self._keys = np.zeros(0, np.bool_)
        self._surplus: list[Item] = []
        self._header: dict[str, Any] = {}
        self._rows = Counter[str]()
        self._indexes: list[Item] = []
        self._uncounted: list[Item] = []
        self._is_surveyed = False

    def names(self) -> Iterator[Item]:
        """The strings that name something."""
        self._survey()
        for number, (text, at, uses) in enumerate(self._strings()):
            if (
                not uses >> FIRST_REASON
                or (text.startswith(REMOVED_BEGINS) and REMOVED.fullmatch(text))
                or self._is_key(number, text, uses)
            ):
                continue
            if (reason := ONLY.get(uses & EVERY_REASON)) is not None:
                yield _name(reason, text, at)
                continue
            yield from self._named(text, uses, at)

    def _named(self, text: str, uses: int, at: int) -> Iterator[Item]:
        """The kinds of things that a string names."""
        for place, reason in enumerate(REASONS):
            if uses & 1 << FIRST_REASON + place:
                is_path = reason in WITH_PATHS and PATH.search(text)
                yield _name("files" if is_path else reason, text, at)

    def listed(self) -> Iterator[tuple[Reason, Iterable[str]]]:
        """Return what :meth:`names` does, faster, for a copy."""
        found = proof_list.listed(self._path)
        return by_reason(self.names()) if found is None else iter(found)

    def contents(self, numbers: F64 | None) -> Iterator[Item]:
        """Strings that objects have as their content, indexes beyond a count, and what the format doesn't have."""
        self._survey()
        yield from self._surplus
        yield from self._miscounted()
        for each in self._indexes:
            if numbers is None or float(each.value) in numbers:
                yield each
        yield from self._entries()
        yield from self._order(is_copy=numbers is None)
        for number, (text, at, uses) in enumerate(self._strings()):
            is_name = uses >> FIRST_REASON
            if is_name and (part := _content_within(text)):
                yield Item("text", part, text, at)
            if self._is_key(number, text, uses) and not REMOVED.fullmatch(text):
                yield Item("text", "key of an object", text, at)
            if (
                (not uses & (CONTENT | UNDECLARED | NUMBER) and is_name)
                or text in _ENGINES
                or REMOVED.fullmatch(text)
            ):
                continue
            if not uses & CONTENT and (text in _CLASSES or text.startswith(_CLASSES_BEGIN)):
                continue
            if uses & NUMBER and self._keeps.numbers and not uses & (CONTENT | UNDECLARED):
                continue
            if uses & NUMBER and _is_number(text):
                if is_long(text):
                    yield Item("number", "number", text, at)
            elif uses & NUMBER and not uses & (CONTENT | UNDECLARED):
                # the engine's own names for numbers
                continue
            else:
                place = "string" if uses & CONTENT else "name of a class that no function has"
                yield Item("text", place if uses else "string that nothing has", text, at)

    def _order(self, *, is_copy: bool) -> Iterator[Item]:
        """Yield runs of names: of a copy one after the other, of an original from any name on.

        Of a copy also yields edges whose index isn't counted in its object.
        """
        if self._keeps.shared:
            return
        if is_copy:
            yield from self._uncounted
        kept, count = deque[str](maxlen=_RUN), 0
        for number, (text, at, uses) in enumerate(self._strings()):
            if (
                not uses >> FIRST_REASON
                or text.isdigit()
                or REMOVED.fullmatch(text)
                or self._is_key(number, text, uses)
            ):
                continue
            count += 1
            kept.append(text)
            if count >= _RUN and not (is_copy and count % _RUN):
                yield Item("array", "order of texts", "\n".join(kept).encode("utf-8", "replace"), at)

    def _is_key(self, number: int, text: str, uses: int) -> bool:
        """Whether a text names only properties that don't occur in code: keys of a dictionary."""
        if uses & EVERY_REASON != bit_of("properties") or text in _ENGINES:
            return False
        if uses & CLASS and (text in _CLASSES or text.startswith(_CLASSES_BEGIN)):
            return False
        return (number < len(self._keys) and bool(self._keys[number])) or not IDENTIFIER.fullmatch(text)

    def _entries(self) -> Iterator[Item]:
        """Keys and values that are named in entries of WeakMaps, and that aren't types."""
        named = list[tuple[str, int]]()
        types = set[str]()
        for text, at, uses in self._strings():
            if uses & (bit_of("types") | bit_of("functions")):
                types.add(text)
            if found := _ENTRY.search(text):
                named += [(found[1], at), (found[2], at)]
        for text, at in named:
            if text not in types and text not in _CLASSES and not REMOVED.fullmatch(text):
                yield Item("text", "entry of a WeakMap", text, at)

    def _strings(self) -> Iterator[tuple[str, int, int]]:
        uses = self._uses
        with Stream.of(self._path) as stream:
            stream.skip(self._strings_at)
            for number, (text, at) in enumerate(json_stream.texts(stream) if self._strings_at else ()):
                yield text, at, int(uses[number]) if number < len(uses) else 0

    # ---- what uses each string ---------------------------------------------------------------------------------

    def _survey(self) -> None:
        if self._is_surveyed:
            return
        self._is_surveyed = True
        with Stream.of(self._path) as stream:
            for name in sections(stream):
                if name == "snapshot":
                    self._take_header(json_stream.value(stream), stream.offset)
                elif name == "strings":
                    self._strings_at = stream.offset
                    json_stream.skip_texts(stream)
                elif name in _FLAT:
                    fields = self._meta.get(_FLAT[name]) or ["?"]
                    for rows in json_stream.numbers(stream, len(fields)):
                        self._take_rows(name, fields, rows, stream.offset)
                else:
                    at = stream.offset
                    found = json_stream.value(stream)
                    if name != "trace_tree" or found.strip(b"[]0123456789, \n\r\t"):
                        self._surplus.append(Item("unknown", f"section {name}", found, at))
                    if name == "trace_tree":
                        long = set(_LONG_NUMBER.findall(found))
                        self._surplus += [Item("number", "trace", each.decode(), at) for each in sorted(long)]
                    else:
                        self._surplus.append(Item("text", "key of the file", name, at))
        if self._properties is not None:
            self._keys = self._properties.keys((text for text, _, _ in self._strings()), len(self._uses))
            self._properties = None
        is_class = self._uses & CLASS != 0
        is_declared = self._uses & DECLARED != 0
        has_closures = bool(is_declared.any())
        self._uses[is_class & (is_declared | (not has_closures))] |= bit_of("types")
        self._uses[is_class & ~is_declared & has_closures] |= UNDECLARED

    def _take_header(self, data: bytes, at: int) -> None:
        header: dict[str, Any] = msgspec.json.decode(data)
        meta = header.get("meta")
        self._meta = meta if isinstance(meta, dict) else {}
        self._header = header
        if not header.get("memlens"):
            types = words_of(self._meta.get("node_types"))
            self._properties = Properties(types, words_of(self._meta.get("edge_types")))
        for known, found, place in ((_HEADER, header, "header"), (_META, self._meta, "meta")):
            for key, value in found.items():
                if key not in known:
                    self._surplus.append(
                        Item("unknown", f"key {key} of the {place}", msgspec.json.encode(value), at)
                    )
                    self._surplus.append(Item("text", f"key of the {place}", key, at))
        words = _FIELD_NAMES | _FORMS | set(OF_NODES) | set(OF_EDGES) | set(_INDEXED) | set(NUMBERS)
        words |= {"string", "concatenated string", "sliced string", "regexp", "String"}
        for value in self._meta.values():
            for word in value if isinstance(value, list) else ():
                for each in word if isinstance(word, list) else (word,):
                    if isinstance(each, str) and each not in words and not REMOVED.fullmatch(each):
                        self._surplus.append(Item("text", "word of the meta", each, at))

    def _miscounted(self) -> Iterator[Item]:
        """Numbers of the header that aren't those of the rows: anything could be said there."""
        width = len(words_of(self._meta.get("node_fields")))
        for key, place, most in (
            ("node_count", "number of objects", self._rows["nodes"]),
            ("edge_count", "number of references", self._rows["edges"]),
            ("root_index", "place of the root", width * self._rows["nodes"]),
            ("trace_function_count", "number of functions", self._rows["trace_function_infos"]),
            ("extra_native_bytes", "bytes outside of the heap", _MOST_NUMBER),
        ):
            number = self._header.get(key)
            if isinstance(number, int) and number > most and is_long(str(number)):
                yield Item("number", place, str(number), 0)

    def _use(self, strings: I64, bit: int) -> None:
        if not len(strings):
            return
        most = int(strings.max()) + 1
        if most > len(self._uses):
            self._uses = np.concatenate(
                (self._uses, np.zeros(most + (most >> 1) - len(self._uses), np.uint16))
            )
        self._uses[strings[strings >= 0]] |= np.uint16(bit)

    def _take_rows(self, section: str, fields: list[str], rows: I64, at: int) -> None:
        column = {name: rows[:, place] for place, name in enumerate(fields)}
        self._rows[section] += len(rows)
        if section == "nodes":
            self._edge_counts.append(column.get("edge_count", np.zeros(len(rows), np.int64)).copy())
            if self._properties is not None:
                self._properties.take_nodes(column["type"], column["name"])
            for number, name in enumerate(words_of(self._meta.get("node_types"))):
                self._take_nodes(name, column["name"][column["type"] == number])
        elif section == "edges":
            self._take_edges(column, at)
        elif section == "trace_function_infos":
            for field, reason in (("name", "functions"), ("script_name", "files")):
                if field in column:
                    self._use(column[field], bit_of(reason))
        elif section == "scope_context_vars" and "name" in column:
            self._use(column["name"], bit_of("variables"))
        for name, found in column.items():
            for number in np.unique(found[found >= _MOST_NUMBER]).tolist():
                self._surplus.append(Item("number", f"{name} of {section}", str(number), at))
            if name not in _FIELD_NAMES and found.any():
                self._surplus.append(
                    Item("unknown", f"field {name} of {section}", found[:4096].tobytes(), at)
                )

    def _take_edges(self, column: dict[str, I64], at: int) -> None:
        kinds = column["type"]
        owners = self._owners_of(len(kinds))
        counts = self._counted[owners] if self._counted is not None and len(owners) else np.zeros(0, np.int64)
        if self._properties is not None and len(owners):
            width = len(self._meta.get("node_fields") or [1])
            self._properties.take_edges(kinds, column["name_or_index"], column["to_node"] // width, owners)
        for number, name in enumerate(words_of(self._meta.get("edge_types"))):
            chosen = kinds == number
            if name in _INDEXED:
                beyond = np.flatnonzero(chosen & (column["name_or_index"] > np.maximum(counts, 999)))
                for index in column["name_or_index"][beyond].tolist():
                    self._indexes.append(Item("number", f"index of {name}s", str(index), at))
                if len(counts):
                    uncounted = column["name_or_index"][chosen & (column["name_or_index"] >= counts)]
                    self._uncounted += [
                        Item("unknown", f"index of {name}s", str(index).encode(), at)
                        for index in uncounted[:1]
                    ]
            else:
                reason = OF_EDGES.get(name)
                self._use(column["name_or_index"][chosen], bit_of(reason) if reason else CONTENT)

    def _take_nodes(self, name: str, strings: I64) -> None:
        if name == "object":
            self._use(strings, CLASS)
        elif name in NUMBERS:
            self._use(strings, NUMBER)
        elif name in OF_NODES:
            self._use(strings, bit_of(OF_NODES[name]))
            if name in ("closure", "code"):
                self._use(strings, DECLARED)
        else:
            self._use(strings, CONTENT)

    def _owners_of(self, rows: int) -> I64:
        """Return the source of each of the next references."""
        if self._counted is None:
            self._counted = np.concatenate([np.zeros(0, np.int64), *self._edge_counts])
            self._ends = np.cumsum(self._counted)
        places = np.searchsorted(self._ends, np.arange(self._done, self._done + rows), side="right")
        self._done += rows
        return np.minimum(places, max(len(self._ends) - 1, 0))


def _is_number(text: str) -> bool:
    try:
        float(text.rstrip("n"))
    except ValueError:
        return False
    return True


def _content_within(text: str) -> str:
    """The part of a name that is content: an element's attributes, or a script inside a data URL; else empty."""
    if _ELEMENT.match(text) and not REMOVED.fullmatch(text):
        return "attributes of an element"
    found = _DATA.search(text)
    return "address that is all of a script" if found and not REMOVED.fullmatch(found[1]) else ""


def _name(reason: Reason, text: str, at: int) -> Item:
    """A name; the numbers by which the engine calls elements of its arrays are drawn for a copy."""
    return Item("drawn" if reason == "engine" and text.isdigit() else "name", reason, text, at)
