"""Source maps of bundled scripts: a real bundle made by esbuild, and maps that are invalid in every way."""

import base64
import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.python.conftest import ROOT
from tests.python.graph_reading import load, type_names
from tests.python.systems import needs_posix

from memlens.model.graph import Graph
from memlens.packs.v8.kernels.source_map import segments
from memlens.packs.v8.source_maps import MOST_BYTES, SourceMap, SourceMaps

ESBUILD = ROOT / "node_modules" / ".bin" / "esbuild"
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

SOURCE = """\
import { writeHeapSnapshot } from 'node:v8';

interface Visit { page: number }

class Session {
  visits: Visit[] = [];
  constructor(readonly user: string) {}
}

function keeper(session: Session) {
  return function report(): number {
    return session.visits.length;
  };
}

const kept = [new Session('a'), new Session('b')];
(globalThis as any).kept = { kept, report: keeper(kept[0]!) };
writeHeapSnapshot(process.argv[2]);
"""


def vlq(*numbers: int) -> str:
    """Numbers in the standard's encoding."""
    out = ""
    for number in numbers:
        rest = -number << 1 | 1 if number < 0 else number << 1
        while True:
            bits, rest = rest & 31, rest >> 5
            out += _DIGITS[bits | (32 if rest else 0)]
            if not rest:
                break
    return out


def map_file(mappings: str, *sources: str, **more: Any) -> str:
    return json.dumps({"version": 3, "sources": sources, "names": [], "mappings": mappings, **more})


def bundle(folder: Path, *, inline: bool) -> Path:
    """Bundle SOURCE into one line, and run it; returns its heap dump."""
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.ts").write_text(SOURCE)
    kind = "inline" if inline else "linked"
    options = [f"--sourcemap={kind}", "--bundle", "--minify-whitespace", "--platform=node"]
    subprocess.run([ESBUILD, "src/app.ts", *options, "--outfile=dist/app.js"], cwd=folder, check=True,
                   capture_output=True)  # fmt: skip
    dump = folder / "app.heapsnapshot"
    subprocess.run(["node", folder / "dist" / "app.js", dump], check=True)
    return dump


def places(graph: Graph, name: str) -> set[tuple[str, int]]:
    """Files and lines of the objects of a type, or of the functions of a name."""
    types, texts = type_names(graph), graph.objects.name.tolist()
    found = set()
    for number, frame in graph.places.tolist():
        if name in (types[number], graph.texts[texts[number]]):
            row = graph.frames.frames[frame]
            found.add((Path(row.file).name, row.line))
    return found


def line_of(text: str) -> int:
    return 1 + next(number for number, line in enumerate(SOURCE.splitlines()) if text in line)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("node") or not ESBUILD.exists(), reason="needs Node.js and esbuild")
@pytest.mark.parametrize("inline", [False, True])
def test_a_bundle_of_esbuild_leads_to_typescript(tmp_path: Path, inline: bool) -> None:
    dump = bundle(tmp_path / "there", inline=inline)
    graph = load(dump)
    assert (tmp_path / "there" / "dist" / "app.js").read_text().count("\n") <= 3
    assert places(graph, "Session") == {("app.ts", line_of("constructor"))}
    assert places(graph, "report") == {("app.ts", line_of("function report"))}
    assert [warning.code for warning in graph.warnings] == ["source-maps"]
    (frame,) = {row.file for row in graph.frames.frames if row.file.endswith("app.ts")}
    assert frame == str(tmp_path / "there" / "src" / "app.ts")
    if inline:
        return
    # the program ran on another machine, and the workspace has its script
    shutil.move(tmp_path / "there" / "dist", tmp_path / "workspace" / "dist")
    assert places(load(dump), "report") == {("app.js", 1)}
    assert places(load(dump, folders=(tmp_path / "workspace",)), "report") == {
        ("app.ts", line_of("function report"))
    }


def test_segments_of_generated_mappings() -> None:
    """Against a plain decoder, with negative differences, long numbers and segments without an original."""
    draw = random.Random(4)
    for _ in range(200):
        state, text, expected = [0] * 5, "", []
        for line in range(draw.randrange(1, 6)):
            state[0], parts = 0, []
            for _ in range(draw.randrange(4)):
                fields = draw.choice((1, 4, 5))
                fresh = [state[0] + draw.randrange(1 << 20), draw.randrange(3), draw.randrange(1 << 30), 5, 2]
                parts.append(vlq(*(fresh[each] - state[each] for each in range(fields))))
                state[:fields] = fresh[:fields]
                own = (state[1] + 1, state[2]) if fields > 1 else (0, 0)
                expected += [line, state[0], *own]
            text += ",".join(parts) + ";"
        rows = segments(text[:-1].encode(), 3)
        assert rows is not None
        assert list(memoryview(rows).cast("B").cast("I")) == expected


@pytest.mark.parametrize(
    "mappings",
    ["!", "A", "AA", "AAA", "AAAAAA", "AAAAAAA", "ADAA", "AACA", "AAAD", "gggggggggggggA", "g", "AEAA", "é"],
)
def test_invalid_mappings_are_ignored(mappings: str, tmp_path: Path) -> None:
    script = tmp_path / "a.js"
    script.write_text("code")
    Path(f"{script}.map").write_text(map_file(mappings, "a.ts"))
    found = SourceMaps().of(str(script))
    assert (found is not None) == (mappings in ("A", "AACA"))
    assert found is None or found.original(0, 9) == {"A": None, "AACA": (str(tmp_path / "a.ts"), 2)}[mappings]


def test_where_a_map_is_searched_for(tmp_path: Path) -> None:
    text = map_file("AAAA", "../src/a.ts")
    script = tmp_path / "dist" / "a.js"
    script.parent.mkdir()

    def found(code: str, file: str | None = None, name: str = str(script)) -> SourceMap | None:
        script.write_text(code)
        for old in script.parent.glob("*.map"):
            old.unlink()
        if file is not None:
            (script.parent / file).write_text(text)
        return SourceMaps().of(name)

    encoded = base64.b64encode(text.encode() + b" " * 9_000).decode()
    original = (str(tmp_path / "src" / "a.ts"), 1)
    for mapped in (
        found("code", "a.js.map"),
        found("code\n//# sourceMappingURL=other.map\n", "other.map"),
        found(f"code\n//# sourceMappingURL=data:application/json;base64,{encoded}"),
    ):
        assert mapped is not None
        assert mapped.original(0, 5) == original
        assert mapped.original(1, 0) is None
    secret = tmp_path / "secret.map"
    secret.write_text(text)
    for url in ("../secret.map", str(secret), f"file://{secret}", "https://example.com/a.map", "data:,x",
                "data:application/json;base64,!!", "nowhere.map", "."):  # fmt: skip
        assert found(f"code\n//# sourceMappingURL={url}") is None, url
    for name in (
        "",
        "a.js",
        "//host/a.js",
        "node:fs",
        "https://example.com/a.js",
        "/\0",
        str(tmp_path),
        "/dev/zero",
    ):
        assert found("code", "a.js.map", name) is None, name


@needs_posix
def test_maps_that_no_bundler_writes(tmp_path: Path) -> None:
    script, path = tmp_path / "a.js", tmp_path / "a.js.map"
    script.write_text("code")
    for text in ("", "[]", "{", "null", '{"version": 2}', map_file("", "a"), "[" * 100_000, map_file("AAAA") + "x",
                 json.dumps({"version": 3, "sources": "a", "mappings": "AAAA"})):  # fmt: skip
        path.write_text(text)
        assert SourceMaps().of(str(script)) is None, text[:50]
    os.truncate(path, MOST_BYTES + 1)
    assert SourceMaps().of(str(script)) is None
    path.unlink()
    os.mkfifo(path)
    assert SourceMaps().of(str(script)) is None


def test_maps_in_sections(tmp_path: Path) -> None:
    """Two bundles in one script, the second in the middle of its third line."""
    script, path = tmp_path / "a.js", tmp_path / "a.js.map"
    script.write_text("code")

    def section(line: int, column: int, *segments_of_lines: str, **more: Any) -> dict[str, Any]:
        own = json.loads(map_file(";".join(segments_of_lines), "one.ts", "two.ts", **more))
        return {"offset": {"line": line, "column": column}, "map": own}

    def found(*sections: dict[str, Any], version: int = 3) -> SourceMap | None:
        path.write_text(json.dumps({"version": version, "sections": sections}))
        return SourceMaps().of(str(script))

    first = section(0, 0, vlq(0, 0, 6, 0), "", vlq(4, 1, 2, 0))
    second = section(2, 10, vlq(5, 1, 1, 0), vlq(3, 0, 1, 0), sourceRoot="lib")
    mapped = found(first, second)
    assert mapped is not None
    one, two = str(tmp_path / "one.ts"), str(tmp_path / "two.ts")
    lib_two = str(tmp_path / "lib" / "two.ts")
    for place, expected in {
        (0, 0): (one, 7), (0, 900): (one, 7), (1, 0): None, (2, 3): None, (2, 4): (two, 9), (2, 9): (two, 9),
        # the section has begun, but has no mapping yet
        (2, 14): None, (2, 15): (lib_two, 2), (3, 2): None, (3, 3): (lib_two, 3),
    }.items():  # fmt: skip
        assert mapped.original(*place) == expected, place
    wrong = section(2, 0, "!")
    beyond = section(2**31, 0, "AAAA")
    url = {"offset": {"line": 0, "column": 0}, "url": "other.map"}
    for each in (wrong, beyond, section(-1, 0, "AAAA"), section(0, 2**31 - 1, "CAAA"), url):
        assert found(first, each) is None
    assert found() is None
    assert found(first, version=2) is None
    assert found(*[first] * 10_001) is None


def test_paths_of_sources(tmp_path: Path) -> None:
    script = tmp_path / "a.js"
    script.write_text("code")
    for source, root, expected in (
        ("webpack://shop/./src/b.ts", None, "src/b.ts"),
        ("webpack:///../../src/b.ts", None, "src/b.ts"),
        ("b.ts", "lib/", str(tmp_path / "lib" / "b.ts")),
        ("file:///x/b%20c.ts", None, "/x/b c.ts"),
        ("/y/b.ts", None, "/y/b.ts"),
    ):
        more = {} if root is None else {"sourceRoot": root}
        Path(f"{script}.map").write_text(map_file("AAAA", source, **more))
        mapped = SourceMaps().of(str(script))
        assert mapped is not None
        assert mapped.original(0, 0) == (expected, 1)


def test_scripts_of_a_server_of_this_machine(tmp_path: Path) -> None:
    """They are looked for in the workspace by their path; another machine's may be another version of the same name."""
    script = tmp_path / "dist" / "a b.js"
    script.parent.mkdir()
    script.write_text("code")
    maps = SourceMaps((tmp_path,))
    for source, expected in (
        ("../src/a.ts", "http://localhost:8080/src/a.ts"), ("/src/a.ts", "http://localhost:8080/src/a.ts"),
        ("webpack://shop/./src/b.ts", "src/b.ts"), ("//[x/a.ts", ""),
    ):  # fmt: skip
        Path(f"{script}.map").write_text(map_file("AAAA", source))
        mapped = SourceMaps((tmp_path,)).of("http://localhost:8080/dist/a%20b.js?v=1#x")
        assert mapped is not None
        assert mapped.original(0, 0) == ((expected, 1) if expected else None)
    assert maps.of("https://127.0.0.1/app/dist/a%20b.js") is not None
    for url in (
        "http://localhost/%2e%2e/dist/a%20b.js", "http://[::1]/a%20b.js", "http://localhost/%00", "http://localhost",
        "http://[/dist/a.js", "ftp://localhost/dist/a%20b.js", "https://example.com/dist/a%20b.js",
        "http://localhost.example.com/dist/a%20b.js",
    ):  # fmt: skip
        assert maps.of(url) is None, url
