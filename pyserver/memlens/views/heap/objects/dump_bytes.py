"""Reads what is in the dump but not in its archive: pixels and long arrays. The file must be the archived one."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from memlens.errors import FileError
from memlens.formats.containers import ChangedFileError, Source, open_source
from memlens.formats.packing import DamagedContainerError
from memlens.store.manifest import SourceFile
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase

Range = tuple[int, int]
"""An offset in the unpacked dump and a number of bytes."""


class NotReadError(Exception):
    """The dump can't be read or shown; ``said`` says why."""

    def __init__(self, said: Text) -> None:
        super().__init__(said.text)
        self.said = said


class DumpReader:
    """Reads spans of the unpacked dump, which is opened at the first read.

    A compressed dump is unpacked up to each span, and from the start again for a span before the last one: read spans
    in the order of the file.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._stack = ExitStack()
        self._source: Source | None = None
        self._chunks: Iterator[memoryview] | None = None
        self._chunk = memoryview(b"")
        self._at = 0
        """The offset of the chunk in the unpacked dump."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._source, self._chunks, self._chunk = None, None, memoryview(b"")
        self._stack.close()

    def read(self, offset: int, size: int) -> bytes:
        """Return a span of the unpacked dump; shorter at its end.

        Raises :class:`CancelledError` and :class:`NotReadError`.
        """
        known = self._snapshot.manifest.source
        try:
            source = self._source = self._source or self._opened(known)
            self._stop()
            data = (
                self._unpacked(source, offset, size)
                if source.is_packed
                else source.data[offset : offset + size]
            )
            source.check()
        except (OSError, FileError):
            raise NotReadError(
                phrase("That is only in {path}, which no longer exists or can't be read", path=known.path)
            ) from None
        except (ChangedFileError, DamagedContainerError) as error:
            raise NotReadError(error.message) from None
        return data

    def _opened(self, known: SourceFile) -> Source:
        path = Path(known.path)
        if SourceFile.of(path) != known:
            raise NotReadError(
                phrase("{file} was changed since it was read: what is in it isn't shown", file=path.name)
            )
        return self._stack.enter_context(open_source(path, Path(tempfile.gettempdir()), self._stop))

    def _stop(self, _stage: str = "", _fraction: float = 0.0) -> None:
        self._snapshot.go_on()

    def _unpacked(self, source: Source, offset: int, size: int) -> bytes:
        if self._chunks is None or offset < self._at:
            self._chunks, self._chunk, self._at = source.chunks(self._stop), memoryview(b""), 0
        found = bytearray()
        while len(found) < size:
            first = offset + len(found) - self._at
            if first < len(self._chunk):
                found += self._chunk[first : first + size - len(found)]
                continue
            self._at += len(self._chunk)
            # cleared first: an error ends these chunks, and the next read starts again
            chunks, self._chunks, self._chunk = self._chunks, None, memoryview(b"")
            chunk = next(chunks, None)
            self._chunks = chunks
            if chunk is None:
                break
            self._chunk = chunk
        return bytes(found)


def spans_of(snapshot: Snapshot, ranges: Sequence[Range]) -> Iterator[bytes]:
    """Yield ascending spans of the unpacked dump; see :meth:`DumpReader.read`."""
    with DumpReader(snapshot) as reader:
        for offset, size in ranges:
            yield reader.read(offset, size)
