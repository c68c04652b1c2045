"""The texts that stay in a copy of a heap snapshot, read from the file in a fraction of the time that the copy takes.

The uses of each string are recorded by a kernel independent of the one that wrote the copy.
:mod:`memlens.packs.v8.proof` reads everything else that is needed to find contents.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from memlens.arrays import I64, U16
from memlens.kernels.readers import named_rows
from memlens.packs.v8.proof_uses import (
    CLASS,
    DECLARED,
    FIRST_REASON,
    OF_EDGES,
    OF_NODES,
    PATH,
    REASONS,
    REMOVED,
    REMOVED_BEGINS,
    WITH_PATHS,
    bit_of,
    sections,
    words_of,
)  # fmt: skip
from memlens.proof import json_stream
from memlens.proof.items import Reason
from memlens.proof.stream import Stream

_PIECE_BYTES = 1 << 20
_FIRST_STRINGS = 1 << 16
_ONLY_NUMBERS = ("samples", "locations")
_TREE = re.compile(rb"[\[\]0-9,\s]++")


def listed(path: Path) -> list[tuple[Reason, Iterable[str]]] | None:
    """The texts of a copy for each reason; None for a file in another form than ``memlens redact`` writes."""
    with Stream.of(path) as stream:
        found = _Copy()
        try:
            texts = found.read(stream)
        except json_stream.NotJsonError:
            return None
    return None if texts is None else list(found.by_reason(texts))


class _Copy:
    """One pass over a copy: its rows, then its strings."""

    def __init__(self) -> None:
        self._uses: U16 = np.zeros(_FIRST_STRINGS, np.uint16)
        self._meta: dict[str, Any] = {}

    def read(self, stream: Stream) -> list[str] | None:
        """Record the uses of each string, and return the strings; None for a file in another form."""
        for name in sections(stream):
            if name == "snapshot":
                header: dict[str, Any] = msgspec.json.decode(json_stream.value(stream))
                if not header.get("memlens"):
                    return None
                self._meta = header["meta"]
            elif name == "nodes":
                types = words_of(self._meta["node_types"])
                self._take(stream, self._meta["node_fields"], "name", [_of_nodes(each) for each in types])
            elif name == "edges":
                reasons = map(OF_EDGES.get, words_of(self._meta["edge_types"]))
                bits = [bit_of(reason) if reason else 0 for reason in reasons]
                self._take(stream, self._meta["edge_fields"], "name_or_index", bits)
            elif name == "trace_function_infos":
                fields = self._meta["trace_function_info_fields"]
                for rows in json_stream.numbers(stream, len(fields)):
                    self._use(rows[:, fields.index("name")], bit_of("functions"))
                    self._use(rows[:, fields.index("script_name")], bit_of("files"))
            elif name in _ONLY_NUMBERS:
                self._take(stream, ["type"], "type", [])
            elif name == "trace_tree":
                while (data := stream.peek(_PIECE_BYTES)) and (tree := _TREE.match(data)):
                    stream.skip(tree.end())
            else:
                return _strings(stream) if name == "strings" else None
        return None

    def by_reason(self, texts: list[str]) -> Iterator[tuple[Reason, Iterable[str]]]:
        """The texts for each reason, without the replacements of removed ones."""
        uses = self._uses
        is_class, is_declared = uses & CLASS != 0, uses & DECLARED != 0
        uses[is_class & (is_declared | (not is_declared.any()))] |= bit_of("types")
        named = np.flatnonzero(uses >> FIRST_REASON)
        stays = np.zeros(len(uses), np.bool_)
        stays[[number for number in named.tolist() if not _is_removed(texts[number])]] = True
        for reason in REASONS:
            found = [
                texts[number] for number in np.flatnonzero(stays & (uses & bit_of(reason) != 0)).tolist()
            ]
            if reason in WITH_PATHS:
                paths = {text for text in found if ("/" in text or ":" in text) and PATH.search(text)}
                yield "files", paths
                found = [text for text in found if text not in paths]
            yield reason, found

    def _take(self, stream: Stream, fields: list[str], name: str, bits: list[int]) -> None:
        json_stream.expect(stream, b"[")
        places = (fields.index("type"), fields.index(name))
        rows = named_rows.Rows(len(fields), *places, np.array(bits, np.uint16))
        while rows.status != named_rows.ENDED:
            data = stream.peek(_PIECE_BYTES)
            stream.skip(rows.take(data, self._uses))
            if rows.status == named_rows.FULL:
                self._make_room(rows.needed)
            elif rows.status == named_rows.BROKEN or not data:
                raise json_stream.failure(stream)

    def _use(self, strings: I64, bit: int) -> None:
        self._make_room(int(strings.max(initial=0)))
        self._uses[strings] |= np.uint16(bit)

    def _make_room(self, most: int) -> None:
        if most >= len(self._uses):
            more = np.zeros(most + (most >> 1) - len(self._uses) + 1, np.uint16)
            self._uses = np.concatenate((self._uses, more))


def _is_removed(text: str) -> bool:
    return text.startswith(REMOVED_BEGINS) and REMOVED.fullmatch(text) is not None


def _of_nodes(name: str) -> int:
    if name == "object":
        return CLASS
    reason = OF_NODES.get(name)
    return (bit_of(reason) if reason else 0) | (DECLARED if name in ("closure", "code") else 0)


def _strings(stream: Stream) -> list[str] | None:
    """The last section, which has a string in each line."""
    json_stream.next_byte(stream)
    data = b"".join(iter(lambda: stream.some(_PIECE_BYTES), b"")).rstrip()
    if not data.startswith(b'["') or not data.endswith(b'"]}'):
        return None
    try:
        return msgspec.json.decode(data[:-1], type=list[str])
    except ValueError:
        # an unpaired surrogate
        return [json_stream.unquoted(line) for line in data[2:-3].split(b'",\n"')]
