"""Dumps of apps whose names R8 or ProGuard shortened: the build's mapping.txt says what they were."""

from pathlib import Path

import pytest
from tests.python.graph_reading import edges, load, roots, type_names
from tests.python.hprof_files import INT, OBJECT, Dump

MAPPING = """\
# compiler: R8
# pg_map_id: 7ab2c91
com.shop.Session -> a.b:
# {"id":"sourceFile","fileName":"Sessions.kt"}
    com.shop.Cart cart -> a
    int visits -> b
    com.shop.Session OPEN -> c
    1:4:void add(com.shop.Cart):20:23 -> a
    5:5:void com.shop.Prices.check(int):77:77 -> a
    5:5:void add(com.shop.Cart):25 -> a
    void close() -> b
com.shop.Cart -> a.c:
com.shop.Cart$Item -> a.c$a:
    int a -> a
com.shop.Unused -> a.d:
"""


def app() -> Dump:
    """Classes ``a.b``, ``a.c`` and ``a.c$a``; a thread is in ``a.b.a``."""
    dump = Dump("1.0.3", 4)
    dump.klass(0x10, "java.lang.Object", instance_bytes=8)
    dump.klass(0x20, "java.lang.Thread", 0x10, [("name", OBJECT)], instance_bytes=12)
    dump.klass(0x40, "a.c", 0x10, [("a", OBJECT)], instance_bytes=12)
    session = [("a", OBJECT), ("b", INT)]
    dump.klass(0x30, "a.b", 0x10, session, [("c", OBJECT, 0x1000), ("limit", INT, 7)], instance_bytes=16)
    dump.klass(0x50, "a.b[]", 0x10, instance_bytes=0)
    dump.klass(0x60, "a.c$a", 0x10, [("a", INT)], instance_bytes=12)
    dump.instance(0x1000, 0x30, "Pi", 0x1040, 3)
    dump.instance(0x1040, 0x40, "P", 0x1080)
    dump.instance(0x1080, 0x60, "i", 5)
    dump.objects(0x10C0, 0x50, [0x1000])
    dump.instance(0x1100, 0x20, "P", 0)
    for number, (method, line) in enumerate([("a", 3), ("a", 5), ("b", 9), ("other", 9)]):
        texts = (dump.name(method), dump.name("()V"), dump.name("SourceFile"))
        # the class is the fourth that was loaded
        dump.record(0x04, dump.pack("PPPPIi", 70 + number, *texts, 4, line))
    dump.record(0x05, dump.pack("IIIPPPP", 12, 4, 4, 70, 71, 72, 73))
    dump.add(0x08, "PII", 0x1100, 4, 12)
    for depth in range(4):
        dump.add(0x03, "PII", 0x1000, 4, depth)
    dump.add(0x05, "P", 0x30)
    return dump


def made(folder: Path) -> Path:
    path = folder / "app.hprof"
    path.write_bytes(app().end())
    return path


@pytest.mark.parametrize("name", ["mapping.txt", "app.mapping.txt"])
def test_names_are_those_of_the_source(name: str, tmp_path: Path) -> None:
    path = made(tmp_path)
    (tmp_path / name).write_text(MAPPING)
    graph = load(path)
    assert type_names(graph)[6:] == [
        "com.shop.Session", "com.shop.Cart", "com.shop.Cart$Item", "com.shop.Session[]", "java.lang.Thread",
    ]  # fmt: skip
    ids = graph.objects.ids.tolist()
    by_id = dict(zip(ids, edges(graph), strict=True))
    assert ("field", "cart", 0x1040) in by_id[0x1000]
    # R8 doesn't list what kept its name
    assert ("field", "a", 0x1080) in by_id[0x1040]
    assert ("static field", "OPEN", 0x1000) in by_id[0x30]
    assert graph.texts[int(graph.objects.name[ids.index(0x30)])] == "com.shop.Session"
    assert graph.values is not None
    names = [graph.texts[number] for number in graph.values.name.tolist()]
    assert names == ["limit", "visits", "a", "length"], "the last of an array"
    places = {place for kind, _, _, place in roots(graph) if kind == "local variable"}
    assert places == {
        "com/shop/Sessions.kt:22", "com/shop/SourceFile:77", "com/shop/Sessions.kt:9",
    }  # fmt: skip
    functions = {frame.function for frame in graph.frames.frames if frame.line > 1}
    assert functions == {
        "com.shop.Session.add", "com.shop.Prices.check", "com.shop.Session.close", "com.shop.Session.other",
    }  # fmt: skip
    defined = {int(row["object"]): graph.frames.frames[int(row["frame"])].file for row in graph.places}
    assert defined[ids.index(0x30)] == "com/shop/Sessions.kt"
    assert defined[ids.index(0x60)] == "com/shop/Cart.java"
    assert [str(warning.message) for warning in graph.warnings if warning.code == "mapping-file"] == [
        f"Shortened names of classes, fields and methods are restored from {tmp_path / name}."
    ]


def test_of_builds_in_a_workspace_the_one_that_knows_most(tmp_path: Path) -> None:
    path = made(tmp_path)
    for variant, text in (("debug", MAPPING.partition("com.shop.Cart ->")[0]), ("release", MAPPING)):
        folder = tmp_path / "work" / "app" / "build" / "outputs" / "mapping" / variant
        folder.mkdir(parents=True)
        (folder / "mapping.txt").write_text(text)
    graph = load(path, folders=(tmp_path / "work",))
    assert "com.shop.Cart$Item" in type_names(graph)
    assert any("release" in str(warning.message) for warning in graph.warnings)
    assert "a.c$a" in type_names(load(path, folders=(tmp_path / "nowhere",)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "a -> b\n",
        "Some notes\n" + MAPPING,
        "x.Y -> z.Q:\n    int a -> b\n",
        "a.b -> a.b:\n",
        "\0" * 99,
    ],
)
def test_other_files_change_nothing(text: str, tmp_path: Path) -> None:
    path = made(tmp_path)
    plain = load(path)
    (tmp_path / "mapping.txt").write_text(text)
    graph = load(path)
    assert type_names(graph) == type_names(plain)
    assert edges(graph) == edges(plain)
    assert graph.warnings == plain.warnings


def test_numbers_and_lines_that_no_source_has(tmp_path: Path) -> None:
    long = "9" * 5_000
    sources = '"id":"sourceFile"' * 20_000
    lines = [
        "com.shop.Session -> a.b:",
        f"    1:{long}:void add(com.shop.Cart):20:23 -> a",
        f"    1:4:void close():{long} -> b",
        f"    # {{{sources}",
        "    int visits -> b",
    ]
    path = made(tmp_path)
    (tmp_path / "mapping.txt").write_text("\n".join(lines) + "\n")
    graph = load(path)
    assert "com.shop.Session" in type_names(graph)
    assert max(frame.line for frame in graph.frames.frames) < 1_000
