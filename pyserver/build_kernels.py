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

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "memlens"
SHARED_MODULE = "memlens.kernels.base.cython_shared"
"""What all kernels have in common; it has no .pyx."""

STABLE_ABI = 0x030B0000
"""Python's limited API as of 3.11, the first whose buffers are in it: one binary serves that version and all later."""

CACHE_VARIABLE = "MEMLENS_KERNEL_CACHE"


def places() -> dict[str, Path]:
    """Return where the C file of each kernel belongs, by its module's name; that which they share is the first."""
    sources = sorted(PACKAGE.rglob("*.pyx"))
    modules = [source.relative_to(HERE).with_suffix("").as_posix().replace("/", ".") for source in sources]
    return {module: _place(module) for module in [SHARED_MODULE, *modules]} if sources else {}


def translate(jobs: int = 0) -> dict[str, Path]:
    """Return the C file of each kernel by its module's name, translating those whose sources changed."""
    found = places()
    if not found:
        return {}
    common = digest([_cython_version(), *(path.read_bytes() for path in sorted(PACKAGE.rglob("*.pxd")))])
    tasks = []
    for module, target in found.items():
        source = target.with_suffix(".pyx")
        if module == SHARED_MODULE:
            tasks.append((target, ["--generate-shared", str(target.relative_to(HERE))], common))
        else:
            arguments = ["--shared", SHARED_MODULE, source.relative_to(HERE).as_posix()]
            tasks.append((target, arguments, digest([common, source.read_bytes()])))

    def work(task: tuple[Path, list[str], str]) -> None:
        target, arguments, key = task
        made_by_content(target, key + ".c", lambda: _cython(arguments))

    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        list(pool.map(work, tasks))
    return found


def made_by_content(target: Path, key: str, make: Callable[[], object]) -> None:
    """Put a file in its place: from the cache, if one of that key is in it, else made and added to the cache."""
    folder = os.environ.get(CACHE_VARIABLE)
    kept = Path(folder, key) if folder else None
    target.parent.mkdir(parents=True, exist_ok=True)
    if kept is not None and kept.exists():
        kept.touch()
        shutil.copyfile(kept, target)
        return
    make()
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_name(f"{kept.name}.{os.getpid()}")
        shutil.copyfile(target, partial)
        partial.replace(kept)


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


def _cython(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "cython", "-3", *arguments]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}`{' '.join(command)}` failed.")
