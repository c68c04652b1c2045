"""What people keep: the one way in which Memlens writes a file or a folder that somebody has named.

Nothing is lost by it. What is read is never written over, nor is an archive, nor a snapshot by something that isn't one
of its kind, whatever links, upper case or ``..`` there are in the names: files are compared by what they are on the
disk. Any other file is overwritten only by ``force``. What is written appears whole: it is made beside its place and
renamed, and an error, a full disk or an interruption leaves what was there, and nothing else.
"""

import contextlib
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from weakref import WeakValueDictionary

from memlens.errors import BadRequestError, MemlensError, reason
from memlens.packs import registry
from memlens.store.files.disk import partial_file, room_in
from memlens.store.files.processes import is_running
from memlens.store.manifest import SourceFile, is_archive, read_manifest
from memlens.texts import Text, Value, phrase

_OTHER_FILE = phrase("Choose another file.")
_OTHER_FOLDER = phrase("Choose another folder.")
_HEAD_BYTES = 1 << 16
_IN_ARCHIVES = re.compile(
    r"(\d+\.)?[\w-]+(\.(\d+|json|db|bin|columns))?(\.partial-\d+(-journal)?)?", re.ASCII
)
"""Names of files in archives; another name is of a file that somebody has put there."""
_PARTIAL = re.compile(r".+\.partial-(?P<pid>\d{1,9})-[0-9a-f]{8}", re.ASCII | re.DOTALL)
"""Names that :func:`memlens.store.files.disk.partial_file` makes, and others like them."""
_writing: WeakValueDictionary[Path, threading.Lock] = WeakValueDictionary()
"""The locks of the files that are being written by this process."""
_writing_lock = threading.Lock()
_of_thread = threading.local()
"""The files that a thread is writing, as ``targets``."""


class RefusedError(BadRequestError):
    """Something would be lost."""

    code = "would-overwrite"
    advice = _OTHER_FILE


@dataclass(frozen=True)
class Output:
    """A file or a folder to write."""

    path: Path
    inputs: tuple[Path, ...] = ()
    """What is read meanwhile, which is never written over. It need not exist."""
    force: bool = False
    """Overwrite a file; also a snapshot, if it is of one of ``formats``."""
    formats: tuple[str, ...] = ()
    """The format of what is written, as :data:`memlens.formats.FORMATS` names it; none if it is no snapshot."""
    private: bool = False
    """Readable only by its owner."""
    others: tuple[Path, ...] = ()
    """What the same command writes besides."""

    def check(self) -> Path:
        """Return the file to write, links followed. Raises :class:`BadRequestError` if something would be lost."""
        target = self._resolved()
        if not target.parent.is_dir():
            raise self._impossible(phrase("there is no folder {folder}", folder=target.parent))
        partial = partial_file(target, os.getpid())
        is_read = any(_same(source, target) or _same(source, partial) for source in self.inputs)
        if is_read or _is_stdin(target):
            raise RefusedError(
                phrase("{file} can't be written over itself: it is the file that is read", file=self._name)
            )
        if any(_same(other, target) for other in self.others):
            raise self._named_twice()
        if is_archive(target) or is_archive(target.parent):
            raise self._in_archive(_OTHER_FILE)
        if not os.path.lexists(target):
            return target
        if not target.is_file():
            raise self._impossible(phrase("it is not a regular file"))
        self._check_content(target)
        if not self.force:
            raise self._exists()
        if not os.access(target, os.W_OK):
            raise self._impossible(phrase("it is write-protected"))
        return target

    @contextlib.contextmanager
    def writing(self) -> Iterator[BinaryIO]:
        """A file to write to, which takes its place if the block succeeds, and else is removed.

        Raises :class:`BadRequestError`, FullDiskError and OSError.
        """
        with self.making() as partial:
            # not yet readable by others than it will be
            mode = 0o600 if self.private else 0o666
            with open(partial, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
                yield file

    def write(self, data: bytes) -> None:
        """Write the whole file. Raises what :meth:`writing` does."""
        with self.writing() as file:
            file.write(data)

    @contextlib.contextmanager
    def making(self) -> Iterator[Path]:
        """A path beside the file at which the block makes it, by any means. Otherwise as :meth:`writing`."""
        target = self.check()
        partial = partial_file(target, os.getpid())
        free = phrase("Free some space on it, or write the file elsewhere.")
        # another thread of this process writes to the same partial file
        with self._alone(target), room_in(target.parent, target.name, advice=free):
            remove_leftovers_of(target, self.inputs)
            try:
                yield partial
                self.put(partial, target)
            finally:
                partial.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _alone(self, target: Path) -> Iterator[None]:
        """Wait until no other thread writes the target. Raises :class:`RefusedError` if this one does."""
        mine: set[Path] = _of_thread.__dict__.setdefault("targets", set())
        if target in mine:
            raise self._named_twice()
        with _lock_of(target):
            mine.add(target)
            try:
                yield
            finally:
                mine.remove(target)

    def put(self, made: Path, target: Path) -> None:
        """Rename a file that was ``made`` on the same disk to the ``target`` that :meth:`check` has returned.

        Raises :class:`RefusedError` if another has been made there meanwhile and may not be overwritten, and OSError.
        """
        with made.open("rb") as file, contextlib.suppress(OSError):
            # otherwise a crash of the system could leave an empty file in the place of a whole one
            os.fsync(file.fileno())
        if self.force:
            if not self.private and target.exists():
                made.chmod(target.stat().st_mode & 0o777)
            made.replace(target)
            return
        try:
            # unlike a rename, it never overwrites
            os.link(made, target)
        except FileExistsError:
            raise self._exists() from None
        except (OSError, NotImplementedError):
            # a file system without such links
            if os.path.lexists(target):
                raise self._exists() from None
            made.rename(target)

    def check_folder(self) -> None:
        """Check that an archive can be made at the path, which then replaces what is there.

        That may be an empty folder, an archive of the first of :attr:`inputs` as it is now, or with ``force`` any other
        archive that has no other files in it. Raises :class:`RefusedError`.
        """
        folder = self._resolved()
        for source in self.inputs:
            if _same(source, folder) or _is_within(source, folder):
                raise RefusedError(
                    phrase(
                        "{folder} can't be written: {file} is read from it", folder=self.path, file=source
                    ),
                    advice=_OTHER_FOLDER,
                )
        if is_archive(folder.parent):
            raise self._in_archive(_OTHER_FOLDER)
        if not os.path.lexists(self.path) or not any(folder.iterdir()) or self._is_of_input(folder):
            return
        strange = next((each.name for each in folder.iterdir() if not _is_of_archive(each)), None)
        if strange is not None:
            raise RefusedError(
                phrase(
                    "{folder} has a file that isn't part of the archive: {file}",
                    folder=self.path,
                    file=strange,
                ),
                advice=_OTHER_FOLDER,
            )
        if not self.force:
            raise RefusedError(
                phrase(
                    "{folder} is an archive of another file, or of another version of this one",
                    folder=self.path,
                ),
                advice=phrase("Choose another folder, or add --force."),
            )

    def _is_of_input(self, archive: Path) -> bool:
        try:
            return read_manifest(archive).source == SourceFile.of(self.inputs[0]) and all(
                map(_is_of_archive, archive.iterdir())
            )
        except (MemlensError, OSError, IndexError):
            return False

    def _check_content(self, target: Path) -> None:
        """Raise :class:`BadRequestError` where a snapshot would be replaced by something else."""
        try:
            kind = snapshot_format(target)
        except OSError as error:
            raise self._impossible(
                phrase("it can't be read, and may be a snapshot: {reason}", reason=reason(error))
            ) from error
        if kind is not None and kind not in self.formats:
            from memlens.formats import title_of

            raise RefusedError(
                phrase(
                    "{file} is not overwritten: it is a snapshot ({format})",
                    file=self._name,
                    format=title_of(kind),
                ),
                advice=phrase("Choose another file, or remove that one first."),
            )

    def _resolved(self) -> Path:
        try:
            return self.path.resolve()
        except (OSError, RuntimeError) as error:
            # a circle of links
            why: Value = reason(error) if isinstance(error, OSError) else str(error)
            raise self._impossible(phrase("{reason}", reason=why)) from error

    @property
    def _name(self) -> Value:
        return self.path.name or self.path

    def _impossible(self, why: Text) -> BadRequestError:
        return BadRequestError(
            phrase("{file} can't be written: {why}", file=self._name, why=why), advice=_OTHER_FILE
        )

    def _in_archive(self, advice: Text) -> RefusedError:
        return RefusedError(
            phrase("{file} can't be written: it is an archive of Memlens, or in one", file=self._name),
            advice=advice,
        )

    def _named_twice(self) -> RefusedError:
        return RefusedError(phrase("{file} is named twice: the same command writes it", file=self._name))

    def _exists(self) -> RefusedError:
        return RefusedError(
            phrase("{file} exists", file=self._name), advice=phrase("Choose another file, or add --force.")
        )


def snapshot_format(path: Path) -> str | None:
    """The name of a file's format by its first bytes; None if it can't be a snapshot.

    Pages and JSON are snapshots only if they look like it, unlike for a reader, which explains what they lack. Raises
    OSError.
    """
    # imported here, because seldom is anything in the way
    from memlens.formats import recognised
    from memlens.formats.containers import open_source

    with path.open("rb"):
        pass
    try:
        with open_source(path, Path(tempfile.gettempdir()), lambda _stage, _fraction: None) as source:
            found = recognised(source)
            own = registry.format_named(found)
            looks_like = None if own is None else own.looks_like
            if looks_like is None:
                return found
            head = source.head(_HEAD_BYTES)
    except MemlensError:
        return None
    return found if looks_like.load()(head) else None


def _lock_of(target: Path) -> threading.Lock:
    """The lock that a thread holds while it writes a file."""
    with _writing_lock:
        return _writing.setdefault(target, threading.Lock())


def remove_leftovers_of(target: Path, kept: tuple[Path, ...] = ()) -> None:
    """Remove what killed processes left of a file that they were writing, except the paths in ``kept``."""
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            found = _PARTIAL.fullmatch(entry.name)
            pid = -1 if found is None else int(found["pid"])
            left = Path(entry.path)
            if entry.name != partial_file(target, pid).name or any(_same(left, each) for each in kept):
                continue
            if (pid == os.getpid() or not is_running(pid)) and not entry.is_dir(follow_symlinks=False):
                left.unlink(missing_ok=True)


def _is_stdin(target: Path) -> bool:
    """Whether the process has the file as its stdin, which a command may read."""
    try:
        return os.path.samestat(os.fstat(0), target.stat())
    except OSError:
        # no stdin, or nothing there yet
        return False


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        # one of them doesn't exist
        return os.path.realpath(one) == os.path.realpath(other)


def _is_within(file: Path, folder: Path) -> bool:
    return any(_same(parent, folder) for parent in file.absolute().resolve().parents)


def _is_of_archive(entry: Path) -> bool:
    return _IN_ARCHIVES.fullmatch(entry.name) is not None and entry.is_file() and not entry.is_symlink()
