"""From objects and types of heap dumps to local lines, by the editor's requests."""

import time
from pathlib import Path
from typing import Any

import pytest
from tests.python import heap_files, hprof_files
from tests.python.graph_reading import load, type_names
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import open_view

from memlens.packs.dotnet.tests import gcdump_files
from memlens.packs.python.tests import test_python_heap
from memlens.packs.ruby.tests import ruby_files
from memlens.sources.declarations import declarations, line_of, type_name
from memlens.sources.functions import Functions
from memlens.sources.type_finder import below, searched_for

pytest_plugins = ("tests.python.server_fixtures",)


def source(server: LspClient, snapshot: str, **what: int) -> Any:
    return server.request("memlens/objectSource", {"snapshot": snapshot, **what})


@pytest.mark.slow
def test_the_line_that_allocated_an_object(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    (workspace / "app").mkdir()
    program = workspace / "app" / "cache.rb"
    program.write_text("\n" * 20)
    dump = tmp_path / "dump.json"
    dump.write_bytes(ruby_files.small())
    snapshot = open_view(server, dump)["snapshot"]
    found = source(server, snapshot, object=3)
    assert (found["relation"], found["path"], found["line"]) == ("allocation", str(program), 12)
    assert (found["file"], found["type"]) == ("app/cache.rb", "App::Cache")
    # no file is searched for the class of its type, so that this leads to the same line
    assert source(server, snapshot, type=int(load(dump).objects.type[3])) == found
    # a class of which only the name is known
    found = source(server, snapshot, object=0)
    assert (found["relation"], found["path"], found["candidates"], found["how"]) == ("type", None, [], "none")
    assert found["looked_for"] == []
    # the same when the program's folder is gone: what is searched for, and where
    program.unlink()
    found = source(server, snapshot, object=3)
    assert found["path"] is None
    assert looked_for(found, workspace) == ["app/cache.rb", "files called cache.rb"]
    for wrong in ({"object": 99}, {"type": 99}, {}):
        with pytest.raises(RpcError):
            source(server, snapshot, **wrong)


def looked_for(found: dict[str, Any], workspace: Path) -> list[str]:
    """What was looked for, without the folders, which are the workspace's and others of the same server."""
    places = found["looked_for"]
    assert places[-1].endswith(str(workspace))
    return [place.partition(" below ")[0] for place in places]


def test_a_class_of_java_by_its_name(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    dump = tmp_path / "dump.hprof"
    dump.write_bytes(hprof_files.small().end())
    opened = open_view(server, dump)["snapshot"]
    names = type_names(load(dump))
    item, name = next((item, name) for item, name in enumerate(names) if "." in name and "[" not in name)
    package, _, own = name.rpartition(".")
    outer = own.split("$", 1)[0]
    file = workspace.joinpath("src", *package.split("."), f"{outer}.java")
    file.parent.mkdir(parents=True)
    file.write_text(f"package {package};\n\n// the class\npublic class {outer} {{\n}}\n")
    found = source(server, opened, object=item)
    assert (found["relation"], found["path"], found["line"], found["type"]) == ("type", str(file), 4, name)
    # another type, without a local file
    item, name = next(
        (item, name)
        for item, name in enumerate(names)
        if "." in name and "[" not in name and not name.startswith(f"{package}.{outer}")
    )
    classes = name.rpartition(".")[2].split("$")
    found = source(server, opened, object=item)
    assert found["path"] is None
    assert looked_for(found, workspace) == [
        f"{classes[0]}.java, {classes[0]}.kt, {classes[0]}.scala or {classes[0]}.groovy",
        f"a declaration of {classes[-1]} in *.java, *.kt, *.scala or *.groovy",
    ]


LOOKED_FOR = (
    # the file, its content, the object, and the file that is searched for: the script of a closure and of a class
    ("node.heapsnapshot", heap_files.small_heap().data(), {"object": 4}, "/home/me/app/leak.js", "leak.js"),
    ("node.heapsnapshot", heap_files.small_heap().data(), {"type": 5}, "/home/me/app/leak.js", "leak.js"),
    # the line of Python that allocated a list, and that of a function's local
    ("python.memlens-heap", test_python_heap.small(), {"object": 0}, "app.py", "app.py"),
    ("python.memlens-heap", test_python_heap.small(), {"type": 1}, "app.py", "app.py"),
    # a class of .NET by its name
    ("net.gcdump", gcdump_files.small(), {"object": 3}, "Cache.cs", None),
)  # fmt: skip


@pytest.mark.slow
def test_the_file_that_was_searched_for_is_named_in_every_language(
    server: LspClient, tmp_path: Path, workspace: Path
) -> None:
    for name, data, what, first, file in LOOKED_FOR:
        dump = tmp_path / name
        if not dump.exists():
            dump.write_bytes(data)
        snapshot = open_view(server, dump)["snapshot"]
        found = source(server, snapshot, **what)
        assert (found["path"], found["how"]) == (None, "none")
        by_name = "a declaration of Cache in *.cs" if file is None else f"files called {file}"
        assert looked_for(found, workspace) == [first, by_name]


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        (
            "gcdump",
            "Shop.Session",
            ["Session.cs below /a or /b", "a declaration of Session in *.cs below /a or /b"],
        ),
        (
            "hprof",
            "shop.MainKt",
            [
                (
                    "MainKt.java, MainKt.kt, MainKt.scala, MainKt.groovy, Main.java, Main.kt, Main.scala or "
                    "Main.groovy below /a or /b"
                ),
                "a declaration of MainKt in *.java, *.kt, *.scala or *.groovy below /a or /b",
            ],
        ),
        ("hprof", "int[]", []),
        ("v8", "(array)", []),
        ("ruby", "String", []),
        ("python", "dict", []),
    ],
)
def test_the_file_that_is_searched_for_is_named(kind: str, name: str, expected: list[str]) -> None:
    assert [str(each) for each in searched_for([Path("/a"), Path("/b")], kind, name)] == expected


SHOP = """package shop;
@Stored(orders = 3)
public class Shop<T> {
    static int first = orders, last;
    // Map orders;
    private static final Map<Integer,
        byte[]> orders = new HashMap<>();
    record Order(int number, byte[] text) { int size = text.length; }
    void add() { int last; for (int orders = 0; ; ) { } }
}
"""
KOTLIN = """package shop
class Cart(val lines: MutableList<Line>) {
    private val totals: MutableMap<Int, Int> = HashMap()
}
"""


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("shop.Shop", SHOP, 3), ("shop.Shop#orders", SHOP, 7), ("shop.Shop#first", SHOP, 4),
        ("shop.Shop#last", SHOP, 4),
        ("shop.Shop$Order#text", SHOP, 8), ("shop.Shop$Order[]", SHOP, 8), ("shop.Shop#gone", SHOP, 3),
        ("shop.Shop$1#val$orders", SHOP, 3), ("shop.Other#orders", SHOP, 0), ("other.Shop#orders", SHOP, 0),
        ("shop.Cart#lines", KOTLIN, 2), ("shop.Cart#totals", KOTLIN, 3),
    ],
)  # fmt: skip
def test_types_and_fields_are_found_in_a_text(name: str, text: str, line: int) -> None:
    wanted = type_name("jfr", name)
    assert wanted is not None
    assert line_of(text, wanted) == line


def test_the_searched_folders_are_named() -> None:
    assert str(below([])) == "(no folder is open)"
    assert str(below([Path(f"/{each}") for each in "abcd"])) == "below /a, /b, /c or others"


@pytest.mark.parametrize(
    "part",
    [
        '\\"',
        "\\'",
        '"\\',
        "'\\",
        "/* ",
        '"""',
        '""" ',
        "class A {",
        "package a\n",
        "namespace a {\n",
        "{",
        "(",
        "}",
        "{a}",
    ],
)
def test_any_text_is_searched_for_declarations_in_time_by_its_size(part: str) -> None:
    text = part * (200_000 // len(part))
    started = time.process_time()
    declarations(text)
    Functions.of(f"(\n{text}")
    Functions.of(f'f"{text}"')
    assert time.process_time() - started < 4
