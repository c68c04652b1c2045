"""Where archives are kept: a folder of archives keyed by the source file's identity, least recently used out first."""

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from memlens.errors import MemlensError
from memlens.store.files.disk import make_folder, make_private, room_in
from memlens.store.files.processes import is_running, remove_leftovers
from memlens.store.manifest import (
    FILE_NAME,
    FORMAT_VERSION,
    ArchiveError,
    SourceFile,
    in_use,
    is_archive,
    read_manifest,
)

DEFAULT_LIMIT_BYTES = 10 * 2**30

SPARED_S = 10.0
"""What was made or found so shortly ago is about to be opened, perhaps by another server, and is not removed."""

_OUR_NAME = re.compile(r"^[0-9a-f]{24}-v\d+(\.(partial|old-\w+)-(?P<pid>\d{1,9}))?$", re.ASCII)


class NotAnArchiveError(MemlensError):
    """No archive can be written where it is wanted."""

    code = "not-an-archive"
    advice = "Choose another folder."


class Cache:
    """Archives under one folder (default: the user's cache folder), together no larger than ``limit_bytes``."""

    def __init__(
        self,
        folder: Path | None = None,
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
        spared_s: float = SPARED_S,
    ) -> None:
        self.folder = folder or _user_folder()
        self.limit_bytes = limit_bytes
        self.spared_s = spared_s

    def folder_for(self, source: Path) -> Path:
        """The archive folder for a file as it is now. Raises OSError when the file isn't there."""
        identity = SourceFile.of(source)
        key = f"{FORMAT_VERSION}\0{identity.path}\0{identity.size}\0{identity.mtime_ns}"
        digest = hashlib.blake2b(key.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
        return self.folder / f"{digest}-v{FORMAT_VERSION}"

    def find(self, source: Path) -> Path | None:
        """The archive of a file as it is now, or None when there is none that is whole. Marks it as used."""
        archive = self.folder_for(source)
        try:
            manifest = read_manifest(archive)
        except ArchiveError:
            return None
        if manifest.source != SourceFile.of(source):
            return None
        with contextlib.suppress(OSError):
            os.utime(archive / FILE_NAME)
        return archive

    def evict(self, keep: Path | None = None) -> None:
        """Remove what interrupted runs left, then the least recently used archives until the limit is kept."""
        archives = []
        with contextlib.suppress(OSError):
            for entry in list(self.folder.iterdir()):
                name = _OUR_NAME.match(entry.name)
                if name is None:
                    continue  # the folder is the user's choice, and what else lies in it is theirs
                if name["pid"] is not None:
                    if not is_running(int(name["pid"])):
                        shutil.rmtree(entry, ignore_errors=True)
                elif (entry / FILE_NAME).is_file():
                    remove_leftovers(entry)
                    archives.append(((entry / FILE_NAME).stat().st_mtime_ns, _bytes_in(entry), entry))
        total = sum(size for _, size, _ in archives)
        now_ns = time.time_ns()
        for used_ns, size, entry in sorted(archives, key=lambda row: row[0]):
            if total <= self.limit_bytes:
                break
            if entry == keep or abs(now_ns - used_ns) < self.spared_s * 1e9 or in_use(entry):
                continue
            shutil.rmtree(entry, ignore_errors=True)
            total -= size


def _user_folder() -> Path:
    # a command that was given a folder needn't wait for it
    import platformdirs

    return platformdirs.user_cache_path("memlens", appauthor=False) / "archives"


def partial_folder(archive: Path, pid: int) -> Path:
    """Where process ``pid`` writes what is to become ``archive``."""
    return archive.with_name(f"{archive.name}.partial-{pid}")


@contextlib.contextmanager
def making(archive: Path) -> Iterator[Path]:
    """A temporary folder beside ``archive`` that is renamed to it when the block ends well, removed otherwise."""
    partial = partial_folder(archive, os.getpid())
    with room_in(archive.parent, "the archive"):
        make_folder(archive.parent)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700)
        try:
            yield partial
            for file in partial.iterdir():
                make_private(file)
            _rename(partial, archive)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def check_place(archive: Path) -> None:
    """A chosen folder is replaced only if it is an archive, of whatever version and state, or empty.

    Raises :class:`NotAnArchiveError` when it is something else, or has a name that SQLite can't open a database by.
    """
    try:
        str(archive).encode()
    except UnicodeEncodeError as error:
        raise NotAnArchiveError(
            f"The name of {archive} is not UTF-8, and an archive needs one that is"
        ) from error
    if not archive.exists() and not archive.is_symlink():
        return
    if not archive.is_dir() or (any(archive.iterdir()) and not is_archive(archive)):
        raise NotAnArchiveError(f"{archive} exists and is not an archive")


def _bytes_in(archive: Path) -> int:
    """What an archive takes, with what appeared in it since it was made."""
    size = 0
    for file in archive.iterdir():
        # another process may just be renaming what it has written
        with contextlib.suppress(FileNotFoundError):
            size += file.stat().st_size
    return size


def _rename(partial: Path, archive: Path) -> None:
    """Put the new archive in place. One that another process made meanwhile is as good, if it is whole.

    It is another one if it is of another dump of the file, which the settings say.
    """
    try:
        partial.rename(archive)
    except OSError:
        try:
            there, new = read_manifest(archive), read_manifest(partial)
            if (there.source, there.settings) == (new.source, new.settings):
                os.utime(archive / FILE_NAME)
                return
        except ArchiveError:
            pass
        old = Path(
            tempfile.mkdtemp(prefix=f"{archive.name}.old-", suffix=f"-{os.getpid()}", dir=archive.parent)
        )
        archive.rename(old / "archive")
        partial.rename(archive)
        shutil.rmtree(old, ignore_errors=True)
