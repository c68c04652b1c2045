"""Class files of the workspace's build and of libraries, in jars and folders such as ``target/classes``.

Of a class only the file that it was compiled from is read.
"""

import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from memlens.local_paths import below, file_below
from memlens.packs.jvm import class_files
from memlens.packs.jvm.places import likeness
from memlens.regular_files import opened
from memlens.sources import zips
from memlens.sources.archives import Archived, Holding
from memlens.sources.declarations import TypeName

_JAR = re.compile(r"(?!.*-(?:sources|src|javadoc)\.).+\.(?:jar|war)", re.IGNORECASE)
_PLAIN = re.compile(r"[\w$-]+")
"""A name of a package or class as compilers make it, which is one part of a path and nothing else."""

_FILE = re.compile(r"[^/\\:\0]+")

_MOST_CLASS_BYTES = 16 << 20


def compiled_from(archive: Path, member: str, wanted: TypeName) -> tuple[str, int]:
    """The base name of the file that a class was compiled from, and the first line there with code.

    An unknown name is empty, an unknown line 1. Raises KeyError if the archive has no such class, or one of
    ``archives.DAMAGED``.
    """
    folder = member.rpartition("/")[0]
    nested = "/".join(filter(None, (folder, f"{'$'.join(wanted.names)}.class")))
    with _opened(archive) as opened:
        try:
            data = opened.read(nested, _MOST_CLASS_BYTES)
        except (KeyError, FileNotFoundError):
            data = opened.read(member, _MOST_CLASS_BYTES)
    described = class_files.read(data)
    if described is None or not _FILE.fullmatch(described.source):
        return "", 1
    return described.source, described.first_line or 1


class _Jar(AbstractContextManager["_Jar"]):
    def __init__(self, path: Path) -> None:
        self._zip = zips.opened(path)

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def paths(self, package: str | None) -> Iterator[str]:
        for path in self._zip.namelist():
            folder = path.rpartition("/")[0]
            if path.endswith(".class") and (package is None or f"/{folder}".endswith(f"/{package}")):
                yield path

    def read(self, path: str, most: int) -> bytes:
        with self._zip.open(path) as file:
            return file.read(most)


class _Folder(AbstractContextManager["_Folder"]):
    def __init__(self, path: Path) -> None:
        self._path = path

    def __exit__(self, *_: object) -> None:
        pass

    def paths(self, package: str | None) -> Iterator[str]:
        folder = file_below(self._path, package) if package else self._path
        if folder is not None and folder.is_dir():
            yield from (f"{package}/{file.name}" for file in sorted(folder.glob("*.class")))

    def read(self, path: str, most: int) -> bytes:
        parts = path.split("/")
        place = below(self._path, parts)
        if place is None or not all(map(_PLAIN.fullmatch, [*parts[:-1], parts[-1].removesuffix(".class")])):
            raise KeyError(path)
        with opened(place) as file:
            return file.read(most)


def _opened(archive: Path) -> _Jar | _Folder:
    return _Folder(archive) if archive.is_dir() else _Jar(archive)


def _archives_among(folder: Path, files: Iterable[str]) -> list[Path]:
    """The jars, and the folder below which class files are, as one of them says by its name."""
    found = [folder / name for name in files if _JAR.fullmatch(name)]
    one = next((name for name in files if name.endswith(".class")), None)
    root = None if one is None else _root_of(folder, one)
    return found if root is None else [*found, root]


def _root_of(folder: Path, file: str) -> Path | None:
    try:
        with opened(folder / file) as found:
            described = class_files.read(found.read(_MOST_CLASS_BYTES))
    except OSError:
        return None
    packages = described.name.split("/")[:-1] if described is not None else []
    if described is None or list(folder.parts[len(folder.parts) - len(packages) :]) != packages:
        return None
    return folder.parents[len(packages) - 1] if packages else folder


def _names_of(_kind: str, wanted: TypeName) -> list[str]:
    return [f"{wanted.names[0]}.class"]


def _members_of(archive: Path) -> list[str]:
    with _opened(archive) as opened:
        return [path for path in opened.paths(None) if "$" not in path]


def _declared_in(archive: Path, _names: set[str], wanted: TypeName) -> list[Archived]:
    """The class file of the outermost class around a type; none or one."""
    parts = [*wanted.package.split("."), wanted.names[0]]
    if not all(map(_PLAIN.fullmatch, parts)):
        return []
    file = f"{wanted.names[0]}.class"
    with _opened(archive) as opened:
        paths = [path for path in opened.paths("/".join(parts[:-1])) if path.rpartition("/")[2] == file]
        if not paths:
            return []
        # a jar may have others for newer versions of Java, further down
        member = min(paths, key=len)
        data = opened.read(member, _MOST_CLASS_BYTES)
        return [Archived(archive, member, 0, (zlib.crc32(data), len(data)))]


CLASSES = Holding("classes", _archives_among, _names_of, _members_of, _declared_in, likeness, "*.jar")
