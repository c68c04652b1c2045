"""``memlens run``: whatever ends a program, it leaves a file in which the line that leaks is the first.

PyTorch is a stand-in with the functions that the recorder calls; Python, Node.js and Java are real, and run out of the
memory that they are given.
"""

import json
import os
import pickle
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.python.command_line import memlens
from tests.python.recipes import needs

from memlens import record

pytestmark = pytest.mark.slow
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
LEAK = """
import os, resource, signal, sys, time
kept = []
def leak(count):
    for _ in range(count):
        kept.append(bytearray(10_000))
"""
LEAKING_LINE = 6


def run(folder: Path, program: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program of Python that leaks, recorded into the folder ``files``."""
    (folder / "leaking.py").write_text(LEAK + program)
    return started(folder, [*options, sys.executable, "leaking.py"], **environment)


def started(folder: Path, arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "memlens", "run", "-o", "files", *arguments],
        cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def only_file(folder: Path, pattern: str) -> Path:
    """The only file that is there, complete."""
    (file,) = (folder / "files").iterdir()
    assert file.match(pattern), file
    return file


def names_the_line(file: Path, line: str) -> bool:
    return line in memlens("lines", file, "--top", "1").stdout


@posix
@pytest.mark.parametrize(
    ("program", "status", "reason"),
    [
        ("leak(1000)", 0, "end"),
        ("leak(1000); sys.exit(3)", 3, "end"),
        ("leak(1000); 1 / 0", 1, "error"),
        ("leak(1000); os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)", 143, "terminated"),
        (
            "resource.setrlimit(resource.RLIMIT_AS, (400 << 20, resource.RLIM_INFINITY)); leak(10**9)",
            1,
            "memory-error",
        ),
        ("leak(1000); os.kill(os.getpid(), signal.SIGUSR2); os._exit(0)", 0, "asked"),
    ],
    ids=["end", "exit", "error", "terminated", "memory-error", "asked"],
)
def test_a_program_leaves_one_file_that_is_named_for_its_end(
    program: str, status: int, reason: str, tmp_path: Path
) -> None:
    done = run(tmp_path, program)
    assert done.returncode == status, done.stderr
    file = only_file(tmp_path, f"{reason}-*.tracemalloc")
    assert str(file.relative_to(tmp_path)) in done.stdout
    assert names_the_line(file, f"leaking.py:{LEAKING_LINE}")


@posix
def test_a_program_has_the_environment_of_memlens_and_the_modules_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("import json, os; print(json.dumps(dict(os.environ)))")
    done = run(tmp_path, "import beside")
    assert done.returncode == 0, done.stderr
    # the recorder's, and what Python itself sets
    own = ("MEMLENS_RECORD", "PYTHONPATH", "LC_CTYPE")
    found = json.loads(done.stdout.splitlines()[0])
    assert {name: found[name] for name in found if not name.startswith(own)} == {
        name: value for name, value in os.environ.items() if not name.startswith(own)
    }


@posix
def test_a_limit_is_passed_before_the_program_is_killed(tmp_path: Path) -> None:
    program = """
while not any(name.startswith("limit") and name.endswith("c") for name in os.listdir("files")):
    leak(100)
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = run(tmp_path, program, "--at", "100MiB")
    assert done.returncode == 128 + signal.SIGKILL
    assert names_the_line(only_file(tmp_path, "limit-*.tracemalloc"), f"leaking.py:{LEAKING_LINE}")


@posix
def test_it_is_said_why_there_is_no_file(tmp_path: Path) -> None:
    done = run(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")
    assert done.returncode == 128 + signal.SIGKILL
    assert "SIGKILL" in done.stdout
    assert "memlens explain" in done.stdout.replace("\n", " ")
    assert not (tmp_path / "files").exists()


@posix
def test_pytorch_without_a_gpu_leaves_nothing_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(TORCH)
    done = run(tmp_path, "import torch", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0
    assert "it used no GPU" in done.stdout


@posix
def test_signals_reach_the_program(tmp_path: Path) -> None:
    (tmp_path / "leaking.py").write_text(LEAK + "leak(1000)\nprint('ready', flush=True)\ntime.sleep(60)")
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "memlens", "run", "-o", "files", sys.executable, "leaking.py"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    only_file(tmp_path, "terminated-*.tracemalloc")


@posix
def test_children_have_files_of_their_own_and_other_programs_none(tmp_path: Path) -> None:
    program = """
import subprocess
child = os.fork()
leak(100)
if not child:
    sys.exit()
os.waitpid(child, 0)
quiet = os.fork()
if not quiet:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
assert os.waitpid(quiet, 0)[1] == signal.SIGTERM
subprocess.run([sys.executable, "-c", "pass"], check=True)
"""
    done = run(tmp_path, program)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "files").glob("end-*.tracemalloc"))) == 2
    assert len(list((tmp_path / "files").iterdir())) == 2


@posix
def test_what_the_program_brings_stays(tmp_path: Path) -> None:
    """Its own start-up module, its handlers, its hooks, its arguments and its streams."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("import sys\nsys.from_own_site = True\n")
    program = """
import json
assert sys.from_own_site
assert "launching" not in str(sys.path[:2])
def handled(*_):
    print("handled")
    raise SystemExit(7)
signal.signal(signal.SIGTERM, handled)
assert sys.argv[1:] == ["--filter", "-x", "--", "-o"]
assert sys.stdin.read() == ""
os.kill(os.getpid(), signal.SIGTERM)
"""
    (tmp_path / "leaking.py").write_text(LEAK + program)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "memlens", "run", "-o", "files", sys.executable, "leaking.py", "--filter", "-x",
         "--", "-o"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path / "own")}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 7, done.stderr
    assert done.stdout.startswith("handled\n")
    only_file(tmp_path, "end-*.tracemalloc")


def test_nothing_is_overwritten_and_the_last_files_stay(tmp_path: Path) -> None:
    own = tmp_path / f"asked-{os.getpid()}.txt"
    own.write_text("somebody's")
    written: list[str] = []

    class Recorder:
        name, ending, limits_process = "test", ".txt", False

        def __init__(self, _recording: record.Recording) -> None: ...

        def prepare(self) -> bool:
            recording.begin(self)
            return True

        def write(self, path: str) -> None:
            written.append(path)
            Path(path).write_text(str(len(written)))
            if len(written) == 4:
                raise OSError(28, "No space left on device")

        def used_bytes(self) -> int:
            return 0

        def writing_bytes(self) -> int:
            return 0

    with pytest.MonkeyPatch.context() as patch:
        # this process is the tests'
        for name in ("_chain_hooks", "_handle_signals"):
            patch.setattr(record.Recording, name, lambda _: None)
        patch.setattr("atexit.register", lambda *_: None)
        patch.setattr("os.register_at_fork", lambda **_: None)
        recording = record.Recording(record.Settings(str(tmp_path), keep=2), [Recorder])
        assert recording.begin_next()
    for _ in range(5):
        recording.write("asked")
    assert own.read_text() == "somebody's"
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["3", "5", "somebody's"]


# ---- PyTorch ----

TORCH = """
import pickle
from types import SimpleNamespace
version = SimpleNamespace(cuda="12.4", hip=None)
_done, _waiting, _observers, _hooks = [], [], [], []
def _snapshot(path):
    with open(path, "wb") as file:
        pickle.dump(_done, file)
def _use():
    for each in _waiting:
        each()
def _alloc():
    for each in _observers:
        each(0, 1 << 30, 8 << 30, 1 << 20)
    raise type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory")
def _step(optimizer):
    for each in _hooks:
        each(optimizer, (), {})
cuda = SimpleNamespace(
    _lazy_call=_waiting.append,
    memory=SimpleNamespace(
        _record_memory_history=lambda **options: _done.append(options), _dump_snapshot=_snapshot
    ),
    device_count=lambda: 2,
    memory_reserved=lambda device: device << 30,
)
_C = SimpleNamespace(_cuda_attach_out_of_memory_observer=_observers.append)
optim = SimpleNamespace(optimizer=SimpleNamespace(register_optimizer_step_post_hook=_hooks.append))
"""


def run_torch(folder: Path, program: str, *options: str, torch: str = TORCH, **environment: str) -> str:
    (folder / "torch.py").write_text(torch)
    return run(folder, program, *options, PYTHONPATH=str(folder), **environment).stderr


@posix
def test_pytorch_is_recorded_when_it_uses_the_gpu(tmp_path: Path) -> None:
    errors = run_torch(tmp_path, "import torch; torch._use(); torch._alloc()", RANK="3")
    names = sorted(path.name.rpartition("-")[0] for path in (tmp_path / "files").iterdir())
    assert names == ["memory-error-rank3", "oom-rank3"], errors
    with next((tmp_path / "files").glob("oom-*.pickle")).open("rb") as file:
        assert pickle.load(file) == [{"max_entries": 1_000_000, "stacks": "python"}]


@posix
@pytest.mark.parametrize(
    ("program", "options", "expected"),
    [
        # every second step of the first of two optimizers, of which the last two are kept
        ("[torch._step(each) for _ in range(7) for each in ('first', 'second')]", ("--every", "2", "--keep", "2"),
         ["end", "step", "step"]),
        ("time.sleep(2)", ("--at", "1GiB"), ["end", "limit"]),
        ("time.sleep(1)", ("--at", "2GiB"), ["end"]),
    ],
    ids=["steps", "limit", "below the limit"],
)  # fmt: skip
def test_pytorch_is_written_at_steps_and_at_a_limit(
    program: str, options: tuple[str, ...], expected: list[str], tmp_path: Path
) -> None:
    errors = run_torch(tmp_path, f"import torch; torch._use(); {program}", "--torch", *options)
    assert sorted(path.name.split("-")[0] for path in (tmp_path / "files").iterdir()) == expected, errors


@posix
def test_each_process_of_a_job_is_recorded(tmp_path: Path) -> None:
    program = """
import subprocess
work = "import torch; torch._use()"
for rank in "01":
    subprocess.run([sys.executable, "-c", work], env={**os.environ, "RANK": rank}, check=True)
"""
    errors = run_torch(tmp_path, program)
    names = sorted(path.name.rpartition("-")[0] for path in (tmp_path / "files").iterdir())
    assert names == ["end-rank0", "end-rank1"], errors


@posix
def test_a_child_that_was_forked_has_no_gpu(tmp_path: Path) -> None:
    program = """
import torch
torch._use()
child = os.fork()
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    errors = run_torch(tmp_path, program)
    only_file(tmp_path, "end-*.pickle")
    assert "can't be written" not in errors


@posix
def test_without_a_gpu_python_is_recorded(tmp_path: Path) -> None:
    errors = run_torch(tmp_path, "import torch; leak(1000)", torch=TORCH.replace('"12.4"', "None"))
    assert names_the_line(only_file(tmp_path, "end-*.tracemalloc"), f"leaking.py:{LEAKING_LINE}"), errors


@posix
def test_an_error_of_the_recorder_is_not_the_programs(tmp_path: Path) -> None:
    errors = run_torch(tmp_path, "import torch; torch._use(); print('goes on')", torch="version = None")
    assert "nothing is recorded of torch" in errors
    assert "AttributeError" in errors


# ---- other runtimes ----

LEAKING_JAVA = """import java.util.*;
public class Leak { static List<long[]> kept = new ArrayList<>();
  public static void main(String[] a) { for (;;) kept.add(new long[1000]); } }
"""


@posix
def test_node_leaves_a_heap_snapshot(tmp_path: Path) -> None:
    needs("node")
    folder = tmp_path / "with blanks"
    folder.mkdir()
    (folder / "leak.js").write_text("class Kept { constructor() { this.own = new Array(100).fill(1.5); } }\n"
                                    "global.kept = []; for (;;) global.kept.push(new Kept());\n")  # fmt: skip
    done = started(folder, ["node", "--max-old-space-size=40", "leak.js"])
    assert done.returncode == 128 + signal.SIGABRT, done.stderr
    snapshots = list((folder / "files").glob("*.heapsnapshot"))
    assert snapshots
    assert list((folder / "files").glob("report.*.json"))
    assert "Kept" in memlens("findings", snapshots[0]).stdout


@posix
def test_java_leaves_a_heap_dump(tmp_path: Path) -> None:
    needs("java")
    folder = tmp_path / "with blanks"
    folder.mkdir()
    (folder / "Leak.java").write_text(LEAKING_JAVA)
    subprocess.run(["javac", "Leak.java"], cwd=folder, check=True)
    done = started(folder, ["java", "-Xmx24m", "Leak"])
    assert done.returncode == 1, done.stderr
    assert "kept" in memlens("findings", only_file(folder, "java_pid*.hprof")).stdout


@posix
def test_node_leaves_a_profile_at_a_limit_though_it_never_waits(tmp_path: Path) -> None:
    needs("node")
    # without a moment for timers, and more slowly than V8 writes a snapshot
    (tmp_path / "leak.js").write_text(
        "global.kept = []; for (;;) {\n  global.kept.push(new Array(5000).fill(1.5));\n"
        "  for (const end = Date.now() + 1; Date.now() < end; );\n}\n"
    )
    done = started(tmp_path, ["--at", "60MiB", "node", "--max-old-space-size=60", "leak.js"])
    assert done.returncode == 128 + signal.SIGABRT, done.stderr
    (profile,) = (tmp_path / "files").glob("limit-*.heapprofile")
    assert names_the_line(profile, "leak.js:1")
    assert (
        "--every doesn't apply to --node" in memlens("run", "--every", "3", "node", "x.js", status=1).stderr
    )


# ---- in a container of limited memory ----

LEAKING_JS = """class Kept { constructor(i) { this.first = i; this.more = {next: i}; } }
global.kept = []; for (let i = 0;; i++) global.kept.push(new Kept(i));
"""
SMALL_OBJECTS = """
kept, number = [], 0
while True:
    number += 1
    kept.append({"first": number, "more": [number]})
"""
GROUPS = Path("/sys/fs/cgroup")


@pytest.fixture
def container() -> Iterator[Path]:
    """A control group of 300 MB, without swap. Processes enter it by its file ``cgroup.procs``."""
    by_controller = GROUPS / "memory"
    top, limits = (
        (by_controller, ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"))
        if by_controller.is_dir()
        else (GROUPS, ("memory.max", "memory.swap.max"))
    )
    group = top / f"memlens-test-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    try:
        # the second is of swap alone, or of both
        (group / limits[0]).write_text(str(CONTAINER_BYTES))
        (group / limits[1]).write_text("0" if "swap.max" in limits[1] else str(CONTAINER_BYTES))
    except OSError as error:
        group.rmdir()
        pytest.skip(f"a control group can't be limited: {error}")
    yield group
    group.rmdir()


CONTAINER_BYTES = 300 << 20
ENTER = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); os.execv(sys.argv[2], sys.argv[2:])"


def in_container(group: Path, folder: Path, *program: str) -> int:
    """Run a program with ``memlens run`` in a control group, and return the exit status."""
    done = subprocess.run(
        [sys.executable, "-c", ENTER, group / "cgroup.procs", sys.executable, "-P", "-m", "memlens", "run",
         "-o", "files", *program],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.returncode


def test_python_leaves_the_line_though_the_kernel_ends_it(container: Path, tmp_path: Path) -> None:
    (tmp_path / "leaking.py").write_text(SMALL_OBJECTS)
    assert in_container(container, tmp_path, sys.executable, "leaking.py") == 128 + signal.SIGKILL
    files = sorted((tmp_path / "files").iterdir())
    assert files
    for file in files:
        assert file.match("limit-*.tracemalloc")
        assert names_the_line(file, "leaking.py:5")


def test_node_leaves_the_line_though_the_kernel_ends_it(container: Path, tmp_path: Path) -> None:
    needs("node")
    (tmp_path / "leak.js").write_text(LEAKING_JS)
    # V8 takes a heap of 259 MB at least, whatever the container has
    assert in_container(container, tmp_path, "node", "leak.js") == 128 + signal.SIGKILL
    assert names_the_line(only_file(tmp_path, "limit-*.heapprofile"), "leak.js:1")


def test_node_leaves_a_snapshot_where_the_container_has_room(container: Path, tmp_path: Path) -> None:
    needs("node")
    (tmp_path / "leak.js").write_text("class Kept { constructor() { this.own = new Array(1000).fill(1.5); } }\n"
                                      "global.kept = []; for (;;) global.kept.push(new Kept());\n")  # fmt: skip
    status = in_container(container, tmp_path, "node", "--max-old-space-size=30", "leak.js")
    assert status == 128 + signal.SIGABRT
    snapshots = list((tmp_path / "files").glob("*.heapsnapshot"))
    assert "Kept" in memlens("findings", snapshots[0]).stdout


def test_java_leaves_a_heap_dump_in_a_container(container: Path, tmp_path: Path) -> None:
    needs("java")
    (tmp_path / "Leak.java").write_text(LEAKING_JAVA)
    subprocess.run(["javac", "Leak.java"], cwd=tmp_path, check=True)
    assert in_container(container, tmp_path, "java", "Leak") == 1
    assert "kept" in memlens("findings", only_file(tmp_path, "java_pid*.hprof")).stdout


def test_an_unknown_program_is_asked_for_its_way() -> None:
    assert "--tracemalloc" in memlens("run", "./start.sh", status=1).stderr
