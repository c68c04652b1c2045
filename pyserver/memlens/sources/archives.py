"""Finds types in archives on this machine, of source or of classes: those that Maven, Gradle and Coursier have
downloaded, a JDK's, and what the user's settings name.

Archives are only read. Where they lie is listed once, in the background. Of each only the directory is read, and that
when a search reaches it: those whose place resembles the type's package come first, so that a large repository isn't
read on the way to an answer.
"""

import itertools
import logging
import os
import re
import threading
import time
import zipfile
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

from cachetools import LRUCache

from memlens.errors import MemlensError
from memlens.sources.declarations import TypeName
from memlens.sources.finder import is_walked
from memlens.texts import phrase

logger = logging.getLogger(__name__)

_VERSION = re.compile(r"-\d[\w.+-]*?(?=(?:-(?:sources|src))?\.\w+$)")

_LISTED_S = 30.0
"""How long a list of archives is kept after a search in it failed."""
_MOST_LISTED_S = 60.0
_MOST_ARCHIVES = 20_000
_MOST_ARCHIVE_BYTES = 1 << 30
_MOST_DIRECTORY_BYTES = 16 << 20
"""The memory limit for the archives' directories."""
_MOST_S = 20.0
"""How long archives are searched for one type."""
_POLLED_S = 0.05

DAMAGED = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError)
"""What reading an archive raises that is damaged, encrypted, or packed in a way that Python doesn't know."""


class SourceArchiveError(MemlensError):
    """A file of an archive can't be read."""

    code = "archive"
    advice = phrase("Check that the archive still exists and isn't damaged.")


class Archived(NamedTuple):
    """A file in an archive that declares a type. The line counts from 1; class files have none, 0."""

    archive: Path
    member: str
    line: int
    content: tuple[int, int]
    """Checksum and size: equal members of two versions of a library count as one."""

    @property
    def artifact(self) -> str:
        """The name of the archive without its version."""
        return _VERSION.sub("", self.archive.name)


FIRST = 100
"""A likeness above all others."""


class Holding(NamedTuple):
    """What archives of one sort hold, source or classes, and how they are read.

    Reading may raise one of ``DAMAGED``.
    """

    name: str
    among: Callable[[Path, list[str]], Iterable[Path]]
    """A folder and the names of its files to the archives there."""
    names: Callable[[str, TypeName], list[str]]
    """The kind of a dump and a type to the usual base names of a member that declares it."""
    members: Callable[[Path], Iterable[str]]
    """Paths in an archive."""
    declared: Callable[[Path, set[str], TypeName], list[Archived]]
    """The members of an archive that declare a type, by its names in lower case."""
    likeness: Callable[[Path, str], int]
    """How likely an archive is to have a package, less than :data:`FIRST`."""
    said: str
    """What names of archives are like, in a sentence."""


class Found(NamedTuple):
    """The declarations of a type, the newest archives first."""

    declared: list[Archived]
    searched: int
    """The number of searched archives."""
    places: list[Path]
    """The folders and archives that were looked through."""
    complete: bool


class _Listing(NamedTuple):
    archives: list[Path]
    named: frozenset[Path]
    """Those of the settings, which come first."""
    places: list[Path]
    made_at: float


class Archives:
    """The archives of source, or of classes, of this machine.

    ``named`` returns those that come first, archives or folders of such, and ``usual`` where others are.
    """

    def __init__(
        self,
        holding: Holding,
        named: Callable[[], list[Path]],
        usual: Callable[[Mapping[str, str]], list[Path]],
    ) -> None:
        self._holding = holding
        self._named = named
        self._usual = usual
        self._listed: Future[_Listing] | None = None
        self._listed_for: list[Path] = []
        self._stop = threading.Event()
        self._members: LRUCache[tuple[Path, int, int], array[int]] = LRUCache(
            _MOST_DIRECTORY_BYTES, getsizeof=lambda names: 200 + names.itemsize * len(names)
        )
        """The sorted CRC-32s of each archive's member names."""
        self._one_at_a_time = threading.Lock()

    def begin(self) -> None:
        """Start listing the archives in the background, unless that was done before."""
        if self._listed is None:
            self._list()

    def settings_changed(self) -> None:
        """Make the next search list the archives again, if the settings name others now."""
        if self._listed is not None and self._named() != self._listed_for:
            self.changed()

    def changed(self) -> None:
        """Make the next search list the archives again, because archives were added."""
        self._stop.set()
        self._listed = None

    def find(self, kind: str, wanted: TypeName, stop: threading.Event) -> Found:
        """Search for the declarations of a type of a dump of ``kind``; blocks. An event that is set ends it early."""
        with self._one_at_a_time:
            listing = self._listing(stop)
            found = self._search(listing, kind, wanted, stop)
            if not found.declared and found.complete and listing.made_at < time.monotonic() - _LISTED_S:
                self._listed = None  # the user may have downloaded it meanwhile
                found = self._search(self._listing(stop), kind, wanted, stop)
            return found

    def _listing(self, stop: threading.Event) -> _Listing:
        listed = self._listed or self._list()
        while not listed.done():
            if stop.wait(_POLLED_S):
                return _Listing([], frozenset(), [], time.monotonic())
        return listed.result()

    def _list(self) -> "Future[_Listing]":
        listed: Future[_Listing] = Future()
        stop, named = threading.Event(), self._named()
        self._listed, self._listed_for, self._stop = listed, named, stop

        def work() -> None:
            try:
                listed.set_result(_list_of(self._holding, named, self._usual(os.environ), stop))
            except Exception as error:  # noqa: BLE001 - raised where the list is asked for
                listed.set_exception(error)

        threading.Thread(target=work, name=f"archives of {self._holding.name}", daemon=True).start()
        return listed

    def _search(self, listing: _Listing, kind: str, wanted: TypeName, stop: threading.Event) -> Found:
        names = {name.lower() for name in self._holding.names(kind, wanted)}
        deadline = time.monotonic() + _MOST_S
        ranks = {
            archive: FIRST if archive in listing.named else self._holding.likeness(archive, wanted.package)
            for archive in listing.archives
        }
        likely = sorted(ranks, key=lambda archive: -ranks[archive])
        declared: list[Archived] = []
        searched = 0
        for _, alike in itertools.groupby(likely, ranks.__getitem__):
            # all versions of a library are alike, and the user chooses among them
            for archive in alike:
                if stop.is_set() or time.monotonic() > deadline:
                    return Found(_newest(declared), searched, listing.places, complete=False)
                searched += 1
                if self._may_have(archive, names):
                    declared += self._declared_in(archive, names, wanted)
            if declared:
                break
        return Found(_newest(declared), searched, listing.places, complete=not stop.is_set())

    def _declared_in(self, archive: Path, names: set[str], wanted: TypeName) -> list[Archived]:
        try:
            return self._holding.declared(archive, names, wanted)
        except DAMAGED as error:
            logger.info("%s can't be searched: %s", archive, error)
            return []

    def _may_have(self, archive: Path, names: set[str]) -> bool:
        try:
            if archive.is_dir():
                return True  # looking for a file in it is quick
            state = archive.stat()
            key = (archive, state.st_mtime_ns, state.st_size)
            members = self._members.get(key)
            if members is None:
                is_read = state.st_size <= _MOST_ARCHIVE_BYTES
                members = _checksums(self._holding.members(archive) if is_read else [])
                if len(members) * members.itemsize < _MOST_DIRECTORY_BYTES // 4:
                    self._members[key] = members
        except DAMAGED as error:
            logger.info("%s can't be read as an archive: %s", archive, error)
            return False
        return any(_has(members, _checksum(name)) for name in names)


def _list_of(
    holding: Holding, named: Iterable[Path], usual: Iterable[Path], stop: threading.Event
) -> _Listing:
    places: list[Path] = []
    deadline = time.monotonic() + _MOST_LISTED_S

    def below(folders: Iterable[Path], into: Callable[[str], bool]) -> list[Path]:
        archives: dict[Path, None] = {}
        for each in folders:
            place = Path(os.path.realpath(each))
            if place in places or not place.exists():
                continue
            places.append(place)
            if place.is_file():
                archives[place] = None
            for parent, inner, files in os.walk(place):
                inner[:] = sorted(filter(into, inner))
                archives |= dict.fromkeys(holding.among(Path(parent), files))
                if stop.is_set() or time.monotonic() > deadline or len(archives) > _MOST_ARCHIVES:
                    logger.warning("the list of archives below %s was cut short", place)
                    break
        return list(archives)

    # a workspace may be among the named ones; in a library cache, any name may be a library's
    first = below(named, is_walked)
    others = below(usual, lambda _: True)
    return _Listing(list(dict.fromkeys([*first, *others])), frozenset(first), places, time.monotonic())


def _checksums(members: Iterable[str]) -> "array[int]":
    return array("I", sorted({_checksum(name.rpartition("/")[2].lower()) for name in members}))


def _checksum(name: str) -> int:
    return zlib.crc32(name.encode("utf-8", "replace"))


def _has(members: "array[int]", checksum: int) -> bool:
    at = bisect_left(members, checksum)
    return at < len(members) and members[at] == checksum


def _newest(declared: list[Archived]) -> list[Archived]:
    """The newest archives first, without those whose file is the same as that of a newer one."""
    newest: dict[tuple[int, int], Archived] = {}
    for each in sorted(declared, key=lambda each: version_key(each.archive.name), reverse=True):
        newest.setdefault(each.content, each)
    return list(newest.values())


def version_key(name: str) -> list[tuple[int, str]]:
    """A sort key for names with versions, 9 before 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
