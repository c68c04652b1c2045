"""Whatever an object does, dumping it never raises into the program, and costs that object alone."""

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from tests.python.graph_reading import load, type_names

import memlens
from memlens.packs.python.tests.test_python_heap import NEWER

LIBRARY = Path(memlens.__file__).parents[1]
LOCK = LIBRARY / "requirements.lock"

ODD = """
import _socket, ctypes, functools, sys, threading, types, weakref
import memlens.dump

class Broken:
    def __getattribute__(self, name): raise SystemError(name)
    def __sizeof__(self): raise SystemError
    def __repr__(self): raise SystemError
    def __eq__(self, other): raise SystemError
    def __hash__(self): return 1
    def __bool__(self): raise SystemError
    def __len__(self): raise SystemError
    def __iter__(self): raise SystemError
    @property
    def __class__(self): raise SystemError
    @property
    def __dict__(self): raise SystemError
    def __del__(self): raise SystemError

class Meta(type):
    def __getattribute__(cls, name): raise SystemError(name)
    def __instancecheck__(cls, other): raise SystemError
    def __subclasscheck__(cls, other): raise SystemError
    def __eq__(cls, other): raise SystemError
    __hash__ = type.__hash__
    def mro(cls): return [cls, object]

class OfMeta(metaclass=Meta):
    pass

class HugeInC:
    numbers = [1 << 200] * 100
    __sizeof__ = numbers.pop

class FailsInC:
    __sizeof__ = len

class OtherInC(list):
    __sizeof__ = list.pop

class Placed:
    __firstlineno__ = 1 << 200
    def method(self): pass
Placed.method.__code__ = Placed.method.__code__.replace(co_firstlineno=(1 << 31) - 1, co_name=chr(0xD800))

# without a name of the module there, the class has no __module__
made = {}
exec("Homeless = type('Homeless', (), {})", {"__builtins__": {"type": type}}, made)
Homeless = made["Homeless"]

class SlotsOfOthers:
    pass
SlotsOfOthers.first = slice.start
SlotsOfOthers.second = types.FunctionType.__code__

class DictWithout(dict):
    def keys(self): raise SystemError
    values = items = __iter__ = __len__ = __getitem__ = keys

class ListWithout(list):
    def __iter__(self): raise SystemError
    __len__ = __getitem__ = __iter__

class Key:
    def __eq__(self, other): raise SystemError
    def __hash__(self): return hash("__name__")

class Items:
    items = None
    def __getitem__(self, key): return self.names[key]
    def __init__(self): self.names = {}
    def __setitem__(self, key, value): self.names[key] = value

def frozen_in_the_middle():
    try:
        yield Broken()
    finally:
        raise SystemError

class Revived:
    kept = []
    def __del__(self): Revived.kept.append(self)

empty = types.ModuleType.__new__(types.ModuleType)
sys.modules["odd"], sys.modules["odder"], sys.modules[5] = Broken(), empty, Broken()
generator = frozen_in_the_middle()
next(generator)
referent = Homeless()
kept = [Broken(), OfMeta(), HugeInC(), FailsInC(), OtherInC([1]), Placed(), Homeless(), SlotsOfOthers(),
        DictWithout(a=Broken()), ListWithout([1, Broken()]), {Key(): 1}, functools.partial(Broken),
        weakref.proxy(referent), weakref.ref(referent), memoryview(bytearray(8)), "\\ud800", ctypes.py_object(),
        (ctypes.c_char * 8)(), type("", (), {}), type(chr(0x10FFFF) * 300, (), {})()]
Revived()
circle = []
circle.append(circle)
threading._active["odd"] = Broken()
size = len(HugeInC.numbers)
cost = memlens.dump.heap(sys.argv[1])
del threading._active["odd"]
assert len(HugeInC.numbers) == size and list.__len__(kept[4]) == 1, "the dump changed the program"
exec("import memlens.dump; memlens.dump.heap(out)", {"out": sys.argv[2]}, Items())
threading._active, whole = None, threading._active
sys.modules, modules = types.MappingProxyType(sys.modules), sys.modules
memlens.dump.heap(sys.argv[2], force=True)
sys.modules, threading._active = modules, whole

def refuse(event, _):
    if event == "gc.get_referents": raise SystemError(event)
sys.addaudithook(refuse)
memlens.dump.heap(sys.argv[3])
"""

EACH = """
import importlib, json, os, sys
import memlens.dump
answers = {}
for name in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        status = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            try:
                importlib.import_module(name)
            except BaseException:
                status = 2
            else:
                memlens.dump.heap(f"{sys.argv[2]}-{name}", collect=False)
                status = 0
        finally:
            os._exit(status)
    answers[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps(answers))
"""


def pythons() -> list[str]:
    """Return this Python and others that are installed, one of each minor version that a dump supports."""
    found = {sys.version_info[:2]: sys.executable}
    if NEWER:
        found[3, 14] = NEWER
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    for minor in range(11, 20):
        places = [*versions.glob(f"3.{minor}.*/bin/python"), *Path("/usr/bin").glob(f"python3.{minor}")]
        for place in places[:1]:
            found.setdefault((3, minor), str(place))
    return list(found.values())


@pytest.mark.slow
@pytest.mark.parametrize("python", pythons())
def test_no_object_raises_into_the_program(tmp_path: Path, python: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(ODD)
    outs = [tmp_path / f"{number}.heap" for number in range(3)]
    done = subprocess.run(
        [python, program, *outs],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(LIBRARY), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr
    graph, _, refused = map(load, outs)
    names = type_names(graph)
    for name in (
        "Broken",
        "OfMeta",
        "HugeInC",
        "FailsInC",
        "OtherInC",
        "DictWithout",
        "ListWithout",
        "Placed",
    ):
        assert f"__main__.{name}" in names
    assert any(name.endswith("Homeless") for name in names)
    assert graph.warnings == []
    # objects without what the hook refused
    assert [warning.code for warning in refused.warnings] == ["unread-objects"]
    assert str(refused.settings["unread_example"]).endswith(": SystemError")
    assert len(refused.objects.shallow) > 1000


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_modules_in_c_of_every_locked_wheel_can_be_dumped(tmp_path: Path) -> None:
    """Each in a process of its own, since what one imports makes the types of another ready."""
    wheels = {
        line.split("==")[0].lower().replace("_", "-")
        for line in LOCK.read_text().splitlines()
        if "==" in line
    }
    names = {"_socket", "_ssl", "_ctypes", "_decimal", "_sqlite3", "_asyncio"}
    for wheel in metadata.distributions():
        if (wheel.metadata["Name"] or "").lower().replace("_", "-") in wheels:
            files = [str(file) for file in wheel.files or []]
            names |= {file.split("/")[0].split(".")[0] for file in files if file.endswith((".so", ".pyd"))}
    done = subprocess.run(
        [sys.executable, "-c", EACH, json.dumps(sorted(names)), tmp_path / "heap"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(LIBRARY)},
    )
    answers = json.loads(done.stdout)
    assert not [name for name, status in answers.items() if status not in (0, 2)], done.stderr
    dumped = {name for name, status in answers.items() if status == 0}
    assert {"_socket", "msgspec", "numpy", "apsw"} <= dumped
    assert load(tmp_path / "heap-msgspec").warnings == []
