"""Types that two processes name differently: two runs of a Java program with lambdas, proxies and class loaders."""

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.python.java_classes import JAVAC

from memlens.cli import main
from memlens.views.naming.stable_names import common_names, stable_name
from memlens.views.sql.compared import QuerySide, compare_queries
from memlens.views.sql.pages import Cell, SqlColumn

PROGRAM = """
import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.net.*;
import java.nio.file.*;
import java.util.*;
import java.util.function.Supplier;

public class Plugins {
    static final List<Object> KEPT = new ArrayList<>();
    static Supplier<byte[]> cart(byte[] data) { return () -> data; }
    static Supplier<byte[]> order(byte[] data) { return () -> data.clone(); }
    static Supplier<byte[]> other(byte[] data) { return () -> new byte[data.length]; }
    static void plugins(int loaders, int each) throws Exception {
        URL[] here = { Path.of(System.getProperty("java.class.path")).toUri().toURL() };
        for (int loader = 0; loader < loaders; loader++) {
            Class<?> plug = new URLClassLoader("plugin", here, null).loadClass("Plug");
            for (int n = 0; n < each; n++) KEPT.add(plug.getConstructor(int.class).newInstance(3_000));
        }
    }
    static void dump(String file) throws Exception {
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(file, true);
    }
    public static void main(String[] all) throws Exception {
        int shift = Integer.parseInt(all[1]), count = Integer.parseInt(all[2]);
        Class<?>[] others = { Runnable.class, Comparable.class, Iterable.class, AutoCloseable.class };
        for (int n = 0; n < shift; n++) {
            KEPT.add(Proxy.newProxyInstance(Plugins.class.getClassLoader(), new Class<?>[] { others[n] },
                (proxy, method, values) -> null));
            KEPT.add(n % 2 == 0 ? (Runnable) () -> {} : (Runnable) () -> { KEPT.size(); });
        }
        if (shift > 0) KEPT.add(order(new byte[4_000]));
        for (int n = 0; n < count; n++) KEPT.add(cart(new byte[8_000]));
        if (shift == 0) KEPT.add(order(new byte[4_000]));
        Supplier<?> made = (Supplier<?>) Proxy.newProxyInstance(Plugins.class.getClassLoader(),
            new Class<?>[] { Supplier.class }, (proxy, method, values) -> "made");
        KEPT.add(made);
        plugins(3, count);
        dump(all[0] + "-first.hprof");
        KEPT.add(other(new byte[3_000]));
        for (int n = 0; n < count; n++) KEPT.add(cart(new byte[8_000]));
        plugins(1, count);
        dump(all[0] + "-second.hprof");
    }
}
"""
TYPES = "SELECT type || coalesce(' (' || module || ')', '') AS type, count FROM types"
PLUG = "public class Plug { byte[] data; public Plug(int size) { data = new byte[size]; } }"

PAIRS = [
    ("Foo$$Lambda$12+0x00007f93d8002800", "Foo$$Lambda$7+0x00007fa3d8002c00", "Foo$$Lambda*"),
    ("Foo$$Lambda$14/1324119927[]", "Foo$$Lambda+0x000000080014c800[]", "Foo$$Lambda*[]"),
    ("com.sun.proxy.$Proxy17", "com.sun.proxy.$Proxy9", "com.sun.proxy.$Proxy*"),
    ("jdk.proxy2.$Proxy3", "jdk.proxy1.$Proxy4", "jdk.proxy*.$Proxy*"),
    ("sun.reflect.GeneratedMethodAccessor1 (L)", "sun.reflect.GeneratedMethodAccessor52 (L)",
     "sun.reflect.GeneratedMethodAccessor* (L)"),
    ("java.lang.invoke.LambdaForm$MH+0x00007ff56810ec00", "java.lang.invoke.LambdaForm$MH+0x00007f0000000400",
     "java.lang.invoke.LambdaForm$MH+*"),
    ("Plug (java.net.URLClassLoader web0 @ 0x6878521d0)", "Plug (java.net.URLClassLoader web0)",
     "Plug (java.net.URLClassLoader web0)"),
    ("Cart$$EnhancerBySpringCGLIB$$1a2b3c4d", "Cart$$EnhancerBySpringCGLIB$$ff00", "Cart$$EnhancerBySpringCGLIB$$*"),
    ("a.User$HibernateProxy$aB3xY", "a.User$HibernateProxy$Zz9", "a.User$HibernateProxy$*"),
    ("#<Class:0x00007f93d8002800>", "#<Class:0x00007f93d8009900>", "#<Class:*>"),
]  # fmt: skip
STABLE = [
    "java.util.HashMap$Node[]", "Foo$12", "-$$Lambda$Foo$1abcDEF", "Proxy9", "Colour 0xff", "@ 0x",
    "a.User$$ExternalSyntheticLambda0", "GeneratedMethodAccessor", "$Proxyless3x", "Hash$$2$ab",
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "name"), PAIRS)
def test_names_of_two_processes(one: str, other: str, name: str) -> None:
    assert stable_name(one) == stable_name(other) == name
    assert {common_names([{one}, {other}]).get(each, each) for each in (one, other)} == {name}
    # numbers may be the same by chance, as those of two processes are that addresses tell apart
    twice = [{one, other, "A$$Lambda+0x00007f93d8002800"}, {one, other, "A$$Lambda+0x00007f93d8002c00"}]
    assert common_names(twice).get(one, one) == name
    # what only one of them has, and what both have, keeps its name
    assert not common_names([{one}, set()])
    assert not common_names([{one, other}, {one}])
    assert not common_names([set(), {one}, {one, other}])


@pytest.mark.parametrize("name", STABLE)
def test_names_that_are_the_same_in_every_process(name: str) -> None:
    assert stable_name(name) == name


def test_rows_of_queries_are_paired_by_stable_names() -> None:
    columns = [SqlColumn("type", "text"), SqlColumn("n", "integer")]
    before = QuerySide(columns, [["A$$Lambda$1", 5], ["A$$Lambda$2", 3], ["0xabcdef", 2], ["B", 1]])
    after = QuerySide(columns, [["0xfedcba", 1], ["0xabcdef", 4], ["A$$Lambda$2", 9], ["A$$Lambda$3", 7]])
    assert sorted(map(str, compare_queries([before, after]).rows)) == sorted(
        map(
            str,
            [
                ["A$$Lambda$2", 3, 9, 6], ["A$$Lambda*", 5, 7, 2], ["0xabcdef", 2, 4, 2], ["B", 1, None, -1],
                ["0xfedcba", None, 1, 1],
            ],
        )
    )  # fmt: skip
    # many of one stable name take no longer than others
    many: list[list[Cell]] = [[f"Foo$$Lambda${n}", 1] for n in range(60_000)]
    found = compare_queries([QuerySide(columns, many[:30_000]), QuerySide(columns, many[30_000:])])
    assert found.rows == [["Foo$$Lambda*", 1, 1, 0]] * 30_000
    series = compare_queries([QuerySide(columns, [[f"#<Class:0x{n:016x}>", n]]) for n in (7, 8, 9)])
    assert series.rows == [["#<Class:*>", 7, 8, 9, 2]]


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two dumps of each of two runs, of which the other has more, and other numbers."""
    if not (shutil.which("javac") and shutil.which("java")):
        pytest.skip("needs a JDK")
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "Plugins.java").write_text(PROGRAM)
    (folder / "Plug.java").write_text(PLUG)
    subprocess.run([*JAVAC, "-d", folder / "made", "Plugins.java", "Plug.java"], cwd=folder, check=True)
    for name, shift, count in (("a", 0, 130), ("b", 4, 140)):
        # no addresses of a shared archive, which all processes have in common
        options = ["-Xshare:off", "-Xmx128m", "-cp", str(folder / "made"), "Plugins"]
        subprocess.run(["java", *options, folder / name, str(shift), str(count)], check=True)
    return [folder / f"{run}-{dump}.hprof" for run in "ab" for dump in ("first", "second")]


def asked(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: object) -> Any:
    assert main([*map(str, arguments), "--cache-dir", str(folder / "cache"), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def plain(name: str) -> str:
    """What is before anything that may be of one process alone, without numbers."""
    for mark in ("$$Lambda", " @ 0x", "+"):
        name = name.partition(mark)[0]
    return "".join(each for each in name if not each.isdigit() and each not in "*)")


@pytest.mark.slow
def test_two_runs_of_a_program(dumps: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    before, _, after, _ = dumps
    folder = before.parent
    answer = asked(capsys, folder, "compare", before, after, "--top", 100_000)
    rows = {row["type"]: row for row in answer["types"]}
    # of each file by itself: how many objects there are of the types of one plain name
    counts = []
    for file in (before, after):
        own = asked(capsys, folder, "sql", file, TYPES, "--limit", 100_000)
        counts.append(Counter[str]())
        for row in own:
            counts[-1][plain(row["type"])] += row["count"]
    for number, side in enumerate(("before", "after")):
        found = Counter[str]()
        for row in answer["types"]:
            found[plain(row["type"])] += row[f"{side}_count"]
        assert found == counts[number]
    loader = "(jdk.internal.loader.ClassLoaders$AppClassLoader)"
    lambdas, plug = rows[f"Plugins$$Lambda* {loader}"], rows["Plug (java.net.URLClassLoader plugin)"]
    # carts, one order, the proxy's handler; and with a shift one for each place where it makes some
    assert (lambdas["before_count"], lambdas["after_count"]) == (132, 145)
    assert (plug["before_count"], plug["after_count"]) == (390, 420)
    assert plug["after_retained_bytes"] - plug["before_retained_bytes"] >= 30 * 3_000
    # a type that both runs have by a plain name is new in neither
    both = counts[0].keys() & counts[1].keys()
    assert not [name for name, row in rows.items() if row["before_number"] is None and plain(name) in both]
    grown = {(row["path"][-2], row["before_objects"], row["after_objects"]) for row in answer["paths"]}
    assert {(lambdas["type"], 130, 140), (plug["type"], 130, 140)} <= grown
    series = asked(capsys, folder, "compare", *dumps, "--top", 100_000)
    row = next(each for each in series["types"] if each["type"] == plug["type"])
    assert row["counts"] == [390, 520, 420, 560]


def test_findings_of_two_runs(dumps: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    before, _, after, _ = dumps
    rows = asked(capsys, before.parent, "compare", before, after, "--by", "finding")["rows"]
    said = [(row["rule"], row["subject"], row["change"]) for row in rows]
    assert said == [("retains_most", "java.util.ArrayList, Plugins.KEPT", "grown")]


def test_any_query_about_two_runs(dumps: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    before, _, after, _ = dumps
    query = "SELECT type_id, type, count, module FROM types WHERE count > 99 AND type GLOB 'Plug*'"
    rows = asked(capsys, before.parent, "compare", before, after, "--sql", query)
    loaders = ["java.net.URLClassLoader plugin", "jdk.internal.loader.ClassLoaders$AppClassLoader"]
    # a number of one dump alone isn't compared
    assert all(isinstance(row.pop("type_id"), int) for row in rows)
    figures = {"before count": 130, "after count": 140, "difference count": 10}
    assert sorted(rows, key=str) == sorted(
        [{"type": "Plug", "module": loaders[0], **figures}] * 3
        + [{"type": "Plugins$$Lambda*", "module": loaders[1], **figures}],
        key=str,
    )


def test_two_dumps_of_one_process_tell_its_types_apart(
    dumps: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, *_ = dumps
    answer = asked(capsys, first.parent, "compare", first, second, "--top", 100_000)
    lambdas = {row["type"]: row for row in answer["types"] if row["type"].startswith("Plugins$$Lambda$")}
    assert not [row for row in answer["types"] if "Lambda*" in row["type"]]
    grown = {(row["before_count"], row["after_count"]) for row in lambdas.values()}
    # carts, one order, the proxy's handler, and one of which there is none before
    assert grown == {(130, 260), (1, 1), (0, 1)}
