"""What a process runs on, known by its program and the libraries that it has loaded."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import PurePath
from typing import NamedTuple

from memlens.packs import registry
from memlens.packs.api import RuntimeKind
from memlens.texts import phrase


class Kind:
    """The names of runtimes that are asked about by name, because no pack has them yet."""

    JAVA = "java"
    NODE = "node"
    PYTHON = "python"
    OPENJ9 = "openj9"


_PYTHON = re.compile(r"(?:lib)?python(?:3(?:\.(\d+))?)?(?:\.so[\d.]*)?t?", re.IGNORECASE)


@cache
def kinds() -> dict[str, RuntimeKind]:
    """All runtimes by their names."""
    first = (
        RuntimeKind(
            name=Kind.JAVA, title="Java", programs=re.compile(r"javaw?"), libraries=("libjvm.so",),
            ending=".hprof", tools=("java", "jcmd"),
        ),
        RuntimeKind(
            name=Kind.NODE, title="Node.js", programs=re.compile(r"node(?:js)?"), ending=".heapsnapshot",
            tools=("node",),
        ),
    )  # fmt: skip
    last = (
        RuntimeKind(name=Kind.PYTHON, title="Python", programs=_PYTHON, ending=".heap"),
        RuntimeKind(
            name=Kind.OPENJ9, title="OpenJ9", programs=re.compile(r"(?!)"),
            advice=phrase("Its virtual machine can't write HPROF files; run the program on HotSpot."),
        ),
    )  # fmt: skip
    return {each.name: each for each in (*first, *registry.runtimes(), *last)}


FIRST_PYTHON = 14
"""The first 3.x that runs code on request from outside."""


class Runtime(NamedTuple):
    """A runtime by its name, of Python with its minor version, if that is known."""

    kind: str
    minor: int | None = None

    @property
    def is_dumped(self) -> bool:
        """Whether its heap can be written from outside."""
        if self.kind == Kind.PYTHON:
            return self.minor is not None and self.minor >= FIRST_PYTHON
        return kinds()[self.kind].ending != ""


def dumped_titles() -> str:
    """The runtimes that are dumped whatever their version, for a list in a sentence that Python ends."""
    return ", ".join(each.title for each in kinds().values() if each.ending and each.name != Kind.PYTHON)


_VERSION_IN_PATH = re.compile(r"(?:[Pp]ython|/Versions/)-?3\.?(\d\d)\b")
_OPENJ9 = re.compile(r"libj9vm\d+\.so")


@cache
def _libraries() -> dict[str, str]:
    return {library: each.name for each in kinds().values() for library in each.libraries}


def by_program(program: str) -> Runtime | None:
    """Return the runtime whose program this is, by its path."""
    name = PurePath(program).name.removesuffix(".exe")
    if match := _PYTHON.fullmatch(name):
        version = match[1] or next((found[1] for found in _VERSION_IN_PATH.finditer(program)), None)
        return Runtime(Kind.PYTHON, int(version) if version else None)
    return next((Runtime(each.name) for each in kinds().values() if each.programs.fullmatch(name)), None)


def by_libraries(files: Iterable[str]) -> Runtime | None:
    """Return the runtime of a program with one in it, by the names of the libraries that it has loaded."""
    found: Runtime | None = None
    for file in files:
        if _OPENJ9.fullmatch(file):
            return Runtime(Kind.OPENJ9)
        if kind := _libraries().get(file):
            found = Runtime(kind)
        elif (
            file.startswith("libpython3.")
            and found is None
            and (match := _PYTHON.fullmatch(file))
            and match[1]
        ):
            found = Runtime(Kind.PYTHON, int(match[1]))
    return found


_WITH_VALUE = {
    Kind.JAVA: {
        "-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules",
        "--add-opens", "--add-exports", "--add-reads", "--limit-modules", "--enable-native-access",
    },
    Kind.NODE: {"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"},
    Kind.PYTHON: {"-W", "-X", "--check-hash-based-pycs"},
}  # fmt: skip
"""Options that are followed by their value, for others than the program."""

_PROGRAM_OPTIONS = ("-m", "-jar", "--module")
"""Options whose value is the program."""


def title(kind_of: Runtime | None, arguments: Sequence[str]) -> str:
    """Return what a command line runs: the script, the class, the module or the archive, without its folder."""
    own = PurePath(arguments[0]).name if arguments else ""
    if kind_of is None:
        return own
    skipped = _WITH_VALUE.get(kind_of.kind, set())
    waiting = iter(arguments[1:])
    for word in waiting:
        if word in _PROGRAM_OPTIONS:
            return PurePath(next(waiting, own)).name
        if word in skipped:
            next(waiting, None)
        elif word in ("-c", "-e", "-p"):
            return own
        elif not word.startswith("-"):
            return PurePath(word).name or own
    return own
