"""Compiles the kernels for a platform by ``zig cc``, against Python's stable ABI."""

import json
import os
import shutil
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.package import tools
from scripts.package.targets import ROOT, WORK, Target

import build_kernels

ABI = build_kernels.STABLE_ABI
FLAGS = ["-O3", "-g0", "-fPIC", "-fvisibility=hidden", "-w", f"-DPy_LIMITED_API={ABI:#x}", "-shared", "-s"]
FLAGS_OF = {
    # The compiler's own runtime library isn't used; building it would take longer than all kernels.
    "elf": ["-nostdlib", "-lc", "-lm"],
    # Python's functions are provided by the interpreter that loads a kernel.
    "macho": ["-nostdlib", "-lc", "-undefined", "dynamic_lookup"],
    "pe": ["-lpython3"],
}
PYCONFIG = Path(__file__).with_name("pyconfig.h")

# Prints the names in the stable ABI of a version.
_SYMBOLS = """
import json, sys
from abi3info import DATAS, FUNCTIONS
from abi3info.models import PyVersion
at_most = PyVersion(*map(int, sys.argv[1].split(".")))
names = lambda table: sorted(s.name for s, entry in table.items() if entry.added <= at_most)
print(json.dumps({"functions": names(FUNCTIONS), "data": names(DATAS)}))
"""


def compile_for(target: Target, jobs: int = 0) -> dict[str, Path]:
    """Return the kernels of a platform: module -> file. Unchanged ones are taken from the cache."""
    os.environ.setdefault(build_kernels.CACHE_VARIABLE, str(ROOT / ".cache" / "kernels"))
    python = str(tools.install())
    sources = build_kernels.translate(jobs)
    include = _headers()
    command = [python, "-m", "ziglang", "cc", "-target", target.zig, *FLAGS, f"-I{include}"]
    version = tools.run([python, "-m", "ziglang", "version"])
    headers = build_kernels.digest(path.read_bytes() for path in sorted(include.rglob("*.h")))
    libraries = [f"-L{_import_library(target, python)}"] if target.format == "pe" else []
    common = [version, target.zig, str(FLAGS), str(FLAGS_OF[target.format]), headers]
    environment = {
        **os.environ,
        "ZIG_GLOBAL_CACHE_DIR": str(WORK / "zig"),
        "ZIG_LOCAL_CACHE_DIR": str(WORK / "zig"),
    }
    folder = WORK / "kernels" / target.name
    shutil.rmtree(folder, ignore_errors=True)

    def work(entry: tuple[str, Path]) -> tuple[str, Path]:
        module, source = entry
        made = folder / (module.replace(".", "/") + target.suffix)
        arguments = [str(source), "-o", str(made), *libraries, *FLAGS_OF[target.format]]
        key = build_kernels.digest([*common, module, source.read_bytes()]) + target.suffix
        build_kernels.made_by_content(
            made, key, lambda: tools.run([*command, *arguments], env=environment, cwd=str(made.parent))
        )
        return module, made

    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        return dict(pool.map(work, sources.items()))


def _headers() -> Path:
    """Return a copy of this Python's headers with a pyconfig.h that is right for every platform."""
    installed = Path(sysconfig.get_path("include"))
    key = build_kernels.digest([str(installed), sys.version, PYCONFIG.read_bytes()])
    folder = WORK / "include" / key
    if not folder.exists():
        partial = folder.with_name(f"{key}.{os.getpid()}")
        shutil.copytree(installed, partial, ignore=shutil.ignore_patterns("internal"))
        shutil.copyfile(PYCONFIG, partial / "pyconfig.h")
        partial.rename(folder)
    return folder


def stable_symbols(python: str) -> dict[str, list[str]]:
    """Return the functions and the data of the stable ABI of the oldest Python that kernels serve."""
    listed: dict[str, list[str]] = json.loads(tools.run([python, "-c", _SYMBOLS, f"3.{ABI >> 16 & 0xFF}"]))
    return listed


def _import_library(target: Target, python: str) -> Path:
    """Return the folder with an import library of python3.dll, which contains only the stable ABI."""
    folder = WORK / "windows" / target.machine
    folder.mkdir(parents=True, exist_ok=True)
    names = stable_symbols(python)
    lines = [*names["functions"], *(f"{name} DATA" for name in names["data"])]
    definitions = folder / "python3.def"
    definitions.write_text("LIBRARY python3.dll\nEXPORTS\n" + "\n".join(lines) + "\n")
    machine = {"x86_64": "i386:x86-64", "aarch64": "arm64"}[target.machine]
    library = folder / "libpython3.a"
    tools.run([python, "-m", "ziglang", "dlltool", "-d", str(definitions), "-l", str(library), "-m", machine])
    return folder
