"""Files of JSON that a tool has rewritten read the same, and what can't be read is refused for what it is."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.python import recordings
from tests.python.graph_reading import edges, type_names
from tests.python.tries import tries

from memlens.errors import MemlensError
from memlens.formats import read
from memlens.formats.containers import open_source
from memlens.model.graph import Graph
from memlens.model.profile import Profile
from memlens.model.timeline import Timeline

PROFILES = Path(__file__).parents[1] / "fixtures/profiles"
HEAPS = Path(__file__).parents[1] / "fixtures/heap"

V8 = {
    "snapshot": {
        "meta": {
            "node_fields": ["type", "name", "id", "self_size", "edge_count", "detachedness"],
            "node_types": [["hidden", "object"], "string", "number", "number", "number", "number"],
            "edge_fields": ["type", "name_or_index", "to_node"],
            "edge_types": [["element", "property"], "string_or_number", "node"],
            "location_fields": ["object_index", "script_id", "line", "column"],
        },
        "node_count": 2,
        "edge_count": 2,
    },
    "nodes": [1, 0, 1, 16, 2, 0, 1, 1, 3, 1000, 0, 0],
    "edges": [0, 7, 6, 1, 1, 6],
    "locations": [6, 5, 10, 20],
    "strings": ["root", "näme"],
}
SAMPLING = {
    "head": {
        "callFrame": {
            "functionName": "(root)",
            "scriptId": "0",
            "url": "",
            "lineNumber": -1,
            "columnNumber": -1,
        },
        "selfSize": 0,
        "id": 1,
        "children": [
            {
                "callFrame": {"functionName": "fü", "url": "a.js", "lineNumber": 3, "columnNumber": 1},
                "selfSize": 4096,
                "id": 2,
                "children": [],
            }
        ],
    },
    "samples": [{"size": 4096, "nodeId": 2, "ordinal": 1}],
}
TORCH = {
    "segments": [
        {
            "device": 0, "address": 4096, "total_size": 2097152, "allocated_size": 512, "active_size": 512,
            "stream": 0, "segment_type": "small",
            "blocks": [{"size": 512, "requested_size": 500, "address": 4096, "state": "active_allocated",
                        "frames": [{"filename": "ä.py", "line": 3, "name": "f"}]},
                       {"size": 2096640, "address": 4608, "state": "inactive", "frames": []}],
        }
    ],
    "device_traces": [[{"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "time_us": 5,
                        "frames": [{"filename": "ä.py", "line": 3, "name": "f"}]}]],
}  # fmt: skip
RUBY = [
    {"type": "ROOT", "root": "vm", "references": ["0x7f01", "0x7f02"]},
    {"address": "0x7f01", "type": "CLASS", "class": "0x7f01", "name": "Sessiön", "references": [], "memsize": 500},
    {
        "address": "0x7f02", "type": "OBJECT", "class": "0x7f01", "references": ["0x7f01"], "memsize": 40,
        "file": "/app/ä.rb", "line": 7, "method": "add", "generation": 3, "flags": {"wb_protected": True, "old": True},
    },
]  # fmt: skip
FILES: dict[str, Any] = {
    "dhat": json.loads((PROFILES / "ledger.dhat.json").read_bytes()),
    "v8": V8,
    "sampling": SAMPLING,
    "torch": TORCH,
}
STYLES: dict[str, Callable[[Any], bytes]] = {
    "compact": lambda item: json.dumps(item, separators=(",", ":")).encode(),
    "plain": lambda item: json.dumps(item).encode(),
    "indented": lambda item: json.dumps(item, indent=2).encode(),
    "sorted": lambda item: json.dumps(item, sort_keys=True).encode(),
    "sorted and indented": lambda item: json.dumps(item, sort_keys=True, indent="\t").encode(),
    "reversed": lambda item: json.dumps(_reversed(item)).encode(),
    "unicode": lambda item: json.dumps(item, ensure_ascii=False).encode(),
    "of Windows": lambda item: (
        json.dumps(item, indent=1, ensure_ascii=False).replace("\n", "\r\n").encode("utf-8-sig")
    ),
    "of PowerShell": lambda item: json.dumps(item, ensure_ascii=False).encode("utf-16"),
    "after blanks": lambda item: b"\n \t" + json.dumps(item).encode() + b"\n\n",
}


def _reversed(item: Any) -> Any:
    """Turn the order of all keys around."""
    if isinstance(item, dict):
        return {key: _reversed(value) for key, value in reversed(item.items())}
    return [_reversed(each) for each in item] if isinstance(item, list) else item


def loaded(path: Path) -> Graph | Profile | Timeline:
    """Read a file as the ingest does."""
    with open_source(path, path.parent, lambda *_: None) as source:
        return read(source, path.parent, lambda *_: None)


def essence(model: Graph | Profile | Timeline) -> Any:
    """Return what must be equal whatever wrote the JSON."""
    match model:
        case Graph():
            figures = (
                model.objects.ids.tolist(),
                model.objects.shallow.tolist(),
                model.roots["object"].tolist(),
            )
            return type_names(model), edges(model), *figures, [*map(str, model.frames.frames)]
        case Profile():
            values = [column.tolist() for column in model.values]
            return [each.name for each in model.value_types], values, [*map(str, model.frames.frames)]
        case Timeline():
            return [str(each) for each in model.devices], [*map(str, model.frames.frames)]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("kind", FILES)
def test_rewritten_files_read_the_same(tmp_path: Path, kind: str, style: str) -> None:
    plain, other = tmp_path / "plain", tmp_path / "other"
    plain.write_bytes(STYLES["compact"](FILES[kind]))
    other.write_bytes(STYLES[style](FILES[kind]))
    first, second = loaded(plain), loaded(other)
    assert type(first) is type(second)
    assert essence(first) == essence(second)


RUBY_STYLES: dict[str, Callable[[list[Any]], bytes]] = {
    "blanks": lambda rows: b"".join(json.dumps(row).encode() + b"\n" for row in rows),
    "sorted": lambda rows: b"".join(json.dumps(row, sort_keys=True).encode() + b"\n" for row in rows),
    "unicode": lambda rows: b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\r\n" for row in rows),
    "indented": lambda rows: b"".join(json.dumps(row, indent=2).encode() + b"\n" for row in rows),
    "a list": lambda rows: json.dumps(rows).encode(),
    "an indented list": lambda rows: json.dumps(rows, indent=2, sort_keys=True).encode(),
    "a list of lines": lambda rows: b"[" + b",\n".join(json.dumps(row).encode() for row in rows) + b"]\n",
    "of PowerShell": lambda rows: "\n".join(json.dumps(row) for row in rows).encode("utf-16"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "style"),
    [
        *(("small", style) for style in RUBY_STYLES),
        ("sessions", "indented"),
        *(
            pytest.param("sessions", style, marks=pytest.mark.nightly)
            for style in RUBY_STYLES
            if style != "indented"
        ),
    ],
)
def test_rewritten_dumps_of_ruby_read_the_same(tmp_path: Path, source: str, style: str) -> None:
    rows = RUBY
    if source == "sessions":
        lines = zstandard.decompress(recordings.RUBY.read_bytes()).splitlines()
        rows = [json.loads(line) for line in lines]
    plain, other = tmp_path / "plain", tmp_path / "other"
    plain.write_bytes(b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows))
    other.write_bytes(RUBY_STYLES[style](rows))
    assert essence(loaded(plain)) == essence(loaded(other))


ODD: dict[str, Any] = {
    "null": None, "negative": -5, "fraction": 1.5, "exponent": 1e30, "huge": 10**40, "minus huge": -(10**40),
    "not a number": float("nan"), "infinite": float("inf"), "text": "x", "list": [], "dict": {}, "true": True,
    "surrogate": "\ud800",
}  # fmt: skip


def places(item: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all values, of equal items of a list the first few."""
    if path:
        yield path
    if isinstance(item, dict):
        for key, value in item.items():
            yield from places(value, (*path, key))
    elif isinstance(item, list):
        for number, value in enumerate(item[:13]):
            yield from places(value, (*path, number))


def replaced(item: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a copy with another value at a place."""
    if not path:
        return value
    changed = dict(item) if isinstance(item, dict) else list(item)
    changed[path[0]] = replaced(item[path[0]], path[1:], value)
    return changed


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*FILES, "ruby"])
def test_odd_values_are_never_called_invalid_json(tmp_path: Path, kind: str) -> None:
    """Each value of each file replaced by what JSON may have there: it reads, or the refusal says what isn't right."""
    file = tmp_path / "file"
    whole: Any = RUBY if kind == "ruby" else FILES[kind]
    if kind == "dhat":
        whole = {**whole, "pps": whole["pps"][:2]}
    others = {
        "dhat": "heap snapshot|PyTorch|torch|sampling|Ruby", "v8": "DHAT|PyTorch|torch|sampling|Ruby",
        "sampling": "DHAT|PyTorch|torch|snapshot of V8|Ruby", "torch": "DHAT|V8|Ruby",
        "ruby": "DHAT|V8|PyTorch|torch",
    }[kind]  # fmt: skip
    count, values = 0, [*ODD.values()]
    for number, path in enumerate(places(whole)):
        if kind == "ruby" and len(path) == 1:
            continue  # a line without an object
        # each in turn, unless all are tried
        for value in (values[(number + each) % len(values)] for each in range(tries(len(values)))):
            item = replaced(whole, path, value)
            data = (
                b"".join(json.dumps(row).encode() + b"\n" for row in item)
                if kind == "ruby"
                else json.dumps(item).encode()
            )
            file.write_bytes(data)
            count += 1
            try:
                loaded(file)
            except MemlensError as error:
                said = str(error.message)
                assert not re.search("valid JSON|malformed|not JSON", said), (path, value, said)
                if "not of a format that Memlens reads" not in said:
                    assert not re.search(others, said), (path, value, said)
    assert count > 15 * tries(len(values))


def test_what_v8_writes_with_a_sign_is_read_without(tmp_path: Path) -> None:
    """Node.js 24 writes the index of an element above 2**31 as a negative number."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(json.dumps(replaced(V8, ("edges", 1), -271510507)))
    second.write_text(json.dumps(replaced(V8, ("edges", 1), (1 << 32) - 271510507)))
    graph = loaded(first)
    assert isinstance(graph, Graph)
    assert essence(graph) == essence(loaded(second))
    assert ("element", "4023456789", 3) in edges(graph)[0]


REFUSED = [
    ("v8", ("nodes", 3), "-16", "The file is JSON, but -16 is not what a heap snapshot of V8 has here"),
    ("v8", ("nodes", 3), "1.5", "The file is JSON, but 1.5 is not what a heap snapshot of V8 has here"),
    ("v8", ("edges", 2), "null", "The file is JSON, but null is not what a heap snapshot of V8 has here"),
    ("v8", ("strings", 1), "7", "The file is JSON, but 7 is not what a heap snapshot of V8 has here"),
    ("dhat", ("pps", 0, "tb"), "1e5", "The field 'tb' of a program point is missing or invalid"),
    ("dhat", ("pid",), "1.5", "The file's header is not DHAT's: Expected `int`, got `float` - at `$.pid`"),
    ("sampling", ("head", "children", 0, "selfSize"), '"x"', "The file is not a sampling heap profile of V8"),
]


@pytest.mark.parametrize(("kind", "path", "token", "said"), REFUSED)
def test_refusals_say_where(tmp_path: Path, kind: str, path: tuple[Any, ...], token: str, said: str) -> None:
    file = tmp_path / "file"
    file.write_text(json.dumps(replaced(FILES[kind], path, "HERE")).replace('"HERE"', token))
    with pytest.raises(MemlensError) as caught:
        loaded(file)
    assert str(caught.value.message).startswith(said)
    where = json.dumps(replaced(FILES[kind], path, "HERE")).index('"HERE"')
    assert caught.value.offset == where


OTHERS = {
    '{"resourceProfiles": []}': "it is a profile of OpenTelemetry",
    '{"nodes":[{"id":1,"callFrame":{}}],"startTime":5}': "it is a CPU profile of V8",
    '{"a": 1, "b": [2], "c": {}, "d": 4}': "it is JSON, and its first keys are a, b, c",
    "[1, 2]": "it is JSON without keys that Memlens knows",
    '[{"ph": "X", "ts": 5}]': "it is a trace of events over time",
    '{"a": 1': "it begins like JSON, but is not",
    "[section]\nkey = 5\n": "it begins like JSON, but is not",
}


@pytest.mark.parametrize("text", OTHERS)
def test_other_json_is_called_what_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "file"
    file.write_text(text)
    with pytest.raises(MemlensError) as caught:
        loaded(file)
    assert f"The file is not of a format that Memlens reads: {OTHERS[text]}" in str(caught.value.message)
    assert "torch.cuda" not in str(caught.value)
