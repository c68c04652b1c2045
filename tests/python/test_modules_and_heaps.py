"""``module:`` and ``heap:`` in filters and as columns of SQL, and that a type has one name in all tables."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.python.conftest import real_heaps
from tests.python.graphs import attached, random_graph, rooted
from tests.python.heap_archives import archived
from tests.python.heap_files import heap_of
from tests.python.hprof_files import BYTE, OBJECT, Dump
from tests.python.recordings import DOTNET, JAVA, LEAK

from memlens.errors import BadRequestError, MemlensError
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.store.tables import fill as tables
from memlens.views.heap.filters import filters
from memlens.views.heap.objects.rows import type_names
from memlens.views.sql.query import SqlSession

Asked = Callable[[str], list[tuple[Any, ...]]]


def programs() -> bytes:
    """Two loaders that have a class of one name, one with a name of its own, and what the bootstrap loader has."""
    dump = Dump()
    dump.klass(0x10, "java/lang/Object")
    dump.klass(0x20, "java/lang/ClassLoader", 0x10)
    dump.klass(0x30, "web/Loader", 0x20)
    for loader in (0x1000, 0x1010):
        dump.instance(loader, 0x30)
    dump.klass(0x40, "com/example/Twin", 0x10, [("other", OBJECT)], loader=0x1000)
    dump.klass(0x50, "com/example/Twin", 0x10, [("other", OBJECT)], loader=0x1010)
    dump.klass(0x60, "com/example/Own", 0x10, [("twin", OBJECT)], loader=0x1010)
    dump.instance(0x2000, 0x40, "P", 0x2100)
    dump.instance(0x2010, 0x40, "P", 0)
    dump.instance(0x2100, 0x50, "P", 0x2010)
    dump.instance(0x2200, 0x60, "P", 0x2000)
    dump.numbers(0x3000, BYTE, b"12")
    # of a class that the file doesn't have
    dump.instance(0x3100, 0x999)
    for number in (0x1000, 0x1010, 0x2200, 0x3000, 0x3100):
        dump.add(0xFF, "P", number)
    return dump.end()


def android() -> bytes:
    dump = Dump("1.0.3", 4)
    dump.klass(16, "java.lang.Object", instance_bytes=8)
    for number, heap in ((65, "app"), (90, "zygote"), (73, "image"), (65, "app")):
        dump.add(0xFE, "IP", number, dump.name(heap))
        dump.instance(1024 * number + len(dump.heap) * 8, 16)
    return dump.end()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[bytes | Path], tuple[Snapshot, Asked]]]:
    closings: list[Any] = []

    def open_dump(data: bytes | Path) -> tuple[Snapshot, Asked]:
        path = data if isinstance(data, Path) else tmp_path / f"{len(closings)}.hprof"
        if isinstance(data, bytes):
            path.write_bytes(data)
        snapshot = archived(path, tmp_path)
        tables.fill(snapshot, lambda *_: None)
        session = SqlSession(Snapshot.open(snapshot.archive))
        closings.extend((session, snapshot))
        return snapshot, lambda query: list(session.stream(query)[1])

    yield open_dump
    for each in closings:
        each.close()


Open = Callable[[bytes | Path], tuple[Snapshot, Asked]]


def _fitting(snapshot: Snapshot, text: str) -> set[int]:
    found = filters.chosen(snapshot, text)
    assert found is not None
    return set(found.mask(snapshot).nonzero()[0].tolist())


def test_modules_are_class_loaders_of_java(opened: Open) -> None:
    snapshot, asked = opened(programs())
    rows = asked("SELECT object, type, module, package FROM objects")
    twins = {module for _, name, module, _ in rows if name == "com.example.Twin"}
    assert len(twins) == 2
    assert all(module is not None and module.startswith("web.Loader @ 0x") for module in twins)
    by_filter: dict[str, Callable[[str, str | None], bool]] = {
        "module:web.loader": lambda _, module: module is not None,
        "module:none": lambda _, module: module is None,
        "module:boot": lambda name, module: module is None and not name.startswith("("),
        "module:none -module:boot": lambda name, module: module is None and name.startswith("("),
        "module:/0x1010$/": lambda _, module: module is not None and module.endswith("0x1010"),
        'module:"=web.Loader"': lambda name, module: module == "web.Loader" and name == "com.example.Own",
        "module:boot,0x1000": lambda name, module: (
            "0x1000" in (module or "") or (module is None and not name.startswith("("))
        ),
        "-module:boot package:com.example": lambda name, _: name.startswith("com.example."),
        # a word is a part of the name, and not of "none"
        "module:on": lambda _name, _module: False,
    }
    for text, fits in by_filter.items():
        expected = {number for number, name, module, _ in rows if fits(name, module)}
        assert _fitting(snapshot, text) == expected, text
        assert expected or text == "module:on"
    assert {package for *_, package in rows} == {None, "com.example", "java.lang", "web"}


def test_a_type_can_be_named_without_its_loader(opened: Open) -> None:
    snapshot, asked = opened(programs())
    own: dict[int, str] = dict(asked("SELECT object, type FROM objects"))
    for name in ("com.example.Own", "com.example.Twin"):
        expected = {number for number, each in own.items() if each == name}
        last = name.rpartition(".")[2]
        for text in (f"={name}", f"/^com[.]example[.]{last}$/", f"com.*{last}"):
            for field in ("type", "extends"):
                assert _fitting(snapshot, f'{field}:"{text}"') == expected, (field, text)
    for name in {name for name in type_names(snapshot) if "Twin" in name}:
        assert len(_fitting(snapshot, f'type:"={name}"')) == (2 if name.endswith("0x1000)") else 1)
    # what the bootstrap loader has is called by the name alone: nothing else is meant by it then
    dump = Dump()
    dump.klass(0x10, "java/lang/Object")
    dump.instance(0x1000, 0x10)
    for class_id, loader in ((0x40, 0), (0x50, 0x1000)):
        dump.klass(class_id, "com/example/Twin", 0x10, loader=loader)
        dump.instance(0x2000 + class_id, class_id)
    snapshot, _ = opened(dump.end())
    assert len(_fitting(snapshot, "type:com.example.Twin")) == 2
    assert len(_fitting(snapshot, "type:=com.example.Twin")) == 1


def test_two_types_of_one_name_are_told_apart_by_number(opened: Open) -> None:
    _, asked = opened(programs())
    (objects,) = asked("SELECT count(*) FROM objects")[0]
    assert asked("SELECT count(*) FROM objects JOIN types USING (type)")[0][0] > objects
    assert asked("SELECT count(*) FROM objects JOIN types USING (type_id, type, package)")[0][0] < objects
    joined = (
        "SELECT count(*), sum(o.type = t.type AND o.module IS t.module AND o.package IS t.package) "
        "FROM objects AS o JOIN types AS t USING (type_id)"
    )
    assert asked(joined) == [(objects, objects)]
    counted = "SELECT type_id, count(*), sum(shallow_bytes) FROM objects GROUP BY 1"
    assert asked(counted) == asked("SELECT type_id, count, shallow_bytes FROM types WHERE count ORDER BY 1")


def test_a_type_is_called_the_same_everywhere(opened: Open) -> None:
    snapshot, asked = opened(programs())
    own: dict[int, str] = dict(asked("SELECT object, type FROM objects"))
    assert any(name not in own.values() for name in type_names(snapshot))
    tables_of_objects = (
        "SELECT p.object, p.type FROM objects AS o JOIN paths_to(o.object) AS p",
        "SELECT r.object, r.type FROM objects AS o JOIN referrers_of(o.object) AS r",
        "SELECT r.object, r.type FROM objects AS o JOIN retained_by(o.object) AS r",
        "SELECT object, type FROM retained_by((SELECT object_set(object) FROM objects))",
        "SELECT f.object, f.type FROM objects AS o JOIN fields_of(o.object) AS f WHERE f.object IS NOT NULL",
        "SELECT r.object, r.type FROM types AS t JOIN referrers_by_type(t.type) AS r",
        "SELECT object, type FROM arrays",
    )
    for query in tables_of_objects:
        rows = asked(query)
        assert rows, query
        assert all(own[number] == name for number, name in rows), query
    # by the name in the tables those of both loaders, by that of the view those of one
    both = asked("SELECT sum(objects) FROM referrers_by_type('com.example.Twin')")
    names = sorted({name for name in type_names(snapshot) if "Twin" in name})
    assert len(names) == 2
    each = [asked(f"SELECT sum(objects) FROM referrers_by_type('{name}')") for name in names]
    assert both == [(sum(row[0][0] for row in each),)] == [(3,)]
    for wrong, advice in (
        ("com.example.Twins", "com.example.Twin"),
        ("Twin", "com.example.Twin"),
        ("ø", "types"),
    ):
        with pytest.raises(MemlensError, match=f"The heap dump has no type {wrong}") as caught:
            asked(f"SELECT * FROM referrers_by_type('{wrong}')")
        assert advice in str(caught.value)
    holders = asked("SELECT object, holder_of(object, '*Twin') FROM objects WHERE type = 'com.example.Twin'")
    assert {own[holder] for _, holder in holders if holder is not None} == {"com.example.Own"}


def test_heaps_of_android(opened: Open) -> None:
    snapshot, asked = opened(android())
    rows: dict[int, str] = dict(asked("SELECT object, heap FROM objects"))
    assert Counter(rows.values())["app"] == 2
    for text, heaps in (
        ("heap:app", {"app"}),
        ("heap:ZYG,image", {"zygote", "image"}),
        ("-heap:app", {"zygote", "image", "other"}),
        ("heap:=other", {"other"}),
    ):
        assert _fitting(snapshot, text) == {number for number, heap in rows.items() if heap in heaps}
    with pytest.raises(BadRequestError, match="expected one of other, app, zygote, image"):
        filters.chosen(snapshot, "heap:stack")


def test_dumps_without_modules_and_heaps_say_so(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "dump.heapsnapshot"
    path.write_bytes(heap_of(random_graph(3, 30)).data())
    snapshot, asked = opened(path)
    assert asked("SELECT count(*), count(module), count(package), count(heap) FROM objects")[0][1:] == (
        0,
        0,
        0,
    )
    with pytest.raises(BadRequestError, match="doesn't say which modules its types are of"):
        filters.chosen(snapshot, "module:none")
    with pytest.raises(BadRequestError, match="doesn't say which heaps its objects are in"):
        filters.chosen(snapshot, "heap:app")
    java, asked = opened(programs())
    assert asked("SELECT count(heap) FROM objects") == [(0,)]
    with pytest.raises(BadRequestError, match="doesn't say which heaps"):
        filters.chosen(java, "heap:app")


@pytest.mark.parametrize("seed", range(8))
def test_how_many_objects_each_retains(seed: int, opened: Open, tmp_path: Path) -> None:
    below = random_graph(seed, 30)
    path = tmp_path / "dump.heapsnapshot"
    path.write_bytes(heap_of(below).data())
    _, asked = opened(path)
    graph = attached(rooted(below))
    whole = graph.reached([0])
    counts = {item: len(whole - graph.reached([0], frozenset((item,)))) for item in graph.objects}
    assert dict(asked("SELECT object, retained_count FROM objects")) == counts


@pytest.mark.parametrize(
    "path",
    [
        JAVA,
        DOTNET,
        *LEAK[:1],
        *real_heaps("hprof/mat_oracle_jdk8*", "v8/small_node20*", "gcdump/perfview_test1*"),
    ],
    ids=lambda path: path.name,
)
def test_columns_of_real_dumps_agree(path: Path, opened: Open) -> None:
    snapshot, asked = opened(path)
    count = graph_of(snapshot.info).objects
    # each object once in what its dominator retains
    assert asked(
        "SELECT count(*), sum(o.retained_count = 1 + coalesce(below, 0)) FROM objects AS o LEFT JOIN "
        "(SELECT dominator, sum(retained_count) AS below FROM objects GROUP BY 1) AS d ON d.dominator = o.object"
    ) == [(count, count)]
    assert asked(
        "SELECT count(*), sum(o.type = t.type AND o.module IS t.module AND o.package IS t.package) "
        "FROM objects AS o JOIN types AS t USING (type_id)"
    ) == [(count, count)]
    if snapshot.types.module is not None:
        (none,) = asked("SELECT count(*) FROM objects WHERE module IS NULL")[0]
        assert len(_fitting(snapshot, "module:none")) == none
