"""Fixtures shared by the Python tests."""

import contextlib
import gc
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.python import looked_at as looked_at_plugin
from tests.python import tries
from tests.python.recordings import TORCH
from tests.python.replays import torch as oracle

from memlens.ingest import ingest
from memlens.model.info import DeviceInfo
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot

# Oracles keep millions of small objects, none of them in cycles: looking for cycles took a fifth of the tests' time.
gc.set_threshold(100_000, 20, 20)

# Addresses' names must not depend on this machine's binaries; test_symbols.py and test_newcomer.py look them up.
os.environ["MEMLENS_SYMBOLS"] = "off"

# Go keeps its own there, which shouldn't be compiled again: see own_cache below.
_CACHES = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
if sys.platform == "linux":
    os.environ.setdefault("GOCACHE", str(_CACHES / "go-build"))

ROOT = Path(__file__).parents[2]
# real files that are not part of the project; tests that need them are skipped without them
DATA = Path(os.environ.get("MEMLENS_TEST_DATA", ROOT.parent / "shared" / "data"))
REAL = DATA / "torch"


def real_files(*patterns: str) -> list[Path]:
    """The real PyTorch snapshots whose names match; none if there are no real files at all."""
    return _real(REAL, patterns)


# Recordings of programs that others in the folder ran as well, with another batch size or model.
_OTHER_SIZES = (
    *("wedson__medium_128_*", "wedson__medium_256_*", "wedson__medium_1024_*", "nothanmin__*_forward_*"),
    *("niu__*_snapshot_150__*", "niu__*_snapshot_200__*", "zijian__memory__c005a2*"),
    *("flexgen__1.3b_snapshot__0*", "flexgen__1.3b_snapshot__4*", "flexgen__1.3b_snapshot__6*"),
    *("flexgen__1.3b_snapshot__c*", "silmont__fp32__*", "silmont__memory_forward_fp32_*"),
)


def real_programs(*patterns: str) -> list[Path]:
    """Of the real PyTorch snapshots whose names match, one or two of each program.

    Readers are tested with every file; views, for which the sizes of a model make no difference, with these.
    """
    others = set(real_files(*_OTHER_SIZES))
    return [path for path in real_files(*patterns) if path not in others]


def real_profiles(*patterns: str) -> list[Path]:
    """The real profiles whose names match."""
    return _real(DATA / "profiles", patterns)


def real_heaps(*patterns: str) -> list[Path]:
    """The real heap dumps whose names match."""
    return _real(DATA / "heap", patterns)


def _real(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    if not folder.is_dir():
        return []
    found = []
    for pattern in patterns:
        fitting = list(folder.glob(pattern))
        if not fitting:
            # tests would pass with a list of parameters that has become shorter
            raise FileNotFoundError(f"No file in {folder} fits {pattern}, which tests need")
        found += fitting
    return sorted(found)


_REPEATED = Path(__file__).with_name("repeated_files.txt").read_text("utf-8").split()
"""Patterns of real files; smaller ones of the same program, format and version are in every run of the tests."""


def repeated_files() -> set[Path]:
    """Real files that are tested by ``--slow`` alone."""
    return {path for pattern in _REPEATED for path in DATA.glob(pattern)}


def _files_of(item: pytest.Item) -> list[Path]:
    """The real files among a test's parameters."""
    if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
        return []
    given: Iterable[Any] = item.callspec.params.values()
    paths = [each for value in given for each in (value if isinstance(value, (tuple, list)) else [value])]
    return [path for path in paths if isinstance(path, Path) and path.is_relative_to(DATA)]


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what ``--quick`` leaves out, and what only ``--slow`` takes.

    Tests with real files are slow: the project's own recordings are of the same kinds, and small. Of a test's rows
    those with repeated files are nightly, if it has others.
    """
    rows = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        rows[item.nodeid.partition("[")[0]].append(item)
        if _files_of(item):
            item.add_marker(pytest.mark.slow)
    repeated = repeated_files()
    for of_test in rows.values():
        again = [item for item in of_test if repeated.intersection(_files_of(item))]
        if len(again) < len(of_test):
            for item in again:
                item.add_marker(pytest.mark.nightly)


def pytest_configure(config: pytest.Config) -> None:
    """Have loops that look at nothing reported, and what is tried by chance tried as often as the run is long."""
    config.pluginmanager.register(looked_at_plugin)
    tries.choose(config)
    # A busy machine makes values slowly, which is no fault of a test.
    slowly = [HealthCheck.too_slow]
    settings.register_profile(
        "memlens", suppress_health_check=slowly, deadline=None, max_examples=tries.tries(100)
    )
    settings.load_profile("memlens")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report that readers and views were tested only with samples and generated files."""
    if not REAL.is_dir():
        terminalreporter.write_line(
            f"There are no real files at {DATA}: what needs them was skipped, and nothing was held to them.",
            yellow=True,
        )


@pytest.fixture(scope="module", autouse=True)
def own_cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Archives of commands without ``--cache-dir``: not in the user's cache, where each adds up the sizes of all."""
    with pytest.MonkeyPatch.context() as patch:
        name = Path(request.node.nodeid).stem
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "caches" / name))
        yield


@pytest.fixture
def sample() -> Path:
    return ROOT / "samples" / "train.pickle"


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """A folder on a disk: ``tmp_path`` may be in memory, which reading a file of a terabyte of zeros fills."""
    (ROOT / ".cache").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tests-", dir=ROOT / ".cache") as folder:
        yield Path(folder)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", spared_s=0)


class Growing(Cache):
    """A cache of hundreds of archives, none of which is evicted: adding up their sizes for each takes long."""

    def evict(self, keep: Path | None = None) -> None:
        pass


@pytest.fixture(scope="session")
def real_archives(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """Archives of files that nobody writes, each read once for all tests and processes that don't change it."""
    base = tmp_path_factory.getbasetemp()
    return Growing((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "real-archives")


@pytest.fixture
def opened(cache: Cache) -> Iterator[Callable[[Path], Snapshot]]:
    """Ingest a file and open its archive; closed after the test."""
    with contextlib.ExitStack() as snapshots:
        yield lambda path: snapshots.enter_context(closing(_open(path, cache)))


@pytest.fixture
def looked_at(cache: Cache, real_archives: Cache) -> Iterator[Callable[[Path], Snapshot]]:
    """Like ``opened``, for tests that change neither the archive nor how files are read: archives are shared."""
    with contextlib.ExitStack() as snapshots:
        yield lambda path: snapshots.enter_context(
            closing(_open(path, real_archives if is_lasting(path) else cache))
        )


def is_lasting(path: Path) -> bool:
    """True for files that no test writes: those of others and those of the project."""
    return path.is_relative_to(DATA) or path.is_relative_to(ROOT)


def archive_of(path: Path, cache: Cache) -> Path:
    """The archive of a file, which is read unless the cache has it."""
    return cache.find(path) or ingest(path, cache, lambda *_: None)


def _open(path: Path, cache: Cache) -> Snapshot:
    return Snapshot.open(archive_of(path, cache))


WITH_ORACLE = [*TORCH, *real_files("*medium_512_inf*", "niu__forward_memory_snapshot_100*", "verl*")]

WithOracle = tuple[Snapshot, DeviceInfo, list[oracle.Alloc]]
"""A snapshot, its default device, and that device's allocations as the oracle reads them."""


@pytest.fixture(params=WITH_ORACLE, ids=lambda path: path.stem[:40])
def with_oracle(request: pytest.FixtureRequest, looked_at: Callable[[Path], Snapshot]) -> WithOracle:
    """The sample as on several allocators, and some real files whose stacks are of every kind, one after the other."""
    snapshot = looked_at(request.param)
    info = next(each for each in snapshot.timeline.devices if each.device == snapshot.timeline.default_device)
    return snapshot, info, oracle.allocations(oracle.load(request.param), info.device)


def frame(file: str, line: int, name: str, **more: Any) -> dict[str, Any]:
    return {"filename": file, "line": line, "name": name, **more}


def event(action: str, addr: int, size: int, *frames: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"action": action, "addr": addr, "size": size, "stream": 0, "frames": list(frames), **more}
