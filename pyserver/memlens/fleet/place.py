"""Where a fleet's files are: a folder, a glob or a URL of a store.

A URL with a password or a key is refused, so none can get into summaries, logs or the scheduler's messages.
"""

import os
import re
import shutil
from pathlib import Path

from msgspec import Struct

from memlens.errors import BadRequestError, Problem
from memlens.remote_files import Place, opened
from memlens.store.files.cache import partial_folder
from memlens.store.files.output import Output
from memlens.store.files.processes import is_running
from memlens.store.manifest import FILE_NAME as MANIFEST
from memlens.texts import phrase

_MAGIC = re.compile(r"[*?\[]")
_DIGITS = re.compile(r"(\d+)")
_UNFINISHED = re.compile(r"[0-9a-f]+-\d+\.partial-(\d+)")


class FleetFile(Struct, frozen=True):
    """A file of a fleet as its store lists it."""

    name: str
    """Its path below the place."""
    url: str
    """Its URL; a path for local files."""
    size_bytes: int
    identity: str
    """Shows whether it has changed: its size, with the store's tag or the time."""
    problem: Problem | None = None
    """Why no worker can read it; a folder that can't be listed represents everything below it."""


def root_of(place: Place) -> str | None:
    """The folder below which a glob matches; None for a place that is not a glob.

    An existing local path is not a glob, even if its name has a glob's characters.
    """
    if not _MAGIC.search(place.path) or (place.is_local and os.path.lexists(place.path)):
        return None
    return _MAGIC.split(place.path)[0].rpartition("/")[0]


def url_of(place: Place, name: str) -> str:
    """The location of the file that :func:`files_of` calls ``name``: a path or, in a store, a URL; it isn't looked up.

    Raises :class:`BadRequestError` for a name that leads out of the place.
    """
    if not name or name.startswith("/") or ".." in name.split("/"):
        raise BadRequestError(phrase("{name} is not a file below {named}", name=name, named=place.named))
    path, root = place.path.rstrip("/"), root_of(place)
    if root is None:
        is_file = path.rpartition("/")[2] == name and not (place.is_local and Path(path).is_dir())
        root = path.rpartition("/")[0] if is_file else path
    return place.url_of(f"{root}/{name}")


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts numbers in names as numbers."""
    return [
        (0, int(part), "") if part.isdecimal() and part.isascii() else (1, 0, part)
        for part in _DIGITS.split(name)
        if part
    ]


def keep(archive: Path, place: Place, name: str) -> None:
    """Copy an archive to the place for archives that the user named. Raises :class:`StoreError` and OSError."""
    if place.is_local:
        target = Path(place.path) / name
        Output(target, force=True).check_folder()
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = partial_folder(target, os.getpid())
        try:
            shutil.move(archive, partial)
            shutil.rmtree(target, ignore_errors=True)
            partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return
    target_name = f"{place.path.rstrip('/')}/{name}"
    with opened(place) as store:
        # the manifest last, because without it the folder isn't an archive yet
        files = (path for path in archive.rglob("*") if path.is_file())
        for source in sorted(files, key=lambda path: (path.name == MANIFEST, path)):
            inside = f"{target_name}/{source.relative_to(archive).as_posix()}"
            if place.scheme == "ssh":
                store.makedirs(inside.rpartition("/")[0], exist_ok=True)
            store.put_file(str(source), inside)


def remove_unfinished(place: Place) -> None:
    """Remove unfinished copies of archives that were left there by ended processes of this machine."""
    for folder in Path(place.path).glob("*.partial-*") if place.is_local else ():
        unfinished = _UNFINISHED.fullmatch(folder.name)
        if unfinished is not None and not is_running(int(unfinished[1])):
            shutil.rmtree(folder, ignore_errors=True)
