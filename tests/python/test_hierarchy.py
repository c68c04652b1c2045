"""Classes with those that extend them: of random and damaged dumps, and of programs that know their own classes."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.python.graphs import random_graph
from tests.python.heap_archives import archived
from tests.python.heap_files import heap_of
from tests.python.hprof_files import Dump

from memlens.errors import BadRequestError, MemlensError
from memlens.packs.ruby.tests.ruby_files import line, made, root
from memlens.store.snapshot import Snapshot
from memlens.store.tables import fill as tables
from memlens.views.heap.filters.filters import chosen
from memlens.views.heap.objects.hierarchy import extended, extended_by_type
from memlens.views.heap.objects.rows import type_names
from memlens.views.sql.query import SqlSession

pytest_plugins = ("tests.python.server_fixtures",)
Opened = Callable[[Path], Snapshot]
ROOT = Path(__file__).parents[2]


@contextmanager
def asking(snapshot: Snapshot) -> Iterator[Callable[[str], list[tuple[Any, ...]]]]:
    tables.fill(snapshot, lambda *_: None)
    with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
        yield lambda query: list(session.stream(query)[1])


def fits(snapshot: Snapshot, text: str) -> set[int]:
    found = chosen(snapshot, text)
    assert found is not None
    return {number for number, fit in enumerate(found.mask(snapshot).tolist()) if fit}


@pytest.mark.parametrize("seed", range(8))
def test_java_classes_of_random_and_damaged_dumps(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    count = rng.randint(2, 40)
    # two classes of a name, as two loaders have them, and in half of the dumps some that are above themselves
    names = [f"app/C{rng.randrange(count)}" for _ in range(count)]
    ids = [0x1000 + 8 * number for number in range(count)]
    up = [rng.randrange(-1, number if seed % 2 else count) for number in range(count)]
    dump = Dump()
    for number, above in enumerate(up):
        dump.klass(ids[number], names[number], 0 if above < 0 else ids[above])
    instances = [rng.randrange(count) for _ in range(60)]
    for place, kind in enumerate(instances):
        dump.instance(0x9000 + 8 * place, ids[kind])
        dump.add(0x05, "P", 0x9000 + 8 * place)
    path = tmp_path / "classes.hprof"
    path.write_bytes(dump.end())

    def chain(kind: int) -> list[int]:
        seen, at = [kind], up[kind]
        while at >= 0 and at not in seen:
            seen.append(at)
            at = up[at]
        return seen

    with closing(archived(path, tmp_path)) as snapshot, asking(snapshot) as asked:
        number_of = {int(own): number for number, own in enumerate(snapshot.objects.id.tolist())}
        plain = [name.replace("/", ".") for name in names]
        if all(above < 0 for above in up):
            with pytest.raises(BadRequestError, match="doesn't say which classes extend"):
                chosen(snapshot, "extends:app")
            return
        for wanted in sorted(set(plain)):
            expected = {
                number_of[0x9000 + 8 * place]
                for place, kind in enumerate(instances)
                if wanted in (plain[each] for each in chain(kind))
            }
            assert fits(snapshot, f"extends:={wanted}") == expected
            assert fits(snapshot, f"-extends:={wanted}") == set(range(len(snapshot.objects.type))) - expected
            assert fits(snapshot, rf"extends:/^{wanted}$/") == expected
            below = asked(f"SELECT class, name, steps FROM subclasses_of('{wanted}')")
            assert {row[0] for row in below} == {
                number_of[ids[kind]]
                for kind in range(count)
                if wanted in (plain[each] for each in chain(kind))
            }
            assert all(row[1] == plain[ids.index(int(snapshot.objects.id[row[0]]))] for row in below)
            own = [
                [plain[each] for each in chain(ids.index(int(snapshot.objects.id[row[0]])))] for row in below
            ]
            assert [row[2] for row in below] == [each.index(wanted) for each in own]
            counted = f"SELECT sum(count) FROM types JOIN subclasses_of('{wanted}') USING (class)"
            assert asked(counted) == [(len(expected),)]
        direct = dict(asked("SELECT class, superclass FROM types WHERE class IS NOT NULL"))
        for kind, above in enumerate(up):
            loops = above == kind or above < 0
            assert direct[number_of[ids[kind]]] == (None if loops else number_of[ids[above]])
            rows = extended(snapshot, number_of[ids[kind]])
            assert [row.object for row in rows] == [number_of[ids[each]] for each in chain(kind)[1:]]
        for place, kind in enumerate(instances):
            number = number_of[0x9000 + 8 * place]
            assert [row.name for row in extended(snapshot, number)] == [
                plain[each] for each in chain(kind)[1:]
            ]
            types = type_names(snapshot)
            rows = extended_by_type(snapshot, int(snapshot.objects.type[number]))
            assert all(row.type is not None and types[row.type] == row.name for row in rows)


PROGRAM = """
import abc, collections, json, sys, memlens.dump

class Shape(abc.ABC): pass
class Coloured: pass
class Round(Shape): pass
class Square(Shape, Coloured): pass
class Both(Round, Square): pass
class Meta(type): pass
class Made(dict, metaclass=Meta): pass
class Row(collections.namedtuple("Row", "a b")): pass

kept = [cls() for cls in (Coloured, Round, Square, Both, Made) for _ in range(3)] + [Row(1, 2)]
with open(sys.argv[2], "w") as file:
    json.dump([[id(each), [up.__name__ for up in type(each).__mro__[1:]]] for each in kept], file)
memlens.dump.heap(sys.argv[1])
"""


def test_python_classes_are_those_of_the_program(tmp_path: Path) -> None:
    program, path, said = tmp_path / "shapes.py", tmp_path / "shapes.pyheap", tmp_path / "said.json"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "pyserver")}
    subprocess.run([sys.executable, program, path, said], check=True, env=environment)
    with closing(archived(path, tmp_path)) as snapshot, asking(snapshot) as asked:
        number_of = {own: number for number, own in enumerate(snapshot.objects.id.tolist())}
        known = {number_of[own]: names for own, names in json.loads(said.read_text())}
        for number, names in known.items():
            assert [row.name.rpartition(".")[2] for row in extended(snapshot, number)] == names
        for name in ("Shape", "Coloured", "Square", "Made"):
            expected = {
                number
                for number, names in known.items()
                if name in names
                or type_names(snapshot)[int(snapshot.objects.type[number])] == f"__main__.{name}"
            }
            assert expected <= fits(snapshot, f"extends:{name}")
            assert expected & fits(snapshot, f"-extends:/(^|[.]){name}$/") == set()
        # Shape has no objects of its own, and its class object is there
        assert asked("SELECT count(*) FROM types WHERE type LIKE '%.Shape'") == [(0,)]
        query = "SELECT sum(count) FROM types JOIN subclasses_of('{}') USING (class)"
        assert asked(query.format("__main__.Coloured")) == [(9,)]
        # all the program's dictionaries, and the one of Made among them
        plain = len(fits(snapshot, "type:=dict")) + 3
        assert len(fits(snapshot, "extends:=dict")) >= plain


def test_ruby_classes_above_modules_and_singletons(opened: Opened, tmp_path: Path) -> None:
    basic, thing, mixed, base, single, leaf, one, two, three = (0x7F00_0000_0000 + 40 * n for n in range(9))
    data = made(
        root("vm", leaf, one, two, three),
        line(basic, "CLASS", name="BasicObject"),
        line(thing, "CLASS", [basic], name="Object", superclass=basic),
        # what a module that is included stands for among the classes above
        line(mixed, "ICLASS", [thing], superclass=thing),
        line(base, "CLASS", [thing, mixed], name="App::Base", superclass=mixed),
        line(leaf, "CLASS", [base], name="App::Leaf", superclass=base),
        line(single, "CLASS", [leaf], singleton=True, real_class_name="App::Leaf", superclass=leaf),
        line(one, "OBJECT", [base], **{"class": single}),
        line(two, "OBJECT", [], **{"class": base}),
        line(three, "OBJECT", [], **{"class": thing}),
    )
    path = tmp_path / "classes.json"
    path.write_bytes(data)
    snapshot = opened(path)
    number_of = {own: number for number, own in enumerate(snapshot.objects.id.tolist())}
    assert fits(snapshot, "extends:=App::Base") == {number_of[one], number_of[two]}
    assert fits(snapshot, "extends:=Object") == {number_of[each] for each in (one, two, three)}
    assert fits(snapshot, "extends:=App::Leaf") == {number_of[one]}
    above = ["App::Base", "Object", "BasicObject"]
    assert [row.name for row in extended(snapshot, number_of[one])] == above
    # the class itself as well, and of a reference from an object to a class nothing follows
    assert [row.name for row in extended(snapshot, number_of[leaf])] == above
    assert [row.name for row in extended(snapshot, number_of[three])] == ["BasicObject"]


def test_dumps_without_classes_say_so(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "random.heapsnapshot"
    path.write_bytes(heap_of(random_graph(3)).data())
    snapshot = opened(path)
    with pytest.raises(BadRequestError, match="doesn't say which classes extend which"):
        chosen(snapshot, "extends:Plain")
    assert extended(snapshot, 1) == []
    with (
        asking(snapshot) as asked,
        pytest.raises(MemlensError, match="doesn't say which classes extend which"),
    ):
        asked("SELECT * FROM subclasses_of('Plain')")


def test_what_holds_an_object_besides_types_of_several_patterns(opened: Opened, tmp_path: Path) -> None:
    graph = random_graph(7, 60)
    path = tmp_path / "random.heapsnapshot"
    path.write_bytes(heap_of(graph).data())
    snapshot = opened(path)
    names, kinds = type_names(snapshot), snapshot.objects.type.tolist()
    dominator = snapshot.objects.dominator.tolist()

    def holder(number: int, skipped: set[str]) -> int | None:
        number = dominator[number]
        while number < len(kinds) and names[kinds[number]] in skipped:
            number = dominator[number]
        return number if number < len(kinds) else None

    own = sorted({names[kind] for kind in kinds})
    assert len(own) > 3
    with asking(snapshot) as asked:
        for first in own:
            for second in own:
                expected = [holder(number, {first, second}) for number in range(len(kinds))]
                ways = (f"'={first}', '={second}'", f"'/^({first}|{second})$/'".replace("(", "(?:", 1))
                for way in ways[: 1 if "(" in first + second else 2]:
                    query = f"SELECT holder_of(object, {way}) FROM objects ORDER BY object"
                    assert [row[0] for row in asked(query)] == expected
        for wrong, said in (
            ("holder_of(1)", "patterns of types that it skips"),
            ("holder_of(1, '/(/')", "is not a regular expression"),
        ):
            with pytest.raises(MemlensError, match=said):
                asked(f"SELECT {wrong}")


@pytest.mark.slow
def test_a_pattern_that_takes_too_long_ends_the_query(tmp_path: Path) -> None:
    dump = Dump()
    kind = dump.klass(0x1000, "app/" + "a" * 4_000 + "!")
    dump.instance(0x2000, kind)
    dump.add(0x05, "P", 0x2000)
    path = tmp_path / "long.hprof"
    path.write_bytes(dump.end())
    with (
        closing(archived(path, tmp_path)) as snapshot,
        asking(snapshot) as asked,
        pytest.raises(MemlensError, match="takes too long"),
    ):
        asked("SELECT holder_of(object, 'java.*', '/^app[.](a|aa|a?a)+$/') FROM objects")
