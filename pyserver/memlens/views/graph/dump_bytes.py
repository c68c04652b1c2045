"""What is in the dump itself and not in its archive: pixels, and long arrays. It must be the file that was read."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from memlens.errors import FileError
from memlens.formats.containers import ChangedFileError, Source, open_source
from memlens.formats.packing import DamagedContainerError
from memlens.store.manifest import SourceFile
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.views.graph.stopped import stopped

Range = tuple[int, int]
"""An offset in the unpacked dump and a number of bytes."""


class NotReadError(Exception):
    """It can't be read or shown; the text says why."""

    def __init__(self, said: Text) -> None:
        super().__init__(said.text)
        self.said = said


def stretches_of(snapshot: Snapshot, ranges: Sequence[Range]) -> Iterator[bytes]:
    """Stretches of the unpacked dump, which ascend, none within another; less where the dump ends. Nothing is kept.

    Raises :class:`CancelledError` and :class:`NotReadError`.
    """
    known, work = snapshot.manifest.source, snapshot.work
    path = Path(known.path)

    def stop(_stage: str, _fraction: float) -> None:
        if work.is_stopped:
            raise stopped()

    if not ranges:
        return
    try:
        if SourceFile.of(path) != known:
            raise NotReadError(
                phrase("{file} was changed since it was read: what is in it isn't shown", file=path.name)
            )
        with open_source(path, Path(tempfile.gettempdir()), stop) as source:
            for data in _parts(source, ranges, stop):
                source.check()
                yield data
    except (OSError, FileError):
        raise NotReadError(
            phrase("That is only in {path}, which no longer exists or can't be read", path=known.path)
        ) from None
    except (ChangedFileError, DamagedContainerError) as error:
        raise NotReadError(error.message) from None


def _parts(source: Source, ranges: Sequence[Range], stop: Any) -> Iterator[bytes]:
    """Parts of a source: of a compressed one all before each is unpacked as well, but not kept."""
    if not source.is_packed:
        for offset, size in ranges:
            stop("reading", 0.0)
            yield source.data[offset : offset + size]
        return
    left, found, at = list(reversed(ranges)), bytearray(), 0
    for chunk in source.chunks(stop):
        while left:
            offset, size = left[-1]
            first = max(offset + len(found) - at, 0)
            if first < len(chunk):
                found += chunk[first : first + size - len(found)]
            if len(found) < size:
                break
            left.pop()
            yield bytes(found)
            found = bytearray()
        if not left:
            return
        at += len(chunk)
    for _ in left:
        yield bytes(found)
        found = bytearray()
