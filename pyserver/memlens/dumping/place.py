"""Where a dump is written until it is whole: a folder beside its place that only its owner can look into."""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from memlens.dumping import linux
from memlens.errors import BadRequestError
from memlens.store.files.disk import make_private, partial_file, room_in
from memlens.texts import phrase

_CHUNK_BYTES = 1 << 20


def check(out: Path, *, force: bool) -> None:
    """Raise :class:`BadRequestError` where no file can be written, or one would be overwritten without ``force``."""
    if not out.parent.is_dir():
        raise BadRequestError(
            phrase("There is no folder {folder}", folder=out.parent), advice=phrase("Choose another file.")
        )
    if out.is_dir() or (out.exists() and not force):
        raise BadRequestError(
            phrase("{file} exists", file=out.name), advice=phrase("Choose another file, or add --force.")
        )


@contextlib.contextmanager
def writing(out: Path, pid: int) -> Iterator[Path]:
    """A path in a private folder for the dump of a process, which becomes ``out`` if the block succeeds.

    The folder has a short life: whoever is still writing when it is removed can't leave a file behind.
    """
    folder = partial_file(out, os.getpid())
    advice = phrase("Free some space on it, or write the file elsewhere.")
    with room_in(out.parent, out.name, advice=advice):
        folder.mkdir(mode=0o700)
        try:
            _give(folder, pid)
            file = folder / "heap"
            yield file
            _own(file)
            file.replace(out)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def written_by(pid: int, file: Path) -> Iterator[str]:
    """The path, as a process sees it, for it to write what is to become ``file``.

    In a container it can't see this one's folder, and writes into its own /tmp, from where its file is copied.
    """
    if sys.platform != "linux" or linux.sees(pid, file.parent):
        yield str(file)
        return
    root = linux.root_of(pid)
    folder = Path("/tmp", f"memlens-{os.getpid()}-{file.parent.stat().st_ino}")  # noqa: S108 - of the other process
    inside = root / folder.relative_to("/")
    with room_in(
        folder.parent, file.name, advice=phrase("It is the disk of a container; free some space on it.")
    ):
        inside.mkdir(mode=0o700)
        try:
            _give(inside, pid)
            yield str(folder / file.name)
            if (inside / file.name).exists():
                with (inside / file.name).open("rb") as source, file.open("xb") as target:
                    shutil.copyfileobj(source, target, _CHUNK_BYTES)
        finally:
            shutil.rmtree(inside, ignore_errors=True)


def _give(folder: Path, pid: int) -> None:
    """Let the process write into the folder, if it is another user's: only root gets this far then."""
    if sys.platform == "linux" and linux.user_of(pid) != os.geteuid():
        os.chown(folder, linux.user_of(pid), linux.group_of(pid))


def _own(file: Path) -> None:
    """Make a file that a process has written private to this user."""
    if sys.platform != "win32" and file.stat().st_uid != os.geteuid():
        os.chown(file, os.geteuid(), os.getegid())
    make_private(file)
