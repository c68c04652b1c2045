"""The Ruby stacks of JRuby's threads: of a program that runs, against what Ruby says itself, and of made dumps.

The jar is the newest of ``org.jruby:jruby-complete`` in Maven's local repository, or the one that MEMLENS_TEST_JRUBY
names; without it, or without Java, what needs one is skipped.
"""

import os
import re
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from tests.python.conftest import ROOT
from tests.python.heap_archives import Opened, archived
from tests.python.hprof_files import BYTE, INT, OBJECT, Dump

from memlens.packs.jvm.jruby_names import jruby_name
from memlens.store.snapshot import Snapshot
from memlens.views.heap.listing.threads import stack, threads

pytest_plugins = ("tests.python.heap_fixtures",)

PROGRAM = ROOT / "tests" / "fixtures" / "heap" / "src" / "jruby" / "shop.rb"
JARS = sorted((Path.home() / ".m2/repository/org/jruby/jruby-complete").glob("*/jruby-complete-*[0-9].jar"))
JRUBY = os.environ.get("MEMLENS_TEST_JRUBY") or (str(JARS[-1]) if JARS else "")
needs_jruby = pytest.mark.skipif(not (JRUBY and shutil.which("java")), reason="needs Java and JRuby's jar")

Stack = list[tuple[str, str, int]]
SAID = re.compile(r"(?P<thread>\w+)\t(?P<file>.+):(?P<line>\d+):in `(?P<function>.+)'")
OF_JAVA = ("each", "block in map", "block in load")
"""Methods of Ruby that JRuby has in Java, which stay frames of Java."""


def ruby_stacks(snapshot: Snapshot) -> dict[str, Stack]:
    """The frames of each thread that are Ruby's, by what is in its name."""
    found = dict[str, Stack]()
    for row in threads(snapshot).rows:
        frames = [
            part.frame for part in stack(snapshot, row.thread, limit=500).rows if part.frame is not None
        ]
        ruby = [
            (each.function, each.file, each.line)
            for each in frames
            if each.line and each.file.endswith(".rb")
        ]
        name = re.search(r"@(\w+)", row.name)
        found[name[1] if name else row.name] = ruby
    return found


@needs_jruby
@pytest.mark.parametrize("mode", ["OFF", "FORCE"])
def test_stacks_are_what_ruby_says(tmp_path: Path, mode: str) -> None:
    """Of the interpreter, and of what the compiler made."""
    dump = str(tmp_path / "dump.hprof")
    run = ["java", f"-Djruby.compile.mode={mode}", "-jar", JRUBY, str(PROGRAM), dump]
    printed = subprocess.run(run, check=True, capture_output=True, encoding="utf-8").stdout
    said = dict[str, Stack]()
    for line in printed.splitlines():
        found = SAID.fullmatch(line)
        assert found is not None, line
        if found["function"] not in OF_JAVA:
            # the compiler takes a class for a module
            function = found["function"].replace("<module:Late>", "<class:Late>")
            said.setdefault(found["thread"], []).append((function, found["file"], int(found["line"])))
    with closing(archived(tmp_path / "dump.hprof", tmp_path)) as snapshot:
        known = ruby_stacks(snapshot)
    assert said.keys() == {"filling", "adding", "counting", "loading"}
    assert {name: known[name] for name in said} == said
    main = [(function, Path(file).name) for function, file, _ in known["main"]]
    assert main == [("<main>", "shop.rb")]


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("RUBY$method$add$0", "add"), ("RUBY$block$work$5", "block in work"), ("RUBY$script", "<main>"),
        ("RUBY$class$Shop$2", "<class:Shop>"), ("RUBY$metaclass$singleton$1", "singleton class"),
        ("RUBY$method$\\{\\}$3", "[]"), ("RUBY$method$\\^\\^$3", "<<"), ("RUBY$method$a\\%b\\-c$3", "a$b\\c"),
        ("RUBY", None), ("invokeOther6:await", None), ("run", None),
    ],
)  # fmt: skip
def test_names_of_compiled_methods(method: str, name: str | None) -> None:
    assert jruby_name(method) == name


INTERPRETED = "org.jruby.internal.runtime.methods.InterpretedIRMethod"
ELEMENTS = [
    ("run", "app/shop.rb", 4),
    ("work", "app/shop.rb", 11),
    ("each_item", "uri:classloader:/set.rb", 8),
]


def made(*, index: int, elements: bool = True) -> bytes:
    """A thread in three calls of the interpreter, whose context has elements of these from the outermost on."""
    dump, at = Dump(), iter(range(0x10_0000, 0x20_0000, 0x40))
    base = dump.klass(next(at), "java/lang/Object")
    dump.klass(next(at), "java/lang/Class", base)
    string = dump.klass(next(at), "java/lang/String", base, [("value", OBJECT), ("coder", BYTE)])
    thread = dump.klass(next(at), "java/lang/Thread", base, [("name", OBJECT)])
    array = dump.klass(next(at), "[Lorg/jruby/runtime/backtrace/BacktraceElement;", base)
    element = dump.klass(
        next(at), "org/jruby/runtime/backtrace/BacktraceElement", base,
        [("method", OBJECT), ("filename", OBJECT), ("line", INT)],
    )  # fmt: skip
    context = dump.klass(
        next(at), "org/jruby/runtime/ThreadContext", base, [("backtrace", OBJECT), ("backtraceIndex", INT)]
    )
    names = [INTERPRETED, "org.jruby.ir.interpreter.Interpreter", "com.example.Main"]
    serials = [dump.load(next(at), name.replace(".", "/")) for name in names]

    def text(value: str) -> int:
        return dump.instance(next(at), string, "Pb", dump.numbers(next(at), BYTE, value.encode()), 0)

    calls = [("INTERPRET_METHOD", 0), ("INTERPRET_BLOCK", 1), ("INTERPRET_METHOD", 0), ("main", 2)]
    for number, (method, owner) in enumerate(calls):
        texts = (dump.name(method), dump.name("()V"), dump.name("Code.java"))
        dump.record(0x04, dump.pack("PPPPIi", 70 + number, *texts, serials[owner], 100 + number))
    dump.record(0x05, dump.pack("III4P", 20, 1, 4, 70, 71, 72, 73))
    # the element before the first is made with the context
    listed = [
        0,
        *(dump.instance(next(at), element, "PPi", text(m), text(f), line) for m, f, line in ELEMENTS),
    ]
    held = dump.objects(next(at), array, listed if elements else [])
    own = dump.instance(next(at), context, "Pi", held, index)
    dump.add(0x08, "PII", dump.instance(next(at), thread, "P", text("main")), 1, 20)
    dump.add(0x03, "PII", own, 1, 0)
    return dump.end()


def functions(snapshot: Snapshot) -> list[tuple[str, str, int, str]]:
    frames = [part.frame for part in stack(snapshot, 0).rows if part.frame is not None]
    return [(each.function, each.file, each.line, each.kind) for each in frames]


def test_a_made_stack(open_dump: Opened) -> None:
    """The line of an element is one less than Ruby's; what JRuby has in its jar is no code of the program's."""
    assert functions(open_dump(made(index=3), "ruby.hprof")) == [
        ("each_item", "uri:classloader:/set.rb", 9, "library"), ("block in work", "app/shop.rb", 12, "user"),
        ("run", "app/shop.rb", 5, "user"), ("com.example.Main.main", "com/example/Code.java", 103, "user"),
    ]  # fmt: skip


@pytest.mark.parametrize(("index", "elements"), [(3, False), (-5, True), (2**31 - 1, True)])
def test_stacks_without_elements_stay_javas(open_dump: Opened, index: int, elements: bool) -> None:
    found = functions(open_dump(made(index=index, elements=elements), "java.hprof"))
    assert [row[0] for row in found] == [
        f"{INTERPRETED}.INTERPRET_METHOD", "org.jruby.ir.interpreter.Interpreter.INTERPRET_BLOCK",
        f"{INTERPRETED}.INTERPRET_METHOD", "com.example.Main.main",
    ]  # fmt: skip


def test_a_context_with_fewer_elements(open_dump: Opened) -> None:
    """What the dump has is shown where it belongs, from the innermost call on."""
    found = functions(open_dump(made(index=1), "fewer.hprof"))
    assert [row[:3] for row in found[:1]] == [("run", "app/shop.rb", 5)]
    assert found[1][0].endswith("INTERPRET_BLOCK")
