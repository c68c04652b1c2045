"""The pytest plug-in in projects of their own, which pytest runs as processes, with xdist too."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT

pytest_plugins = ("pytester",)
pytestmark = pytest.mark.slow

# an environment from before the entry point was declared has to be told
_IS_INSTALLED = any(each.value == "memlens.testing.plugin" for each in entry_points(group="pytest11"))
PLUGIN = () if _IS_INSTALLED else ("-p", "memlens.testing.plugin")

MEMRAY_PACKAGES = next((ROOT / ".cache" / "memray").glob("lib/python3.*/site-packages"), ROOT)
needs_memray = pytest.mark.skipif(
    f"python{sys.version_info.major}.{sys.version_info.minor}" not in MEMRAY_PACKAGES.parts,
    reason="no .cache/memray for this Python: see packs/python/tests/test_memray.py",
)

PROGRAM = """
import time
import unittest
import pytest

kept, cache = [], {}

@pytest.mark.memory(peak="5MiB")
def test_peak():
    held = [bytearray(1 << 20) for _ in range(20)]  # the line of the peak
    time.sleep(0.3)

@pytest.mark.memory(peak="100MiB", leaked=0, growth_per_iteration="0")
def test_kept_limits():
    held = [bytearray(1 << 20) for _ in range(20)]
    cache.setdefault("the first run keeps it", bytearray(100_000))

@pytest.mark.memory(leaked="10KiB")
def test_leak():
    kept.append(bytearray(50_000))  # the line of the leak

@pytest.mark.memory(growth_per_iteration="1KiB", runs=8)
def test_growth():
    kept.append(bytearray(5_000))

class TestOld(unittest.TestCase):
    @pytest.mark.memory(leaked="10KiB")
    def test_of_unittest(self):
        kept.append(bytearray(60_000))

@pytest.mark.memory(peak="1KiB")
def test_that_fails_by_itself():
    held = bytearray(1 << 20)
    assert len(held) == 7

def test_unmarked():
    kept.append(bytearray(50_000))
"""
NOTHING_LOADED = """
import sys, tracemalloc

def test_nothing_is_loaded():
    assert "memlens.testing.recording" not in sys.modules
    assert not any(name.startswith(("memlens.packs", "numpy")) for name in sys.modules)
    assert not tracemalloc.is_tracing()
"""
EXCEEDED = {
    "test_peak": "peak is 20.0 MiB",
    "test_leak": "leaked is 48.9 KiB",
    "test_growth": "growth_per_iteration is 4.9",
    "test_of_unittest": "leaked is 58.",
}


def line_with(words: str, program: str = PROGRAM) -> int:
    return next(number for number, line in enumerate(program.strip().splitlines(), 1) if words in line)


def run(pytester: pytest.Pytester, *words: str) -> tuple[pytest.RunResult, str]:
    done = pytester.runpytest_subprocess(*PLUGIN, "-p", "no:cacheprovider", *words, timeout=240)
    return done, done.stdout.str()


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=["alone", "beside-xdist"])
def test_marked_tests_fail_by_their_limits(pytester: pytest.Pytester, words: tuple[str, ...]) -> None:
    pytester.makepyfile(test_app=PROGRAM)
    done, said = run(pytester, "--memlens", *words)
    done.assert_outcomes(failed=len(EXCEEDED) + 1, passed=2)
    for test, sentence in EXCEEDED.items():
        assert f"memory: {sentence}" in said, said
        assert f"::{test}: open " in said
    assert "test_that_fails_by_itself: open" not in said
    assert f"test_app.py:{line_with('the line of the peak')}" in said
    assert f"test_app.py:{line_with('the line of the leak')}" in said
    kept = {path.name for path in (pytester.path / ".memlens").iterdir()}
    assert len(kept) == len(EXCEEDED)
    assert "test_app.py-test_leak.leaked.tracemalloc" in kept
    if not words:
        # what the editor opens has the same line
        file = pytester.path / ".memlens" / "test_app.py-test_leak.leaked.tracemalloc"
        assert (
            f"test_app.py:{line_with('the line of the leak')}"
            in memlens("lines", file).stdout.splitlines()[1]
        )
        # the next run's files take the place of these
        done, said = run(pytester, "--memlens", "-k", "test_leak")
        done.assert_outcomes(failed=1)
        assert "RefusedError" not in said


def test_without_the_option_or_without_marks_nothing_is_loaded(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_app=NOTHING_LOADED)
    done, _ = run(pytester, "--memlens", "--strict-markers")
    done.assert_outcomes(passed=1)
    marked = "import pytest\npytestmark = pytest.mark.memory(leaked=0)\n" + NOTHING_LOADED
    pytester.makepyfile(test_app=marked)
    done, _ = run(pytester, "--strict-markers")
    done.assert_outcomes(passed=1)


WRONG = (
    ("peak='5 parsecs'", "test_it: @pytest.mark.memory: peak: 5 parsecs is not a limit"),
    ("peak='+5%'", "peak: +5% has no base here"),
    ("most='5MiB'", "give limits by their names, peak, leaked, growth_per_iteration"),
    ("runs=7", "give peak, leaked or growth_per_iteration"),
    ("leaked=0, runs=1", "runs: a number from 2 to 10,000"),
    ("leaked=0, by='magic'", "by: magic records nothing. There are "),
)
ONE_AFTER_ANOTHER = """
import sys
import pytest

for name in sys.argv[1:]:
    status = pytest.main(["--memlens", "-p", "no:cacheprovider", *PLUGIN, name])
    print(f"{name} ended with {status:d}.", flush=True)
"""
"""One process for all, since its start takes most of a run's time."""


def test_a_wrong_mark_is_an_error_of_usage(pytester: pytest.Pytester) -> None:
    names = [f"test_mark_{number}.py" for number in range(len(WRONG))]
    for name, (mark, _) in zip(names, WRONG, strict=True):
        test = f"import pytest\n\n@pytest.mark.memory({mark})\ndef test_it():\n    pass\n"
        (pytester.path / name).write_text(test)
    script = ONE_AFTER_ANOTHER.replace("*PLUGIN", f"*{PLUGIN!r}")
    command = [sys.executable, "-u", "-c", script, *names]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True, timeout=240
    )
    rest = done.stdout
    for name, (_, words) in zip(names, WRONG, strict=True):
        said, _, rest = rest.partition(f"{name} ended with {pytest.ExitCode.USAGE_ERROR:d}.\n")
        assert words in said, done.stdout
    assert not rest


NATIVE = """
import mmap
import numpy
import pytest

kept, cache = [], {}

def small():  # no arena is left by these
    return [object() for _ in range(1000)]

@pytest.mark.memory(peak="30MiB")
def test_peak():
    for _ in range(3):
        held = numpy.ones(5 << 20)  # the line of the peak
        del held

@pytest.mark.memory(peak="50MiB", leaked="2MiB", growth_per_iteration="0")
def test_kept_limits():
    small()
    numpy.ones(5 << 20)
    cache["replaced by each run"] = numpy.ones(1 << 20)

@pytest.mark.memory(leaked="2MiB")
def test_leak():
    kept.append(numpy.ones(1 << 19))  # the line of the leak

@pytest.mark.memory(growth_per_iteration="1KiB", runs=8)
def test_growth():
    mapped = mmap.mmap(-1, 1 << 20)
    mapped.close()
    kept.append(numpy.ones(5_000))
"""
NATIVE_EXCEEDED = {
    "test_peak": "peak is 40",
    "test_leak": "leaked is 4",
    "test_growth": "growth_per_iteration is 39.",
}


@needs_memray
def test_by_memray_native_memory_is_measured(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(MEMRAY_PACKAGES))
    pytester.makepyfile(test_app=NATIVE)
    done, said = run(pytester, "--memlens", "--memlens-by", "memray")
    done.assert_outcomes(failed=len(NATIVE_EXCEEDED), passed=1)
    for test, sentence in NATIVE_EXCEEDED.items():
        assert f"memory: {sentence}" in said, said
        assert f"::{test}: open " in said
    assert f"test_app.py:{line_with('the line of the peak', NATIVE)}" in said
    assert f"test_app.py:{line_with('the line of the leak', NATIVE)}" in said
    file = pytester.path / ".memlens" / "test_app.py-test_peak.peak.bin"
    first = memlens("lines", file).stdout.splitlines()[1]
    assert f"test_app.py:{line_with('the line of the peak', NATIVE)}" in first
    # of two that record at once, the second says why it can't
    pytester.makepyfile(
        test_app=NATIVE.split("@pytest", maxsplit=1)[0]
        + "@pytest.mark.memory(peak='1MiB')\ndef test_nested():\n    pass\n",
        conftest="import memray, pytest\n\n@pytest.fixture(autouse=True)\ndef captured(tmp_path):\n"
        "    with memray.Tracker(tmp_path / 'other.bin'):\n        yield\n",
    )
    done, said = run(pytester, "--memlens", "--memlens-by", "memray", "-rs")
    done.assert_outcomes(skipped=1)
    assert "nothing records its memory: memray doesn't start: No more than one Tracker" in said


def test_without_memray_the_test_is_skipped_and_says_why(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        memray="raise ImportError('not here')\n",
        test_app="import pytest\n\n@pytest.mark.memory(peak='1MiB', by='memray')\ndef test_it():\n    pass\n",
    )
    done, said = run(pytester, "--memlens", "-rs")
    done.assert_outcomes(skipped=1)
    assert "nothing records its memory: memray can't be imported" in said


TORCH = """
class memory:
    @staticmethod
    def _record_memory_history(**options):
        done.append("recorded")
    @staticmethod
    def _dump_snapshot(file):
        open(file, "w").write("not a snapshot")

done, now, most = [], 0, 0

class cuda:
    memory = memory
    is_available = staticmethod(lambda: True)
    synchronize = staticmethod(lambda: None)
    memory_allocated = staticmethod(lambda: now)
    max_memory_allocated = staticmethod(lambda: most)
    @staticmethod
    def reset_peak_memory_stats():
        global most
        most = now
"""


def test_on_a_gpu_torch_has_the_figures_and_writes_its_history(pytester: pytest.Pytester) -> None:
    """A stand-in for torch: this says nothing of a real one."""
    pytester.makepyfile(
        torch=TORCH,
        test_gpu=(
            "import pytest, torch\n\n@pytest.mark.memory(peak='1MiB', leaked='1MiB', by='torch')\n"
            "def test_it():\n    torch.now, torch.most = 3 << 20, 9 << 20\n"
        ),
    )
    done, said = run(pytester, "--memlens")
    done.assert_outcomes(failed=1)
    assert (
        "peak is 9 MiB (9,437,184 bytes), 1 MiB (1,048,576 bytes) are allowed (PyTorch's memory on the GPU)"
        in said
    )
    # the second run leaves nothing more
    assert "leaked is" not in said
    assert "its lines can't be read" in said
    assert (pytester.path / ".memlens" / "test_gpu.py-test_it.peak.pickle").read_text() == "not a snapshot"


def test_without_a_gpu_the_test_is_skipped_and_says_why(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        torch="class cuda:\n    is_available = staticmethod(lambda: False)\n",
        test_gpu="import pytest\n\n@pytest.mark.memory(peak='1MiB', by='torch')\ndef test_it():\n    pass\n",
    )
    done, said = run(pytester, "--memlens", "-rs")
    done.assert_outcomes(skipped=1)
    assert "nothing records its memory: torch has no GPU here" in said


def test_the_page_s_example_runs(pytester: pytest.Pytester) -> None:
    page = (Path(__file__).parents[2] / "docs" / "pytest.md").read_text("utf-8")
    program = page.split("```python\n")[1].split("```")[0]
    pytester.makepyfile(app="def load():\n    return list(range(10))\n", test_app=program)
    done, said = run(pytester, "--memlens")
    assert done.ret == 0, said
