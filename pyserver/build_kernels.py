"""Turns the kernels, memlens/**/*.pyx, into C, and keeps what was made for the next time, by its content.

``setup.py`` compiles the C for the Python that runs it, ``scripts/package`` for every platform of a release. Cython's
own code for memoryviews is in one module that the others import (``cython --generate-shared``): each kernel is then a
third as long to compile, and a fifth as large.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kernel_stubs import write_stubs

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "memlens"
SHARED_MODULE = "memlens.kernels.base.cython_shared"
"""What all kernels have in common; it has no .pyx."""

SHARED_MODULE_SIZE = 20_000
"""The bytes of a kernel that takes as long to translate as the shared module."""

STABLE_ABI = 0x030B0000
"""Python's limited API as of 3.11, the first whose buffers are in it: one binary serves that version and all later."""

CACHE_VARIABLE = "MEMLENS_KERNEL_CACHE"


def places() -> dict[str, Path]:
    """Return where the C file of each kernel belongs, by its module's name; that which they share is the first."""
    sources = sorted(PACKAGE.rglob("*.pyx"))
    modules = [source.relative_to(HERE).with_suffix("").as_posix().replace("/", ".") for source in sources]
    return {module: _place(module) for module in [SHARED_MODULE, *modules]} if sources else {}


def translate(jobs: int = 0) -> dict[str, Path]:
    """Return the C file of each kernel by its module's name, translating those whose sources changed.

    Writes the types of each for checkers, beside it.
    """
    found = places()
    if not found:
        return {}
    common = digest([_cython_version(), *(path.read_bytes() for path in sorted(PACKAGE.rglob("*.pxd")))])
    keys = {
        target: common if module == SHARED_MODULE else digest([common, _source(target).read_bytes()])
        for module, target in found.items()
    }
    missing = [target for target, key in keys.items() if not _taken(target, f"{key}.c")]
    write_stubs(PACKAGE)
    jobs = jobs or os.cpu_count() or 1
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(_cython, _shared_out(missing, jobs)))
    for target in missing:
        _keep(target, f"{keys[target]}.c")
    return found


def made_by_content(target: Path, key: str, make: Callable[[], object]) -> None:
    """Put a file in its place: from the cache, if one of that key is in it, else made and added to the cache."""
    if not _taken(target, key):
        make()
        _keep(target, key)


def _taken(target: Path, key: str) -> bool:
    """Put a file in its place from the cache, if one of that key is in it."""
    folder = os.environ.get(CACHE_VARIABLE)
    target.parent.mkdir(parents=True, exist_ok=True)
    if not folder or not Path(folder, key).exists():
        return False
    Path(folder, key).touch()
    shutil.copyfile(Path(folder, key), target)
    return True


def _keep(target: Path, key: str) -> None:
    """Add a file to the cache."""
    folder = os.environ.get(CACHE_VARIABLE)
    if not folder:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    partial = Path(folder, f"{key}.{os.getpid()}")
    shutil.copyfile(target, partial)
    partial.replace(Path(folder, key))


def _shared_out(targets: Iterable[Path], jobs: int) -> list[list[Path]]:
    """Return the C files that each job makes; all take about as long."""
    sizes = [0] * jobs
    shares: list[list[Path]] = [[] for _ in range(jobs)]
    for target in sorted(targets, key=_source_size, reverse=True):
        job = sizes.index(min(sizes))
        sizes[job] += _source_size(target)
        shares[job].append(target)
    return shares


def digest(parts: Iterable[str | bytes]) -> str:
    """Return a name for what is made of these parts."""
    whole = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        whole.update(len(content).to_bytes(8, "little") + content)
    return whole.hexdigest()[:40]


def _place(module: str) -> Path:
    return HERE.joinpath(*module.split(".")).with_suffix(".c")


def _cython_version() -> str:
    import Cython

    return str(Cython.__version__)


def _source(target: Path) -> Path:
    return target.with_suffix(".pyx")


def _source_size(target: Path) -> int:
    source = _source(target)
    return source.stat().st_size if source.exists() else SHARED_MODULE_SIZE


def _cython(targets: list[Path]) -> None:
    """Translate many kernels by one call: Cython takes three times as long to start as for a kernel."""
    shared = _place(SHARED_MODULE)
    if shared in targets:
        _run_cython(["--generate-shared", str(shared.relative_to(HERE))])
    sources = [_source(target).relative_to(HERE).as_posix() for target in targets if target != shared]
    if sources:
        _run_cython(["--shared", SHARED_MODULE, *sources])


def _run_cython(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "cython", "-3", "-X", "annotation_typing=False", *arguments]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}`{' '.join(command)}` failed.")
