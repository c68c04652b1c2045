"""A newcomer's first hour: small programs that leak, recorded as docs/recording.md says, and what Memlens says first.

Each program of tests/newcomer leaks in the line that ends with LEAK. ``memlens findings`` runs as installed, in a home
that nothing was written to and, where the system lets it, in a root that has nothing else: no network, no compiler, no
other program (clean_root.py). It has to name that line in its first finding, or the function or class where the format
has no lines. ``npm run package:check`` runs these tests on a package.
"""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes.util import find_library
from pathlib import Path

import pytest
from tests.python import clean_root
from tests.python.conftest import ROOT
from tests.python.java_classes import QUICK
from tests.python.recipes import Page, needs, needs_memray, replaced

PROGRAMS = ROOT / "tests" / "newcomer"
PAGE = Page("recording.md")
NATIVE = "C, C++, Rust"
SCRIPT = "JavaScript, TypeScript"
JAVA = "Java, Kotlin, Android"


def leak(program: str) -> str:
    """Return the name and number of the line that leaks."""
    lines = (PROGRAMS / program).read_text("utf-8").splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if re.search(r"\bLEAK\b", line))
    return f"{program}:{number}"


def run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the system, which must succeed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done


def memlens(folder: Path, *arguments: object, enter: bool = False) -> str:
    """Return what the installed command prints in a fresh home and, if ``enter``, in a clean root."""
    home = folder / "home"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    command, environment = clean_root.installed()
    command += map(str, arguments)
    environment |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    if enter and clean_root.is_possible():
        command = clean_root.entered(command, folder)
    else:
        environment["PATH"] = str(home / "bin")
    return run(command, folder, **environment).stdout


def first(folder: Path, file: Path) -> str:
    """Return the first line of a file's findings."""
    return memlens(folder, "findings", file, enter=True).splitlines()[0]


@pytest.mark.skipif(
    not clean_root.is_possible(), reason="this system lets only its administrator have a root"
)
def test_the_root_is_clean(tmp_path: Path) -> None:
    program = """
import os, shutil, socket
print(*map(os.path.exists, ("/etc", "/usr/bin", "/usr/include", os.environ["PROJECT"])))
print(*map(shutil.which, ("sh", "cc", "gcc", "git")))
print(*(name for _, name in socket.if_nameindex()))
try:
    open(os.path.join(os.environ["PYTHON"], "new"), "w")
except OSError as error:
    print(error.strerror)
"""
    command = clean_root.entered([sys.executable, "-c", program], tmp_path)
    project = str(ROOT / "package.json")
    said = run(command, tmp_path, PROJECT=project, PYTHON=sys.base_prefix).stdout
    # a name space of its own has at most the interfaces that every one has, none of which leads anywhere
    exist, programs, interfaces, writing = said.splitlines()
    assert exist == "False False False False"
    assert programs == "None None None None"
    assert not set(interfaces.split()) & {name for _, name in socket.if_nameindex() if name != "lo"}
    assert writing == "Read-only file system"


@contextmanager
def running(command: list[str], folder: Path) -> Iterator[int]:
    """Run a program until it is ready, and end it by the end of its input."""
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process.pid
        finally:
            process.communicate()


COMPILERS = {
    "leak.c": ("gcc", "-g"),
    "leak.cc": ("g++", "-g"),
    "leak.rs": ("rustc", "-O"),
}
RECORDERS = {
    "heaptrack": ("heaptrack PROGRAM", "heaptrack.app.*"),
    "dhat": ("valgrind --tool=dhat PROGRAM", "dhat.out.*"),
    "massif": ("valgrind --tool=massif PROGRAM", "massif.out.*"),
    "jemalloc": ("MALLOC_CONF=", "jeprof.*.heap"),
    "tcmalloc": ("HEAPPROFILE=", "heap.*.heap"),
}


@pytest.fixture(scope="module", params=COMPILERS)
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A program, compiled with lines for its stacks as the page says."""
    program: str = request.param
    folder = tmp_path_factory.mktemp("compiled")
    compiler, *flags = COMPILERS[program]
    if compiler == "rustc":
        setting = PAGE.code(NATIVE, "debug = ")
        flags += ["-C", replaced(setting, ("debug = ", "debuginfo="), ('"', ""))]
    else:
        assert PAGE.code(NATIVE, "-g") in flags
    homes = {name: os.environ[name] for name in ("RUSTUP_HOME", "CARGO_HOME") if name in os.environ}
    homes.setdefault("RUSTUP_HOME", str(Path.home() / ".rustup"))
    shutil.copy(PROGRAMS / program, folder)
    run([needs(compiler), *flags, program, "-o", "app"], folder, **homes)
    return program, folder / "app"


# test_symbols.py and test_recordings.py have small programs of these languages
@pytest.mark.slow
@pytest.mark.parametrize("recorder", RECORDERS)
def test_native_programs(compiled: tuple[str, Path], recorder: str, tmp_path: Path) -> None:
    program, app = compiled
    beginning, output = RECORDERS[recorder]
    lines = [line for line in PAGE.block(NATIVE).splitlines() if line.startswith(beginning)]
    command = replaced(lines[0] if lines else PAGE.code(NATIVE, beginning), ("PROGRAM", "./app"))
    environment = dict(word.split("=", 1) for word in shlex.split(command) if re.match(r"[A-Z_]+=", word))
    tool, *words = shlex.split(command)[len(environment) :]
    if "LD_PRELOAD" in environment:
        if find_library(recorder) is None:
            pytest.skip(f"the library of {recorder} isn't installed")
    else:
        tool = needs(tool)
    if "HEAPPROFILE" in environment:
        environment["HEAPPROFILE"] = str(tmp_path / Path(environment["HEAPPROFILE"]).name)
    shutil.copy(app, tmp_path)
    run([tool, *words], tmp_path, **environment)
    (file,) = tmp_path.glob(output)
    assert f"Held by {leak(program)} " in first(tmp_path, file)


@pytest.mark.slow
def test_go(tmp_path: Path) -> None:
    go = needs("go")
    source = (PROGRAMS / "leak.go").read_text("utf-8")
    for beginning in ("pprof.Lookup", "runtime.MemProfileRate"):
        assert PAGE.code("Go", beginning) in source
    cache = run([go, "env", "GOCACHE"], tmp_path, HOME=str(Path.home())).stdout.strip()
    shutil.copy(PROGRAMS / "leak.go", tmp_path)
    run([go, "run", "leak.go", "heap.pb.gz"], tmp_path, GOCACHE=cache)
    assert f"Held by {leak('leak.go')} " in first(tmp_path, tmp_path / "heap.pb.gz")


def test_node_sampled(tmp_path: Path) -> None:
    node, *words = replaced(PAGE.code(SCRIPT, "node --heap-prof"), ("app.js", "leak.js")).split()
    shutil.copy(PROGRAMS / "leak.js", tmp_path)
    run([needs(node), *words], tmp_path)
    (file,) = tmp_path.glob("*.heapprofile")
    # V8 writes where a function begins, not which of its lines allocated
    assert re.search(r"Held by leak\.js:3 Session\(\)", first(tmp_path, file))


@pytest.mark.slow
@pytest.mark.parametrize("recorder", ["call", "signal"])
def test_node_heap_snapshots(recorder: str, tmp_path: Path) -> None:
    node, signal, _ = PAGE.code(SCRIPT, "node --heapsnapshot-signal").split()
    shutil.copy(PROGRAMS / "leak.js", tmp_path)
    (tmp_path / "app.js").write_text(
        "const v8 = require('v8');\nglobalThis.kept = require('./leak.js');\n"
        + {
            "call": PAGE.code(SCRIPT, "v8.writeHeapSnapshot"),
            # the signal is handled in the loop of events, before this timer keeps it from its end any longer
            "signal": f"process.kill(process.pid, '{signal.split('=')[1]}');\n"
            "const waiting = setInterval(() => {\n"
            "  if (require('fs').readdirSync('.').some((name) => name.endsWith('.heapsnapshot')))"
            " clearInterval(waiting);\n}, 10);",
        }[recorder]
    )
    run([needs(node), signal, "app.js"], tmp_path)
    (file,) = tmp_path.glob("*.heapsnapshot")
    assert re.search(r"1,000 Session \(leak\.js:3, .*Held by global\.kept", first(tmp_path, file))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Node.js has no signals on Windows")
def test_node_dumped_from_outside(tmp_path: Path) -> None:
    node = needs("node")
    shutil.copy(PROGRAMS / "leak.js", tmp_path)
    (tmp_path / "app.js").write_text(
        "globalThis.kept = require('./leak.js');\nprocess.stdin.resume();\nconsole.log('ready');\n"
    )
    # a port of its own: other processes may have the usual one
    with running([node, "--inspect-port=0", "app.js"], tmp_path) as process:
        _, *words = replaced(PAGE.code(SCRIPT, "memlens dump"), ("PID", str(process))).split()
        memlens(tmp_path, *words)
    found = first(tmp_path, tmp_path / "app.heapsnapshot")
    assert re.search(r"1,000 Session \(leak\.js:3, .*Held by global\.kept", found)


@pytest.mark.slow
@pytest.mark.parametrize("recorder", ["memlens dump", "jcmd"])
def test_java_dumped_from_outside(recorder: str, tmp_path: Path) -> None:
    compiler, java = needs("javac"), needs("java")
    tool = needs("jcmd") if recorder == "jcmd" else ""
    run([compiler, *QUICK, "-g", "-d", ".", str(PROGRAMS / "Leak.java")], tmp_path)
    with running([java, "-Xmx128m", "-cp", ".", "Leak", "1000"], tmp_path) as process:
        command = replaced(PAGE.code(JAVA, recorder), ("PID", str(process)))
        if tool:
            run([tool, *replaced(command, ("/tmp", str(tmp_path))).split()[1:]], tmp_path)
        else:
            memlens(tmp_path, *command.split()[1:])
    found = first(tmp_path, tmp_path / "app.hprof")
    assert re.search(r"1,000 Leak\$Session in Leak\.java, .*Held by Leak\.SESSIONS", found)


@pytest.mark.slow
def test_java_out_of_memory(tmp_path: Path) -> None:
    compiler, java = needs("javac"), needs("java")
    run([compiler, *QUICK, "-g", "-d", ".", str(PROGRAMS / "Leak.java")], tmp_path)
    option = PAGE.code(JAVA, "-XX:+HeapDump")
    died = subprocess.run(
        [java, option, "-Xmx24m", "-cp", ".", "Leak", "1000000"],
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert died.returncode
    (file,) = tmp_path.glob("java_pid*.hprof")
    # of all dumps only this one has the thread that was adding to the map
    found = first(tmp_path, file)
    assert "Held by Leak.SESSIONS" in found
    assert "Leak$Session" in found


def python_program(folder: Path, before: str, after: str) -> None:
    """Write app.py, which leaks between two parts of a recipe."""
    shutil.copy(PROGRAMS / "leak.py", folder)
    (folder / "app.py").write_text(f"{before}\nfrom leak import work\nwork()\n{after}\n")


def test_python_by_tracemalloc(tmp_path: Path) -> None:
    start, dump = (PAGE.code("Python", f"tracemalloc.{name}") for name in ("start", "take_snapshot"))
    python_program(tmp_path, f"import tracemalloc\n{start}", dump)
    run([sys.executable, "app.py"], tmp_path)
    assert f"Held by {leak('leak.py')} " in first(tmp_path, tmp_path / "snapshot.tracemalloc")


@pytest.mark.slow
def test_python_by_memray(tmp_path: Path) -> None:
    python = needs_memray()
    python_program(tmp_path, "", "")
    _, *words = replaced(PAGE.code("Python", "python -m memray"), ("program.py", "app.py")).split()
    run([str(python), *words], tmp_path)
    found = first(tmp_path, tmp_path / "memray-run.bin")
    assert f"Held by {leak('leak.py')} " in found


@pytest.mark.slow
def test_python_by_a_heap_dump(tmp_path: Path) -> None:
    # the file alone, as where Memlens isn't installed
    (tmp_path / "memlens").mkdir()
    shutil.copy(ROOT / "pyserver" / "memlens" / "dump.py", tmp_path / "memlens")
    python_program(tmp_path, "", PAGE.block("Python", "python"))
    run([sys.executable, "app.py"], tmp_path)
    assert re.search(
        r"1,000 Session \(leak\.py:7, .*Held by leak\.SESSIONS\.", first(tmp_path, tmp_path / "app.heap")
    )


def test_ruby(tmp_path: Path) -> None:
    ruby = needs("ruby")
    shutil.copy(PROGRAMS / "leak.rb", tmp_path)
    (tmp_path / "app.rb").write_text(
        replaced(PAGE.block("Ruby", "ruby"), ("# ... the work that leaks ...", 'require_relative "leak"'))
    )
    run([ruby, "app.rb"], tmp_path)
    assert f"1,000 Session (allocated at {leak('leak.rb')}" in first(tmp_path, tmp_path / "app.json")
