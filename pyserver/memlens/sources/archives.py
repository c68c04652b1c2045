"""Finds declarations of library types in the archives of source on this machine: those that Maven, Gradle and Coursier
have downloaded (``*-sources.jar``), a JDK's ``src.zip``, and what the user's settings name.

Archives are only read. Where they lie is listed once, in the background. Of each only the directory is read, and that
when a search reaches it: those whose place resembles the type's package come first, so that a large repository isn't
read on the way to an answer.
"""

import itertools
import logging
import os
import re
import shutil
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

from memlens.errors import BadRequestError, MemlensError
from memlens.sources.declarations import SUFFIXES, TEXT_LIMIT, TypeName, file_names, line_of
from memlens.texts import phrase

logger = logging.getLogger(__name__)

_SOURCE_ARCHIVE = re.compile(r"(?:.+-)?(?:sources|src)\.(?:jar|zip)")
_ALL_SUFFIXES = tuple(itertools.chain.from_iterable(SUFFIXES.values()))

_LISTED_S = 30.0
"""For how long a list of archives in which something was not found is not made again."""
_MOST_LISTED_S = 60.0
_MOST_ARCHIVES = 20_000
_MOST_ARCHIVE_BYTES = 1 << 30
_MOST_DIRECTORY_BYTES = 16 << 20
"""Of what is kept of the archives' directories."""
_MOST_S = 20.0
"""How long archives are searched for one type."""
_POLLED_S = 0.05
_FIRST = 100
"""A likeness above all others."""
_MOST_MEMBERS = 20
"""How many files of one archive are read for one type."""

_DAMAGED = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError)
"""What reading an archive raises that is damaged, encrypted, or packed in a way that Python doesn't know."""


class SourceArchiveError(MemlensError):
    """A file of an archive can't be read."""

    code = "archive"
    advice = phrase("Check that the archive still exists and isn't damaged.")


class Archived(NamedTuple):
    """A file in an archive that declares a type; the line counts from 1."""

    archive: Path
    member: str
    line: int
    content: tuple[int, int]
    """Checksum and size: what is the same in two versions of a library is one."""

    @property
    def artifact(self) -> str:
        """The name of the archive without its version."""
        return re.sub(r"-\d[\w.+-]*?(?=-(?:sources|src)\.)", "", self.archive.name)


class Found(NamedTuple):
    """The declarations of a type, the newest archives first."""

    declared: list[Archived]
    searched: int
    """In how many archives it was searched for."""
    places: list[Path]
    """The folders and archives that were looked through."""
    complete: bool


class _Listing(NamedTuple):
    archives: list[Path]
    named: frozenset[Path]
    """Those of the settings, which come first."""
    places: list[Path]
    made_at: float

    def likeness(self, archive: Path, package: str) -> int:
        return _FIRST if archive in self.named else likeness(archive, package)


class Archives:
    """The archives of source of this machine. ``named`` returns those of the settings, archives or folders of such."""

    def __init__(self, named: Callable[[], list[Path]]) -> None:
        self._named = named
        self._listed: Future[_Listing] | None = None
        self._listed_for: list[Path] = []
        self._stop = threading.Event()
        self._members: LRUCache[tuple[Path, int, int], array[int]] = LRUCache(
            _MOST_DIRECTORY_BYTES, getsizeof=lambda names: 200 + names.itemsize * len(names)
        )
        """Of each archive the CRC-32 of the names of its source files, sorted."""
        self._one_at_a_time = threading.Lock()

    def begin(self) -> None:
        """Start listing the archives in the background, unless that was done before."""
        if self._listed is None:
            self._list()

    def settings_changed(self) -> None:
        """List anew when something is searched for, if the settings name other archives now."""
        if self._listed is not None and self._named() != self._listed_for:
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
                listed.set_result(_list_of(named, usual_places(os.environ), stop))
            except Exception as error:  # noqa: BLE001 - raised where the list is asked for
                listed.set_exception(error)

        threading.Thread(target=work, name="archives of source", daemon=True).start()
        return listed

    def _search(self, listing: _Listing, kind: str, wanted: TypeName, stop: threading.Event) -> Found:
        names = {name.lower() for name in file_names(kind, wanted)}
        deadline = time.monotonic() + _MOST_S
        ranks = {archive: listing.likeness(archive, wanted.package) for archive in listing.archives}
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
                    declared += _declared_in(archive, names, wanted)
            if declared:
                break
        return Found(_newest(declared), searched, listing.places, complete=not stop.is_set())

    def _may_have(self, archive: Path, names: set[str]) -> bool:
        try:
            state = archive.stat()
            key = (archive, state.st_mtime_ns, state.st_size)
            members = self._members.get(key)
            if members is None:
                members = _members_of(archive) if state.st_size <= _MOST_ARCHIVE_BYTES else array("I")
                if len(members) * members.itemsize < _MOST_DIRECTORY_BYTES // 4:
                    self._members[key] = members
        except _DAMAGED as error:
            logger.info("%s can't be read as an archive: %s", archive, error)
            return False
        return any(_has(members, _checksum(name)) for name in names)


def usual_places(environment: Mapping[str, str]) -> list[Path]:
    """Where build tools keep archives of source, and those of the JDKs that ``JAVA_HOME`` and ``PATH`` name."""
    home = Path.home()
    gradle = Path(environment.get("GRADLE_USER_HOME") or home / ".gradle")
    places = [
        home / ".m2" / "repository",
        gradle / "caches" / "modules-2" / "files-2.1",
        home / ".cache" / "coursier" / "v1",
        home / "Library" / "Caches" / "Coursier" / "v1",
    ]
    java = shutil.which("java", path=environment.get("PATH"))
    jdks = [Path(environment["JAVA_HOME"])] if environment.get("JAVA_HOME") else []
    jdks += [Path(os.path.realpath(java)).parent.parent] if java else []
    return places + [jdk / place for jdk in jdks for place in ("lib/src.zip", "src.zip", "../src.zip")]


def likeness(archive: Path, package: str) -> int:
    """How many components a package's name begins with are folders of an archive, as those of its Maven group are.

    A JDK's source comes first for the packages of the JDK, and last for others.
    """
    if archive.name == "src.zip":
        return _FIRST - 1 if package.startswith(("java.", "javax.", "jdk.", "sun.", "com.sun.")) else 0
    folders = ".".join(archive.parent.parts)
    parts = package.split(".")
    return next((n for n in range(len(parts), 0, -1) if f".{'.'.join(parts[:n])}." in f".{folders}."), 0)


def text_of(archive: Path, member: str) -> str:
    """The text of a source file in an archive.

    Raises :class:`SourceArchiveError`, and BadRequestError for any other file.
    """
    if archive.suffix.lower() not in (".jar", ".zip") or not member.endswith(_ALL_SUFFIXES):
        raise BadRequestError(
            phrase("{member} of {archive} is not a source file in an archive", member=member, archive=archive)
        )
    try:
        with zipfile.ZipFile(archive) as opened:
            return _text(opened, opened.getinfo(member))
    except KeyError as error:
        raise SourceArchiveError(
            phrase("{archive} has no file {member}", archive=archive, member=member)
        ) from error
    except _DAMAGED as error:
        raise SourceArchiveError(
            phrase(
                "{member} of {archive} can't be read ({reason})",
                member=member,
                archive=archive,
                reason=str(error),
            )
        ) from error


def _list_of(named: Iterable[Path], usual: Iterable[Path], stop: threading.Event) -> _Listing:
    places: list[Path] = []
    deadline = time.monotonic() + _MOST_LISTED_S

    def below(folders: Iterable[Path]) -> list[Path]:
        archives: dict[Path, None] = {}
        for each in folders:
            place = Path(os.path.realpath(each))
            if place in places or not place.exists():
                continue
            places.append(place)
            if place.is_file():
                archives[place] = None
            for parent, inner, files in os.walk(place):
                inner.sort()
                archives |= dict.fromkeys(
                    Path(parent, name) for name in files if _SOURCE_ARCHIVE.fullmatch(name)
                )
                if stop.is_set() or time.monotonic() > deadline or len(archives) > _MOST_ARCHIVES:
                    logger.warning("the list of archives below %s was cut short", place)
                    break
        return list(archives)

    first = below(named)
    return _Listing(list(dict.fromkeys([*first, *below(usual)])), frozenset(first), places, time.monotonic())


def _members_of(archive: Path) -> "array[int]":
    with zipfile.ZipFile(archive) as opened:
        names = (
            name.rpartition("/")[2].lower() for name in opened.namelist() if name.endswith(_ALL_SUFFIXES)
        )
        return array("I", sorted({_checksum(name) for name in names}))


def _checksum(name: str) -> int:
    return zlib.crc32(name.encode("utf-8", "replace"))


def _has(members: "array[int]", checksum: int) -> bool:
    at = bisect_left(members, checksum)
    return at < len(members) and members[at] == checksum


def _declared_in(archive: Path, names: set[str], wanted: TypeName) -> list[Archived]:
    """The file that declares a type, preferably one in the folders of its package; none or one."""
    folder = f"/{wanted.package.replace('.', '/')}/"
    try:
        with zipfile.ZipFile(archive) as opened:
            members = [
                each for each in opened.infolist() if each.filename.rpartition("/")[2].lower() in names
            ]
            members.sort(key=lambda each: folder not in f"/{each.filename}")
            for member in members[:_MOST_MEMBERS]:
                line = line_of(_text(opened, member), wanted)
                if line:
                    return [Archived(archive, member.filename, line, (member.CRC, member.file_size))]
    except _DAMAGED as error:
        logger.info("%s can't be searched: %s", archive, error)
    return []


def _text(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    # whatever size the archive claims, no more is unpacked
    with archive.open(member) as file:
        return file.read(TEXT_LIMIT).decode("utf-8", "replace")


def _newest(declared: list[Archived]) -> list[Archived]:
    """The newest archives first, without those whose file is the same as that of a newer one."""
    newest: dict[tuple[int, int], Archived] = {}
    for each in sorted(declared, key=lambda each: _version_key(each.archive.name), reverse=True):
        newest.setdefault(each.content, each)
    return list(newest.values())


def _version_key(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
