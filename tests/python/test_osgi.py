"""Bundles, services and extensions of Equinox: of programs that ran, against what they said, and of made dumps.

``make.py`` beside the dumps runs the programs.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import memlens
from tests.python.heap_archives import Opened, archived
from tests.python.hprof_files import BYTE, INT, LONG, OBJECT, Dump
from tests.python.recordings import FIXTURES
from tests.python.said import assert_words_are_templates

from memlens.store.snapshot import Snapshot
from memlens.store.tables import fill as tables
from memlens.views.findings.ahead import findings
from memlens.views.graph.retained import retained_by
from memlens.views.sql.query import SqlSession
from memlens.views.sql.schema import schema_of

pytest_plugins = ("tests.python.heap_fixtures",)

BUNDLES = "SELECT bundle_id, symbolic_name, version, state, location FROM bundles ORDER BY bundle_id"
SERVICES = (
    "SELECT service_id, classes, ranking, symbolic_name, used_by FROM services WHERE state = 'registered'"
)


def asked(snapshot: Snapshot, query: str) -> list[tuple[Any, ...]]:
    tables.fill(snapshot, lambda *_: None)
    with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
        return list(session.stream(query)[1])


def said_by(name: str) -> list[list[str]]:
    """What a program of the fixtures printed of itself."""
    text = (FIXTURES / "heap" / f"{name}.said.txt").read_text("utf-8")
    return [line.split("\t") for line in text.splitlines()]


@pytest.fixture(scope="module")
def framework_that_ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    folder = tmp_path_factory.mktemp("equinox")
    with closing(archived(FIXTURES / "heap" / "equinox.hprof.zst", folder)) as snapshot:
        yield snapshot


def test_bundles_and_services_are_what_the_framework_says(framework_that_ran: Snapshot) -> None:
    snapshot, said = framework_that_ran, said_by("equinox")
    bundles = [tuple(map(str, row)) for row in asked(snapshot, BUNDLES)]
    assert bundles == sorted(tuple(row[1:]) for row in said if row[0] == "bundle")
    services = [tuple(map(str, row)) for row in asked(snapshot, SERVICES)]
    assert sorted(services) == sorted(tuple(row[1:]) for row in said if row[0] == "service")
    assert len(services) > 20


def test_what_bundles_retain(framework_that_ran: Snapshot) -> None:
    snapshot = framework_that_ran
    query = "SELECT symbolic_name, loaders, stale_loaders, retained_bytes > 1000000 FROM bundles WHERE bundle_id > 0"
    assert sorted(asked(snapshot, query)) == [
        ("com.example.broken", 0, 0, 0), ("com.example.gone", 1, 1, 1), ("com.example.old", 1, 1, 1),
        ("com.example.shop", 1, 0, 1),
    ]  # fmt: skip
    ((own, listed),) = asked(snapshot, "SELECT retained_bytes, type FROM services WHERE ranking = 7")
    assert (own > 100_000, listed) == (True, "java.util.ArrayList")


def test_former_classes_of_bundles_that_are_held(framework_that_ran: Snapshot) -> None:
    snapshot = framework_that_ran
    assert_words_are_templates(snapshot)
    (found,) = (
        each for each in findings(snapshot, None, 100).findings
        if "stale_bundles" in (each.rule, *(name.rule for name in each.names))
    )  # fmt: skip
    text = found.text
    assert "2 bundles were uninstalled or updated, and their former classes still retain" in text
    assert (
        "com.example.gone 2.0.0, com.example.old 3.1.0. Nearest to a root is class Activator, held by" in text
    )
    assert "Bundles.HELD" in text
    assert 2_000_000 < found.figure.amount < 2_200_000
    assert asked(snapshot, found.figure.sql) == [(found.figure.amount,)]


def framework(*, held: bool) -> bytes:
    """A bundle that runs and offers a service, and one that is uninstalled, whose loader may still be held."""
    dump, at = Dump(), iter(range(0x10_0000, 0x90_0000, 0x80))
    base = dump.klass(next(at), "java/lang/Object")
    dump.klass(next(at), "java/lang/Class", base)
    string = dump.klass(next(at), "java/lang/String", base, [("value", OBJECT), ("coder", BYTE)])
    strings = dump.klass(next(at), "[Ljava/lang/String;", base)
    array = dump.klass(next(at), "[Ljava/lang/Object;", base)
    lists = dump.klass(next(at), "java/util/ArrayList", base, [("elementData", OBJECT), ("size", INT)])
    loader_class = dump.klass(next(at), "java/lang/ClassLoader", base)
    equinox = "org/eclipse/osgi/"

    def klass(name: str, above: int, /, **fields: int) -> int:
        return dump.klass(next(at), equinox + name, above, fields.items())

    def text(value: str) -> int:
        return dump.instance(next(at), string, "Pb", dump.numbers(next(at), BYTE, value.encode()), 0)

    def of_list(*items: int) -> int:
        return dump.instance(next(at), lists, "Pi", dump.objects(next(at), array, items), len(items))

    module = klass("container/Module", base, id=OBJECT, location=OBJECT, state=OBJECT, revisions=OBJECT)
    own_module = klass("internal/framework/EquinoxBundle$EquinoxModule", module)
    bundle = klass("internal/framework/EquinoxBundle", base, module=OBJECT)
    states = klass("container/Module$State", base, name=OBJECT)
    all_revisions = klass("container/ModuleRevisions", base, revisions=OBJECT, module=OBJECT)
    revision = klass("container/ModuleRevision", base, symbolicName=OBJECT, version=OBJECT, revisions=OBJECT)
    wiring = klass("container/ModuleWiring", base, revision=OBJECT)
    delegate = klass("internal/loader/BundleLoader", base, wiring=OBJECT)
    module_loader = klass("internal/loader/ModuleClassLoader", loader_class)
    loader = klass("internal/loader/EquinoxClassLoader", module_loader, delegate=OBJECT)
    context = klass("internal/framework/BundleContextImpl", base, bundle=OBJECT)
    service = klass(
        "internal/serviceregistry/ServiceRegistrationImpl", base, bundle=OBJECT, service=OBJECT, clazzes=OBJECT,
        contextsUsing=OBJECT, serviceid=LONG, serviceranking=INT, state=INT,
    )  # fmt: skip
    version = dump.klass(
        next(at), "org/osgi/framework/Version", base,
        [("major", INT), ("minor", INT), ("micro", INT), ("qualifier", OBJECT)],
    )  # fmt: skip
    longs = dump.klass(next(at), "java/lang/Long", base, [("value", LONG)])

    def installed(number: int, name: str, state: str, qualifier: str) -> tuple[int, int, int]:
        """A bundle, its module and a class of its loader."""
        own, revisions, current = next(at), next(at), next(at)
        versioned = dump.instance(next(at), version, "iiiP", 1, 2, number, text(qualifier))
        dump.instance(current, revision, "PPP", text(name), versioned, revisions)
        dump.instance(revisions, all_revisions, "PP", of_list(*([current] if state == "ACTIVE" else [])), own)
        named_state = dump.instance(next(at), states, "P", text(state))
        dump.instance(
            own, own_module, "PPPP", dump.instance(next(at), longs, "q", number), text(f"file:{name}.jar"),
            named_state, revisions,
        )  # fmt: skip
        wired = dump.instance(next(at), wiring, "P", current)
        loads = dump.instance(next(at), loader, "P", dump.instance(next(at), delegate, "P", wired))
        waste = dump.numbers(next(at), BYTE, bytes([1, *bytes(99_999)]))
        kept = [("KEPT", OBJECT, waste)]
        cache = dump.klass(next(at), f"com/example/Cache{number}", base, statics=kept, loader=loads)
        return dump.instance(next(at), bundle, "P", own), own, cache

    shop, of_shop, shop_cache = installed(1, "com.example.shop", "ACTIVE", "beta")
    _, of_gone, gone_cache = installed(2, "com.example.gone", "UNINSTALLED", "")
    used_by = of_list(dump.instance(next(at), context, "P", shop))
    registered = dump.instance(
        next(at), service, "PPPPqii", shop, of_list(), dump.objects(next(at), strings, [text("java.util.List")]),
        used_by, 12, 7, 0,
    )  # fmt: skip
    ended = dump.instance(next(at), service, "PPPPqii", 0, 0, 0, 0, 13, 0, 2)
    for root in (shop, of_shop, shop_cache, registered, ended, *((gone_cache, of_gone) if held else ())):
        dump.add(0x01, "PP", root, 1)
    return dump.end()


@pytest.mark.parametrize("held", [True, False])
def test_a_made_framework(open_dump: Opened, held: bool) -> None:
    snapshot = open_dump(framework(held=held), "equinox.hprof")
    gone = (2, "com.example.gone", "1.2.2", "UNINSTALLED", "file:com.example.gone.jar")
    assert asked(snapshot, BUNDLES) == [
        (1, "com.example.shop", "1.2.1.beta", "ACTIVE", "file:com.example.shop.jar"), *([gone] if held else []),
    ]  # fmt: skip
    assert asked(
        snapshot, "SELECT service_id, classes, state, ranking, symbolic_name, used_by FROM services"
    ) == [
        (12, "java.util.List", "registered", 7, "com.example.shop", "com.example.shop"),
        (13, "", "unregistered", 0, "", ""),
    ]
    for number, retained in asked(snapshot, "SELECT object, retained_bytes FROM bundles"):
        assert retained > 100_000 > retained_by(snapshot, [number]).retained_bytes
    said = [each.rule for each in findings(snapshot, None, 100).findings if each.rule == "stale_bundles"]
    assert said == (["stale_bundles"] if held else [])
    described = schema_of(snapshot)
    assert {"bundles", "services"} <= {each.name for each in described.tables}
    titles = [each.title for each in described.examples if "OSGi" in each.title]
    assert len(titles) == 2
    for example in described.examples:
        if example.title in titles:
            assert asked(snapshot, example.query)


def test_a_framework_in_a_dump_without_values(open_dump: Opened, tmp_path: Path) -> None:
    path = tmp_path / "equinox.hprof"
    path.write_bytes(framework(held=True))
    memlens("redact", path, tmp_path / "shared.hprof")
    snapshot = open_dump((tmp_path / "shared.hprof").read_bytes(), "shared.hprof")
    assert [row[1:] for row in asked(snapshot, BUNDLES)] == 2 * [("", "", "", "")]
    assert len(asked(snapshot, SERVICES.partition(" WHERE")[0])) == 2


def test_other_programs_have_neither(open_dump: Opened) -> None:
    dump = Dump()
    dump.klass(0x100, "java/lang/Object")
    snapshot = open_dump(dump.end(), "other.hprof")
    assert asked(snapshot, BUNDLES) == asked(snapshot, SERVICES) == []
    assert not {"bundles", "services"} & {each.name for each in schema_of(snapshot).tables}


POINTS = "SELECT extension_point, label, symbolic_name, extensions FROM extension_points"
EXTENSIONS = "SELECT extension_point, extension, label, symbolic_name, elements FROM extensions"


def test_extensions_are_what_the_registry_says(tmp_path: Path) -> None:
    rows = said_by("registry")
    with closing(archived(FIXTURES / "heap" / "registry.hprof.zst", tmp_path)) as snapshot:
        points = [list(map(str, row)) for row in asked(snapshot, POINTS)]
        extensions = [
            [str(each).replace("None", "null") for each in row] for row in asked(snapshot, EXTENSIONS)
        ]
        assert sorted(points) == sorted(row[1:] for row in rows if row[0] == "point")
        assert sorted(extensions) == sorted(row[1:] for row in rows if row[0] == "extension")
        assert len(points) == len(extensions) == 2
        described = schema_of(snapshot)
        assert {"extension_points", "extensions"} <= {each.name for each in described.tables}
        (example,) = (each for each in described.examples if "Eclipse" in each.title)
        assert [row[:3] for row in asked(snapshot, example.query)] == [
            ("com.example.shop.views", 2, "com.example.ui")
        ]


@pytest.mark.parametrize("dropped", [True, False])
def test_a_made_registry(open_dump: Opened, dropped: bool) -> None:
    """An extension in the registry's cache of soft references, whose texts may have been dropped."""
    dump, at = Dump(), iter(range(0x10_0000, 0x20_0000, 0x40))
    base = dump.klass(next(at), "java/lang/Object")
    dump.klass(next(at), "java/lang/Class", base)
    string = dump.klass(next(at), "java/lang/String", base, [("value", OBJECT), ("coder", BYTE)])
    strings = dump.klass(next(at), "[Ljava/lang/String;", base)
    reference = dump.klass(next(at), "java/lang/ref/Reference", base, [("referent", OBJECT)])
    soft = dump.klass(next(at), "java/lang/ref/SoftReference", reference)
    dump.klass(next(at), "org/eclipse/core/internal/registry/RegistryObjectManager", base)
    fields = ("extraInformation", "simpleId", "namespaceIdentifier")
    kind = dump.klass(
        next(at), "org/eclipse/core/internal/registry/Extension", base, [(name, OBJECT) for name in fields]
    )

    def text(value: str) -> int:
        return dump.instance(next(at), string, "Pb", dump.numbers(next(at), BYTE, value.encode()), 0)

    texts = dump.objects(next(at), strings, [text("The cart"), text("com.example.views"), text("9")])
    held = 0 if dropped else dump.instance(next(at), soft, "P", texts)
    extension = dump.instance(next(at), kind, "PPP", held, text("cart"), text("com.example.ui"))
    dump.add(0x01, "PP", dump.instance(next(at), soft, "P", extension), 1)
    snapshot = open_dump(dump.end(), "registry.hprof")
    known = ("", "") if dropped else ("com.example.views", "The cart")
    assert asked(snapshot, EXTENSIONS) == [(known[0], "com.example.ui.cart", known[1], "com.example.ui", 0)]
    assert asked(snapshot, POINTS) == []
