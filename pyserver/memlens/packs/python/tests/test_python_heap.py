"""Heap dumps of Python by Memlens against the interpreter's own counts, and their safety for the program."""

import json
import os
import random
import shutil
import struct
import subprocess
import sys
import textwrap
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.python.graph_reading import damaged, edges, load, outcome, roots, type_names
from tests.python.heap_archives import archived
from tests.python.tries import tries

import memlens
from memlens import dump
from memlens.cli import main
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.remote_dump import RemoteDumpError, remote_heap
from memlens.views.heap.listing.lists import heap_types

LIBRARY = Path(memlens.__file__).parents[1]
NEWER = os.environ.get("MEMLENS_TEST_PYTHON314") or shutil.which("python3.14") or ""
PYTHONS = [sys.executable, NEWER] if NEWER else [sys.executable]

PROGRAM = """
import dataclasses, functools, gc, json, sys
import memlens.dump

@dataclasses.dataclass
class Point:
    x: int = 0

def logged(method):
    @functools.wraps(method)
    def wrapper(*given): return method(*given)
    return wrapper

class Decorated:
    @logged
    def only(self): pass

class Session:
    def __init__(self, user):
        self.user = user
        self.events = [user, "signed in"]
        self.state = {"visits": 3, 7: "seven"}

class Slotted:
    __slots__ = ("left", "right")
    def __init__(self):
        self.left, self.right = [1], (2.5, b"raw")

class Sneaky(dict):
    ran = []
    def __repr__(self): self.ran.append("repr"); return "x"
    def __sizeof__(self): self.ran.append("sizeof"); return 1
    def __iter__(self): self.ran.append("iter"); return iter(())
    def __getattr__(self, name): self.ran.append(name); raise AttributeError(name)
    def __getattribute__(self, name): Sneaky.ran.append(name); return super().__getattribute__(name)
    @property
    def __class__(self): Sneaky.ran.append("class"); return int

def closing(kept):
    def inner(): return kept
    return inner

SECRET = "sec" + "ret" * 3
kept = [Session(f"user {n}") for n in range(50)]
slotted, sneaky = Slotted(), Sneaky(a=1)
function = closing(["captured"])
gc.collect()
gc.disable()
before = {id(each): (type(each).__qualname__, sys.getsizeof(each), sorted(map(id, gc.get_referents(each))))
          for each in gc.get_objects() if type(each) is not Sneaky and type(each).__name__ != "frame"}
Sneaky.ran.clear()
def work():
    local = kept[:2]
    cost = memlens.dump.heap(sys.argv[1], texts=len(sys.argv) < 3, collect=False)
    return cost, id(local)
cost, local = work()
ids = {name: id(globals()[name]) for name in ("kept", "slotted", "sneaky", "function", "Session", "work",
                                              "Point", "Decorated")}
print(json.dumps({"before": list(before.items()), "own": id(before), "ids": ids, "local": local, "ran": Sneaky.ran,
                  "version": sys.version_info[:2], "cost": cost._asdict(),
                  "cell": id(function.__closure__[0]), "first": id(kept[0])}))
"""


class Ran:
    """A run of PROGRAM: its dump and its output."""

    def __init__(self, folder: Path, python: str, *options: str) -> None:
        self.python = python
        self.program, self.dump = folder / "program.py", folder / "program.heap"
        self.program.write_text(textwrap.dedent(PROGRAM))
        command = [python, str(self.program), str(self.dump), *options]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env={"PYTHONPATH": str(LIBRARY)}
        )
        self.said: dict[str, Any] = json.loads(done.stdout)
        self.graph = load(self.dump)
        self.number = {own: number for number, own in enumerate(self.graph.objects.ids.tolist())}
        self.edges = edges(self.graph)

    def line(self, text: str) -> int:
        """The line of the program that begins with a text."""
        return 1 + next(
            number
            for number, line in enumerate(self.program.read_text().split("\n"))
            if line.startswith(text)
        )

    def references(self, own_id: int) -> dict[str, int]:
        """Name (or kind, where it has none) to the target's id."""
        return {name or kind: target for kind, name, target in self.edges[self.number[own_id]]}

    def name(self, own_id: int) -> str:
        """The name of an object."""
        return self.graph.texts[int(self.graph.objects.name[self.number[own_id]])]


@pytest.fixture(scope="module", params=PYTHONS, ids=["this Python", "3.14"][: len(PYTHONS)])
def ran(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Ran:
    return Ran(tmp_path_factory.mktemp("heap"), request.param)


@pytest.mark.slow
def test_every_object_that_the_collector_knows(ran: Ran) -> None:
    """With its size, its type and what it refers to."""
    sizes, names = ran.graph.objects.shallow.tolist(), type_names(ran.graph)
    assert len(ran.said["before"]) > 5_000
    differing = grown = 0
    for own_id, (name, size, referents) in ran.said["before"]:
        number = ran.number[own_id]
        assert names[number].endswith(name), name
        if sizes[number] != size:
            # the globals of the program and what a module remembers got an item since
            assert (name, sizes[number] > size) == ("dict", True)
            grown += 1
        targets = Counter(target for _, _, target in ran.edges[number])
        # the collector doesn't visit a dictionary's keys if all are strings
        missing = Counter(referents) - targets
        differing += bool(missing or (name != "dict" and targets - Counter(referents)))
    # the program has continued since, and the writer leaves itself out
    assert differing <= 5
    assert grown <= 3
    assert ran.said["cost"]["objects"] == len(ran.graph.objects)
    assert ran.said["cost"]["references"] >= len(ran.graph.references)
    assert Counter(names)["__main__.Session"] == 50
    assert ran.graph.warnings == []


def test_names_of_references(ran: Ran) -> None:
    ids = ran.said["ids"]
    session = ran.references(ran.said["first"])
    assert {"user", "events", "state", "__class__"} <= set(session) or "__dict__" in session
    own = session if "user" in session else ran.references(session["__dict__"])
    assert ran.name(own["user"]) == "user 0"
    assert list(ran.references(own["events"])) == ["0", "1"]
    state = ran.references(own["state"])
    assert ran.name(state["visits"]) == "3"
    assert ran.name(state["7"]) == "seven"
    slotted = ran.references(ids["slotted"])
    assert ran.name(ran.references(slotted["right"])["1"]) == "b'raw'"
    assert ran.references(ids["function"])["__closure__"]
    assert ran.name(ran.said["cell"]) == "kept"
    assert ran.name(ran.references(ran.references(ran.said["cell"])["cell_contents"])["0"]) == "captured"
    main_dict = ran.references(
        next(item for kind, item, detail, _ in roots(ran.graph) if detail == "__main__")
    )["__dict__"]
    assert ran.references(main_dict)["kept"] == ids["kept"]


def test_roots_and_lines(ran: Ran) -> None:
    found = roots(ran.graph)
    assert {kind for kind, *_ in found} == {"builtins", "module", "thread", "local", "unknown"}
    local = next(root for root in found if root[1] == ran.said["local"])
    assert local[2:] == ("local (MainThread)", f"{ran.program}:{ran.line('    cost = ')}")
    frames = ran.graph.frames.frames
    places = {item: frames[frame] for item, frame in ran.graph.places.tolist()}
    ids = ran.said["ids"]
    work = places[ran.number[ids["work"]]]
    assert (work.file, work.line, work.function) == (str(ran.program), ran.line("def work"), "work")
    session = places[ran.number[ids["Session"]]]
    # before 3.13 a class's line is that of its first method
    expected = ran.line("class Session") + (0 if tuple(ran.said["version"]) >= (3, 13) else 1)
    assert (session.file, session.line) == (str(ran.program), expected)
    # whose methods are others' code
    for name, first in (("Point", "@dataclasses"), ("Decorated", "class Decorated")):
        place = places[ran.number[ids[name]]]
        begins = first if tuple(ran.said["version"]) >= (3, 13) else f"class {name}"
        assert (place.file, place.line) == (str(ran.program), ran.line(begins))


@pytest.mark.parametrize("python", PYTHONS)
def test_what_c_code_holds_is_not_garbage(tmp_path: Path, python: str) -> None:
    """A circle that only a count of C code's holds: its entry is a root, and nothing of it is unreachable."""
    program = """
    import ctypes, gc, sys, memlens.dump
    class Held: pass
    class Below: pass
    entry, other = Held(), Held()
    entry.other, other.entry = other, entry
    below = Below()
    below.itself = below
    other.below = below
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(other))
    del entry, other, below
    gc.disable()
    memlens.dump.heap(sys.argv[1], collect=len(sys.argv) == 2)
    """
    found = []
    for options in ([], ["no collection"]):
        path = tmp_path / f"program{len(options)}.heap"
        subprocess.run(
            [python, "-c", textwrap.dedent(program), str(path), *options],
            check=True,
            env={"PYTHONPATH": str(LIBRARY)},
        )
        graph = load(path)
        types, targets = type_names(graph), graph.references.target.tolist()
        entries = [number for number, *_ in graph.roots.tolist()]
        reached, waiting = set(entries), list(entries)
        while waiting:
            at = waiting.pop()
            below = set(targets[graph.references.start[at] : graph.references.start[at + 1]]) - reached
            reached |= below
            waiting += below
        own = ["__main__.Held", "__main__.Below"]
        lost = {types[number] for number in range(len(types)) if number not in reached} & set(own)
        found.append((lost, *([types[number] for number in entries].count(name) for name in own)))
        if not options:
            assert len(reached) == len(types)
    assert found == [(set(), 1, 0), (set(own), 0, 0)]


def test_strings_are_found_by_their_text(ran: Ran, tmp_path: Path) -> None:
    """And other objects that have it as their name are not: ``Session`` is also a class."""
    with closing(archived(ran.dump, tmp_path)) as snapshot:

        def fitting(text: str) -> dict[str, int]:
            found = heap_types(snapshot, text, "retained", None, "package", 0, 10, reverse=False)
            return {row.type: row.count for row in found.rows}

        assert fitting(r"string:/^user\s[0-4]?\d$/") == {"str": 50}
        assert fitting('string:"=Session"').keys() == {"str"}
        # Python 3.14 keeps the code of a class's body
        assert fitting('name:"=Session"').keys() - {"code"} == {"str", "type"}


def test_no_code_of_the_program_runs(ran: Ran) -> None:
    assert ran.said["ran"] == []
    assert {"a", "key"} <= set(ran.references(ran.said["ids"]["sneaky"]))


@pytest.mark.slow
def test_texts_can_be_left_out(ran: Ran, tmp_path: Path) -> None:
    assert b"secretretret" in ran.dump.read_bytes()
    bare = Ran(tmp_path, ran.python, "bare")
    data = bare.dump.read_bytes()
    for text in (b"secretretret", b"user 7", b"signed in", b"visits"):
        assert text not in data
    assert Counter(type_names(bare.graph))["__main__.Session"] == 50


@pytest.mark.slow
def test_stacks_of_tracemalloc(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, out = tmp_path / "traced.py", tmp_path / "traced.heap"
    program.write_text(
        "import memlens.dump, sys\n"
        "rows = [\n    bytes(1_000 + n)\n    for n in range(300)]\n"
        "memlens.dump.heap(sys.argv[1])\n"
    )
    command = [sys.executable, "-X", "tracemalloc=2", str(program), str(out)]
    subprocess.run(command, check=True, env={"PYTHONPATH": str(LIBRARY)})
    assert (
        main(["lines", str(out), "--json", "--cache-dir", str(tmp_path / "cache"), "--value", "objects"]) == 0
    )
    # a few kinds of objects are reused or were not found by tracemalloc; bytes always are
    lines = json.loads(capsys.readouterr().out)["lines"]
    made = next(row for row in lines if row["file"] == str(program) and row["line"] == 3)
    assert made["total"] >= 300


def test_the_thread_that_handles_a_lack_of_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, out = tmp_path / "ran_out.py", tmp_path / "ran_out.heap"
    program.write_text(
        "import memlens.dump, sys, threading\n"
        "class NoRoom(MemoryError):\n    pass\n"
        "def grow():\n    rows = [bytes(1_000)]\n    raise NoRoom\n"
        "def work():\n    try:\n        grow()\n"
        "    except MemoryError:\n        memlens.dump.heap(sys.argv[1])\n"
        "importer = threading.Thread(target=work, name='importer')\n"
        "try:\n    [][1]\nexcept IndexError:\n    importer.start()\n    importer.join()\n"
    )
    subprocess.run([sys.executable, str(program), str(out)], check=True, env={"PYTHONPATH": str(LIBRARY)})
    handled = {(kind, detail) for kind, _, detail, _ in roots(load(out)) if kind == "exception"}
    assert handled == {("exception", "IndexError (MainThread)"), ("exception", "MemoryError (importer)")}
    assert main(["threads", str(out), "--json", "--cache-dir", str(tmp_path / "cache")]) == 0
    rows = [each["row"] for each in json.loads(capsys.readouterr().out)["threads"]]
    assert {row["name"]: row["out_of_memory"] for row in rows} == {"importer": True, "MainThread": False}
    failed = next(row["failed_at"] for row in rows if row["out_of_memory"])
    assert (Path(failed["file"]), failed["function"], failed["line"]) == (program, "work", 11)


def test_a_dump_that_can_not_be_written_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        dump.heap(tmp_path / "nowhere" / "x.heap")
    assert list(tmp_path.iterdir()) == []


def test_another_process_needs_a_newer_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if hasattr(sys, "remote_exec"):
        pytest.skip("this Python can run code in other processes")
    assert main(["dump", "1", str(tmp_path / "x.heap")]) == 1
    assert "Python 3.14" in capsys.readouterr().err


WAITING = """
import sys, time
class Session:
    def __init__(self, user): self.user = user
def serve():
    kept = [Session(f"user {n}") for n in range(300)]
    print("ready", flush=True)
    while True: time.sleep(0.01)
serve()
"""


@pytest.mark.skipif(not NEWER, reason="needs a python3.14, or MEMLENS_TEST_PYTHON314")
def test_the_heap_of_another_process(tmp_path: Path) -> None:
    program, out = tmp_path / "program.py", tmp_path / "out.heap"
    program.write_text(WAITING)
    environment = {"PYTHONPATH": str(LIBRARY), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen([NEWER, program], stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "ready\n"
            command = [NEWER, "-m", "memlens.remote_dump", str(running.pid), str(out)]
            done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
            if done.returncode and "ptrace" in done.stderr:
                pytest.skip("this machine doesn't allow a process to trace another")
            assert done.returncode == 0, done.stderr
            assert "the process stood still for" in done.stdout
            assert running.poll() is None
        finally:
            running.kill()
    graph = load(out)
    assert type_names(graph).count("__main__.Session") == 300
    assert graph.settings["python"].startswith("3.14")
    held = [(kind, detail, place) for kind, _, detail, place in roots(graph) if kind == "local"]
    line = 1 + WAITING.split("\n").index("    while True: time.sleep(0.01)")
    assert any(detail.startswith("kept") and place == f"{program}:{line}" for _, detail, place in held), held
    # nothing of the dump itself
    assert not any("<memlens dump>" in place for *_, place in roots(graph))


def made(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "made.heap"
    path.write_bytes(data)
    return path


def record(tag: bytes, *numbers: int, form: str) -> bytes:
    return struct.pack(f"<c{form}", tag, *numbers)


def small() -> bytes:
    """Every record once: a list that holds itself and a string, a type, a local, a stack."""

    def text(words: str) -> bytes:
        return record(b"S", len(words.encode()), form="I") + words.encode()

    none = 0xFFFFFFFF
    return dump.MAGIC + struct.pack("<II", dump.VERSION, 8) + b"".join((
        *map(text, ("python", "3.14", "local", "rows (MainThread)", "app.py", "main", "list", "builtins", "a text")),
        record(b"N", 1, 2, form="II"), record(b"F", 5, 6, 12, form="III"), record(b"K", 1, 0, form="II"),
        record(b"A", 0x1000, 6, 0, 0, form="QIII"), record(b"G", 0x1000, 3, 4, 0, form="QIII"),
        record(b"T", 0x9000, 7, 8, form="QII"),
        record(b"O", 0x1000, 0x9000, 72, 0, 1, none, form="QQQIII"), record(b"i", 2, 0x1000, 0x2000, form="IQQ"),
        record(b"r", 1, 0x7777, form="IQ"), record(b"n", 1, 0x2000, 6, form="IQI"),
        record(b"e", 1, 0x2000, form="IQ"), record(b"d", 2, 0x2000, 0x1000, form="IQQ"),
        record(b"L", 0x1000, 9, form="QI"), record(b"O", 0x2000, 0x9999, 50, 9, 0, 0, form="QQQIII"),
        record(b"E", 2, form="Q"),
    ))  # fmt: skip


def test_what_each_record_means(tmp_path: Path) -> None:
    graph = load(made(tmp_path, small()))
    assert type_names(graph) == ["list", "(type @0x9999)"]
    assert edges(graph) == [[
        ("item", "0", 0x1000), ("item", "1", 0x2000), ("attribute", "main", 0x2000), ("element", "", 0x2000),
        ("key", "", 0x2000), ("entry", "a text", 0x1000),
    ], []]  # fmt: skip
    assert roots(graph) == [("local", 0x1000, "rows (MainThread)", "app.py:12")]
    assert [graph.texts[row["name"]] for row in graph.threads.rows] == ["main"]
    assert graph.threads.variables.tolist() == [(0, 0, 0, graph.threads.variables["name"][0], 0)]
    assert graph.objects.stack is not None
    assert graph.objects.stack.tolist() == [1, 0]
    assert [graph.texts[name] for name in graph.objects.name.tolist()] == ["a text", "a text"]
    assert graph.places.tolist() == [(1, 0)]
    assert graph.settings == {"format_version": 1, "python": "3.14"}
    assert [warning.code for warning in graph.warnings] == ["dangling", "unknown-classes"]


def test_impossible_numbers(tmp_path: Path) -> None:
    for old, new in (
        (record(b"N", 1, 2, form="II"), record(b"N", 1, 99, form="II")),
        (record(b"K", 1, 0, form="II"), record(b"K", 1, 5, form="II")),
        (record(b"e", 1, form="I"), record(b"d", 1, form="I")),
        (record(b"O", 0x1000, 0x9000, 72, form="QQQ"), record(b"O", 0x1000, 0x9000, 1 << 60, form="QQQ")),
        (record(b"A", 0x1000, 6, 0, 0, form="QIII"), record(b"A", 0x1000, 6, 0, 3, form="QIII")),
        (record(b"A", 0x1000, 6, 0, 0, form="QIII"), record(b"A", 0x1000, 77, 0, 0, form="QIII")),
        (record(b"L", 0x1000, form="Q"), record(b"?", 0x1000, form="Q")),
    ):
        assert old in small()
        with pytest.raises(DamagedSnapshotError, match="The dump has"):
            load(made(tmp_path, small().replace(old, new, 1)))
    with pytest.raises(NotASnapshotError, match="version 7"):
        load(made(tmp_path, small().replace(struct.pack("<II", 1, 8), struct.pack("<II", 7, 8), 1)))


def test_dumps_cut_off_anywhere(tmp_path: Path) -> None:
    counts: list[int] = []
    for end in range(len(dump.MAGIC), len(small())):
        said = outcome(tmp_path / "cut.heap", small()[:end])
        if said:
            assert not counts
            continue
        graph = load(tmp_path / "cut.heap")
        assert graph.facts.truncated
        counts.append(len(graph.objects))
    assert counts == sorted(counts)
    assert set(counts) == {1, 2}


def test_damaged_dumps_end_in_sentences(tmp_path: Path) -> None:
    draw = random.Random(15)
    outcomes = [outcome(tmp_path / "damaged.heap", damaged(small(), draw)) for _ in range(tries(400))]
    assert tries(20) < sum(each == "" for each in outcomes) < tries(380)


def test_a_process_that_answers_too_late_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its script is removed, and what another user put in its place would be run."""
    asked: list[tuple[int, str]] = []
    monkeypatch.setattr(sys, "remote_exec", lambda *given: asked.append(given), raising=False)
    with pytest.raises(RemoteDumpError, match=r"did not write its heap within 0.1 s"):
        remote_heap(os.getpid(), tmp_path / "x.heap", timeout_s=0.1)
    assert [path == os.devnull for _, path in asked] == [False, True]
    assert not Path(asked[0][1]).exists()
