"""Every recipe of docs/it-already-died.md leaves a file, and Memlens names the line or the holder in it.

Each program leaks until it is ended by what the page is about: a limit of its runtime, or SIGKILL. A recipe is skipped
where its runtime isn't installed; its text is taken from the page, and only limits and names are replaced.
"""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT
from tests.python.java_classes import QUICK
from tests.python.recipes import Page, needs, needs_memray, replaced

PAGE = Page("it-already-died.md")
KILL_ITSELF = "os.kill(os.getpid(), 9)"


def run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program that is expected to die."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode, done.stdout
    return done


@pytest.mark.parametrize("page", ["README.md", "docs/recording.md", "docs/it-already-died.md"])
def test_pytorch_writes_at_the_failing_allocation_and_at_the_end(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    (block,) = (block for block in blocks if "out_of_memory_observer" in block)
    done: list[str] = []
    observers: list[Any] = []
    torch: Any = ModuleType("torch")
    torch.cuda = SimpleNamespace(
        memory=SimpleNamespace(
            _record_memory_history=lambda **options: done.append(f"record {sorted(options)}"),
            _dump_snapshot=lambda name: done.append(re.sub(r"\d+", "PID", name)),
        )
    )
    torch._C = SimpleNamespace(_cuda_attach_out_of_memory_observer=observers.append)
    monkeypatch.setitem(sys.modules, "torch", torch)

    def train() -> None:
        for observer in observers:
            observer(0, 1 << 30, 8 << 30, 1 << 20)
        raise MemoryError

    with pytest.raises(MemoryError):
        exec(compile(block, page, "exec"), {"train": train})
    recorded, *written = done
    assert recorded == "record ['max_entries', 'stacks']"
    assert [name.replace("-PID", "") for name in written] == ["oom.pickle", "snapshot.pickle"]


@pytest.mark.slow
def test_node_near_its_limit(tmp_path: Path) -> None:
    (tmp_path / "app.js").write_text(
        "const sessions = [];\n"
        "function visit(id) { sessions.push({ id, visited: new Array(5000).fill(id) }); }\n"
        "for (let id = 0; ; id++) visit(id);\n"
    )
    node, *words = replaced(PAGE.block("Next time: Node.js"), ("=1500", "=30")).split()
    run([needs(node), *words], tmp_path)
    dumps = sorted(tmp_path.glob("Heap.*.heapsnapshot"))
    assert 1 <= len(dumps) <= 2
    assert "sessions" in memlens("findings", dumps[0]).stdout.splitlines()[0]


@pytest.mark.slow
def test_java_out_of_memory(tmp_path: Path) -> None:
    compiler = needs("javac")
    (tmp_path / "Leak.java").write_text(
        "import java.util.*;\npublic class Leak {\n  static final List<byte[]> kept = new ArrayList<>();\n"
        "  public static void main(String[] names) {\n    while (true) kept.add(new byte[10000]);\n  }\n}\n"
    )
    subprocess.run([compiler, *QUICK, "Leak.java"], cwd=tmp_path, check=True, timeout=120)
    java, *words = replaced(
        PAGE.block("Next time: Java"),
        ("/var/tmp", str(tmp_path)),
        ("-XX:MaxRAMPercentage=75", "-Xmx24m"),
        ("-jar app.jar", "-cp . Leak"),
    ).split()
    run([needs(java), *words], tmp_path)
    (dump,) = tmp_path.glob("java_pid*.hprof")
    assert "Leak.java:5" in memlens("findings", dump).stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of address space is Linux's")
def test_python_below_a_limit(tmp_path: Path) -> None:
    program = "kept = []\ndef work():\n    while True:\n        kept.append(bytearray(100_000))\n" + replaced(
        PAGE.block("Next time: Python", "python"), ("8 << 30", "1 << 29")
    )
    (tmp_path / "app.py").write_text(program)
    done = run([sys.executable, "app.py"], tmp_path)
    assert done.stderr.rstrip().endswith("MemoryError")
    assert "__main__.kept" in memlens("findings", next(tmp_path.glob("died-*.heap"))).stdout


@pytest.mark.slow
def test_memray_of_a_killed_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = needs_memray()
    (tmp_path / "app.py").write_text(
        f"import os\nkept = [bytearray(100_000) for _ in range(300)]\n{KILL_ITSELF}\n"
    )
    section = PAGE.section("Next time: Python")
    command = re.search(r"^python (-m memray .*)$", section, re.MULTILINE)
    assert command is not None
    run([str(python), *command[1].split()], tmp_path)
    assert "app.py:2" in memlens("findings", tmp_path / "run.bin").stdout.splitlines()[0]


@pytest.mark.slow
def test_ruby_below_a_limit(tmp_path: Path) -> None:
    ruby = needs("ruby")
    section = PAGE.section("Next time: Ruby")
    limit = re.search(r"^`(Process\.setrlimit\(:AS.*?\))`", section, re.MULTILINE)
    assert limit is not None
    (tmp_path / "app.rb").write_text(
        replaced(limit[1], ("4 << 30", "400 << 20"))
        + "\n$kept = []\ndef work\n  loop { $kept << Array.new(110_000, 0) }\nend\n"
        + PAGE.block("Next time: Ruby", "ruby")
    )
    done = run([ruby, "app.rb"], tmp_path)
    assert "NoMemoryError" in done.stderr
    assert "app.rb:4" in memlens("findings", tmp_path / "died.json").stdout


@pytest.mark.slow
def test_go_above_a_limit(tmp_path: Path) -> None:
    go = needs("go")
    (tmp_path / "main.go").write_text(
        'package main\n\nimport (\n\t"os"\n\t"runtime"\n\t"runtime/pprof"\n\t"time"\n)\n\nvar kept [][]byte\n\n'
        + replaced(PAGE.block("Next time: Go", "go"), ("time.Second", "time.Millisecond"))
        + "\nfunc main() {\n\tgo WriteHeapAbove(40<<20, os.Args[1])\n"
        + "\tfor range 1000 {\n\t\tkept = append(kept, make([]byte, 100_000))\n\t\ttime.Sleep(time.Millisecond)\n\t}\n"
        + "\tos.Exit(1)\n}\n"
    )
    (tmp_path / "go.mod").write_text("module example.test/leak\n\ngo 1.22\n")
    folder = Path(go).resolve().parent
    home = subprocess.run([go, "env", "GOCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    run(
        [go, "run", ".", "heap.pb.gz"],
        tmp_path,
        PATH=f"{folder}:/usr/bin:/bin",
        GOCACHE=home,
        GOFLAGS="-mod=mod",
    )
    assert re.search(
        r"Held by .*main\.go:\d+ main\.main\(\)", memlens("findings", tmp_path / "heap.pb.gz").stdout
    )


LEAK_IN_C = """#include <signal.h>
#include <stdlib.h>
#include <string.h>
char *kept[400];
int main(void) {
  for (int i = 0; i < 400; i++)
    memset(kept[i] = malloc(1 << 20), 1, 1 << 20);
  raise(SIGKILL);
}
"""
PROFILERS = [
    ("libjemalloc.so.2", "lg_prof_interval:30", "lg_prof_interval:26"),
    ("libtcmalloc.so.4", "1073741824", "67108864"),
]


def leak_in_c(folder: Path) -> None:
    """Compile ./app."""
    (folder / "leak.c").write_text(LEAK_IN_C)
    subprocess.run([needs("gcc"), "-g", "leak.c", "-o", "app"], cwd=folder, check=True, timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize(("library", "interval", "smaller"), PROFILERS, ids=[row[0] for row in PROFILERS])
def test_profiles_of_allocators_that_were_written_before_the_end(
    library: str, interval: str, smaller: str, tmp_path: Path
) -> None:
    if not any(Path("/usr/lib").glob(f"*/{library}")):
        pytest.skip(f"{library} isn't installed")
    leak_in_c(tmp_path)
    text = PAGE.section("Next time: C, C++, Rust")
    (command,) = (line for line in text.splitlines() if line.endswith(f"{library} ./app"))
    command = replaced(command, ("/var/tmp", str(tmp_path)), (interval, smaller))
    run(["sh", "-c", command], tmp_path)
    *_, last = sorted(tmp_path.glob("app.*.heap"))
    assert "in use" in memlens("findings", last).stdout.splitlines()[0]


@pytest.mark.slow
def test_heaptrack_of_a_killed_process(tmp_path: Path) -> None:
    heaptrack = needs("heaptrack")
    leak_in_c(tmp_path)
    subprocess.run([heaptrack, "./app"], cwd=tmp_path, capture_output=True, timeout=120, check=False)
    (recording,) = tmp_path.glob("heaptrack.app.*.zst")
    assert "leak.c:7 main()" in memlens("findings", recording).stdout.splitlines()[0]
