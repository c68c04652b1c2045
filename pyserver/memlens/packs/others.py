"""Packs of other packages, which declare them by an entry point of the group ``memlens.packs``.

They are looked up when a question concerns no pack of Memlens's own, such as which format an unknown file has. One that
can't be loaded, or that declares what another has, costs its formats and a sentence, see :func:`failures`. None comes
from the working directory or from a folder of the workspace.
"""

import hashlib
import logging
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from importlib import resources
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin

from memlens.packs import api
from memlens.packs.api import Pack, Part
from memlens.texts import Text, phrase

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

GROUP = "memlens.packs"
LEFT_OUT = "MEMLENS_NO_PACKS_FROM"
"""The environment variable with the folders from which no pack is loaded, for the processes that a server starts."""

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Other(NamedTuple):
    """A pack of another package."""

    pack: Pack
    package: str
    """The module that has the tables beside it."""
    version: str
    """The name and version of what is installed, for people."""

    @property
    def edition(self) -> str:
        """A version that changes with the pack, also while its author edits it in place."""
        digest = hashlib.blake2b(self.version.encode(), digest_size=12)
        for each in sorted(Path(str(resources.files(self.package))).rglob("*")):
            if "__pycache__" not in each.parts and each.is_file():
                digest.update(f"{each} {each.stat().st_mtime_ns} {each.stat().st_size}\n".encode())
        return digest.hexdigest()


_failures: dict[str, Text] = {}


def failures() -> list[Text]:
    """Sentences about the packs of others that are missing, or in which something failed."""
    return list(_failures.values())


def fail(what: str, sentence: Text) -> None:
    """Note and log a failure, the first of several of one pack or one of its tables."""
    if what not in _failures:
        _failures[what] = sentence
        logger.warning("%s", sentence)


def guarded(other: Other, question: Callable[[], T]) -> T | None:
    """Ask a part of a pack; None where that fails, which is noted."""
    try:
        return question()
    except Exception as error:
        logger.debug("a part of %s failed", other.version, exc_info=True)
        fail(
            other.version,
            phrase("A part of the pack {pack} failed ({what})", pack=other.version, what=_said(error)),
        )
        return None


def leave_out(folders: Iterable[Path]) -> None:
    """Load no pack from these folders of the workspace, here and in the processes that are started."""
    os.environ[LEFT_OUT] = os.pathsep.join(str(folder) for folder in folders)


def find(formats: Collection[str], packs: Collection[str], runtimes: Collection[str]) -> Iterator[Other]:
    """Load the packs of all other packages, but those that declare a format, pack or runtime that another has."""
    if not _has_any():
        return
    # importing it takes as long as reading a small file
    from importlib.metadata import distributions

    taken = {"pack": {*packs}, "format": {*formats}, "runtime": {*runtimes}}
    seen = set()
    # the order of a folder's files is chance
    for distribution in sorted(distributions(path=_folders()), key=lambda each: each.name or ""):
        if distribution.name in seen:
            continue
        seen.add(distribution.name)
        version = f"{distribution.name} {distribution.version}"
        for entry in distribution.entry_points.select(group=GROUP):
            found = _loaded(distribution, entry)
            if isinstance(found, Text):
                fail(
                    entry.value,
                    phrase("The formats of the pack {pack} are missing: {why}", pack=version, why=found),
                )
                continue
            own = {
                "pack": [found.name],
                "format": [each.name for each in found.formats],
                "runtime": [each.name for each in found.runtimes],
            }
            twice = [
                f"{kind} {name}"
                for kind, names in own.items()
                for name in names
                if name in taken[kind] or names.count(name) > 1
            ]
            if twice:
                fail(
                    entry.value,
                    phrase(
                        "The formats of the pack {pack} are missing: another pack has the {what} too",
                        pack=version,
                        what=twice[0],
                    ),
                )
                continue
            for kind, names in own.items():
                taken[kind].update(names)
            yield Other(found, entry.module, version)


def _loaded(distribution: "Distribution", entry: "EntryPoint") -> Pack | Text:
    """The pack that an entry point names, or a clause that says why it isn't one."""
    place = Path(os.path.realpath(str(distribution.locate_file(""))))
    for folder in filter(None, os.environ.get(LEFT_OUT, "").split(os.pathsep)):
        if place.is_relative_to(os.path.realpath(folder)):
            return phrase("it is in the workspace ({folder}), from which no code is loaded", folder=folder)
    try:
        found = entry.load()
        wrong = _wrong(found, Pack, entry.attr or "the module")
    except (Exception, SystemExit) as error:
        logger.debug("%s can't be imported", entry.value, exc_info=True)
        return phrase("it can't be loaded ({what})", what=_said(error))
    if wrong is not None:
        return phrase("{declared} is not what a pack may declare", declared=wrong)
    return cast("Pack", found)


def _said(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _folders() -> list[str]:
    """Folders in which packages are looked for: those that Python imports from, but not the working directory."""
    here = os.path.realpath(".")
    return [each for each in sys.path if Path(each).is_absolute() and os.path.realpath(each) != here]


def _has_any() -> bool:
    """Whether a package has an entry point of the group."""
    for folder in _folders():
        try:
            with os.scandir(folder) as entries:
                names = [each.path for each in entries if each.name.endswith((".dist-info", ".egg-info"))]
        except OSError:  # not there, or an archive
            continue
        for name in names:
            try:
                if GROUP.encode() in Path(name, "entry_points.txt").read_bytes():
                    return True
            except OSError:
                continue
    return False


def _wrong(value: Any, wanted: Any, place: str) -> str | None:
    """The first part of a declaration that isn't of its type; None if all are."""
    if isinstance(wanted, str):
        # the type of a part, whose own types aren't imported, or one that stands further down
        name = wanted.removesuffix(" | None")
        if value is None and name != wanted:
            return None
        each = re.fullmatch(r"tuple\[(\w+), \.\.\.\]", name)
        found_type: Any = getattr(api, each[1] if each else name.partition("[")[0], Part)
        wanted = tuple[found_type, ...] if each else found_type
    origin, of = get_origin(wanted), get_args(wanted)
    if origin in (Union, UnionType):
        found = [_wrong(value, each, place) for each in of]
        return None if None in found else found[0]
    if origin is Literal:
        return None if value in of else place
    expected: Any = NoneType if wanted is None else origin or wanted
    is_expected: bool = isinstance(value, expected)
    if not is_expected:
        return place
    inside: list[tuple[Any, Any, str]] = []
    if origin is tuple:
        items = [of[0]] * len(value) if of[-1] is Ellipsis else of
        if len(items) != len(value):
            return place
        inside = [(each, items[number], f"{place}[{number}]") for number, each in enumerate(value)]
    elif origin is frozenset:
        inside = [(each, of[0], place) for each in value]
    elif origin is re.Pattern:
        inside = [(value.pattern, of[0], place)]
    elif type(value).__module__.startswith(api.__name__):
        annotations = type(value).__annotations__
        inside = [
            (getattr(value, name), annotations[name], f"{place}.{name}") for name in value.__struct_fields__
        ]
    return next((wrong for each in inside if (wrong := _wrong(*each)) is not None), None)
