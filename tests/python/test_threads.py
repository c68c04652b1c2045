"""Threads of heap dumps, their frames and variables: what is read of them, and what each retains, by brute force."""

import itertools
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT, real_heaps
from tests.python.counted import some
from tests.python.graphs import STRONG, WEAK, SmallGraph
from tests.python.heap_archives import Opened, archived
from tests.python.hprof_files import INT, LONG, OBJECT, Dump
from tests.python.java_classes import JAVAC
from tests.python.lsp_client import LspClient, RpcError
from tests.python.pyheap_files import TYPES, Thing, Thread, pyheap
from tests.python.recordings import JAVA, RAN_OUT
from tests.python.test_findings_of_heaps import check_figures
from tests.python.tries import tries

from memlens.errors import BadRequestError
from memlens.model.graph import NONE
from memlens.store.manifest import InconsistentError
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.store.tables import fill as tables
from memlens.views.findings.ahead import findings, headline
from memlens.views.heap.filters import filters
from memlens.views.heap.listing.threads import (
    ThreadRow,
    ThreadStackAnswer,
    VariableRow,
    stack,
    threads,
    variables,
)
from memlens.views.heap.objects.rows import MOST_ROWS
from memlens.views.heap.objects.thread_table import table
from memlens.views.sql.query import SqlSession

pytest_plugins = ("tests.python.heap_fixtures", "tests.python.server_fixtures")

PROGRAM = ROOT / "tests" / "fixtures" / "heap" / "src" / "RanOut.java"
# without the largest, in which traversals in plain Python take long
REAL = [RAN_OUT, JAVA] + [path for path in real_heaps("hprof/mat_*") if "jdk11" not in path.name]


def small_graph(snapshot: Snapshot) -> SmallGraph:
    """What the archive says about objects and references, in plain Python; without roots."""
    stored, kinds = snapshot.references, snapshot.graph_names.reference_kinds
    starts, targets, own = (column.tolist() for column in (stored.start, stored.target, stored.kind))
    edges = [
        [(targets[at], STRONG if kinds[own[at]].retains else WEAK) for at in range(first, last)]
        for first, last in itertools.pairwise(starts)
    ]
    return SmallGraph(edges, [], [0] * len(edges), snapshot.objects.shallow.tolist())


class Oracle:
    """What would be freed, by traversals of the whole graph."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot, self.graph = snapshot, small_graph(snapshot)
        names = snapshot.graph_names
        self.rows = [
            (item, names.root_kinds[kind], kind in names.held_kinds)
            for item, kind, _, _ in snapshot.objects.roots.tolist()
        ]
        self.entries = {item for item, _, is_held in self.rows if not is_held}
        self.reached = self.graph.reached(self.entries)

    def freed(self, without: Iterable[int], entries: set[int] | None = None) -> int:
        """Bytes that aren't reached any more without some objects, or from other entries."""
        begin = self.entries if entries is None else entries
        left = self.graph.reached(begin, frozenset(without))
        return sum(self.graph.shallow[item] for item in self.reached - left)

    def freed_by(self, thread: int, variables: dict[int, set[int]], own: int | None) -> int:
        """The same if a thread ended: its variables are no roots any more, and its object is gone."""
        kinds = {"local"} if self.snapshot.info.kind != "hprof" else set()
        entries = {item for item, kind, is_held in self.rows if not is_held and kind not in kinds}
        if kinds:
            entries |= {item for other, items in variables.items() if other != thread for item in items}
        return self.freed([] if own is None else [own], entries)


def whole(snapshot: Snapshot, thread: int, filter_text: str = "") -> ThreadStackAnswer:
    return stack(snapshot, thread, filter_text, 0, MOST_ROWS)


def check_sizes(snapshot: Snapshot) -> int:
    """Hold all figures to traversals, to SQL, and to the paged answers; return how many frames hold something."""
    oracle, known = Oracle(snapshot), table(snapshot)
    held: dict[int, set[int]] = {thread: set() for thread in range(len(known.object))}
    for row in known.variables.tolist():
        held[row[0]].add(row[2])
    found = threads(snapshot, "", 0, MOST_ROWS)
    assert found.total == len(held) == graph_of(snapshot.info).threads
    assert [row.retained_bytes for row in found.rows] == sorted(
        (row.retained_bytes for row in found.rows), reverse=True
    )
    of_frames, by_sql = 0, {}
    tables.fill(snapshot, lambda *_: None)
    with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
        query = "SELECT thread, depth, retained(object) FROM variables GROUP BY thread, depth"
        by_sql = {(thread, depth): size for thread, depth, size in session.stream(query)[1]}
        assert [row[0] for row in session.stream("SELECT name FROM threads ORDER BY thread")[1]] == [
            row.name for row in sorted(found.rows, key=lambda row: row.thread)
        ]
        frames = list(session.stream("SELECT thread, depth, function, file, line FROM thread_frames")[1])
    for row in found.rows:
        own = None if row.object is None else row.object.object
        assert row.retained_bytes == oracle.freed_by(row.thread, held, own), row
        assert row.shallow_bytes == (0 if own is None else oracle.graph.shallow[own])
        assert row.variables == len(held[row.thread] - {own})
        for part in whole(snapshot, row.thread).rows:
            listed = variables(snapshot, row.thread, part.part, part.depth, "", 0, MOST_ROWS)
            objects = {each.object.object for each in listed.rows}
            sizes = [each.object.retained_bytes for each in listed.rows]
            assert sizes == sorted(sizes, reverse=True)
            if part.part in ("frame", "no frame"):
                assert objects <= held[row.thread]
                assert part.variables == len(objects)
                assert part.retained_bytes == oracle.freed(objects & oracle.reached)
                assert part.shallow_bytes == sum(oracle.graph.shallow[item] for item in objects)
                assert by_sql.get((row.thread, part.depth), 0) == part.retained_bytes
                of_frames += bool(objects)
            if part.part == "frame" and part.frame is not None:
                place = (
                    (part.frame.file, part.frame.line)
                    if part.frame.file and part.frame.line
                    else (None, None)
                )
                assert (row.thread, part.depth, part.frame.function, *place) in frames
    return of_frames


def random_python(seed: int, threads_count: int) -> bytes:
    """A dump of lists that refer to each other, and threads whose variables share some of them."""
    rng = random.Random(seed)
    count = rng.randint(2, 40)
    own = [0x1000 + 16 * number for number in range(count)]
    things = [
        Thing(each, TYPES["list"], rng.randrange(1, 500), content=rng.choices(own, k=rng.randrange(3)))
        for each in own
    ]
    made = [
        Thread(
            f"worker {number % 9}",
            [
                ("/app/run.py", rng.randrange(1, 5), rng.choice(("run", "step")),
                 [(f"v{place}", rng.choice(own)) for place in range(rng.randrange(3))])
                for _ in range(rng.randrange(4))
            ],
        )
        for number in range(threads_count)
    ]  # fmt: skip
    return pyheap(things, threads=made)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(tries(40)))
def test_sizes_of_threads_whose_variables_are_roots(seed: int, open_dump: Opened) -> None:
    # in more than one walk through the graph
    count = 150 if seed % 20 == 0 else seed % 5 + 1
    snapshot = open_dump(random_python(seed, count), f"{seed}.pyheap")
    assert graph_of(snapshot.info).threads == count
    check_sizes(snapshot)


def random_java(seed: int) -> bytes:
    """A dump of nodes that refer to each other, and threads whose stacks and objects hold some of them."""
    rng = random.Random(seed)
    dump = Dump()
    object_class = dump.klass(0x100, "java/lang/Object")
    thread_class = dump.klass(
        0x120, "java/lang/Thread", object_class, [("name", OBJECT), ("held", OBJECT), ("threadStatus", INT)]
    )
    node = dump.klass(0x140, "Node", object_class, [("left", OBJECT), ("right", OBJECT)])
    nodes = [0x1000 + 32 * number for number in range(rng.randint(2, 40))]
    count = rng.randint(1, 4)
    own = [0x9000 + 64 * number for number in range(count)]
    for each in nodes:
        dump.instance(each, node, "PP", *(rng.choice([0, *nodes, *own]) for _ in range(2)))
    for each in own:
        dump.instance(
            each, thread_class, "PPI", 0, rng.choice([0, *nodes]), rng.choice((0, 2, 5, 0x401, 0x191))
        )
    dump.load(0x160, "shop/Run")
    for number, each in enumerate(own):
        depth = rng.randrange(5)
        ids = []
        for at in range(depth):
            ids.append(1000 + 10 * number + at)
            dump.record(
                0x04,
                dump.pack("PPPPIi", ids[-1], dump.name(f"m{at}"), dump.name("()V"), dump.name("Run.java"),
                          dump.serials, at + 1),
            )  # fmt: skip
        dump.record(0x05, dump.pack(f"III{len(ids)}P", 20 + number, number, len(ids), *ids))
        dump.add(0x08, "PII", each, number, 20 + number)
        for _ in range(rng.randrange(6)):
            # some in no frame
            dump.add(0x03, "PII", rng.choice(nodes + own), number, rng.randrange(depth + 2))
        if rng.random() < 0.3:
            dump.add(0x06, "PI", rng.choice(nodes), number)
    for each in rng.sample(nodes, rng.randrange(3) % len(nodes)):
        dump.add(0x01, "PP", each, 1)
    return dump.end()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(tries(40)))
def test_sizes_of_threads_whose_objects_hold_their_variables(seed: int, open_dump: Opened) -> None:
    check_sizes(open_dump(random_java(seed), f"{seed}.hprof"))


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_sizes_in_real_dumps(path: Path, looked_at: Callable[[Path], Snapshot]) -> None:
    snapshot = looked_at(path)
    frames = check_sizes(snapshot)
    # the hprof agent wrote no frames that hold anything
    assert frames >= (0 if "hprofagent" in path.name else 4)


def test_the_stack_of_a_thread_that_waited(tmp_path: Path) -> None:
    with closing(archived(RAN_OUT, tmp_path)) as snapshot:
        found = {row.name: row for row in threads(snapshot).rows}
        expected = {
            "main": "waiting", "importer": "runnable", "Reference Handler": "runnable", "Finalizer": "waiting",
            "Signal Dispatcher": "runnable", "Common-Cleaner": "waiting, with a timeout",
        }  # fmt: skip
        assert {name: found[name].state for name in expected} == expected
        main = [row for row in whole(snapshot, found["main"].thread).rows if row.part == "frame"]
        frames = [row.frame for row in main if row.frame]
        assert [each.function.rpartition(".")[2] for each in frames] == ["wait", "join", "join", "main"]
        assert (frames[-1].file, frames[-1].line) == ("shop/RanOut.java", 18)
        assert [
            (row.kind, row.object.type) for row in variables(snapshot, found["main"].thread, "frame", 3).rows
        ] == [("local variable", "java.lang.Thread"), ("local variable", "java.lang.String[]")]


def java_that_ran_out(
    *, is_own: bool = True, inner: tuple[str, str] = ("java/util/Arrays", "copyOf"), limit: int = 0
) -> bytes:
    """A thread that ran out of memory, with a thread local; its status is in another object, as since JDK 19.

    ``inner`` is the method in which it failed, and ``limit`` what the JDK keeps as the most that the heap may have.
    """
    dump = Dump()
    object_class = dump.klass(0x100, "java/lang/Object")
    thread_class = dump.klass(
        0x120,
        "java/lang/Thread",
        object_class,
        [("name", OBJECT), ("holder", OBJECT), ("threadLocals", OBJECT)],
    )
    holder = dump.klass(0x140, "java/lang/Thread$FieldHolder", object_class, [("threadStatus", INT)])
    reference = dump.klass(0x160, "java/lang/ref/Reference", object_class, [("referent", OBJECT)])
    weak = dump.klass(0x180, "java/lang/ref/WeakReference", reference)
    entry = dump.klass(0x1A0, "java/lang/ThreadLocal$ThreadLocalMap$Entry", weak, [("value", OBJECT)])
    locals_class = dump.klass(
        0x1C0, "java/lang/ThreadLocal$ThreadLocalMap", object_class, [("table", OBJECT)]
    )
    entries = dump.klass(0x1E0, "[Ljava/lang/ThreadLocal$ThreadLocalMap$Entry;", object_class)
    local = dump.klass(0x200, "java/lang/ThreadLocal", object_class)
    dump.klass(0x220, "shop/Leak", object_class, statics=[("BUFFER", OBJECT, 0x3000)])
    code = dump.serials
    dump.klass(0x240, "java/lang/OutOfMemoryError", object_class)
    error = dump.serials
    dump.klass(0x260, inner[0], object_class)
    arrays = dump.serials
    if limit:
        dump.klass(0x280, "jdk/internal/misc/VM", object_class, statics=[("directMemory", LONG, limit)])
    dump.instance(0x3000, local)
    dump.numbers(0x3100, 8, bytes(5_000))
    dump.numbers(0x3200, 8, bytes(7_000))
    dump.instance(0x3300, entry, "PP", 0x3100, 0x3000)
    dump.objects(0x3400, entries, [0, 0x3300])
    dump.instance(0x3500, locals_class, "P", 0x3400)
    dump.instance(0x3600, holder, "I", 0x191)
    dump.instance(0x3700, thread_class, "PPP", 0, 0x3600, 0x3500)
    frames = [(error, "<init>", "OutOfMemoryError.java", 48), (arrays, inner[1], "Inner.java", 3537)]
    if is_own:
        frames += [(code, "grow", "Leak.java", 17), (code, "main", "Leak.java", 30)]
    for at, (serial, method, file, line) in enumerate(frames):
        dump.record(
            0x04,
            dump.pack("PPPPIi", 500 + at, dump.name(method), dump.name("()V"), dump.name(file), serial, line),
        )
    dump.record(
        0x05, dump.pack(f"III{len(frames)}P", 7, 1, len(frames), *(500 + at for at in range(len(frames))))
    )
    dump.add(0x08, "PII", 0x3700, 1, 7)
    dump.add(0x03, "PII", 0x3200, 1, 1)
    return dump.end()


def test_a_thread_that_ran_out_of_memory(open_dump: Opened) -> None:
    snapshot = open_dump(java_that_ran_out(), "leak.hprof")
    (row,) = threads(snapshot).rows
    assert (row.out_of_memory, row.state, row.frames, row.variables) == (True, "waiting", 4, 1)
    assert row.failed_at is not None
    assert (row.failed_at.function, row.failed_at.line) == ("shop.Leak.grow", 17)
    parts = whole(snapshot, row.thread).rows
    assert [part.part for part in parts] == ["object", "thread locals", *["frame"] * 4]
    (local,) = variables(snapshot, row.thread, "thread locals", None).rows
    assert (local.name, local.kind, local.object.type) == ("shop.Leak.BUFFER", "thread local", "byte[]")
    assert parts[1].retained_bytes == local.object.retained_bytes > 5_000
    first = headline(snapshot, None).sentences[0]
    assert first.text.startswith("Thread #0 ran out of memory in Leak.grow, Leak.java:17; it alone holds ")
    finding = findings(snapshot, None, 100).findings[0]
    assert (finding.rule, finding.text) == ("out_of_memory", first.text)
    assert finding.objects is not None
    assert (finding.objects.kind, finding.objects.number) == ("thread", row.thread)
    assert finding.line is not None
    assert (finding.line.file, finding.line.line) == ("shop/Leak.java", 17)
    assert finding.figure.amount == row.retained_bytes
    assert check_figures(snapshot)


@pytest.mark.parametrize(
    ("inner", "limit", "said"),
    [
        (("java/util/Arrays", "copyOf"), 0, ("ran out of memory in Leak.grow", "of the reachable heap).")),
        (("java/util/Arrays", "copyOf"), 13_000, ("ran out of memory", "GC overhead limit exceeded")),
        (
            ("java/util/Arrays", "copyOf"),
            1 << 30,
            ("ran out of memory in Leak.grow", "of the reachable heap)."),
        ),
        (
            ("java/lang/ClassLoader", "defineClass1"),
            0,
            ("ran out of Metaspace in Leak.grow", "MaxMetaspaceSize"),
        ),
        (("java/lang/Class", "forName0"), 1 << 30, ("ran out of Metaspace in Leak.grow", "MaxMetaspaceSize")),
        # a class's mirror is an object
        (("java/lang/Class", "forName0"), 13_000, ("ran out of memory", "The heap was full")),
        (("java/lang/Thread", "start0"), 0, ("could not start another thread in Leak.grow", "larger heap")),
    ],
)
def test_what_a_program_of_java_ran_out_of(
    open_dump: Opened, inner: tuple[str, str], limit: int, said: tuple[str, str]
) -> None:
    snapshot = open_dump(java_that_ran_out(inner=inner, limit=limit), "leak.hprof")
    text = headline(snapshot, None).sentences[0].text
    assert all(part in text for part in said), text
    assert text.endswith(said[1]) or "heap)." not in said[1]


def test_one_that_ran_out_in_code_of_others_alone(open_dump: Opened) -> None:
    snapshot = open_dump(java_that_ran_out(is_own=False), "leak.hprof")
    (row,) = threads(snapshot).rows
    assert row.failed_at is not None
    assert row.failed_at.function == "java.util.Arrays.copyOf"


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("javac") and shutil.which("java")), reason="needs a JDK")
def test_a_program_that_runs_out_of_memory(tmp_path: Path) -> None:
    subprocess.run([*JAVAC, "-d", tmp_path, PROGRAM], check=True)
    dump = tmp_path / "ran_out.hprof"
    options = ["-Xmx16m", "-XX:+UseSerialGC", "-XX:+HeapDumpOnOutOfMemoryError", f"-XX:HeapDumpPath={dump}"]
    ended = subprocess.run(
        ["java", *options, "-cp", tmp_path, "shop.RanOut"], capture_output=True, check=False
    )
    assert dump.is_file(), ended.stderr
    line = 1 + next(
        number for number, text in enumerate(PROGRAM.read_text().split("\n")) if "rows.add(" in text
    )
    with closing(archived(dump, tmp_path)) as snapshot:
        row = threads(snapshot).rows[0]
        assert (row.name, row.out_of_memory) == ("importer", True)
        assert row.retained_bytes > 10 << 20
        grow = next(
            part
            for part in whole(snapshot, row.thread).rows
            if part.frame and part.frame.function.endswith(".grow")
        )
        assert (grow.frame and grow.frame.line, grow.variables) == (line, 1)
        (rows,) = variables(snapshot, row.thread, "frame", grow.depth).rows
        assert rows.object.type == "java.util.ArrayList"
        assert grow.retained_bytes == rows.object.retained_bytes > 10 << 20
        (buffer,) = variables(snapshot, row.thread, "thread locals", None).rows
        assert buffer.name == "shop.RanOut.BUFFER"
        said = headline(snapshot, None).text
        assert said.startswith(f"Thread importer ran out of memory in RanOut.grow, RanOut.java:{line};")


PYTHON = """
import sys, threading
import memlens.dump

ready, done = threading.Event(), threading.Event()

def work(rows):
    cache = {number: bytes(5000) + bytes([number]) for number in range(200)}
    both = [cache, rows]
    ready.set()
    done.wait()

def descend(depth, path):
    block = bytes(1000 + depth)
    if depth:
        descend(depth - 1, path)
    else:
        memlens.dump.heap(path)

worker = threading.Thread(target=work, args=([bytes(3000)],), name="importer")
worker.start()
ready.wait()
descend(2, sys.argv[1])
done.set()
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Snapshot, list[str]]]:
    folder = tmp_path_factory.mktemp("python")
    program, dump = folder / "program.py", folder / "program.heap"
    program.write_text(PYTHON)
    library = {**os.environ, "PYTHONPATH": str(ROOT / "pyserver")}
    subprocess.run([sys.executable, program, dump], check=True, env=library)
    with closing(archived(dump, folder)) as snapshot:
        yield snapshot, str(PYTHON).split("\n")


def named(rows: Iterable[VariableRow]) -> dict[str, str]:
    return {row.name: row.object.type for row in rows}


def test_threads_of_python(python: tuple[Snapshot, list[str]]) -> None:
    snapshot, lines = python
    rows: dict[str, ThreadRow] = {row.name: row for row in threads(snapshot).rows}
    assert list(rows) == ["importer", "MainThread"]
    worker = rows["importer"]
    assert worker.object is not None
    assert worker.object.type == "threading.Thread"
    # the cache and the rows, and little else
    assert 1_003_000 < worker.retained_bytes < 1_060_000
    frames = {part.frame.function: part for part in whole(snapshot, worker.thread).rows if part.frame}
    work = frames["work"]
    assert work.frame is not None
    assert lines[work.frame.line - 1].strip() == "done.wait()"
    assert named(variables(snapshot, worker.thread, "frame", work.depth).rows) == {
        "cache": "dict", "rows": "list", "both": "list",
    }  # fmt: skip
    # each once, though two of them hold the third
    assert 1_003_000 < work.retained_bytes < worker.retained_bytes
    main = [part for part in whole(snapshot, rows["MainThread"].thread).rows if part.part == "frame"]
    assert [part.frame.function for part in main if part.frame] == ["descend"] * 3 + ["<module>"]
    blocks = [
        next(
            row.object.shallow_bytes
            for row in variables(snapshot, rows["MainThread"].thread, "frame", depth).rows
            if row.name == "block"
        )
        for depth in range(3)
    ]
    # each call of one function has its own variables
    assert [size - blocks[0] for size in blocks] == [0, 1, 2]
    assert "worker" in named(variables(snapshot, rows["MainThread"].thread, "frame", 3, "", 0, 1000).rows)


def test_every_figure_of_a_python_program(python: tuple[Snapshot, list[str]]) -> None:
    snapshot, _ = python
    oracle, known = Oracle(snapshot), table(snapshot)
    held = {thread: set(known.variables_of(thread)["object"].tolist()) for thread in range(len(known.object))}
    for row in some(threads(snapshot).rows):
        assert row.object is not None
        assert row.retained_bytes == oracle.freed_by(row.thread, held, row.object.object)


def functions(snapshot: Snapshot, thread: int, filter_text: str) -> list[str]:
    return [part.frame.function for part in whole(snapshot, thread, filter_text).rows if part.frame]


def test_the_filter_narrows_threads_frames_and_variables(python: tuple[Snapshot, list[str]]) -> None:
    snapshot, _ = python

    def names(filter_text: str) -> list[str]:
        return [row.name for row in threads(snapshot, filter_text).rows]

    assert names("thread:import") == names("importer") == names("-thread:Main") == ["importer"]
    assert names("function:descend") == names("descend") == ["MainThread"]
    assert names("function:descend thread:importer") == []
    assert set(names("type:dict")) == {"importer", "MainThread"}
    worker = next(row.thread for row in threads(snapshot).rows if row.name == "importer")
    assert functions(snapshot, worker, "type:dict") == ["work"]
    assert functions(snapshot, worker, "function:work type:list") == ["work"]
    assert functions(snapshot, worker, "-function:wait") == [
        each for each in functions(snapshot, worker, "") if not each.endswith("wait")
    ]
    depth = next(part.depth for part in whole(snapshot, worker, "type:dict").rows)
    assert named(variables(snapshot, worker, "frame", depth, "type:list").rows) == {
        "rows": "list",
        "both": "list",
    }
    # of the objects elsewhere, too
    chosen = filters.chosen(snapshot, "function:work")
    assert chosen is not None
    types = [snapshot.strings.head(int(snapshot.types.name[each]), 100) for each in snapshot.objects.type]
    assert {types[number] for number in np.flatnonzero(chosen.mask(snapshot))} == {"dict", "list"}
    for wrong in ("thread<5", "thread:"):
        with pytest.raises(BadRequestError):
            threads(snapshot, wrong)


def test_the_same_row_is_on_one_page_alone(python: tuple[Snapshot, list[str]]) -> None:
    snapshot, _ = python
    main = next(row.thread for row in threads(snapshot).rows if row.name == "MainThread")
    assert [threads(snapshot, "", at, 1).rows[0] for at in range(2)] == threads(snapshot).rows
    parts = whole(snapshot, main)
    assert [row for at in range(parts.total) for row in stack(snapshot, main, "", at, 1).rows] == parts.rows
    every = variables(snapshot, main, "frame", 3, "", 0, 1000)
    paged = [variables(snapshot, main, "frame", 3, "", at, 1).rows[0] for at in range(every.total)]
    assert paged == every.rows
    for ask in (lambda: stack(snapshot, 2), lambda: variables(snapshot, 2, "frame", 0)):
        with pytest.raises(BadRequestError, match="no thread number 2"):
            ask()


def test_dumps_without_threads(open_dump: Opened) -> None:
    snapshot = open_dump(pyheap([Thing(0x1000, TYPES["list"], 72)], threads=[]), "none.pyheap")
    assert graph_of(snapshot.info).threads == threads(snapshot).total == 0
    ended = open_dump(
        pyheap([Thing(0x1000, TYPES["list"], 72)], threads=[Thread("gone", [], is_alive=False)]),
        "gone.pyheap",
    )
    (row,) = threads(ended).rows
    assert (row.name, row.state, row.object, row.frames, row.retained_bytes) == ("gone", "ended", None, 0, 0)


def test_columns_that_contradict_each_other_are_damage(open_dump: Opened) -> None:
    for column, field, value in (
        ("rows", "object", 10**6), ("rows", "end", 99), ("rows", "name", 10**6), ("frames", "frame", 10**6),
        ("variables", "thread", 9), ("variables", "depth", 50), ("variables", "object", 10**6),
        ("variables", "kind", 200),
    ):  # fmt: skip
        snapshot = open_dump(java_that_ran_out(), f"{column}-{field}.hprof")
        changed = np.array(getattr(snapshot.threads, column))
        changed[field] = value
        vars(snapshot.threads)[column] = changed
        with pytest.raises(InconsistentError):
            threads(snapshot)
    assert NONE not in table(open_dump(java_that_ran_out(), "whole.hprof")).frames


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "leak.hprof"
    path.write_bytes(java_that_ran_out())
    kept = ("--cache-dir", tmp_path / "cache")
    said = memlens("threads", path, *kept).stdout
    assert "thread 0, waiting, ran out of memory: " in said
    assert "shop.Leak.grow, shop/Leak.java:17" in said
    assert "shop.Leak.BUFFER = byte[] @" in said
    (row,) = json.loads(memlens("threads", path, "--json", *kept).stdout)["threads"]
    assert (row["row"]["out_of_memory"], row["row"]["failed_at"]["line"]) == (True, 17)
    assert [part["row"]["part"] for part in row["stack"]] == ["object", "thread locals", *["frame"] * 4]
    error = memlens("threads", path, "--filter", "type:Nothing", *kept, status=1).stderr
    assert "Nothing matches type:Nothing" in error
    other = tmp_path / "none.pyheap"
    other.write_bytes(pyheap([Thing(0x1000, TYPES["list"], 72)], threads=[]))
    assert "the dump has no threads" in memlens("threads", other, *kept).stdout


@pytest.mark.slow
def test_the_server_answers(server: LspClient, tmp_path: Path) -> None:
    path = tmp_path / "leak.hprof"
    path.write_bytes(java_that_ran_out())
    opened = server.request("memlens/open", {"path": str(path), "view": "v1"})
    assert opened["info"]["threads"] == 1
    about = {"snapshot": opened["snapshot"], "filter": "", "offset": 0, "limit": 10}
    (row,) = server.request("memlens/heapThreads", about)["rows"]
    parts = server.request("memlens/heapStack", {**about, "thread": row["thread"]})
    assert parts["total"] == len(parts["rows"]) == 6
    frame = {"thread": row["thread"], "part": "frame", "depth": 1}
    (variable,) = server.request("memlens/heapVariables", {**about, **frame})["rows"]
    assert variable["object"]["type"] == "byte[]"
    with pytest.raises(RpcError, match="no thread number"):
        server.request("memlens/heapStack", {**about, "thread": 9})
