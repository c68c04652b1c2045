"""Writes heap dumps of Ruby with what the recordings lack, and has an independent reader, line by line."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import zstandard

FIXTURES = Path(__file__).parent
RECORDED = FIXTURES / "sessions.ruby.json.zst"


def line(address: int, kind: str, references: Iterable[int] = (), **more: Any) -> bytes:
    """An object's line as Ruby writes it."""
    named = {name: hex(value) if name in ("class", "superclass") else value for name, value in more.items()}
    row: dict[str, Any] = {"address": hex(address), "type": kind, **named}
    targets = [hex(target) for target in references]
    if targets:
        row["references"] = targets
    return msgspec.json.encode({"memsize": 40, **row})


def made(*lines: bytes) -> bytes:
    """A whole file; an object's line begins with its address."""
    ordered = [text if text.startswith(b'{"type":"ROOT"') else _address_first(text) for text in lines]
    return b"".join(text + b"\n" for text in ordered)


def _address_first(text: bytes) -> bytes:
    row = msgspec.json.decode(text)
    first = {"address": row.pop("address"), "type": row.pop("type")}
    return msgspec.json.encode(first | row)


def root(category: str, *references: int) -> bytes:
    return msgspec.json.encode(
        {"type": "ROOT", "root": category, "references": [hex(each) for each in references]}
    )


CLASS, SINGLETON, STRING_CLASS, OBJECT, TEXT, INTERNAL, LOST = (0x7F00_0000_0000 + 40 * n for n in range(7))


def small() -> bytes:
    """A heap with some of everything."""
    return made(
        root("vm", CLASS, STRING_CLASS), root("machine_context", OBJECT, OBJECT, LOST + 40),
        line(CLASS, "CLASS", [STRING_CLASS], name="App::Cache", memsize=500),
        line(SINGLETON, "CLASS", [CLASS], superclass=CLASS, singleton=True, real_class_name="App::Cache", memsize=400),
        line(STRING_CLASS, "CLASS", name="String", memsize=600),
        line(OBJECT, "OBJECT", [TEXT, INTERNAL, OBJECT], **{"class": SINGLETON}, ivars=3, file="app/cache.rb", line=12,
             method="initialize", generation=7, memsize=80, flags={"wb_protected": True, "old": True}),
        line(TEXT, "STRING", [], **{"class": STRING_CLASS}, embedded=True, bytesize=11, capacity=23,
             value='a "b"\n\u00e9\U0001f600', file="app/cache.rb", line=13, generation=8, frozen=True),
        line(INTERNAL, "IMEMO", [TEXT], imemo_type="iseq", memsize=1_000),
        line(LOST, "ARRAY", [TEXT], length=2, shared=True, memsize=40),
    )  # fmt: skip


class Row(NamedTuple):
    """An object as its line has it, with only those references whose targets are in the file."""

    address: int
    internal: str
    memsize: int
    references: list[int]
    name: str
    place: tuple[str, int] | None
    fields: dict[str, int]


def read_again(data: bytes) -> tuple[dict[int, Row], set[tuple[str, int]]]:
    """The objects by address, and the roots: an independent reading, for dumps without damage."""
    rows, roots = [], set()
    for text in data.splitlines():
        row = msgspec.json.decode(text)
        if row["type"] == "ROOT":
            roots |= {(row["root"], int(each, 16)) for each in row["references"]}
        else:
            rows.append(row)
    known = {int(row["address"], 16) for row in rows}
    found = {}
    for row in rows:
        targets = [row["class"]] if "class" in row else []
        targets += row.get("references", [])
        name = row.get("value", row.get("name", row.get("real_class_name", "")))
        found[int(row["address"], 16)] = Row(
            int(row["address"], 16), row["type"], row.get("memsize", 0),
            [int(each, 16) for each in targets if int(each, 16) in known], name if isinstance(name, str) else "",
            (row["file"], row["line"]) if "file" in row else None,
            {key: row[key] for key in ("generation", "length", "size", "bytesize", "capacity") if key in row},
        )  # fmt: skip
    return found, {(category, address) for category, address in roots if address in known}


def recorded() -> bytes:
    return zstandard.decompress(RECORDED.read_bytes())
