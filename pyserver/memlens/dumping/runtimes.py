"""What a process runs on, known by its program and the libraries that it has loaded."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import PurePath
from typing import NamedTuple

from memlens.packs import registry
from memlens.packs.api import RuntimeKind


@cache
def kinds() -> dict[str, RuntimeKind]:
    """All runtimes by their names."""
    return {each.name: each for each in registry.runtimes()}


class Runtime(NamedTuple):
    """A runtime by its name, with its version if that is known and only some versions can be dumped."""

    kind: str
    version: int | None = None

    @property
    def is_dumped(self) -> bool:
        """Whether its heap can be written from outside."""
        first = kinds()[self.kind].first_version
        return kinds()[self.kind].ending != "" and (
            first is None or (self.version is not None and self.version >= first)
        )

    @property
    def lacks_version(self) -> bool:
        """Whether its version is unknown, which decides whether it can be dumped."""
        return self.version is None and kinds()[self.kind].first_version is not None


def titles(chosen: Callable[[RuntimeKind], bool]) -> str:
    """Some runtimes, for a list in a sentence."""
    return ", ".join(each.title for each in kinds().values() if chosen(each))


def dumped_titles() -> str:
    """What is dumped, for a list in a sentence."""
    return ", ".join(each.dumped or each.title for each in kinds().values() if each.ending)


def by_program(program: str) -> Runtime | None:
    """Return the runtime whose program this is, by its path."""
    name = PurePath(program).name.removesuffix(".exe")
    for each in kinds().values():
        if match := each.programs.fullmatch(name):
            version = match[1] if match.re.groups else None
            if version is None and each.version_in_path and (found := each.version_in_path.search(program)):
                version = found[1]
            return Runtime(each.name, int(version) if version else None)
    return None


def by_libraries(files: Iterable[str]) -> Runtime | None:
    """Return the runtime that is embedded in a program, by the names of its loaded libraries."""
    loaded = list(files)
    for kind in kinds().values():
        if kind.libraries is not None and any(map(kind.libraries.fullmatch, loaded)):
            return Runtime(kind.name)
    return next(filter(None, map(_embedded, loaded)), None)


def _embedded(file: str) -> Runtime | None:
    for each in kinds().values():
        if each.embedded is not None and (match := each.embedded.fullmatch(file)):
            return Runtime(each.name, int(match[1]))
    return None


_PROGRAM_OPTIONS = ("-m", "-jar", "--module")
"""Options whose value is the program."""


def title(kind_of: Runtime | None, arguments: Sequence[str]) -> str:
    """Return what a command line runs: the script, the class, the module or the archive, without its folder."""
    own = PurePath(arguments[0]).name if arguments else ""
    if kind_of is None:
        return own
    skipped = kinds()[kind_of.kind].with_value
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
