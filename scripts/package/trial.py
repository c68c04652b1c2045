"""Runs a package for this machine: all modules are imported, and the docs' commands and a newcomer's programs are run.

All use the environment that the extension gives its server: nothing but the package and a Python. Fleets need packages
that none has; they come from ``.cache/fleet``, where ``npm test`` installs them for the Python of ``.venv``.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from scripts.package.smoke import SOURCE, line_in
from scripts.package.targets import PYTHONS, ROOT

FLEET = ROOT / ".cache" / "fleet"
OPTIONAL = ("cryptography", "dask", "distributed", "fsspec", "paramiko", "pyarrow")
"""What a package has no need to contain: memlens.fleet alone imports it."""
SERVERS = ("lsp", "mcp")
"""Commands that serve until their input ends."""
LIMIT_S = 300
FIXTURES = ROOT / "tests" / "fixtures"
PACKS = ROOT / "pyserver" / "memlens" / "packs"
_SNAPSHOT = re.compile(r"[\w.-]+\.(gcdump|heap\w*|hprof|jfr|pickle|pyheap|json)(\.gz|\.zst)?", re.ASCII)
_PROGRAM = re.compile(r".+\.(py|js|jar)")
_LOADED_BY = {"pytest": "memlens.testing", "IPython": "memlens.api.magic"}
"""What itself loads modules of Memlens, by its name."""

_IMPORT_ALL = """
import importlib, json, pkgutil, sys
import memlens
failed, count = {}, 0
names = ["memlens"]
for name in names:
    try:
        module = importlib.import_module(name)
        count += 1
    except BaseException as error:
        failed[name] = [getattr(error, "name", None) or "", f"{type(error).__name__}: {error}"]
        continue
    for found in pkgutil.iter_modules(getattr(module, "__path__", ()), name + "."):
        if not found.name.endswith(".__main__"):
            names.append(found.name)
json.dump({"count": count, "failed": failed}, sys.stdout)
"""


def problems_of(package: Path) -> Iterator[str]:
    """Yield what fails in a package for this platform."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        with zipfile.ZipFile(package) as archive:
            archive.extractall(temporary)
        root = Path(temporary).resolve() / "extension" / "pyserver"
        for version, python in sorted(pythons().items()):
            yield from _imported(root, version, python)
        yield from _versions(root)
        yield from _commands(root)
        yield from _newcomer(root)


def pythons() -> dict[str, str]:
    """Return the Pythons of this machine that the package is for: their programs by version."""
    found = {f"{sys.version_info.major}.{sys.version_info.minor}": sys.executable}
    for version in PYTHONS:
        # pyenv's own command runs only the version that was chosen
        installed = (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python{version}")
        for program in (f"python{version}", *map(str, sorted(installed))):
            if version not in found and _version_of(program) == version:
                found[version] = program
    return found


def _version_of(program: str) -> str | None:
    if shutil.which(program) is None:
        return None
    asked = [program, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def documented() -> list[list[str]]:
    """Return the commands in the code blocks of README and docs/, each once, in their order."""
    lines: dict[str, None] = {}
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for block in re.findall(r"^```\w*\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            lines |= dict.fromkeys(re.findall(r"^(?:\$ )?memlens (.+)$", block, re.MULTILINE))
    return [shlex.split(line) for line in lines]


def _environment(root: Path, *more: Path) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MEMLENS"))},
        "PYTHONPATH": os.pathsep.join(map(str, [root, root / "libraries", *more])),
        "PYTHONNOUSERSITE": "1",
        "PYTHONSAFEPATH": "1",
        "PYTHONUTF8": "1",
    }


def _imported(root: Path, version: str, python: str) -> Iterator[str]:
    has_fleet = python == sys.executable and FLEET.is_dir()
    environment = _environment(root, *[FLEET] * has_fleet)
    command = [python, "-S", "-c", _IMPORT_ALL]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"Python {version} imports nothing: {done.stderr[-500:]}"
        return
    answer = json.loads(done.stdout)
    absent = 0
    for module, (missing, what) in answer["failed"].items():
        if not has_fleet and missing.partition(".")[0] in OPTIONAL and module.startswith("memlens.fleet"):
            absent += 1
        elif not module.startswith(_LOADED_BY.get(missing, "-")):
            yield f"Python {version} can't import {module}: {what}"
    rest = f", and not {absent} for want of the packages of fleets" if absent else ""
    print(f"      Python {version} imported {answer['count']} modules{rest}", flush=True)


def _versions(root: Path) -> Iterator[str]:
    command = [sys.executable, "-S", "-m", "memlens", "diagnostics"]
    done = subprocess.run(command, env=_environment(root), capture_output=True, text=True, check=False)
    version = json.loads((ROOT / "package.json").read_text("utf-8"))["version"]
    if (
        f"memlens: {version}, in an extension's package" not in done.stdout
        or "can't be loaded" in done.stdout
    ):
        yield f"`memlens diagnostics` says: {done.stdout}{done.stderr}"


def _commands(root: Path) -> Iterator[str]:
    has_fleet = FLEET.is_dir()
    if not has_fleet:
        print("      commands of fleets not run: `npm test -- --only python` installs what they need")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary).resolve()
        shutil.copytree(ROOT / "samples", folder / "samples")
        shutil.copytree(ROOT / "tests" / "fixtures", folder / "tests" / "fixtures")
        for dump in (
            *FIXTURES.glob("heap/*.*"),
            *FIXTURES.glob("profiles/sessions.*"),
            *PACKS.glob("*/tests/sessions.*"),
        ):
            shutil.copyfile(dump, folder / dump.name)
        summaries = _fleet_of(folder)
        commands = [["fleet", str(summaries.with_suffix("")), "--workers", "2"], *documented()]
        environment = _environment(root, FLEET)
        environment |= {"XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)}
        ran = 0
        for arguments in commands:
            named = [_here(word, summaries) for word in arguments]
            if has_fleet if named[0] == "fleet" else _is_possible(named, folder):
                ran += 1
                yield from _ran(named, folder, environment)
    rest = f"; {len(commands) - ran} are about files, processes and pages of the reader's own"
    print(f"      {ran} of {len(commands)} commands of the docs ran{rest}", flush=True)


def _newcomer(root: Path) -> Iterator[str]:
    """Yield what fails for a newcomer who has the package and nothing else: programs that leak, and their findings."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/python/test_newcomer.py",
    ]
    environment = {**os.environ, "MEMLENS_UNPACKED": str(root)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    print(f"      a newcomer's first hour: {done.stdout.strip().rpartition(chr(10))[2]}", flush=True)
    if done.returncode:
        yield f"a newcomer's first hour: {done.stdout[-4000:]}"


def _here(word: str, summaries: Path) -> str:
    """A word of a documented command about the fleet of these pages, for the one that was made here."""
    if word.startswith("/shared/"):
        return str(summaries)
    lines = (ROOT / "samples" / SOURCE).read_text("utf-8").splitlines()
    return f"{SOURCE}:{line_in(lines)}" if re.fullmatch(r"\w+\.py:\d+", word) else word


def _is_possible(arguments: list[str], folder: Path) -> bool:
    """Whether a command names only files that are there; those about processes and pages name one to be written."""
    if arguments[0] == "explain":
        files = arguments[1:2]
    else:
        files = list(filter((_PROGRAM if arguments[0] == "run" else _SNAPSHOT).fullmatch, arguments))
    return all((folder / file).is_file() for file in files)


def _fleet_of(folder: Path) -> Path:
    """Make a folder with the snapshots of a few ranks, and return where their summaries will be."""
    job = folder / "job"
    job.mkdir()
    for rank in range(3):
        shutil.copyfile(ROOT / "samples" / "train.pickle", job / f"rank{rank}.pickle")
    return folder / "job.fleet"


def _ran(arguments: list[str], folder: Path, environment: dict[str, str]) -> Iterator[str]:
    command = [sys.executable, "-S", "-m", "memlens", *arguments]
    said = f"memlens {shlex.join(arguments)}"
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        yield f"`{said}` took longer than {LIMIT_S} s"
        return
    # the sample's leak is what that page shows
    exceeds = arguments[0] == "check" and "--max-growth-per-step" in arguments
    if done.returncode != exceeds:
        yield f"`{said}` ended with {done.returncode}: {done.stderr.strip()[-500:]}"
    elif not done.stdout and arguments[0] not in SERVERS:
        yield f"`{said}` printed nothing"
