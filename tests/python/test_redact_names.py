"""Heap dumps with other names: none of the program's own is left, and the mapping leads back."""

import json
import random
import re
import shutil
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.python import hprof_files, planted_heaps
from tests.python.command_line import memlens
from tests.python.conftest import real_heaps
from tests.python.graph_reading import damaged, load, type_names
from tests.python.hprof_files import BYTE, CHAR, INT, OBJECT
from tests.python.redacted_files import SECRET, assert_same_graph, names_of, redacted, reference_names
from tests.python.test_redact import FIXTURES, planted_hprof
from tests.python.tries import tries

from memlens.errors import MemlensError
from memlens.formats.redaction.own_names import OwnNames
from memlens.packs.jvm.new_names import NewNames, is_runtimes
from memlens.packs.ruby.tests import ruby_files
from memlens.store.snapshot import Snapshot

OWN = (
    "com/example", "Cache", "Entry", "Loader", "Login", "Wide", "Ledger", "SHARED", "ratio", "count", "checkout",
    "日本", "worker of alice",
)  # fmt: skip
"""Names of the program's own in what :func:`named` makes."""


def named(version: str = "1.0.2", id_bytes: int = 8) -> bytes:
    """A dump with names of its own wherever there can be some, and what is shared with the runtime."""
    dump = hprof_files.small(version, id_bytes)
    base, thread = 0x30_0000, 0x10_0000 + 0xE0
    dump.load(base, "com/example/Cache$Entry$1Ledger")
    dump.load(base + 0x20, "[[Lcom/example/Loader;")
    dump.load(base + 0x40, "com/example/Wide$$Lambda$14+0x0000000800c03000")
    dump.klass(base + 0x60, "Ledger", 0x10_0000, [("value", OBJECT), ("checkout", INT)])
    for place, name in enumerate(("worker of alice", "main", "a")):
        chars = base + 0x100 + place * 0x40
        dump.numbers(chars, CHAR, name.encode("utf-16-be"))
        dump.instance(chars + 0x10, 0x10_0040, "PbI", chars, 0, 77)
        dump.instance(chars + 0x20, thread, "PI", chars + 0x10, 5)
        dump.add(0x08, "PII", chars + 0x20, 20 + place, 0)
    serial = dump.serials
    dump.record(
        0x04,
        dump.pack("PPPPIi", 78, dump.name("checkout"), dump.name("(ILcom/example/Login;)[Lcom/example/Wide;"),
                  dump.name("Ledger.kt"), serial, 12),
    )  # fmt: skip
    dump.record(0x05, dump.pack("IIIP", 13, 20, 1, 78))
    dump.numbers(0x31_0000, BYTE, b"worker of alice")
    return dump.end()


def forms(text: str) -> list[bytes]:
    return [text.encode(form) for form in ("utf-8", "utf-16-be", "utf-16-le")]


def written_by_other_names(path: Path, folder: Path) -> tuple[Path, list[str]]:
    """The dump with other names in a folder of its own, where there is no mapping, and the mapping's lines."""
    mapping: list[str] = []
    data, _ = redacted(path, mapping=mapping)
    again = folder / "alone" / "again.hprof"
    again.parent.mkdir(exist_ok=True)
    again.write_bytes(data)
    return again, mapping


def lead_back(again: Path, mapping: list[str]) -> None:
    """Put the mapping where the reader looks for it."""
    (again.parent / "again.mapping.txt").write_text("".join(f"{line}\n" for line in mapping), "utf-8")


@pytest.mark.parametrize(("version", "id_bytes"), [("1.0.2", 8), ("1.0.1", 4), ("1.0.3", 4)])
def test_no_name_of_the_programs_own_is_left(
    version: str, id_bytes: int, tmp_path: Path, opened: Callable[[Path], Snapshot]
) -> None:
    path = tmp_path / "named.hprof"
    path.write_bytes(named(version, id_bytes))
    again, mapping = written_by_other_names(path, tmp_path)
    for name in OWN:
        assert [form for form in forms(name) if form in path.read_bytes()], name
        assert not [form for form in forms(name) if form in again.read_bytes()], name
    before, after = load(path), load(again)
    # what the runtime has as well stays, as does what it calls its own threads
    assert [name for name in type_names(after) if is_runtimes(name)] == [
        name for name in type_names(before) if is_runtimes(name)
    ]
    assert {"p1.p2.C1$C2", "p1.p2.C3"} <= set(type_names(after))
    assert {"value", "referent"} <= set(names_of(after, after.references.name.tolist()))
    assert set(names_of(after, after.threads.rows["name"].tolist())) >= {"main", "t"}
    one, other = opened(path), opened(again)
    for column in ("dominator", "retained", "distance", "shallow"):
        assert np.array_equal(getattr(one.objects, column), getattr(other.objects, column)), column
    # whoever has the mapping reads the dump as it was
    lead_back(again, mapping)
    assert_same_graph(before, load(again))


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [*(FIXTURES / f"{name}.hprof.zst" for name in ("sessions", "ran_out")), *real_heaps("hprof/mat_*.zst")],
    ids=lambda path: path.name,
)
def test_real_dumps(path: Path, tmp_path: Path) -> None:
    if path.stat().st_size > 6 << 20:
        pytest.skip("takes minutes")
    again, mapping = written_by_other_names(path, tmp_path)
    before, data = load(path), again.read_bytes()
    own = {name.replace(".", "/").rstrip("[]") for name in type_names(before) if not is_runtimes(name)}
    assert own
    assert not [name for name in own if re.search(rb"(?<![\w/])%s(?![\w/])" % re.escape(name.encode()), data)]
    assert not {name for name in type_names(load(again)) if not is_runtimes(name)} & set(type_names(before))
    lead_back(again, mapping)
    # the mapping also says where a class is whose frames have no file
    assert_same_graph(before, load(again), more_files=True)


def test_names_of_every_form() -> None:
    names = NewNames({"size", "C2"})
    assert names.class_name("com/acme/Foo") == "p1/p2/C1"
    assert names.class_name("com.acme.Foo[][]") == "p1.p2.C1[][]"
    assert names.class_name("[[Lcom/acme/Foo;") == "[[Lp1/p2/C1;"
    assert names.class_name("com/acme/Foo$12$Bar") == "p1/p2/C1$12$C3"
    assert names.class_name("com/acme/Foo$$Lambda$7+0x00ff") == "p1/p2/C1$$Lambda$7+0x00ff"
    assert names.class_name("com/acme/Foo$$Lambda/0x00ff") == "p1/p2/C1$$Lambda/0x00ff"
    assert names.class_name("com/other/Foo") == "p1/p3/C4"
    for kept in ("[I", "int[]", "java/util/Map", "[Ljava/lang/String;", "size", ""):
        assert names.class_name(kept) == kept
    # of no package, with the letter of a primitive
    assert names.class_name("I") == "C5"
    assert names.field("com/acme/Foo", "size", "int") == "size"
    assert names.field("com/acme/Foo", "held back", "int") == "f1"
    assert names.method("com/acme/Foo", "go", "([ILcom/acme/Foo;)V") == "m1"
    assert names.method("com/acme/Foo", "<init>", "()V") == "<init>"
    assert names.signature("(ILcom/acme/Foo;)[Ljava/util/Map;") == "(ILp1/p2/C1;)[Ljava/util/Map;"
    assert names.signature("a secret") is None
    assert names.file("com/acme/Foo$12$Bar", "Foo.java") == "C1.java"
    assert names.file("com/acme/Foo", "All.secret") == "S1"
    assert (names.thread("worker", 6), names.thread("worker of alice", 15)) == ("t1    ", "thread-2       ")
    names.class_name("com/acme/It's a -> test:")
    assert list(names.mapping()) == [
        "I -> C5:",
        "com.acme.Foo -> p1.p2.C1:",
        '# {"id":"sourceFile","fileName":"All.secret"}',
        '# "    int held back -> f1"',
        "    void go(int[],com.acme.Foo) -> m1",
        "com.acme.Foo$$Lambda$7+0x00ff -> p1.p2.C1$$Lambda$7+0x00ff:",
        "com.acme.Foo$$Lambda.0x00ff -> p1.p2.C1$$Lambda.0x00ff:",
        "com.acme.Foo$12$Bar -> p1.p2.C1$12$C3:",
        '# {"id":"sourceFile","fileName":"Foo.java"}',
        '# "com.acme.It\'s a -> test: -> p1.p2.C6:"',
        "com.other.Foo -> p1.p3.C4:",
        '# {"id": "thread", "name": "worker", "renamed": "t1"}',
        '# {"id": "thread", "name": "worker of alice", "renamed": "thread-2"}',
    ]


def test_words_of_every_form() -> None:
    own = OwnNames({"home", "js", "get", "system", "Context", "file"}, {"express", "n2"}, taken={"C5"})
    words = {
        "get total": "get n1", "total_of express": "n3 express", "Acmé.total": "C4.n1",
        "Ädä\u0301s": "C6", "system / Context / scope @4711": "system / Context / n7 @4711",
        # a library's word stays, but not as a part of a path; numbers there are names
        "/home/express/4711/app-1.js:4711": "/home/n8/n9/n10-1.js:4711",
        "file:///home/ada/node_modules/@acme/express/lib/app.js": "file:///home/n11/node_modules/@acme/express/lib/app.js",
        "C:\\home\\ada\\total.js": "C12:\\home\\n11\\n1.js",
        "node:internal/timers": "node:internal/timers",
        "https://esm.sh/oak@12/app.js?ada#total": "https://esm.sh/oak@12/app.js?n11#n1",
        "0x7f12 99": "0x7f12 99",
    }  # fmt: skip
    assert {text: own(text) for text in words} == words
    leads_back = [line.split(" -> ") for line in own.mapping()]
    assert ["Acmé", "C4"] in leads_back
    assert len({new for _, new in leads_back}) == len(leads_back)


def test_damaged_dumps_have_no_names_either(tmp_path: Path) -> None:
    """Or are refused: what the damage left as a name of a class is still replaced."""
    draw, whole = random.Random(5), planted_hprof()
    written = 0
    for _ in range(tries(150)):
        path = tmp_path / "damaged.hprof"
        path.write_bytes(damaged(whole, draw))
        mapping: list[str] = []
        try:
            data, _ = redacted(path, mapping=mapping, allows_damage=True)
        except MemlensError:
            continue
        written += 1
        assert SECRET.encode() not in data
    assert written > tries(50)


def test_the_command(tmp_path: Path) -> None:
    path, out = tmp_path / "named.hprof", tmp_path / "shared.hprof.gz"
    path.write_bytes(named())
    # never beside what is about to be sent, unless asked for
    assert "--mapping FILE" in memlens("redact", path, out, "--rename", status=2).stderr
    assert (
        "--mapping is an option of --rename"
        in memlens("redact", path, out, "--mapping", tmp_path, status=2).stderr
    )
    mapping = tmp_path / "shared.mapping.txt"
    said = memlens("redact", path, out, "--rename", "--mapping", mapping, "--keep-shared").stdout
    assert f"{mapping}: " in said
    assert stat.S_IMODE(mapping.stat().st_mode) == 0o600
    assert_same_graph(load(path), load(out))
    out.unlink()
    # the mapping of a dump that somebody else may have is not lost, nor one that a build wrote
    assert (
        "shared.mapping.txt exists"
        in memlens("redact", path, out, "--rename", "--mapping", tmp_path, status=1).stderr
    )
    memlens("redact", path, out, "--rename", "--mapping", tmp_path, "--force")
    out.unlink()
    mapping.write_text("com.example.App -> a.a:\n")
    assert (
        "shared.mapping.txt exists"
        in memlens("redact", path, out, "--rename", "--mapping", tmp_path, "--force", status=1).stderr
    )
    mapping.unlink()
    assert not out.exists()


PROGRAM = """
import sys, threading
import memlens.dump
class AcmeLedger:
    def __init__(self): self.acme_owner = {"acme key": self}
def acme_orders(ready):
    acme_local = [AcmeLedger() for _ in range(5)]
    ready.set(); done.wait()
ready, done = threading.Event(), threading.Event()
thread = threading.Thread(target=acme_orders, args=(ready,)); thread.start(); ready.wait()
memlens.dump.heap(sys.argv[1]); done.set()
"""


def test_names_of_a_python_program_become_other_words(tmp_path: Path) -> None:
    program, path, copy = (tmp_path / name for name in ("acme_shop.py", "own.heap", "copy.heap"))
    program.write_text(PROGRAM)
    subprocess.run([sys.executable, program, path], check=True, cwd=tmp_path)
    leads_back = renamed(path, copy)
    assert b"acme" in path.read_bytes()
    assert b"acme" not in copy.read_bytes().lower()
    assert {"AcmeLedger", "acme_owner", "acme_orders", "acme_local", "acme_shop"} <= set(leads_back.values())
    before, after = load(path), load(copy)
    assert sorted(before.objects.shallow.tolist()) == sorted(after.objects.shallow.tolist())
    named = [
        re.sub(r"\bn\d+\b|\bC\d+\b", lambda found: leads_back[found[0]], name) for name in type_names(after)
    ]
    assert sorted(named) == sorted(type_names(before))
    assert {"dict", "list", "threading.Event"} <= set(type_names(after))


SHOP = """
const lib = require('leftlib');
class AcmeLedger {
  constructor(owner) { this.acmeOwner = owner; this.entries = new Map([[owner, this]]); }
  acmePost(n) { return () => this.acmeOwner + n; }
}
const acmeLocal = [1, 2, 3].map((n) => new AcmeLedger(`acme${n}`).acmePost(n));
globalThis.acmeGlobal = [acmeLocal, new lib.LibCache(), Symbol('acme symbol')];
String.prototype.acmeFormat = function acmeFormat() {};
class Session { static acmeAll = [new Session()]; }
acmeLocal[0]();
require('v8').writeHeapSnapshot(process.argv[2]);
"""
LIBRARY = "exports.LibCache = class LibCache { constructor() { this.libItems = [{}]; } libAdd() {} }"


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
def test_names_of_a_program_in_node_become_other_words(tmp_path: Path) -> None:
    shop = tmp_path / "acme-4711"
    (shop / "node_modules" / "leftlib").mkdir(parents=True)
    (shop / "node_modules" / "leftlib" / "acme.js").write_text(LIBRARY)
    (shop / "node_modules" / "leftlib" / "package.json").write_text('{"main": "acme.js"}')
    (shop / "acme.js").write_text(SHOP)
    path, copy = tmp_path / "shop.heapsnapshot", tmp_path / "copy.heapsnapshot"
    subprocess.run(["node", shop / "acme.js", path], check=True)
    leads_back = renamed(path, copy)
    left = [each for each in json.loads(copy.read_bytes())["strings"] if "acme" in each.lower()]
    # the library's own file is called so as well
    assert all(each.endswith("/node_modules/leftlib/acme.js") for each in left)
    assert {"AcmeLedger", "acmeOwner", "acmePost", "acmeGlobal", "acmeFormat", "Session", "4711"} <= set(
        leads_back.values()
    )
    before, after = load(path), load(copy)
    assert sorted(before.objects.shallow.tolist()) == sorted(after.objects.shallow.tolist())
    kept = set(type_names(after))
    assert {"LibCache", "Map", "Object", "Module", "system / Context", "BuiltinModule"} <= kept
    assert not {"AcmeLedger", "Session"} & kept
    assert {"libItems", "entries"} & set(reference_names(after, {"property"})) == {"libItems", "entries"}
    again = Counter(
        re.sub(r"\b[nC]\d+\b", lambda found: leads_back.get(found[0], found[0]), each)
        for each in type_names(after)
        if "removed " not in each and not each.startswith("{")
    )
    assert again
    assert not again - Counter(type_names(before))
    # objects without a class are called by their properties, in another order, but the same for all that have these
    shapes = [[each for each in type_names(graph) if each.startswith("{")] for graph in (before, after)]
    assert len(shapes[0]) == len(shapes[1])
    assert len(set(shapes[1])) <= len(set(shapes[0]))


def test_names_of_a_ruby_program_become_other_words(tmp_path: Path) -> None:
    gem = {"file": "/home/ada/.gem/ruby/3.2.0/gems/left-1.2/lib/left.rb", "line": 1, "method": "left_add"}
    own = {"file": "/home/ada/acme \u00e9/acme.rb", "line": 2, "method": "acme_post"}
    path, copy = tmp_path / "heap.json", tmp_path / "copy.json"
    path.write_bytes(
        ruby_files.made(
            ruby_files.line(0x100, "CLASS", [], name="Acme::Ledger", memsize=40, **own),
            ruby_files.line(0x200, "CLASS", [], name="Left::Cache", memsize=40, **gem),
            ruby_files.line(0x300, "CLASS", [], name="Net::HTTP::AcmeExt", memsize=40),
            # a class of the program's own, and one of Ruby's
            ruby_files.line(0x400, "CLASS", [], name="Session", memsize=40, **own),
            ruby_files.line(0x500, "CLASS", [], name="OpenSSL::SSL::Session", memsize=40),
            ruby_files.line(0x600, "DATA", [], struct="JSON/Generator/State", memsize=40),
            ruby_files.line(0x700, "SHAPE", [], edge_name="@acme_owner", memsize=40),
            ruby_files.line(0x800, "OBJECT", [0x100], **{"class": 0x100}, memsize=40, **own),
        )
    )
    leads_back = renamed(path, copy)
    rows = [json.loads(line) for line in copy.read_text().splitlines()]
    assert {"ada", "acme", "acme_post", "acme_owner", "Acme", "AcmeExt", "Ledger", "Session"} == set(
        leads_back.values()
    ) - {"\u00e9"}
    assert "acme" not in copy.read_text().lower()
    names = [each.get("name", each.get("struct")) for each in rows]
    assert {"Left::Cache", "OpenSSL::SSL::Session", "JSON/Generator/State"} <= set(names)
    assert any(re.fullmatch(r"Net::HTTP::C\d+", each or "") for each in names)
    assert any(each.get("file", "").endswith("/gems/left-1.2/lib/left.rb") for each in rows)
    assert {"left_add"} <= {each.get("method") for each in rows}


def test_names_of_a_program_in_pyheaps_dumps_become_other_words(tmp_path: Path) -> None:
    path, copy = tmp_path / "heap.pyheap", tmp_path / "copy.pyheap"
    path.write_bytes(planted_heaps.pyheap(()))
    leads_back = renamed(path, copy)
    assert {"Session", "serve", "sessions", "service", "number"} <= set(leads_back.values())
    data = copy.read_bytes()
    assert b"MainThread" in data
    assert not [word for word in leads_back.values() if re.search(rb"(?<!\w)%b(?!\w)" % word.encode(), data)]
    assert sorted(load(path).objects.shallow.tolist()) == sorted(load(copy).objects.shallow.tolist())


def renamed(path: Path, copy: Path) -> dict[str, str]:
    """The old names by the new ones in a copy, of which nothing else is left."""
    mapping = copy.parent / "names.txt"
    memlens("redact", path, copy, "--rename", "--mapping", mapping)
    assert "no content of the original found" in memlens("redact", "--verify", path, copy).stdout
    lines = mapping.read_text().splitlines()[1:]
    return {new: old for old, new in (line.split(" -> ") for line in lines)}
