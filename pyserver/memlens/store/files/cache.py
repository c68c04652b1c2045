"""The cache: a folder of archives by the source file's identity, which drops the least recently used ones."""

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from memlens.errors import MemlensError
from memlens.formats.tools import Tools
from memlens.interrupting import ended_by_signals
from memlens.store.files.cache_folder import CHOOSE_FOLDER, default_folder, exchanged, not_writable
from memlens.store.files.disk import FULL, make_folder, make_private, room_in
from memlens.store.files.edition import is_of_this_edition
from memlens.store.files.owner import exchangeable, is_mine, is_own, own_user
from memlens.store.files.processes import is_running, remove_leftovers
from memlens.store.files.searched import found_in, is_current
from memlens.store.manifest import (
    FILE_NAME,
    FORMAT_VERSION,
    ArchiveError,
    SourceFile,
    in_use,
    is_archive,
    read_manifest,
    sizes_in,
)
from memlens.texts import Text, phrase

DEFAULT_LIMIT_BYTES = 10 * 2**30

SPARED_S = 10.0
"""Archives used this recently are not removed, because they may be about to be opened, perhaps by another server."""

_OUR_NAME = re.compile(r"^[0-9a-f]{24}-v\d+(\.(partial|old-\w+)-(?P<pid>\d{1,9}))?$", re.ASCII)


class NotAnArchiveError(MemlensError):
    """No archive can be written at the requested path."""

    code = "not-an-archive"
    advice = phrase("Choose another folder.")


class Cache:
    """Archives under one folder (default: the user's cache folder), together no larger than ``limit_bytes``."""

    def __init__(
        self,
        folder: Path | None = None,
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
        spared_s: float = SPARED_S,
        tools: Tools | None = None,
    ) -> None:
        """``tools`` are what its archives are made with, those of the environment by default."""
        self._chosen = folder
        self.limit_bytes = limit_bytes
        self.spared_s = spared_s
        self._tools = tools

    @property
    def tools(self) -> Tools:
        """What archives are made with: those that were given, or what the environment names now."""
        return Tools.of_environment() if self._tools is None else self._tools

    @property
    def folder(self) -> Path:
        """The folder of the archives. Raises :class:`~memlens.store.files.cache_folder.NoCacheFolderError`."""
        return self._place[0]

    @property
    def warning(self) -> Text | None:
        """Why the archives are not in the user's cache folder, if nobody has chosen another. Raises as above."""
        return self._place[1]

    @cached_property
    def _place(self) -> tuple[Path, Text | None]:
        # only when needed, because archives may be made elsewhere
        place = default_folder() if self._chosen is None else (self._chosen, None)
        open_to_others = exchangeable(place[0])
        if open_to_others is not None:
            raise exchanged(place[0], open_to_others)
        return place

    def folder_for(self, source: Path) -> Path:
        """The archive folder for the current version of a file. Raises OSError if the file doesn't exist."""
        identity = SourceFile.of(source)
        key = f"{FORMAT_VERSION}\0{own_user()}\0{identity.path}\0{identity.version}"
        digest = hashlib.blake2b(key.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
        return self.folder / f"{digest}-v{FORMAT_VERSION}"

    def find(self, source: Path) -> Path | None:
        """The archive of the current version of a file, or None if there is no intact one. Marks it as used.

        One that isn't this user's alone doesn't count, because others may have written it. Nor does one whose native
        names would be others now, because there are other folders or binaries, nor one by another edition of a pack.
        """
        archive = self.folder_for(source)
        if not is_own(archive):
            return None
        try:
            manifest = read_manifest(archive)
        except ArchiveError:
            return None
        if manifest.source != SourceFile.of(source) or not is_current(archive, self.tools):
            return None
        if not is_of_this_edition(archive, manifest.info.kind):
            return None
        with contextlib.suppress(OSError):
            os.utime(archive / FILE_NAME)
        return archive

    def evict(self, keep: Path | None = None) -> None:
        """Remove what interrupted runs left, then the least recently used archives beyond the limit."""
        archives = []
        with contextlib.suppress(OSError):
            for entry in list(self.folder.iterdir()):
                name = _OUR_NAME.match(entry.name)
                if name is None or not is_mine(entry):
                    continue  # the user chose the folder, and other files in it are not ours
                if name["pid"] is not None:
                    if not is_running(int(name["pid"])):
                        _remove(entry)
                elif (entry / FILE_NAME).is_file():
                    remove_leftovers(entry)
                    archives.append(
                        ((entry / FILE_NAME).stat().st_mtime_ns, sum(sizes_in(entry).values()), entry)
                    )
        total = sum(size for _, size, _ in archives)
        now_ns = time.time_ns()
        for used_ns, size, entry in sorted(archives, key=lambda row: row[0]):
            if total <= self.limit_bytes:
                break
            if entry == keep or abs(now_ns - used_ns) < self.spared_s * 1e9 or in_use(entry):
                continue
            _remove(entry)
            total -= size


def partial_folder(archive: Path, pid: int) -> Path:
    """The temporary path at which process ``pid`` writes ``archive``."""
    return archive.with_name(f"{archive.name}.partial-{pid}")


@contextlib.contextmanager
def making(archive: Path, advice: Text = CHOOSE_FOLDER) -> Iterator[Path]:
    """A temporary folder beside ``archive``, renamed to it if the block succeeds, else removed.

    Raises :class:`~memlens.store.files.cache_folder.NoCacheFolderError`, with the ``advice``, where none can be made.
    """
    partial = partial_folder(archive, os.getpid())
    with room_in(archive.parent, phrase("the archive")):
        try:
            make_folder(archive.parent)
            _remove(partial)
            partial.mkdir(mode=0o700)
        except OSError as error:
            if error.errno in FULL:
                raise
            raise not_writable(archive.parent, error, advice) from error
        try:
            with ended_by_signals(lambda: _remove(partial)):
                yield partial
                for file in partial.iterdir():
                    make_private(file)
                _rename(partial, archive)
        finally:
            _remove(partial)


def check_place(archive: Path) -> None:
    """Check that a chosen folder may be replaced: it is an archive, of any version and state, or empty.

    Raises :class:`NotAnArchiveError` if it is something else, or has a name with which SQLite can't open a database.
    """
    try:
        str(archive).encode()
    except UnicodeEncodeError as error:
        raise NotAnArchiveError(
            phrase("The name of {archive} is not UTF-8; an archive's name must be", archive=archive)
        ) from error
    if not archive.exists() and not archive.is_symlink():
        return
    if not archive.is_dir() or (any(archive.iterdir()) and not is_archive(archive)):
        raise NotAnArchiveError(phrase("{archive} exists and is not an archive", archive=archive))


def _remove(folder: Path) -> None:
    """Remove a folder, if there is one, as far as that is possible."""
    if not os.path.lexists(folder):
        return
    # imported here, because it imports compressors, and there is seldom anything to remove
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _rename(partial: Path, archive: Path) -> None:
    """Move the new archive into place, unless another process has made an intact one in the meantime.

    An archive of another dump of the same file, according to the settings, is replaced.
    """
    try:
        partial.rename(archive)
    except OSError:
        if os.path.lexists(archive) and not is_mine(archive):
            raise NotAnArchiveError(
                phrase("{archive} is another user's, and can't be replaced", archive=archive)
            ) from None
        try:
            there, new = read_manifest(archive), read_manifest(partial)
            is_same = (there.source, there.settings) == (new.source, new.settings)
            if is_same and is_own(archive) and found_in(archive) == found_in(partial):
                os.utime(archive / FILE_NAME)
                return
        except ArchiveError:
            pass
        # imported here, because hardly any archive replaces one
        import tempfile

        old = Path(
            tempfile.mkdtemp(prefix=f"{archive.name}.old-", suffix=f"-{os.getpid()}", dir=archive.parent)
        )
        archive.rename(old / "archive")
        try:
            partial.rename(archive)
        except OSError:
            (old / "archive").rename(archive)
            old.rmdir()
            raise
        _remove(old)
