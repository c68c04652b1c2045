"""``npm run package:check``: checks of packages and wheels that each runs where it says, and what is in it.

Of every binary: its format and processor, the oldest system that it needs, and for the kernels that they use nothing
but Python's stable ABI (abi3audit's tables) and the C library. Of a package: that each library has its binaries for
every Python, that nothing is in it that shouldn't be, and its size. A package for this machine is also
run (trial.py).
"""

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from scripts.package import binaries, kernels, tools, trial
from scripts.package.extension import LIMIT_BYTES, ROOM
from scripts.package.targets import PYTHONS, ROOT, TARGETS, Target, here

OLDEST_GLIBC = {"kernels": (2, 17), "libraries": (2, 28)}
"""VS Code itself needs glibc 2.28 or musl 1.2.3; NumPy needs musl 1.2.4 for packed relocations."""
OLDEST_MACOS = (11, 0)
ABI_TAGGED = ("apsw", "msgspec", "numpy", "zstandard")
UNWANTED = re.compile(
    r"(?<!/cli/pack_template)/tests?/|\.(pyx|pxd|pyi|c|h|map|ts)$|/\.(?!dylibs/)|node_modules|__pycache__"
)
NEEDED = (
    "extension/package.json",
    "extension/package.nls.json",
    "extension/dist/extension.js",
    "extension/dist/webview.js",
    "extension/dist/webview.css",
    "extension/docs/jetbrains/settings.json",
    "extension/docs/jetbrains/template.json",
    "extension/pyserver/memlens/__main__.py",
    "extension/samples/train.pickle",
)


def check(path: Path, stable: set[str]) -> list[str]:
    """Return the problems of a package or a wheel."""
    target = target_of(path)
    with tempfile.TemporaryDirectory() as temporary, zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        archive.extractall(temporary)
        problems = list(_of_binaries(Path(temporary), target, stable))
    if path.suffix == ".vsix":
        problems += _of_package(path, names, target)
    expected = len(list((ROOT / "pyserver" / "memlens").rglob("*.pyx"))) + 1
    found = [name for name in names if is_kernel(name) and name.endswith(target.suffix)]
    if len(found) != expected:
        problems.append(f"{len(found)} kernels instead of {expected}")
    return problems


def is_kernel(name: str) -> bool:
    """Return whether a file is one of memlens's own binaries."""
    return "memlens/" in name and "/kernels/" in name


def target_of(path: Path) -> Target:
    """Return the platform named in a file's name."""
    for target in TARGETS.values():
        if f"-{target.name}-" in path.name or f"-{target.wheel}.whl" in path.name:
            return target
    raise SystemExit(f"{path.name} names no platform.")


def _audit(wheel: Path, python: str) -> Iterator[str]:
    """Yield abi3audit's findings for a wheel; it reads only wheels."""
    command = [python, "-m", "abi3audit", "--strict", "--assume-minimum-abi3", "3.11", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"abi3audit: {(done.stdout + done.stderr).strip()}"


def _of_package(path: Path, names: list[str], target: Target) -> Iterator[str]:
    size = path.stat().st_size
    if size > LIMIT_BYTES * (1 - ROOM):
        yield f"{size / 1e6:.1f} MB: less than {ROOM:.0%} below the limit of {LIMIT_BYTES / 1e6:.0f} MB"
    yield from (f"{name} is missing" for name in NEEDED if name not in names)
    yield from (f"{name} should not be shipped" for name in names if UNWANTED.search(name))
    for library in ABI_TAGGED:
        for version in PYTHONS:
            tag = version.replace(".", "")
            # Windows: .cp311-win_amd64.pyd; elsewhere: .cpython-311-…so
            pattern = re.compile(rf"/libraries/{library}/.*\.cp(ython-)?{tag}-")
            if not any(pattern.search(name) for name in names):
                yield f"{library} has no binary for Python {version} on {target.name}"


def _of_binaries(folder: Path, target: Target, stable: set[str]) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or not re.search(r"\.(so|pyd|dll|dylib)(\.[\d.]+)?$", name):
            continue
        binary = binaries.read(path)
        if (binary.format, binary.machine) != (target.format, target.machine):
            yield f"{name} is {binary.format} for {binary.machine}"
            continue
        own = is_kernel(name)
        if binary.format == "macho":
            if binary.oldest_macos > OLDEST_MACOS:
                yield f"{name} needs macOS {binary.oldest_macos}"
            if target.machine == "aarch64" and not binary.signed:
                yield f"{name} has no signature, without which an Apple processor refuses it"
        glibc = OLDEST_GLIBC["kernels" if own else "libraries"]
        if binary.oldest_glibc > ((0, 0) if target.name.startswith("alpine") else glibc):
            yield f"{name} needs glibc {binary.oldest_glibc}"
        if binary.packed_relocations and (own or not target.name.startswith("alpine")):
            yield f"{name} has packed relocations, which need glibc 2.36 or musl 1.2.4"
        if own:
            unknown = {symbol for symbol in binary.undefined if symbol.startswith(("Py", "_Py"))} - stable
            yield from (f"{name} uses {symbol}, which is not in the stable ABI" for symbol in sorted(unknown))
            foreign = binary.undefined - binaries.SYSTEM - stable
            yield from (f"{name} uses {symbol} of no known library" for symbol in sorted(foreign - unknown))


def main() -> None:
    """Check the named files, or else all that were built."""
    parser = argparse.ArgumentParser(prog="npm run package:check --", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    folder = ROOT / "build" / "packages"
    made = sorted(path for path in folder.glob("*") if path.suffix in {".vsix", ".whl"})
    files = parser.parse_args().files or made
    if not files:
        raise SystemExit("There is no package: build one with `npm run package`.")
    python = str(tools.install())
    names = kernels.stable_symbols(python)
    stable = {*names["functions"], *names["data"]}
    failed = False
    for path in files:
        problems = check(path, stable)
        if path.suffix == ".whl":
            problems += _audit(path, python)
        elif target_of(path).name == here():
            problems += trial.problems_of(path)
        failed |= bool(problems)
        print(f"{'FAIL' if problems else 'PASS'}  {path.name}  {path.stat().st_size / 1e6:.1f} MB")
        print("".join(f"      {problem}\n" for problem in problems), end="")
    sys.exit(failed)


if __name__ == "__main__":
    main()
