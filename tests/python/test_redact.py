"""Dumps written anew without their values: what stays is equal, and no content is left in any of the file's bytes."""

import contextlib
import gzip
import json
import random
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from tests.python import hprof_files, pyheap_files
from tests.python.command_line import memlens
from tests.python.conftest import real_heaps
from tests.python.graph_reading import damaged, load, type_names
from tests.python.heap_files import NODE_TYPES, HeapFile, small_heap
from tests.python.hprof_files import BYTE, CHAR, INT, LONG, OBJECT, Dump
from tests.python.recordings import DOTNET, JAVA, RUBY
from tests.python.redacted_files import (
    SECRET,
    assert_same_graph,
    encodings_of,
    names_of,
    redacted,
    written_anew,
)
from tests.python.tries import tries

from memlens.errors import MemlensError
from memlens.formats.containers import open_source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.redacted import CONTENTS, VALUES
from memlens.formats.redaction import output
from memlens.model.graph import Graph
from memlens.packs.python.thread_names import ThreadNames
from memlens.packs.ruby.tests import ruby_files
from memlens.units import format_bytes

FIXTURES = Path(__file__).parents[1] / "fixtures" / "heap"
OWN = (
    "import functools, sys, memlens.dump\n"
    "class Session:\n"
    "    def __init__(self, owner): self.owner = owner\n"
    "    @functools.cached_property\n"
    "    def notes(self): return {sys.argv[2] + str(id(self)): 1}\n"
    "class Bag: pass\n"
    "bag = Bag()\n"
    "vars(bag)['materialised'] = [sys.argv[2]]\n"
    "def last(bag): return bag.materialised[-1]\n"
    "@functools.cache\n"
    "def found(owner): return [owner]\n"
    "found(sys.argv[2] + 'looked up')\n"
    # more than are asked for the names of their attributes
    "bags = [Bag() for _ in range(12)]\n"
    "for number, each in enumerate(bags): setattr(each, 'late', {sys.argv[2] + str(number): number})\n"
    "noted = [Session(number) for number in range(12)]\n"
    "for each in noted: each.notes\n"
    "sessions = {sys.argv[2] + 'key': Session(sys.argv[2].encode()), 12345678901234567890: 1.2345678901234567}\n"
    "memlens.dump.heap(sys.argv[1])\n"
)

TOKEN = "0xd1ce5ec7e7"
"""A content that looks like an address."""

Make = Callable[[Path], Path]


def planted_hprof(version: str = "1.0.2", id_bytes: int = 8) -> bytes:
    """A dump with the secret in whatever can have a part of it."""
    dump = hprof_files.small(version, id_bytes)
    ascii_bytes = SECRET.encode()
    dump.numbers(0x20_0000, BYTE, ascii_bytes)
    dump.numbers(0x20_0100, CHAR, SECRET.encode("utf-16-be"))
    dump.numbers(0x20_0200, BYTE, SECRET.encode("utf-16-le"))
    dump.numbers(0x20_0300, INT, SECRET.encode("utf-32-be"))
    dump.numbers(0x20_0400, LONG, ascii_bytes[:24])
    # a constant of a program is among the virtual machine's symbols
    dump.name(SECRET)
    longs = struct.unpack(">3q", ascii_bytes[:24])
    holder = dump.klass(
        0x20_0500, "com/example/Login", 0x10_0000, [("first", LONG), ("owner", OBJECT), ("second", LONG)],
        [("PASSWORD", LONG, longs[0]), ("SALT", LONG, longs[1])], constants=[(1, LONG, longs[0]), (2, LONG, longs[1])],
    )  # fmt: skip
    wide = dump.klass(0x20_0540, "com/example/Wide", holder, [(f"part{n}", LONG) for n in range(3)])
    dump.instance(0x20_0600, wide, "qqqqPq", *longs, longs[0], 0x20_0000, longs[1])
    # of a class that was loaded, but isn't in the heap
    dump.load(0x20_0790, "com/example/Lost")
    dump.instance(0x20_0780, 0x20_0790, "3q", *longs)
    # a thread whose class has a name of its own, and a program's field that is called as one of threads is
    worker = dump.klass(0x20_0560, "com/example/Worker", 0x10_00E0, [("name", OBJECT)])
    dump.instance(0x20_0800, 0x10_0040, "PbI", 0x20_0000, 0, 0)
    dump.instance(0x20_0840, worker, "PPI", 0x20_0800, 0x10_1040, 5)
    dump.add(0x08, "PII", 0x20_0840, 9, 0)
    poll = dump.klass(0x20_0580, "com/example/Poll", 0x10_0000, [("threadStatus", INT)] * 2)
    dump.instance(0x20_0880, poll, "ii", *struct.unpack(">2i", ascii_bytes[:8]))
    dump.record(0x1A, ascii_bytes)
    return dump.end()


def planted_v8() -> bytes:
    heap = small_heap()
    root = heap.nodes.index(next(node for node in heap.nodes if node["name"] == heap.string("global")))
    for kind in ("string", "concatenated string", "sliced string", "regexp", "bigint", "number"):
        if kind not in NODE_TYPES:
            continue
        heap.edge(root, "property", f"of_{kind}", heap.node(kind, f"{SECRET} {kind}", 40))
    # classes that no function has are contents
    for name in ("Session", "WeakMap", "Key", "Value"):
        heap.edge(root, "property", name, heap.node("closure", name, 32))
    # a word that is a property's name and an object's content
    heap.edge(root, "property", "status", heap.node("string", "status", 24))
    heap.edge(root, "property", "title", heap.node("string", "a title", 24))
    heap.edge(root, "property", "title", heap.node("string", "", 24))
    heap.edge(root, "element", 3, heap.node("native", f'<input type="text" value="{SECRET}">', 72))
    heap.edge(root, "element", 4, heap.node("native", f'Detached <a href="{SECRET}">', 72))
    heap.edge(root, "element", 5, heap.node("native", "<div>", 72))
    heap.edge(
        root,
        "internal",
        f"7 / part of key (Key @9) -> value ({SECRET} @11) pair in WeakMap (table @13)",
        root,
    )
    heap.edge(
        root,
        "internal",
        f"8 / part of key (<b {SECRET}> @9) -> value (x @11) pair in WeakMap (table @13)",
        root,
    )
    heap.strings[f"{SECRET} that nothing uses"] = len(heap.strings)
    return heap.data()


def planted_ruby() -> bytes:
    return ruby_files.small() + ruby_files.made(
        ruby_files.line(0x7F00_1000_0000, "STRING", [], value=SECRET, bytesize=27, file="app/user.rb", line=3),
        ruby_files.line(0x7F00_1000_0028, "SYMBOL", [0x7F00_1000_0000], value=f'"{SECRET}\\'),
        ruby_files.line(0x7F00_1000_0050, "OBJECT", [], future={"kind": SECRET, "more": [SECRET]}),
        ruby_files.line(0x7F00_1000_0078, "STRING", [], value=TOKEN, bytesize=18),
    ) + f'{{"address":"0x1", "type":"CLASS", "name":"a "{SECRET}"}}\n'.encode()  # fmt: skip


def planted_pyheap() -> bytes:
    things = (*pyheap_files.THINGS, pyheap_files.Thing(0x8000, pyheap_files.TYPES["str"], 80, text=SECRET))
    return pyheap_files.pyheap(things)


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


PLANTED: dict[str, tuple[str, Callable[[], bytes], set[str]]] = {
    "Java": ("planted.hprof", planted_hprof, set()),
    "Java, ids of 4 bytes": ("planted.hprof", lambda: planted_hprof("1.0.1", 4), set()),
    "Android": ("planted.hprof", lambda: planted_hprof("1.0.3", 4), set()),
    "Ruby": ("planted.json", planted_ruby, set()),
    "PyHeap": ("planted.pyheap", planted_pyheap, {"value", "entry"}),
}
"""Names of files, what makes them, and the kinds of references that are named by contents."""


@pytest.mark.parametrize("case", PLANTED)
def test_no_content_is_left_and_all_else_is_equal(case: str, tmp_path: Path) -> None:
    name, make, unnamed = PLANTED[case]
    path = written(tmp_path, name, make())
    assert any(form in path.read_bytes() for form in encodings_of(SECRET))
    before, after = load(path), written_anew(path, tmp_path)
    assert_same_graph(before, after, unnamed=unnamed)
    assert after.settings["removed"] == VALUES
    assert [warning.code for warning in after.warnings].count("values-removed") == 1
    assert not any(SECRET[:8] in text for text in names_of(after, after.objects.name.tolist()))
    again = redacted(path)[0]
    assert not [form for form in (*encodings_of(SECRET), TOKEN.encode()) if form in again]


def test_names_of_threads_stay(tmp_path: Path) -> None:
    """Also in their strings, which are those of no other object, and not what a thread's own class calls a name."""
    path = written(tmp_path, "planted.hprof", planted_hprof())
    after = written_anew(path, tmp_path)
    assert names_of(load(path), load(path).threads.rows["name"].tolist()) == ["日本 😀", "日本 😀"]
    assert names_of(after, after.threads.rows["name"].tolist()) == ["日本 😀", "日本 😀"]
    string = after.objects.ids.tolist().index(0x10_0000 + 0x1040)
    assert after.texts[int(after.objects.name[string])] == "日本 😀"


def test_names_that_a_program_gives_its_threads_are_contents(tmp_path: Path) -> None:
    """Unless they are asked for; whom a thread works for may be its name."""
    path = written(tmp_path, "planted.hprof", planted_hprof())
    data, _ = redacted(path, keeps_threads=False)
    after = load(written(tmp_path, "again.hprof", data))
    named = [name.strip() for name in names_of(after, after.threads.rows["name"].tolist())]
    assert len(named) == 2
    assert all(name.startswith("t") and name.isascii() for name in named)
    assert "日本".encode("utf-16-be") not in data


def test_a_large_number_in_a_name_of_the_runtimes_form_is_a_content(tmp_path: Path) -> None:
    """A program names its threads as it likes: pool-7341-thread-1 may have a PIN."""
    dump = hprof_files.small()
    for place, name in enumerate(("pool-1-thread-12", "pool-7341-thread-1")):
        chars = 0x30_0100 + place * 0x40
        dump.numbers(chars, CHAR, name.encode("utf-16-be"))
        dump.instance(chars + 0x10, 0x10_0040, "PbI", chars, 0, 77)
        dump.instance(chars + 0x20, 0x10_00E0, "PI", chars + 0x10, 5)
        dump.add(0x08, "PII", chars + 0x20, 20 + place, 0)
    data, _ = redacted(written(tmp_path, "pools.hprof", dump.end()), keeps_threads=False)
    after = load(written(tmp_path, "copy.hprof", data))
    names = [name.strip() for name in names_of(after, after.threads.rows["name"].tolist())]
    assert [name for name in names if name.startswith("pool")] == ["pool-1-thread-12"]
    # those of Python
    new_name = ThreadNames()
    assert new_name("ThreadPoolExecutor-0_12") == "ThreadPoolExecutor-0_12"
    assert new_name("ThreadPoolExecutor-7341_0") == "thread-1"


def test_a_second_dump_of_a_file_has_threads_of_its_own(tmp_path: Path) -> None:
    """An array that is a thread's name in one of two dumps is another's content in the other."""
    dump = hprof_files.small()
    dump.end()
    start = len(dump.out)
    hprof_files.fill(dump, 0x80_0000)
    dump.klass(0x10_0060, "[B", 0x90_0000)
    dump.numbers(0x10_1060, BYTE, SECRET.encode())
    data = dump.end()
    assert SECRET.encode() in data[start:]
    path = written(tmp_path, "two.hprof", data)
    again = redacted(path)[0]
    assert SECRET.encode() not in again
    both = written(tmp_path, "again.hprof", again)
    for number in (0, 1):
        assert_same_graph(load(path, number), load(both, number))


def test_numbers_stay_if_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "planted.hprof", planted_hprof())
    before, after = load(path), written_anew(path, tmp_path, CONTENTS)
    assert after.settings["removed"] == CONTENTS
    assert_same_graph(before, after)

    def fields(graph: Graph) -> list[tuple[str, int]]:
        assert graph.values is not None
        return list(zip(names_of(graph, graph.values.name.tolist()), graph.values.bits.tolist(), strict=True))

    numbers = [each for each in fields(before) if each[0] not in ("coder", "hash")]
    assert [each for each in fields(after) if each[0] != "hash"] == numbers
    assert {each for each in fields(after) if each[0] == "hash"} == {("hash", 0)}
    arrays = {type_names(after)[row["object"]] for row in after.arrays}
    assert arrays == {"long[]"}
    data = redacted(path, CONTENTS)[0]
    for form in ("latin-1", "utf-16-be", "utf-16-le", "utf-32-be"):
        # numbers of eight bytes, which were kept, could be anything
        assert SECRET[7:].encode(form)[:40] not in data.replace(SECRET.encode()[:24], b"")


def test_v8_numbers_texts_in_place_of_their_contents(tmp_path: Path) -> None:
    path = written(tmp_path, "planted.heapsnapshot", planted_v8())
    before, after = load(path), written_anew(path, tmp_path)
    data = redacted(path)[0].decode()
    assert SECRET not in data
    assert_same_graph(before, after, unnamed={"internal"}, renamed="<")
    texts = names_of(after, after.objects.name.tolist())
    was = names_of(before, before.objects.name.tolist())
    # a name stays although an object had the same content, which no longer shows
    assert '"status"' in data
    assert "status" not in texts
    # equal texts are equal, others not
    kinds = [after.type_kinds[after.types.kind[number]] for number in after.objects.type.tolist()]
    pairs = {(one, other) for one, other, kind in zip(was, texts, kinds, strict=True) if kind == "string"}
    assert len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})
    assert all(other == "" if one == "" else other.startswith("removed ") for one, other in pairs)
    named = {text for text, kind in zip(texts, kinds, strict=True) if kind == "native"}
    assert "<div>" in named
    assert {text.split(" removed ")[0] for text in named if " removed " in text} == {"<input", "Detached <a"}
    entry = r'"\d+ / part of key \(removed\) -> value \(removed\) pair in WeakMap \(table @13\)"'
    assert len(set(re.findall(entry, data))) == 2


def test_two_sections_of_one_name_in_a_snapshot(tmp_path: Path) -> None:
    """Only the last counts, and the first may not be copied."""
    data = planted_v8()
    extra = b'{"strings":["%s"],"notes":["%s"],' % (SECRET.encode(), SECRET.encode())
    path = written(tmp_path, "twice.heapsnapshot", extra + data[1:])
    again = redacted(path)[0]
    assert SECRET.encode() not in again
    assert_same_graph(
        load(path), load(written(tmp_path, "again.heapsnapshot", again)), unnamed={"internal"}, renamed="<"
    )


def test_text_among_a_snapshots_numbers_is_refused(tmp_path: Path) -> None:
    data = planted_v8().replace(b'"edges":[', b'"edges":[%s,' % SECRET.encode())
    with pytest.raises(MemlensError):
        redacted(written(tmp_path, "odd.heapsnapshot", data))


def test_python_dump_keeps_attributes_and_no_contents(tmp_path: Path) -> None:
    path = tmp_path / "own.heap"
    subprocess.run([sys.executable, "-c", OWN, path, SECRET], check=True)
    whole = path.read_bytes()
    assert SECRET.encode() in whole
    before, after = load(path), written_anew(path, tmp_path)
    before.settings["removed"] = VALUES
    assert after.settings == before.settings
    assert_same_graph(before, after, unnamed={"value", "entry"})
    data = redacted(path)[0]
    assert SECRET.encode() not in data
    assert b"1.2345678901234567" not in data
    values = [number for number, kind in enumerate(after.reference_kinds) if kind.name == "value"]
    names = after.references.name[np.isin(after.references.kind, values)].tolist()
    # the attribute of an instance that has a dictionary
    assert "materialised" in names_of(after, names)
    numbers = redacted(path, CONTENTS)[0]
    assert b"1.2345678901234567" in numbers
    assert SECRET.encode() not in numbers


@pytest.mark.parametrize(
    "path",
    [
        JAVA,
        RUBY,
        *real_heaps("hprof/*60files*", "hprof/*.gz", "hprof/mat_*.zst", "v8/*"),
    ],
    ids=lambda path: path.name,
)
def test_real_dumps_are_equal_but_for_their_contents(path: Path, tmp_path: Path) -> None:
    if path.stat().st_size > 6 << 20 or "pid1884" in path.name:
        pytest.skip("takes minutes")
    after = written_anew(path, tmp_path)
    assert_same_graph(load(path), after, unnamed={"internal"}, renamed="<")
    assert after.settings["removed"] == VALUES
    if after.kind != "v8":
        assert after.values is None or after.kind == "ruby"
        assert not len(after.arrays)


@pytest.mark.slow
@pytest.mark.parametrize("case", PLANTED)
def test_a_dump_is_written_up_to_where_it_breaks(case: str, tmp_path: Path) -> None:
    name, make, unnamed = PLANTED[case]
    data = make()
    seen = set[bool]()
    for cut in range(64, len(data), max(1, len(data) // tries(200))):
        path = written(tmp_path, name, data[:cut])
        try:
            before = load(path)
        except MemlensError:
            continue
        try:
            again, note = redacted(path, allows_damage=True)
        except MemlensError:
            assert case != "Ruby"
            continue
        if note is not None:
            with pytest.raises(DamagedSnapshotError, match="truncated or damaged"):
                redacted(path)
        after = load(written(tmp_path, f"again-{name}", again))
        # a file may end early at the end of a record, which looks whole
        assert after.facts.truncated == before.facts.truncated
        assert note is not None or not before.facts.truncated
        seen.add(note is not None)
        assert_same_graph(before, after, unnamed=unnamed)
        assert not [form for form in encodings_of(SECRET) if form in again]
    assert True in seen


def _is_name_of_thread(path: Path) -> bool:
    graph = load(path)
    return any(SECRET in name for name in names_of(graph, graph.threads.rows["name"].tolist()))


@pytest.mark.slow
@pytest.mark.parametrize("case", [*PLANTED, "V8", "Python"])
def test_what_is_written_of_a_damaged_dump_can_be_read(case: str, tmp_path: Path) -> None:
    """Or the file is refused."""
    draw = random.Random(case)
    if case == "V8":
        name, data = "planted.heapsnapshot", planted_v8()
    elif case == "Python":
        own = tmp_path / "own.heap"
        script = OWN.replace(
            "import sys, memlens.dump\n", "import sys, gc, memlens.dump\ngc.get_objects = list\n"
        )
        subprocess.run([sys.executable, "-c", script, own, SECRET], check=True)
        name, data = "damaged.heap", own.read_bytes()
    else:
        name, data = PLANTED[case][0], PLANTED[case][1]()
    written_ones = named = 0
    for _ in range(tries(40 if case == "Python" else 300)):
        path = written(tmp_path, name, damaged(data, draw))
        try:
            again, _ = redacted(path, allows_damage=True)
        except MemlensError:
            continue
        written_ones += 1
        left = [form for form in encodings_of(SECRET)[:5] if form in again]
        # of V8 one digit may make a string an object whose type has that name, of Java one id another thread's name,
        # of Python one address the name of an attribute (one in 600 such files)
        if case == "Python":
            named += bool(left)
        else:
            assert not left or case == "V8" or _is_name_of_thread(path)
        with contextlib.suppress(MemlensError):
            load(written(tmp_path, f"again-{name}", again))
    assert written_ones > 5
    assert named <= 2


def test_a_heap_that_breaks_within_the_file_is_refused(tmp_path: Path) -> None:
    """Or written up to there, and nothing after it."""
    dump = hprof_files.small()
    dump.heap += b"\x7f" + SECRET.encode()
    dump.segment()
    dump.numbers(0x20_0000, BYTE, SECRET.encode())
    path = written(tmp_path, "broken.hprof", dump.end())
    with pytest.raises(DamagedSnapshotError):
        redacted(path)
    again, note = redacted(path, allows_damage=True)
    assert note is not None
    assert SECRET.encode() not in again
    after = load(written(tmp_path, "again.hprof", again))
    assert after.facts.truncated
    assert_same_graph(load(path), after)


@pytest.mark.slow
def test_records_larger_than_the_buffer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 1 << 18
    monkeypatch.setattr(output, "_BUFFER_BYTES", most)
    dump = Dump()
    klass = dump.klass(0x100, "Wide", 0, [(f"f{n}", LONG if n % 2 else OBJECT) for n in range(60_000)])
    above = dump.klass(0x200, "Wider", klass, [(f"f{n}", OBJECT) for n in range(60_000)])
    count = 120_000
    dump.instance(0x1000, above, f"{count}q", *([0x100] * count))
    assert 8 * count > 3 * most
    # larger than what is shuffled in one piece, too
    dump.objects(0x2000, klass, [0x100] * 140_000)
    dump.numbers(0x3000, BYTE, SECRET.encode() * 50_000)
    path = written(tmp_path, "wide.hprof", dump.end())
    assert_same_graph(load(path), written_anew(path, tmp_path))
    assert SECRET.encode() not in redacted(path)[0]


def test_strings_without_their_text_are_no_duplicates(tmp_path: Path) -> None:
    for case in ("Ruby", "Java", "PyHeap"):
        name, make, _ = PLANTED[case]
        after = written_anew(written(tmp_path, name, make()), tmp_path)
        strings = [kind.lower() in ("string", "str", "java.lang.string") for kind in type_names(after)]
        texts = set(names_of(after, after.objects.name[strings].tolist()))
        assert texts <= {"", "日本 😀"}, case
        assert not len(after.arrays)


def test_a_long_line_of_ruby_and_a_long_name_in_v8(tmp_path: Path) -> None:
    ruby = ruby_files.small() + ruby_files.made(ruby_files.line(0x9000, "STRING", [], value=SECRET * 300_000))
    path = written(tmp_path, "long.json", ruby)
    assert_same_graph(load(path), written_anew(path, tmp_path))
    heap = HeapFile()
    root = heap.node("synthetic", "")
    heap.edge(root, "property", "name" * 2_000_000, heap.node("string", SECRET * 300_000, 8))
    path = written(tmp_path, "long.heapsnapshot", heap.data())
    assert_same_graph(load(path), written_anew(path, tmp_path))
    assert SECRET.encode() not in redacted(path)[0]


# ---- the command -----------------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path) -> None:
    source = written(tmp_path, "heap.hprof", planted_hprof())
    out = tmp_path / "shared.hprof"
    said = memlens("redact", source, out, "--keep-shared", "--keep-thread-names").stdout.splitlines()
    assert said[0] == f"{out}: {format_bytes(out.stat().st_size)}"
    assert "texts stay in the copy" in said[1]
    assert out.read_bytes() == redacted(source, keeps_time=False)[0]
    # nothing is overwritten unasked, and the dump itself never
    assert memlens("redact", source, out, status=1).stderr == (
        "memlens: shared.hprof exists. Choose another file, or add --force.\n"
    )
    assert "written over itself" in memlens("redact", source, source, "--force", status=1).stderr
    assert json.loads(memlens("redact", source, out, "--force", "--keep-numbers", "--json").stdout) == {
        "file": str(out), "bytes": out.stat().st_size, "removed": CONTENTS, "broken": None,
        "mapping": None,
    }  # fmt: skip
    cut = written(tmp_path, "cut.hprof", source.read_bytes()[:-200])
    done = memlens("redact", cut, out, "--force", "--allow-damaged")
    assert "note: The dump is truncated or damaged at byte" in done.stderr
    assert "add --allow-damaged" in memlens("redact", cut, out, "--force", status=1).stderr
    assert not memlens("redact", cut, tmp_path / "none" / "x.hprof", status=1).stdout
    assert sorted(each.name for each in tmp_path.iterdir()) == ["cut.hprof", "heap.hprof", "shared.hprof"]


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_compressed_files_in_and_out(ending: str, tmp_path: Path) -> None:
    plain = written(tmp_path, "heap.hprof", planted_hprof())
    packed = tmp_path / f"heap.hprof{ending}"
    if ending == ".gz":
        packed.write_bytes(gzip.compress(plain.read_bytes()))
    else:
        packed.write_bytes(zstandard.ZstdCompressor().compress(plain.read_bytes()))
    out = tmp_path / f"out.hprof{ending}"
    memlens("redact", packed, out, "--keep-shared", "--keep-thread-names")
    with open_source(out, tmp_path, lambda *_: None) as source:
        assert bytes(source.data) == redacted(plain, keeps_time=False)[0]


def test_a_file_that_is_cut_in_its_compression_is_written_as_far_as_it_goes(tmp_path: Path) -> None:
    packed = gzip.compress(planted_hprof())
    cut, out = written(tmp_path, "cut.hprof.gz", packed[:-200]), tmp_path / "out.hprof"
    assert (
        "note:"
        in memlens("redact", cut, out, "--allow-damaged", "--keep-shared", "--keep-thread-names").stderr
    )
    assert_same_graph(load(cut), load(out))


def test_files_without_values_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    dump = DOTNET
    assert memlens("redact", dump, out, status=1).stderr.startswith(
        f"memlens: {dump}: Heap dumps of .NET have no values, but the machine's name, "
    )
    assert not out.exists()


@pytest.mark.parametrize("name", ["sessions", "ran_out"])
def test_findings_of_a_redacted_dump_are_those_that_rest_on_no_value(tmp_path: Path, name: str) -> None:
    """Nothing is called a duplicate or empty because it was removed, and what is held is found as before."""
    out = tmp_path / f"{name}.hprof"
    memlens("redact", FIXTURES / f"{name}.hprof.zst", out)

    def rules(path: Path) -> dict[str, list[int]]:
        found = json.loads(memlens("findings", path, "--json", "--cache-dir", tmp_path / "cache").stdout)
        sizes: dict[str, list[int]] = {}
        for each in found["findings"]:
            sizes.setdefault(each["rule"], []).append(each["figure"]["amount"])
        return sizes

    before, after = rules(FIXTURES / f"{name}.hprof.zst"), rules(out)
    resting = {
        "duplicate_strings", "duplicate_arrays", "empty_collections", "tiny_collections", "oversized_collections",
        "zero_arrays", "null_arrays",
    }  # fmt: skip
    # of the sessions all strings differ
    assert bool(resting & set(before)) == (name == "ran_out")
    assert after == {rule: sizes for rule, sizes in before.items() if rule not in resting}


def test_nobody_else_reads_what_is_written(tmp_path: Path) -> None:
    """Also not by a file of the name that it has meanwhile, as another user may put it into /tmp."""
    source = written(tmp_path, "heap.hprof", planted_hprof())
    program = (
        "import os, sys; from pathlib import Path; from memlens.cli import main\n"
        "from memlens.store.files.disk import partial_file\n"
        "source, out, other = map(Path, sys.argv[1:])\n"
        "other.touch(0o666); os.link(other, partial_file(out, os.getpid()))\n"
        "sys.exit(main(['redact', str(source), str(out)]))\n"
    )
    out, other = tmp_path / "shared.hprof", tmp_path / "other"
    subprocess.run([sys.executable, "-c", program, source, out, other], check=True)
    assert out.stat().st_mode & 0o777 == 0o600
    assert other.read_bytes() == b""
