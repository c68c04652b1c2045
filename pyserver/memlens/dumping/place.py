"""Where a dump is written until it is whole: a folder beside its place that only its owner can look into."""

import contextlib
import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from memlens.dumping import linux
from memlens.dumping.errors import DumpError
from memlens.store.files.disk import make_private, partial_file, room_in
from memlens.store.files.output import Output
from memlens.texts import phrase

_CHUNK_BYTES = 1 << 20


@contextlib.contextmanager
def writing(output: Output, pid: int | None) -> Iterator[Path]:
    """A path in a private folder for a dump, which becomes ``output`` if the block succeeds.

    The process ``pid``, if there is one, can write there.
    The folder has a short life: whoever is still writing when it is removed can't leave a file behind.
    """
    out = output.check()
    folder = partial_file(out, os.getpid())
    advice = phrase("Free some space on it, or write the file elsewhere.")
    with room_in(out.parent, out.name, advice=advice):
        folder.mkdir(mode=0o700)
        try:
            if pid is not None:
                _give(folder, pid)
            file = folder / "heap"
            yield file
            _own(file)
            output.put(file, out)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def written_by(pid: int, file: Path, beside: Mapping[str, bytes] = MappingProxyType({})) -> Iterator[str]:
    """The path, as a process sees it, for it to write what is to become ``file``; ``beside`` are files for it to read.

    In a container it can't see this one's folder, and writes into its own /tmp, from where its file is copied.
    """
    if sys.platform != "linux" or linux.sees(pid, file.parent):
        _place(file.parent, beside)
        yield str(file)
        return
    folder = Path("/tmp", f"memlens-{os.getpid()}-{file.parent.stat().st_ino}")  # noqa: S108 - of the other process
    advice = phrase("It is the disk of a container; free some space on it.")
    with room_in(folder.parent, file.name, advice=advice), linux.temporary_folder(pid) as temporary:
        inside = temporary / folder.name
        inside.mkdir(mode=0o700)
        try:
            _place(inside, beside)
            _give(inside, pid)
            yield str(folder / file.name)
            if (inside / file.name).is_file():
                with open(_regular(inside / file.name), "rb") as source, file.open("xb") as target:
                    shutil.copyfileobj(source, target, _CHUNK_BYTES)
        finally:
            shutil.rmtree(inside, ignore_errors=True)


def _place(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a private folder, which only the process that is to read them can enter.

    It may be another user's by now, who has put a link in the place of one of them, or of the folder.
    """
    if not files:
        return
    with _entered(folder) as at:
        for name, contents in files.items():
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
            path = folder / name if at is None else name
            try:
                opened = os.open(path, flags, 0o644, dir_fd=at)
            except FileExistsError:
                raise _exchanged() from None
            with os.fdopen(opened, "wb") as file:
                file.write(contents)
                if at is not None:
                    # whatever the umask is
                    os.fchmod(opened, 0o644)


def _give(folder: Path, pid: int) -> None:
    """Let the process write into the folder, if it is another user's: only root gets this far then."""
    if sys.platform == "linux" and linux.user_of(pid) != os.geteuid():
        with _entered(folder) as at:
            if at is None or os.fstat(at).st_uid != os.geteuid():
                raise _exchanged()
            os.fchown(at, linux.user_of(pid), linux.group_of(pid))


@contextlib.contextmanager
def _entered(folder: Path) -> Iterator[int | None]:
    """A folder that no link leads to, by a number under which it stays the same one; None where there are none."""
    if sys.platform == "win32":
        yield None
        return
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        raise _exchanged() from None
    try:
        yield opened
    finally:
        os.close(opened)


def _exchanged() -> DumpError:
    return DumpError(phrase("The process has put something else in the place of its heap dump"))


def _own(file: Path) -> None:
    """Make a file that a process has written private to this user."""
    if sys.platform == "win32":
        make_private(file)
        return
    opened = _regular(file)
    try:
        if os.fstat(opened).st_uid != os.geteuid():
            os.fchown(opened, os.geteuid(), os.getegid())
        os.fchmod(opened, 0o600)
    finally:
        os.close(opened)


def _regular(file: Path) -> int:
    """Open a file in a folder of another user's, who may have put a link to a third one's in its place."""
    opened = -1
    try:
        opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        found = os.fstat(opened)
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
            return opened
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    if opened >= 0:
        os.close(opened)
    raise _exchanged()
