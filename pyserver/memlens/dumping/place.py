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
    """Write files into a private folder, which only the process that is to read them can enter."""
    for name, contents in files.items():
        path = folder / name
        path.write_bytes(contents)
        path.chmod(0o644)


def _give(folder: Path, pid: int) -> None:
    """Let the process write into the folder, if it is another user's: only root gets this far then."""
    if sys.platform == "linux" and linux.user_of(pid) != os.geteuid():
        os.chown(folder, linux.user_of(pid), linux.group_of(pid))


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
    raise DumpError(phrase("The process has put something else in the place of its heap dump"))
