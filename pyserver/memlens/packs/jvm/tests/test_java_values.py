"""What Java's collections contain and what its objects are called, held to what a program says of itself."""

import gzip
import math
import shutil
import struct
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT, real_heaps
from tests.python.heap_archives import Opened, archived
from tests.python.hprof_files import BYTE, CHAR, INT, OBJECT, Dump
from tests.python.java_classes import JAVAC
from tests.python.test_findings_of_heaps import check_figures

from memlens.errors import BadRequestError
from memlens.packs.jvm import array_contents
from memlens.packs.jvm.array_contents import whole_contents
from memlens.packs.jvm.contents import contents_of, count_of, fields_within, kind_of
from memlens.store.snapshot import Snapshot
from memlens.store.tables import fill as tables
from memlens.views.findings.ahead import findings
from memlens.views.heap.filters import filters
from memlens.views.heap.listing.one_object import contents, describe
from memlens.views.heap.listing.threads import threads
from memlens.views.heap.objects.fields import field_reader
from memlens.views.heap.objects.rows import object_rows, type_names
from memlens.views.sql.query import SqlSession
from memlens.views.sql.schema import examples

pytest_plugins = ("tests.python.heap_fixtures",)

PROGRAM = ROOT / "tests" / "fixtures" / "heap" / "src" / "Contents.java"
# Java goes through these in an order that isn't that of their tables
_UNORDERED = ("Hashtable", "WeakHashMap", "Properties", "setOf", "mapOf")


class Ran(NamedTuple):
    """The dump of the program, and by the name of each collection its keys and values as the program printed them.

    ``numbers`` are indexes and elements of arrays likewise.
    """

    snapshot: Snapshot
    said: dict[str, list[tuple[str, str]]]
    numbers: dict[str, list[tuple[str, str]]]

    def static(self, name: str) -> int:
        """The object that a static field of the program refers to."""
        names, strings = self.snapshot.objects.name, self.snapshot.strings
        number = next(
            each for each, name in enumerate(names.tolist()) if name and strings.head(name, 20) == "shop.Contents"
            and field_reader(self.snapshot).type_name(each) == "java.lang.Class"
        )  # fmt: skip
        return field_reader(self.snapshot).references(number)[name]

    def map_of(self, name: str) -> dict[str, int]:
        """The values of a map by the texts of its keys."""
        rows, total = contents(self.snapshot, self.static(name), limit=1_000)
        assert total == len(rows)
        return {row.name: row.object.object for row in rows}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    if not (shutil.which("javac") and shutil.which("java")):
        pytest.skip("needs a JDK")
    folder = tmp_path_factory.mktemp("contents")
    subprocess.run([*JAVAC, "-nowarn", "-encoding", "UTF-8", "-d", folder, PROGRAM], check=True)
    options = ["-Xmx32m", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8", "-cp", str(folder)]
    printed = subprocess.run(
        ["java", *options, "shop.Contents", folder / "dump.hprof"],
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    said: dict[str, list[tuple[str, str]]] = {}
    for line in printed.stdout.splitlines():
        name, key, value = line.split("\t")
        said.setdefault(name, []).append((key, value))
    with closing(archived(folder / "dump.hprof", folder)) as snapshot:
        tables.fill(snapshot, lambda *_: None)
        numbers = {name: said.pop(name) for name in list(said) if " " in name}
        yield Ran(snapshot, said, numbers)


@pytest.mark.slow
def test_collections_contain_what_java_says(ran: Ran) -> None:
    known = ran.map_of("COLLECTIONS")
    assert known.keys() == ran.said.keys()
    assert len(known) > 35
    with closing(SqlSession(Snapshot.open(ran.snapshot.archive))) as session:
        for name, said in ran.said.items():
            _, rows = session.stream(
                "SELECT coalesce(key_name, iif(key_type IS NULL, '(null)', '')), coalesce(name, '(null)'), position "
                f"FROM contents_of({known[name]})"
            )
            found, expected = [(row[0], row[1]) for row in rows], said
            if not said[0][0]:
                assert {key for key, _ in found} == {"(null)"}, name
                found = [("", value) for _, value in found]
            if name.startswith(_UNORDERED):
                found, expected = sorted(found), sorted(said)
            assert found == expected, name
            assert count_of(ran.snapshot, known[name]) == len(said), name
    # pages continue each other, and elements are called by their index
    page, total = contents(ran.snapshot, known["ArrayList"], 30, 20)
    assert (total, [row.name for row in page]) == (40, [f"[{at}]" for at in range(30, 40)])
    answer = describe(ran.snapshot, known["TreeMap"], 10)
    assert (answer.contents_total, [row.name for row in answer.contents]) == (
        40, sorted(f"key{at}" for at in range(40))[:10],
    )  # fmt: skip
    assert describe(ran.snapshot, ran.static("CONSTANT")).contents == []


def test_objects_have_the_names_and_values_that_java_gives_them(ran: Ran) -> None:
    known = ran.map_of("VALUES")
    assert len(known) > 40
    rows = object_rows(ran.snapshot, list(known.values()))
    found = {expected: row.name for expected, row in zip(known, rows, strict=True)}
    assert found == {expected: expected.partition("\t")[0] for expected in known}
    # names are there to be searched, too
    chosen = filters.chosen(ran.snapshot, 'type:InetSocketAddress name:"=db.example:5432"')
    assert chosen is not None
    assert chosen.mask(ran.snapshot).sum() == 1


@pytest.mark.slow
def test_sql_reads_fields_collections_and_arrays(ran: Ran) -> None:
    with closing(SqlSession(Snapshot.open(ran.snapshot.archive))) as session:

        def asked(query: str) -> list[tuple[Any, ...]]:
            return list(session.stream(query)[1])

        kept = "SELECT object FROM objects WHERE type = 'shop.Contents$Kept'"
        # nested fields, as text, as number, as object, with elements and lengths of arrays
        grouped = f"SELECT typeof(field(object, 'key')), count(*) FROM ({kept}) GROUP BY 1"
        assert Counter(dict(asked(grouped))) == {"integer": 2_000, "text": 2_000}
        assert asked(f"SELECT DISTINCT field(object, 'payload.length') FROM ({kept})") == [(200,)]
        listed = ran.map_of("COLLECTIONS")["ArrayList"]
        assert asked(
            f"SELECT field({listed}, 'size'), field({listed}, 'elementData.3'), field({listed}, 'elementData.99'), "
            f"field({listed}, 'nothing.such')"
        ) == [(40, "element3", None, None)]
        fields = asked(f"SELECT field, content, object, type FROM fields_of({listed})")
        assert ("size", 40, None, None) in fields
        assert [row[3] for row in fields if row[0] == "elementData"] == ["java.lang.Object[]"]
        # statistics by value
        assert asked(
            "SELECT value_of(object), count(*) FROM objects WHERE type = 'java.lang.Integer' AND "
            f"object IN (SELECT object FROM contents_of({ran.map_of('COLLECTIONS')['HashMap']})) GROUP BY 1"
        ) == [(str(number), 1) for number in sorted(range(40), key=str)]
        # sizes, fill and collisions
        names = ran.map_of("COLLECTIONS")
        assert asked(
            f"SELECT size, slots, used_slots FROM collections WHERE object = {names['collidingHashMap']}"
        ) == [(64, 128, 1)]
        assert asked(
            f"SELECT size, slots, used_slots FROM collections WHERE object = {names['LinkedList']}"
        ) == [(40, None, None)]
        constant = ran.static("CONSTANT")
        assert asked(f"SELECT length, used, is_constant FROM arrays WHERE object = {constant}") == [
            (5_000, 5_000, 1)
        ]
        table = asked(f"SELECT field({names['nulls']}, 'elementData')")[0][0]
        assert asked(f"SELECT length, used, is_constant FROM arrays WHERE object = {table}") == [(5, 2, None)]
        # what of the program holds arrays of bytes, whatever of the library is between
        held = "SELECT DISTINCT h.type FROM objects AS o JOIN objects AS h ON h.object = holder_of(o.object, 'java.*')"
        assert ("shop.Contents$Kept",) in asked(f"{held} WHERE o.type = 'byte[]'")
        assert asked(f"{held} WHERE o.type = 'java.util.WeakHashMap$Entry'") == []
        # classes below a class
        of_references = asked(
            "WITH RECURSIVE below(class) AS (SELECT class FROM types WHERE type = 'java.util.AbstractMap' UNION "
            "SELECT source FROM refs JOIN below ON target = class WHERE kind = 'super class') "
            "SELECT type FROM types JOIN below USING (class) ORDER BY 1"
        )
        assert {("java.util.LinkedHashMap",), ("java.util.HashMap",)} <= set(of_references)
        below = "SELECT type FROM types JOIN subclasses_of('java.util.AbstractMap') USING (class) ORDER BY 1"
        assert asked(below) == of_references


@pytest.mark.slow
def test_elements_of_arrays_are_those_that_java_says(
    ran: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the long arrays of each type are read in parts
    monkeypatch.setattr(array_contents, "_PART_BYTES", 1 << 17)
    known = ran.map_of("NUMBERS")
    assert known.keys() == ran.numbers.keys()
    assert len(known) == 24
    with closing(SqlSession(Snapshot.open(ran.snapshot.archive))) as session:
        _check_elements(session, known, ran.numbers)
        # elements that are references, as the list has them
        listed = ran.map_of("COLLECTIONS")["ArrayList"]
        table = next(iter(session.stream(f"SELECT field({listed}, 'elementData')")[1]))[0]
        rows = list(session.stream(f"SELECT position, value, name FROM elements_of({table})")[1])
        assert rows == [(at, None, f"element{at}") for at in range(40)]
        # one array after the other is as each alone
        joined = session.stream(
            "SELECT a.object, a.length, count(*), total(e.value) FROM arrays AS a JOIN elements_of(a.object) AS e "
            "WHERE a.contents IS NOT NULL AND a.object % 3 = 0 GROUP BY a.object ORDER BY a.object DESC"
        )[1]
        rows = list(joined)
        assert len(rows) > 100
        for number, length, count, total in rows:
            alone = f"SELECT count(*), total(value) FROM elements_of({number})"
            assert list(session.stream(alone)[1]) == [(count, total)]
            assert count == length
    # of a compressed dump, from one array to the next and back again
    path, source = tmp_path / "dump.hprof.gz", Path(ran.snapshot.manifest.source.path)
    path.write_bytes(gzip.compress(source.read_bytes(), 1))
    with closing(archived(path, tmp_path)) as snapshot:
        tables.fill(snapshot, lambda *_: None)
        packed = Ran(snapshot, ran.said, ran.numbers)
        known = dict(reversed(packed.map_of("NUMBERS").items()))
        with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
            _check_elements(session, known, ran.numbers)
            path.write_bytes(b"")
            assert list(session.stream(f"SELECT count(*) FROM elements_of({known['int 3']})")[1]) == [(3,)]
            with pytest.raises(BadRequestError, match=r"dump\.hprof\.gz was changed"):
                list(session.stream(f"SELECT count(*) FROM elements_of({known['int 1000']})")[1])
            path.unlink()
            with pytest.raises(BadRequestError, match=r"only in .*dump\.hprof\.gz, which no longer exists"):
                list(session.stream(f"SELECT count(*) FROM elements_of({known['int 1000']})")[1])


def test_elements_of_arrays_in_damaged_dumps(open_dump: Opened) -> None:
    elements = struct.pack(">1000i", *range(1_000))
    query = (
        "SELECT a.length, count(position), total(value) FROM objects AS o LEFT JOIN arrays AS a USING (object) "
        "LEFT JOIN elements_of(o.object) WHERE o.type = 'int[]' GROUP BY o.object"
    )
    whole = (1_000, 1_000, 499_500.0)
    for number, (length, left_out, expected) in enumerate(
        (
            (1_000, 0, {whole}),
            # more than its segment, than the file and than any file has; and a file that ends within it
            *((length, 0, {(None, 0, 0.0)}) for length in (1_001, 5_000, 0x7FFF_FFFF, 0xFFFF_FFFF)),
            (1_000, 700, {(None, 0, 0.0)}),
        )
    ):
        dump = Dump()
        dump.klass(0x120, "[I", dump.klass(0x100, "java/lang/Object"))
        dump.numbers(0x1000, INT, elements)
        at = dump.heap.rindex(elements) - 5
        dump.heap[at : at + 4] = struct.pack(">I", length)
        data = dump.end()
        snapshot = open_dump(data[: len(data) - left_out], f"{number}.hprof")
        tables.fill(snapshot, lambda *_: None)
        with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
            found = set(session.stream(query)[1])
            # a damaged one may not be there at all
            assert found == expected or (number > 0 and not found), length


def _check_elements(
    session: SqlSession, known: dict[str, int], numbers: dict[str, list[tuple[str, str]]]
) -> None:
    places = ", ".join(f"({number})" for number in known.values())
    joined = session.stream(
        f"WITH chosen(object) AS (VALUES {places}) SELECT a.object, position, value, length FROM chosen "
        "JOIN arrays AS a USING (object) JOIN elements_of(a.object) AS e WHERE position % max(length / 100, 1) = 0"
    )[1]
    found: dict[int, list[tuple[int, Any]]] = {}
    for number, position, value, _ in joined:
        found.setdefault(number, []).append((position, value))
    for name, number in known.items():
        expected = [
            (int(at), float(said) if {".", "N", "I"} & set(said) else int(said)) for at, said in numbers[name]
        ]
        assert [at for at, _ in found[number]] == [at for at, _ in expected]
        for (_, value), (_, said) in zip(found[number], expected, strict=True):
            # SQLite has no NaN
            assert (value is None and math.isnan(said)) or (value, type(value)) == (said, type(said))


REAL = real_heaps("hprof/mat_*", "hprof/javac_60files*")


@pytest.mark.slow
@pytest.mark.parametrize("path", [None, *REAL], ids=lambda path: path.name[:40] if path else "made")
def test_the_table_of_collections_has_all_whose_contents_are_known(
    path: Path | None, request: pytest.FixtureRequest, looked_at: Callable[[Path], Snapshot]
) -> None:
    snapshot = looked_at(path) if path else request.getfixturevalue("ran").snapshot
    tables.fill(snapshot, lambda *_: None)
    with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
        rows = list(session.stream("SELECT object, size, slots, used_slots FROM collections")[1])
    reader, known, wrapped = field_reader(snapshot), [], 0
    for number in range(len(snapshot.objects.type)):
        if contents_of(snapshot, number) is None:
            continue
        kind, own = kind_of(reader.classes(number)), reader.references(number)
        array = None
        if any(name in own for name in fields_within(reader.classes(number))):
            wrapped += 1
        elif kind is not None and kind.array in own:
            array = own[kind.array]
        used = None if array is None else len(reader.elements(array)[0])
        size = None if snapshot.fields is None else count_of(snapshot, number)
        slots = None if array is None else reader.length(array) or None
        known.append((number, size, slots, used if slots else None))
    assert rows == known
    if path is None:
        made = request.getfixturevalue("ran").map_of("COLLECTIONS")
        assert set(made.values()) <= {row[0] for row in rows}
        assert wrapped > 20


def test_whole_contents_of_arrays_and_strings(ran: Ran, tmp_path: Path) -> None:
    expected = {
        "LONG": ("naïve " * 1_000).encode(), "WIDE": ("日本 😀 " * 1_000).encode(), "CHARACTERS": b"ends here",
        "CONSTANT": b"\xff" * 5_000,
    }  # fmt: skip
    assert {name: whole_contents(ran.snapshot, ran.static(name)) for name in expected} == expected
    short = ran.map_of("COLLECTIONS")["ArrayList"]
    (first, *_), _ = contents(ran.snapshot, short)
    assert whole_contents(ran.snapshot, first.object.object) == b"element0"
    with pytest.raises(BadRequestError, match="neither a string nor an array of numbers"):
        whole_contents(ran.snapshot, short)
    out = tmp_path / "long.txt"
    dump = ran.snapshot.manifest.source.path
    memlens("object", dump, "--by-number", str(ran.static("LONG")), "--contents", str(out))
    assert out.read_bytes() == expected["LONG"]
    # long strings have rows among the arrays for this alone
    with closing(SqlSession(Snapshot.open(ran.snapshot.archive))) as session:
        array = field_reader(ran.snapshot).references(ran.static("LONG"))["value"]
        assert list(session.stream(f"SELECT * FROM arrays WHERE object = {array}")[1]) == []


def java_6() -> bytes:
    """A string that has a part of another's array, and a list, as Java 6 has them."""
    dump = Dump("1.0.1", 4)
    base = dump.klass(0x100, "java/lang/Object")
    dump.klass(0x110, "java/lang/Class", base)
    string = dump.klass(
        0x120, "java/lang/String", base, [("value", OBJECT), ("offset", INT), ("count", INT), ("hash", INT)]
    )
    node = dump.klass(
        0x130,
        "java/util/LinkedList$Entry",
        base,
        [("element", OBJECT), ("next", OBJECT), ("previous", OBJECT)],
    )
    linked = dump.klass(0x140, "java/util/LinkedList", base, [("header", OBJECT), ("size", INT)])
    text = "a.jar" * 100
    dump.numbers(0x1000, CHAR, text.encode("utf-16-be"))
    whole = dump.instance(0x2000, string, "Piii", 0x1000, 0, len(text), 0)
    part = dump.instance(0x2100, string, "Piii", 0x1000, 1, 1, 0)
    dump.instance(0x3000, node, "PPP", 0, 0x3100, 0x3200)
    dump.instance(0x3100, node, "PPP", whole, 0x3200, 0x3000)
    dump.instance(0x3200, node, "PPP", part, 0x3000, 0x3100)
    dump.add(0x01, "PP", dump.instance(0x4000, linked, "Pi", 0x3000, 2), 1)
    return dump.end()


JAVA_6 = [(None, (".", 1, 500)), *((path, (".", 1, 497)) for path in real_heaps("hprof/mat_sun_jdk6_32bit*"))]


@pytest.mark.parametrize(
    ("real", "part"), JAVA_6, ids=["made", *(path.name for path, _ in JAVA_6[1:] if path)]
)
def test_strings_of_java_6_that_have_a_part_of_their_array(
    real: Path | None, part: tuple[str, int, int], tmp_path: Path
) -> None:
    path = real or tmp_path / "java6.hprof"
    if real is None:
        path.write_bytes(java_6())
    query = (
        "SELECT name, field(object, 'count') AS used, field(object, 'value.length') AS length FROM objects"
    )
    with closing(archived(path, tmp_path)) as snapshot:
        tables.fill(snapshot, lambda *_: None)
        with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
            rows = list(session.stream(f"{query} WHERE type = 'java.lang.String' AND length > used")[1])
        assert max(rows, key=lambda row: row[2] - row[1]) == part
        # Java 6 has other fields for lists
        reader = field_reader(snapshot)
        lists = [
            each
            for each in range(len(snapshot.objects.type))
            if "java.util.LinkedList" in reader.classes(each)
        ]
        found = [
            (sum(1 for _ in contents_of(snapshot, each) or ()), count_of(snapshot, each)) for each in lists
        ]
        assert max(found)[0] > 0
        assert all(counted == said for counted, said in found)


@pytest.mark.slow
def test_examples_of_sql_answer_their_questions(ran: Ran) -> None:
    with closing(SqlSession(Snapshot.open(ran.snapshot.archive))) as session:
        found = {each.title: list(session.stream(each.query)[1]) for each in examples(ran.snapshot.info)}
    assert {"java.specification.version", "java.class.path"} <= {
        row[0] for row in found["The system properties"]
    }
    assert found["What the largest map contains"]
    colliding = found["Hash maps whose keys collide: entries that aren't the first of their bucket"]
    assert {(64, 128, 1, 98), (64, 512, 1, 98)} <= {row[2:] for row in colliding}
    loaders = {row[1].rpartition("$")[2]: row for row in found["Class loaders, with what they have loaded"]}
    # with the class of a lambda
    assert loaders["AppClassLoader"][2:4] == ("app", 3)
    assert found["Collections by how much of their arrays they use"]
    assert found["Boxed numbers by value"][0][2] > 1
    skipped = found["What of the program holds arrays of bytes, with the library's classes between skipped"]
    assert "shop.Contents$Kept" in {row[0] for row in skipped}


def test_weak_references_that_hold_their_referents_are_found(ran: Ran) -> None:
    (found,) = (
        each for each in findings(ran.snapshot, None, 100).findings if "never cleared" in str(each.sentence)
    )
    assert "2,000 WeakHashMap$Entry keep alive what they refer to themselves" in str(found.sentence)
    assert "shop.Contents.LEAKING" in str(found.sentence) or "Contents.LEAKING" in str(found.sentence)
    assert check_figures(ran.snapshot)


def application_server() -> bytes:
    """Threads of Tomcat and Jetty that handle requests, and the loaders of their web applications."""
    dump = Dump()
    at = iter(range(0x10_0000, 0x20_0000, 0x80))
    base = dump.klass(next(at), "java/lang/Object")
    dump.klass(next(at), "java/lang/Class", base)
    string = dump.klass(next(at), "java/lang/String", base, [("value", OBJECT), ("coder", BYTE)])
    thread = dump.klass(next(at), "java/lang/Thread", base, [("name", OBJECT)])
    loader = dump.klass(next(at), "java/lang/ClassLoader", base, [("name", OBJECT)])

    def text(value: str) -> int:
        return dump.instance(next(at), string, "Pb", dump.numbers(next(at), BYTE, value.encode()), 0)

    def made(name: str, above: int = base, **fields: int) -> int:
        kinds = [(field, INT if field in ("start", "end") else OBJECT) for field in fields]
        number = dump.klass(next(at), name.replace(".", "/"), above, kinds)
        form = "".join("i" if kind == INT else "P" for _, kind in kinds)
        rest = "P" if above == loader else ""
        return dump.instance(next(at), number, form + rest, *fields.values(), *([0] if rest else []))

    # Tomcat keeps bytes of the request where nobody has asked for a string
    buffer = dump.numbers(next(at), BYTE, b"GET /shop/cart?item=7 HTTP/1.1")
    chunk = dump.klass(
        next(at),
        "org/apache/tomcat/util/buf/ByteChunk",
        base,
        [("buff", OBJECT), ("start", INT), ("end", INT)],
    )
    message = dump.klass(
        next(at), "org/apache/tomcat/util/buf/MessageBytes", base, [("strValue", OBJECT), ("byteC", OBJECT)]
    )

    def bytes_of(start: int, end: int) -> int:
        return dump.instance(
            next(at), message, "PP", 0, dump.instance(next(at), chunk, "Pii", buffer, start, end)
        )

    coyote = made(
        "org.apache.coyote.Request",
        methodMB=dump.instance(next(at), message, "PP", text("GET"), 0),
        uriMB=bytes_of(4, 14),
        queryMB=bytes_of(15, 21),
    )
    request = made("org.apache.catalina.connector.Request", coyoteRequest=coyote)
    facade = made("org.apache.catalina.connector.RequestFacade", request=request)
    uri = made("org.eclipse.jetty.http.HttpURI$Immutable", _path=text("/about"), _query=0)
    data = made("org.eclipse.jetty.http.MetaData$Request", _method=text("POST"), _uri=uri)
    jetty = made("org.eclipse.jetty.server.Request", _metaData=data)
    context = made("org.apache.catalina.core.StandardContext", path=text("/shop"))
    resources = made("org.apache.catalina.webresources.StandardRoot", context=context)
    base_loader = "org/apache/catalina/loader/WebappClassLoaderBase"
    web_base = dump.klass(next(at), base_loader, loader, [("resources", OBJECT)])
    web_class = dump.klass(next(at), "org/apache/catalina/loader/ParallelWebappClassLoader", web_base)
    web = dump.instance(next(at), web_class, "PP", resources, 0)
    bundle = made(
        "org.eclipse.osgi.internal.loader.EquinoxClassLoader",
        dump.klass(next(at), "org/eclipse/osgi/internal/loader/ModuleClassLoader", loader, [("generation", OBJECT)]),
    )  # fmt: skip
    dump.klass(next(at), "com/example/Cart", base, loader=web)
    for serial, (name, held) in enumerate((("exec-1", facade), ("qtp-1", jetty), ("idle", bundle)), 1):
        own = dump.instance(next(at), thread, "P", text(name))
        dump.add(0x08, "PII", own, serial, 0)
        dump.add(0x03, "PII", held, serial, 0xFFFFFFFF)
    return dump.end()


def test_application_servers(open_dump: Opened) -> None:
    snapshot = open_dump(application_server(), "server.hprof")
    assert {row.name: row.request for row in threads(snapshot).rows} == {
        "exec-1": "GET /shop/cart?item=7", "qtp-1": "POST /about", "idle": "",
    }  # fmt: skip
    loaders = [
        row.name for row in object_rows(snapshot, range(len(snapshot.objects.type)))
        if row.type.endswith("ParallelWebappClassLoader")
    ]  # fmt: skip
    assert loaders == ["/shop"]
    assert "com.example.Cart (org.apache.catalina.loader.ParallelWebappClassLoader /shop)" in type_names(
        snapshot
    )


def test_a_dump_without_values_has_no_names(ran: Ran, tmp_path: Path) -> None:
    memlens("redact", ran.snapshot.manifest.source.path, tmp_path / "shared.hprof")
    named = {row.type for row in object_rows(ran.snapshot, list(ran.map_of("VALUES").values()))}
    assert {"java.io.File", "java.net.Inet4Address", "java.lang.StringBuilder", "java.lang.Integer"} <= named
    with closing(archived(tmp_path / "shared.hprof", tmp_path)) as snapshot:
        rows = object_rows(snapshot, range(len(snapshot.objects.type)))
        # classes are no values, and the names of threads stay
        left = {row.type for row in rows if row.name} - {"java.lang.reflect.Constructor", "java.lang.Thread"}
        assert not left & named
