"""Makes large heap dumps from copies of a small one under one root, like a program with many similar parts.

A V8 snapshot is written as V8 writes it. The copies share the table of strings, but have different ids.
"""

import itertools
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import zstandard

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from memlens.packs.dotnet.tests.gcdump_files import gcdump  # noqa: E402

_AT_ONCE = 1 << 18

Rows = np.ndarray[Any, Any]


class _Base:
    """A V8 snapshot in memory."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        if path.suffix == ".zst":
            data = zstandard.ZstdDecompressor().stream_reader(data).read()
        whole = msgspec.json.decode(data)
        self.header = whole["snapshot"]
        meta = self.header["meta"]
        self.node_fields, self.edge_fields = meta["node_fields"], meta["edge_fields"]
        self.nodes = np.array(whole["nodes"], np.int64).reshape(-1, len(self.node_fields))
        self.edges = np.array(whole["edges"], np.int64).reshape(-1, len(self.edge_fields))
        self.locations = np.array(whole["locations"], np.int64).reshape(-1, len(meta["location_fields"]))
        self.location_fields = meta["location_fields"]
        self.strings = whole["strings"]


def make_snapshot(path: Path, base: Path, copies: int) -> None:
    """Write ``copies`` of the snapshot ``base`` as one, below a common root."""
    one = _Base(base)
    width = len(one.node_fields)
    of_root = int(one.nodes[0, one.node_fields.index("edge_count")])
    id_at, to_at = one.node_fields.index("id"), one.edge_fields.index("to_node")
    own, rest = one.nodes[1:], len(one.nodes) - 1
    most_id = int(one.nodes[:, id_at].max()) + 2
    root = one.nodes[0].copy()
    root[one.node_fields.index("edge_count")] = of_root * copies
    header = one.header | {"node_count": 1 + rest * copies, "edge_count": len(one.edges) * copies}

    def nodes(copy: int) -> Rows:
        moved = own.copy()
        moved[:, id_at] += most_id * copy
        return moved

    def edges(rows: Rows, copy: int) -> Rows:
        moved = rows.copy()
        moved[:, to_at] = np.where(rows[:, to_at] == 0, 0, rows[:, to_at] + rest * width * copy)
        return moved

    def locations(copy: int) -> Rows:
        moved = one.locations.copy()
        for name in ("object_index", "script_object_index"):
            if name in one.location_fields:
                moved[:, one.location_fields.index(name)] += rest * width * copy
        return moved

    with path.open("wb") as file:
        file.write(b'{"snapshot":' + msgspec.json.encode(header))
        each = range(copies)
        _write(file, "nodes", itertools.chain([root[np.newaxis]], map(nodes, each)))
        held = (edges(one.edges[:of_root], copy) for copy in each)
        _write(file, "edges", itertools.chain(held, (edges(one.edges[of_root:], copy) for copy in each)))
        for name in ("trace_function_infos", "trace_tree", "samples"):
            _write(file, name, [])
        _write(file, "locations", map(locations, each))
        file.write(b',\n"strings":' + msgspec.json.encode(one.strings) + b"}")


def _write(file: BinaryIO, section: str, parts: Iterable[Rows]) -> None:
    """Write a section with one row per line, as V8 does."""
    file.write(f',\n"{section}":['.encode())
    before = b""
    for part in parts:
        for start in range(0, len(part), _AT_ONCE):
            rows = msgspec.json.encode(part[start : start + _AT_ONCE].tolist())
            file.write(before + rows[2:-2].replace(b"],[", b"\n,"))
            before = b"\n,"
    file.write(b"]")


def make_gcdump(path: Path, objects: int) -> None:
    """Write a .gcdump of a tree of collections, with generated names and sizes."""
    types: list[tuple[str | None, int, str | None]] = [("[.NET Roots]", 0, None)]
    types += [(f"App.Model{number}.Entity", 24 + 8 * (number % 9), "App.dll") for number in range(400)]
    nodes: list[tuple[int, int | None, list[int]]] = [(0, None, list(range(1, min(objects, 50))))]
    for number in range(1, objects):
        first = 50 + (number - 1) * 4
        children = [each for each in range(first, first + 4) if each < objects]
        children += [number * 7 % objects or 1, number - number % 1000 or 1]
        nodes.append((1 + number * 2654435761 % 400, 40 + number % 64 if number % 5 == 0 else None, children))
    path.write_bytes(gcdump(types, nodes))


def make_hprof(path: Path, files: int) -> None:
    """Let a JVM dump its heap with the syntax trees of ``files`` files of its own library.

    Raises FileNotFoundError without a JDK that has its sources.
    """
    java = shutil.which("javac")
    homes = [Path(java).resolve().parents[1]] if java else []
    homes += sorted(Path("/usr/lib/jvm").glob("*"))
    home = next((each for each in homes if (each / "lib" / "src.zip").exists()), None)
    if home is None:
        raise FileNotFoundError("no JDK with lib/src.zip")
    folder = path.parent / "java"
    folder.mkdir(exist_ok=True)
    program = Path(__file__).parent / "heaps" / "Trees.java"
    subprocess.run([home / "bin" / "javac", "-d", folder, program], check=True)
    path.unlink(missing_ok=True)
    run = [home / "bin" / "java", "-Xmx4g", "-cp", folder, "Trees", home / "lib" / "src.zip", files, path]
    subprocess.run([str(each) for each in run], check=True, stdout=subprocess.DEVNULL)
