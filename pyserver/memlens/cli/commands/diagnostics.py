"""Print what a bug report needs to say about this installation.

It lists versions, the Python, kernels that load, optional packages, and the cache with its size and limit, but nothing
from a snapshot; home folders and your name are written as ``~``. In VS Code "Memlens: Copy Diagnostics" copies it with
what VS Code knows.
"""

import argparse
import getpass
import importlib
import os
import pkgutil
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from memlens.cli.cache import cache_of
from memlens.cli.options import add_cache
from memlens.cli.output import say
from memlens.dumping.runtimes import kinds
from memlens.packs import registry
from memlens.programs import program
from memlens.project import ISSUES, system
from memlens.units import counted, format_bytes
from memlens.version import own_version

LIBRARIES = ("numpy", "apsw", "pygls", "lsprotocol", "msgspec", "regex", "zstandard", "websockets",
             "pyelftools", "demangle")  # fmt: skip
OPTIONAL = (
    "distributed",
    "fsspec",
    "pyarrow",
    "cryptography",
    *(name for pack in registry.packs() for name in pack.packages),
)
"""Optional packages that some commands and readers use."""

_HOMES = re.compile(
    r"(?:/home|/Users)/(?!Shared\b)[^/\s:;,'\"]+"
    # a name of Windows may have blanks
    r"|[A-Za-z]:[\\/]Users[\\/](?!Public\b)(?:[^\\/:;,'\"\n]+(?=[\\/])|[^\\/\s:;,'\"]+)"
)
_SHORTEST_NAME = 3
_NOBODY = {"root", "user", "admin", "administrator", "home", "memlens", "python", "runner", "vscode"}
"""Names of accounts that say nothing about a person and occur in other words."""


EXAMPLES = ("memlens diagnostics",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_cache(command)


def run(options: argparse.Namespace) -> int:
    """Print one line for each part; a part that can't be found out says why."""
    private = anonymous()
    for name, found in _parts(options):
        try:
            for line in found():
                say(private(f"{name}: {line}"))
        except Exception as error:  # noqa: BLE001 - it is about installations that are broken
            say(private(f"{name}: not known ({type(error).__name__}: {error})"))
    say(f"report a bug with this at {ISSUES}")
    return 0


def _parts(options: argparse.Namespace) -> tuple[tuple[str, Callable[[], Iterator[str]]], ...]:
    return (
        ("memlens", _memlens),
        ("python", _python),
        ("system", _system),
        ("libraries", lambda: _versions(LIBRARIES)),
        ("optional packages", lambda: _versions(OPTIONAL)),
        ("packs", _packs),
        ("programs", _programs),
        ("kernels", _kernels),
        ("cache", lambda: _cache(options)),
        ("environment", _variables),
        ("log", _log),
    )


def anonymous() -> Callable[[str], str]:
    """Return a function that replaces home folders, and the names of the user, by ``~`` in a text."""
    homes = {str(Path.home()), os.path.realpath(Path.home())} - {os.sep}
    names = {name for name in _names() if len(name) >= _SHORTEST_NAME and name.lower() not in _NOBODY}
    words = [rf"{re.escape(home)}(?![\w.-])" for home in sorted(homes, key=len, reverse=True)]
    words.append(_HOMES.pattern)
    words += [rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(names, key=len, reverse=True)]
    pattern = re.compile("|".join(words), re.IGNORECASE if os.name == "nt" else 0)
    return lambda text: pattern.sub("~", text)


def _names() -> Iterator[str]:
    """The user's login, full name, and its words."""
    try:
        yield getpass.getuser()
        import pwd
    except (ImportError, KeyError, OSError):
        return
    try:
        full = pwd.getpwuid(os.getuid()).pw_gecos.partition(",")[0]
    except KeyError:
        return
    yield from (full, *full.split())


def _memlens() -> Iterator[str]:
    folder = Path(__file__).resolve().parents[3]
    if (folder / "libraries").is_dir():
        how = "in an extension's package"
    else:
        how = "in a checkout" if (folder / "setup.py").is_file() else "installed"
    yield f"{own_version()}, {how}, in {folder}"


def _python() -> Iterator[str]:
    bits = sys.maxsize.bit_length() + 1
    yield f"{platform.python_implementation()} {platform.python_version()}, {bits} bit, {sys.executable}"
    if sys.prefix != sys.base_prefix:
        yield f"an environment of {sys.base_prefix}"


def _system() -> Iterator[str]:
    libc = " ".join(platform.libc_ver()).strip()
    yield f"{system()}{f', {libc}' if libc else ''}"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = ""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        memory = f", {format_bytes(total)} of memory"
    yield f"{counted(cores, 'core')}{memory}, text is {sys.stdout.encoding}"


def _versions(names: tuple[str, ...]) -> Iterator[str]:
    found = []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    yield ", ".join(found)


def _programs() -> Iterator[str]:
    """Yield the paths of the programs that are used to dump heaps and to install Python."""
    names = (*(tool for each in kinds().values() for tool in each.tools), "uv")
    yield ", ".join(f"{name} at {place}" if (place := program(name)) else f"no {name}" for name in names)


def _packs() -> Iterator[str]:
    """Yield the packs of other packages, and why some of their formats are missing."""
    found = [
        f"{each.version} ({', '.join(form.name for form in each.pack.formats)})" for each in registry.others()
    ]
    yield ", ".join(found) or "none of other packages"
    for sentence in registry.failures():
        yield str(sentence)


def _kernels() -> Iterator[str]:
    """Yield how many kernels could be loaded, and why each of the others couldn't."""
    import memlens.kernels
    import memlens.packs

    loaded, failed = 0, []
    modules = [
        *pkgutil.walk_packages(memlens.kernels.__path__, "memlens.kernels."),
        *pkgutil.walk_packages(memlens.packs.__path__, "memlens.packs."),
    ]
    for module in modules:
        if module.ispkg or ".kernels." not in module.name:
            continue
        try:
            importlib.import_module(module.name)
            loaded += 1
        except Exception as error:  # noqa: BLE001 - whatever a broken binary does
            failed.append(f"{module.name} can't be loaded ({type(error).__name__}: {error})")
    yield f"{loaded} loaded"
    yield from failed


def _cache(options: argparse.Namespace) -> Iterator[str]:
    cache = cache_of(options)
    place = str(cache.folder)
    if not cache.folder.is_dir():
        yield f"{place}, not made yet, at most {format_bytes(cache.limit_bytes)}"
        return
    files = [path for path in cache.folder.rglob("*") if path.is_file()]
    used = sum(path.stat().st_size for path in files)
    archives = sum(path.is_dir() for path in cache.folder.iterdir())
    access = "" if os.access(cache.folder, os.W_OK | os.X_OK) else ", not writable"
    free = format_bytes(shutil.disk_usage(cache.folder).free)
    yield (
        f"{place}{access}, {counted(archives, 'archive')}, {format_bytes(used)} of at most "
        f"{format_bytes(cache.limit_bytes)}; {free} free on its disk"
    )


def _variables() -> Iterator[str]:
    """Yield the names of variables that change what is run, with values only of Memlens's own."""
    own = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("MEMLENS_")]
    others = [name for name in sorted(os.environ) if name.startswith(("PYTHON", "LD_", "DYLD_"))]
    yield ", ".join([*own, *others]) or "nothing of Memlens or Python is set"


def _log() -> Iterator[str]:
    yield "stderr; in VS Code the output channel Memlens. MEMLENS_LOG=DEBUG says more"
