"""A dump of a Python program changes nothing in it: no code of it runs, nothing lives longer; the file is private."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.python.graph_reading import load, roots, type_names
from tests.python.systems import needs_posix

import memlens
from memlens import dump

PROGRAM = """
import json, sys, threading, weakref
import memlens.dump

ran = []

class Meta(type):
    def __hash__(cls): ran.append("hash of a class"); return 1
    def __eq__(cls, other): ran.append("== of a class"); return cls is other
    def __getattribute__(cls, name): ran.append("attribute of a class"); return type.__getattribute__(cls, name)
    def __subclasscheck__(cls, other): ran.append("issubclass"); return True

class MetaUnhashable(type):
    def __eq__(cls, other): ran.append("== of a class"); return cls is other

class Text(str):
    def __hash__(self): ran.append("hash of a text"); return str.__hash__(self)
    def __eq__(self, other): ran.append("== of a text"); return str.__eq__(self, other)
    def __format__(self, form): ran.append("format of a text"); return "x"
    def encode(self, *form): ran.append("encode of a text"); return b"x"
    def startswith(self, *start): ran.append("startswith of a text"); return True

class Number(int):
    def bit_length(self): ran.append("bit_length"); return 1
    def __str__(self): ran.append("str of a number"); return "x"

class Hashed(metaclass=Meta):
    def __init__(self): self.kept = [1]

class Unhashed(metaclass=MetaUnhashable):
    pass

class NoDictionary:
    def __init__(self): object.__setattr__(self, "kept", [1])
    @property
    def __dict__(self): ran.append("__dict__"); return {}

class Described:
    class Descriptor:
        def __get__(self, instance, owner): ran.append("descriptor"); return 1
        def __set__(self, instance, value): pass
    described = Descriptor()
    def __init__(self): self.__dict__["described"] = [1]; self.other = 1

class Sized:
    class Size:
        def __get__(self, instance, owner): ran.append("__sizeof__"); return lambda: 1
    __sizeof__ = Size()

class Named:
    def method(self): pass

class Worker(threading.Thread):
    @property
    def _name(self): ran.append("name of a thread"); return "x"
    @_name.setter
    def _name(self, value): pass

class Namespace:
    def __init__(self): self.names = {}
    def __getitem__(self, key): return self.names[key]
    def __setitem__(self, key, value): self.names[key] = value
    def items(self): ran.append("items of a namespace"); return []
    def keys(self): ran.append("keys of a namespace"); return []

class Marked:
    pass

kept = [Hashed(), Unhashed(), Text("text"), Number(5), Named(), Sized()]
kept += [NoDictionary() for _ in range(12)] + [Described() for _ in range(12)]
globals()[Text("odd")] = 1
Named.__qualname__, Named.method.__qualname__ = Text("Renamed"), Text("Renamed.method")
waiting = threading.Event()
Worker(target=waiting.wait, daemon=True).start()

def work():
    marked = Marked()
    alive = weakref.ref(marked)
    text = "memlens.dump.heap(sys.argv[1])"
    ran.clear()
    exec(compile(text, "namespace", "exec"), {"memlens": memlens, "sys": sys}, Namespace())
    said = list(ran)
    del marked
    return said, alive() is None

said, freed = work()
print(json.dumps({"ran": said, "freed": freed}))
"""


def test_no_method_of_any_class_runs_and_no_variable_lives_longer(tmp_path: Path) -> None:
    program, out = tmp_path / "program.py", tmp_path / "program.heap"
    program.write_text(PROGRAM)
    library = {"PYTHONPATH": str(Path(memlens.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, program, out], check=True, capture_output=True, text=True, env=library
    )
    assert json.loads(done.stdout) == {"ran": [], "freed": True}
    graph = load(out)
    names = type_names(graph)
    assert names.count("__main__.NoDictionary") == 12
    assert {"__main__.Hashed", "__main__.Unhashed", "__main__.Renamed"} <= set(names)
    held = {detail for kind, _, detail, _ in roots(graph) if kind == "local"}
    # the variables of a frame are there by name, and what keeps those of the odd one as a whole
    assert {"marked (MainThread)", " (MainThread)"} <= held
    assert graph.warnings == []


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_only_the_owner_may_read_a_dump(tmp_path: Path) -> None:
    other, out = tmp_path / "other", tmp_path / "x.heap"
    other.write_text("of somebody else")
    # left there to be written through
    (tmp_path / "x.heap.partial").symlink_to(other)
    # in a small process: this one has the objects of all tests
    code = "import os, sys; from memlens import dump; dump.heap(os.fsencode(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, out], check=True)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert other.read_text() == "of somebody else"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other", "x.heap"]


@needs_posix
def test_a_folder_or_a_device_is_never_replaced(tmp_path: Path) -> None:
    places = [tmp_path / "folder"]
    places[0].mkdir()
    if hasattr(os, "mkfifo"):
        places.append(tmp_path / "pipe")
        os.mkfifo(places[1])
    for place in places:
        with pytest.raises(OSError, match="not a regular file"):
            dump.heap(place)
    assert sorted(tmp_path.iterdir()) == sorted(places)
