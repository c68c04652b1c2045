"""Brings the libraries' wheels for a platform, by the hashes of the project's lock, and unpacks what is needed of them.

The binaries of several Pythons stand side by side in one folder, since their names say which Python loads them.
"""

import re
import shutil
import sys
import tomllib
import zipfile
from fnmatch import fnmatchcase
from importlib.metadata import requires
from pathlib import Path

from scripts.package import tools
from scripts.package.strip import without_debug
from scripts.package.targets import PYTHONS, ROOT, WORK, Target

from build_kernels import digest

LOCK = ROOT / "pyserver" / "requirements.lock"

UNWANTED = (
    "*.pyi",
    "*.pyx",
    "*.pxd",
    "*.pxi",
    "*.c",
    "*.h",
    "*.a",
    "*.lib",
    "*/tests/*",
    "*/py.typed",
    "bin/*",
    "*.data/*",
    "numpy/_core/include/*",
    "numpy/_core/lib/*",
    "numpy/_core/_multiarray_tests.*",
    "numpy/_core/_operand_flag_tests.*",
    "numpy/_core/_rational_tests.*",
    "numpy/_core/_simd.*",
    "numpy/_core/_struct_ufunc_tests.*",
    "numpy/_core/_umath_tests.*",
    "numpy/_pyinstaller/*",
    "numpy/distutils/*",
    "numpy/doc/*",
    "numpy/f2py/*",
    "numpy/fft/*",
    "numpy/polynomial/*",
    "numpy/random/*",
    "numpy/testing/*",
    "apsw/_unicode.*",
    "apsw/aio.py",
    "apsw/bestpractice.py",
    "apsw/ext.py",
    "apsw/fts5*.py",
    "apsw/fts_test_strings",
    "apsw/shell.py",
    "apsw/speedtest.py",
    "apsw/sqlite_extra_binaries/*",
    "apsw/trace.py",
    "apsw/unicode.py",
    # zstandard's other implementations
    "zstandard/_cffi.*",
    "zstandard/backend_rust.*",
    "zstandard/backend_cffi.py",
    # servers, clients of other kinds, and what is faster only for large messages to a server
    "websockets/__main__.py",
    "websockets/asyncio/*",
    "websockets/cli.py",
    "websockets/legacy/*",
    "websockets/speedups.*",
    "websockets/sync/router.py",
    "websockets/sync/server.py",
    "websockets/trio/*",
    # converters for formats that the protocol doesn't use
    "cattrs/preconf/bson.py",
    "cattrs/preconf/tomlkit.py",
    "cattrs/preconf/pyyaml.py",
    # names of other languages and compilers, and a command
    "demangle/__main__.py",
    "demangle/cli.py",
    "demangle/schemes/ada/*",
    "demangle/schemes/codewarrior/*",
    "demangle/schemes/d/*",
    "demangle/schemes/delphi/*",
    "demangle/schemes/gnuv2/*",
    "demangle/schemes/go/*",
    "demangle/schemes/jni/*",
    "demangle/schemes/msvc/*",
    "demangle/schemes/nim/*",
    "demangle/schemes/objc/*",
    "demangle/schemes/pascal/*",
    "demangle/schemes/rust/*",
    "demangle/schemes/swift/*",
    # other frameworks than argparse, and a command
    "shtab/__main__.py",
    "shtab/click.py",
    "shtab/main.py",
    "*.dist-info/RECORD",
    "*.dist-info/INSTALLER",
    "*.dist-info/DELVEWHEEL",
    "*.dist-info/sboms/*",
)
"""Never imported by memlens: tests, headers, stubs, and parts of the libraries that nothing here uses."""

STAND_INS = {"numpy/random/__init__.py": Path(__file__).with_name("numpy_random.py")}
"""Files in place of parts that are left out and that a library expects."""

DIFFERENT = ("numpy/__config__.py", "*.dist-info/WHEEL")
"""Files that may differ between a library's wheels for different Pythons: they only record how these were built."""


def unpack(target: Target) -> Path:
    """Return a folder with all libraries for a platform and for each of PYTHONS."""
    folder = WORK / "libraries" / target.name
    wheels = sorted({wheel for version in PYTHONS for wheel in _download(target, version)})
    stamp = WORK / "libraries" / f"{target.name}.stamp"
    key = digest(
        [
            *(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))),
            *(str(wheel) for wheel in wheels),
        ]
    )
    if stamp.exists() and stamp.read_text() == key and folder.exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    for wheel in wheels:
        _unpack_wheel(wheel, folder)
    for name, source in STAND_INS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / name)
    stamp.write_text(key)
    return folder


def _unpack_wheel(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            if entry.is_dir() or any(fnmatchcase(entry.filename, pattern) for pattern in UNWANTED):
                continue
            place = folder / entry.filename
            if not place.resolve().is_relative_to(folder.resolve()):
                raise SystemExit(f"{wheel.name} has the impossible path {entry.filename}.")
            content = without_debug(archive.read(entry))
            if not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            elif place.read_bytes() != content and not any(
                fnmatchcase(entry.filename, pattern) for pattern in DIFFERENT
            ):
                raise SystemExit(f"{wheel.name} has a different {entry.filename} than the wheels before it.")


def _download(target: Target, version: str) -> list[Path]:
    """Return the wheels of all libraries for one Python; pip checks them against the lock's hashes."""
    wanted = locked()
    folder = WORK / "wheels" / digest([target.name, *target.accepted, version, wanted])
    complete = folder / ".complete"
    if not complete.exists():
        print(f"{target.name}: wheels for Python {version} ...", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        listed = folder / "requirements.txt"
        listed.write_text(wanted)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
        tag = "cp" + version.replace(".", "")
        abis = [word for abi in (tag, "abi3", "none") for word in ("--abi", abi)]
        platforms = [word for name in target.accepted for word in ("--platform", name)]
        limits = ["--only-binary=:all:", "--no-deps", "--require-hashes", "--implementation", "cp"]
        python = ["--python-version", version]
        tools.run([*pip, *limits, *python, *abis, *platforms, "-r", str(listed), "-d", str(folder)])
        complete.touch()
    return sorted(folder.glob("*.whl"))


def locked() -> str:
    """Return the lock's lines, with their hashes, for the libraries that memlens imports and what these import."""
    found: dict[str, list[str]] = {}
    for block in re.split(r"\n(?=[a-z])", LOCK.read_text()):
        if match := re.match(r"([a-z0-9-]+)==", block):
            lines = [line for line in block.splitlines() if not line.strip().startswith("#")]
            found.setdefault(match[1], []).append("\n".join(lines))
    names = _closure(set(found))
    # Where the lock has one version for older Pythons and one for newer, the older serves all of them: its Python
    # files can then be shared.
    chosen = [found[name][0] for name in sorted(names)]
    return "\n".join(re.sub(r" ; [^\\\n]*(?=\\|\n|$)", " ", block, count=1) for block in chosen) + "\n"


def _closure(locked_names: set[str]) -> set[str]:
    """Return the names of all libraries that are needed at run time; the lock has none for older Pythons alone."""
    project = tomllib.loads((ROOT / "pyserver" / "pyproject.toml").read_text())["project"]
    waiting = [_name(line) for line in project["dependencies"]]
    names: set[str] = set()
    while waiting:
        if (name := waiting.pop()) in names or name not in locked_names:
            continue
        names.add(name)
        waiting += [_name(line) for line in requires(name) or [] if "extra ==" not in line]
    return names


def _name(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else ""
