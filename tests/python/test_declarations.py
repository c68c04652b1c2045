"""Declarations of types in source, found by the types' names in heap dumps."""

import asyncio
from pathlib import Path

import pytest

from memlens.sources.declarations import TypeName, declarations, line_of, type_name
from memlens.sources.finder import Finder
from memlens.sources.type_finder import find_type

JAVA = """package com.acme.cache;

// class Commented { }
/* class Long {
   class Inner { */
@interface Marked { }
public final class Cache<K extends Comparable<K>> extends Base implements Map<K, V> {
    static final String TEXT = "class Text {";
    private final char brace = '{';
    Class<?> kind = Cache.class;
    void run(Object record) { new Thread() { public void run() { } }; }
    static class Entry<K> { enum State { OPEN, CLOSED } }
    record Key(int a, int b) { }
    interface Listener { void on(); }
    class Last { }
}
class Second { class Entry { } }
"""
KOTLIN = """package com.acme.kt

data class Point(val x: Int, val y: Int)
fun build(): Int { return 1 }
sealed interface Shape { object Empty : Shape }
enum class Mode { ON }
class Holder(private val a: Int) {
    companion object { const val X = 1 }
    inner class Part
}
"""
SCALA = """package com.acme
package scala

case class Order(id: Int)
object Order { def apply(): Int = 3 }
trait Store { class Row }
"""
CSHARP = """using System;
namespace App.Data
{
    public class Repository<T> where T : class, new()
    {
        private struct Entry { public int A; }
        public sealed class Reader { }
    }
    namespace Deep { record struct Pair(int A, int B); }
    public record Named(string Name);
    class After { }
}
"""
FILE_SCOPED = "namespace App.Web;\n\npublic partial class Startup\n{\n    enum Kind { A }\n}\n"


def named(text: str) -> dict[str, int]:
    return {f"{each.type.package}:{'.'.join(each.type.names)}": each.line for each in declarations(text)}


def test_declarations_of_each_language() -> None:
    assert named(JAVA) == {
        "com.acme.cache:Cache": 7, "com.acme.cache:Cache.Entry": 12, "com.acme.cache:Cache.Entry.State": 12,
        "com.acme.cache:Cache.Key": 13, "com.acme.cache:Cache.Listener": 14, "com.acme.cache:Cache.Last": 15,
        "com.acme.cache:Second": 17, "com.acme.cache:Second.Entry": 17, "com.acme.cache:Marked": 6,
    }  # fmt: skip
    assert named(KOTLIN) == {
        "com.acme.kt:Point": 3, "com.acme.kt:Shape": 5, "com.acme.kt:Shape.Empty": 5, "com.acme.kt:Mode": 6,
        "com.acme.kt:Holder": 7, "com.acme.kt:Holder.Part": 9,
    }  # fmt: skip
    assert named(SCALA) == {
        "com.acme.scala:Order": 5, "com.acme.scala:Store": 6, "com.acme.scala:Store.Row": 6,
    }  # fmt: skip
    assert named(CSHARP) == {
        "App.Data:Repository": 4, "App.Data:Repository.Entry": 6, "App.Data:Repository.Reader": 7,
        "App.Data.Deep:Pair": 9, "App.Data:Named": 10, "App.Data:After": 11,
    }  # fmt: skip
    assert named(FILE_SCOPED) == {"App.Web:Startup": 3, "App.Web:Startup.Kind": 5}


@pytest.mark.parametrize(
    ("kind", "name", "package", "names"),
    [
        ("hprof", "com.acme.Cache", "com.acme", ("Cache",)),
        ("hprof", "com.acme.Cache$Entry[][]", "com.acme", ("Cache", "Entry")),
        ("hprof", "com.acme.Cache$Entry$1", "com.acme", ("Cache", "Entry")),
        ("hprof", "com.acme.Cache$1Local", "com.acme", ("Cache", "Local")),
        ("hprof", "com.acme.Cache$$Lambda$14/0x0000000800c03000", "com.acme", ("Cache",)),
        ("hprof", "com.acme.Order$", "com.acme", ("Order",)),
    ],
)
def test_names_of_types(kind: str, name: str, package: str, names: tuple[str, ...]) -> None:
    assert type_name(kind, name) == TypeName(package, names)


@pytest.mark.parametrize(("kind", "name"), [("hprof", "int[]"), ("hprof", ""), ("v8", "Session")])
def test_names_that_no_source_declares(kind: str, name: str) -> None:
    assert type_name(kind, name) is None


def test_the_innermost_declared_type_is_the_line() -> None:
    assert line_of(JAVA, TypeName("com.acme.cache", ("Cache", "Entry", "Generated"))) == 12
    assert line_of(JAVA, TypeName("com.acme.other", ("Cache",))) == 0
    assert line_of(KOTLIN, TypeName("com.acme.kt", ("ShapesKt",))) == 1


def test_types_are_found_among_files(tmp_path: Path) -> None:
    """By the file's name in the package's folder, by content if the name differs, and all of equal rank."""
    for path, text in {
        "one/src/com/acme/cache/Cache.java": JAVA, "other/Cache.java": JAVA.replace("com.acme.cache", "com.other"),
        "one/src/com/acme/kt/shapes.kt": KOTLIN, "net/Data.cs": CSHARP, "copy/Data.cs": CSHARP,
    }.items():  # fmt: skip
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    finder = Finder()
    finder.folders = [tmp_path]

    def find(kind: str, name: str) -> list[tuple[str, int]]:
        found = asyncio.run(find_type(finder, kind, name))
        return [(Path(each.path).relative_to(tmp_path).as_posix(), each.line) for each in found]

    assert find("hprof", "com.acme.cache.Cache$Entry") == [("one/src/com/acme/cache/Cache.java", 12)]
    assert find("hprof", "com.other.Cache") == [("other/Cache.java", 7)]
    assert find("hprof", "com.acme.kt.Holder$Part[]") == [("one/src/com/acme/kt/shapes.kt", 9)]
    assert find("hprof", "com.acme.kt.ShapesKt") == [("one/src/com/acme/kt/shapes.kt", 1)]
    assert find("gcdump", "App.Data.Named") == [("copy/Data.cs", 10), ("net/Data.cs", 10)]
    assert find("hprof", "com.acme.Missing") == []
