"""Verifies an archive's files against the checksums in its manifest, in steps that can be stopped."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from memlens.errors import reason
from memlens.kernels.base.checksum import Checksum
from memlens.store.manifest import FILE_NAME, ArchiveError, Manifest, is_of_process
from memlens.texts import phrase

_STEP_BYTES = 1 << 20


class StoppedError(Exception):
    """The verification was stopped."""


def file_checksum(path: Path, size: int | None = None, stop: Callable[[], bool] = lambda: False) -> str:
    """The checksum of a file, or of its first ``size`` bytes. Raises OSError and :class:`StoppedError`.

    The file is read and not mapped, because mapped pages of a large archive would count as this process's memory.
    """
    checksum = Checksum()
    buffer = bytearray(_STEP_BYTES)
    left = path.stat().st_size if size is None else size
    with path.open("rb", buffering=0) as file:
        while left > 0:
            if stop():
                raise StoppedError
            count = file.readinto(memoryview(buffer)[: min(left, _STEP_BYTES)])
            if not count:
                break
            checksum.update(memoryview(buffer)[:count])
            left -= count
    return checksum.hexdigest()


def verify(
    archive: Path,
    manifest: Manifest,
    held: BinaryIO,
    stop: Callable[[], bool] = lambda: False,
    names: Iterable[str] | None = None,
) -> None:
    """Check columns, of ``names`` or all. Raises :class:`ArchiveError` and :class:`StoppedError`.

    ``held`` is the open manifest file. If the open archive was replaced or removed, there is nothing to verify, and
    that counts as stopped.
    """
    for name in manifest.columns if names is None else names:
        if not manifest.columns[name].bytes:
            # it has no file
            continue
        try:
            whole = file_checksum(archive / name, stop=stop) == manifest.columns[name].checksum
        except OSError as error:
            if is_of_process(error):
                raise StoppedError from error
            _check_place(archive, held)
            raise ArchiveError(
                phrase(
                    "The archive {archive} is damaged: {name}: {reason}",
                    archive=archive.name,
                    name=name,
                    reason=reason(error),
                )
            ) from error
        if not whole:
            _check_place(archive, held)
            raise wrong_checksum(archive, name)


def wrong_checksum(archive: Path, name: str) -> ArchiveError:
    """The error for a file of an archive that isn't what was written."""
    return ArchiveError(
        phrase(
            "The archive {archive} is damaged: {name} has the wrong checksum", archive=archive.name, name=name
        )
    )


def _check_place(archive: Path, held: BinaryIO) -> None:
    """Raises :class:`StoppedError` if the folder isn't the one that was opened."""
    try:
        same = os.path.samestat(os.fstat(held.fileno()), (archive / FILE_NAME).stat())
    except (OSError, ValueError):
        same = False
    if not same:
        raise StoppedError
