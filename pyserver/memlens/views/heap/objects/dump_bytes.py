"""What the dump has and its archive lacks: pixels and long arrays. The file must be the one that was read."""

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
    """The dump can't be read or shown; the text says why."""

    def __init__(self, said: Text) -> None:
        super().__init__(said.text)
        self.said = said


class DumpReader:
    """Reads spans of the unpacked dump, which is opened for the first of them.

    A compressed dump is unpacked up to each span, and from its beginning again for a span before the last one. Ask for
    spans in the order of the file.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._stack = ExitStack()
        self._source: Source | None = None
        self._chunks: Iterator[memoryview] | None = None
        self._chunk = memoryview(b"")
        self._at = 0
        """Where the chunk begins in the unpacked dump."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._source, self._chunks, self._chunk = None, None, memoryview(b"")
        self._stack.close()

    def read(self, offset: int, size: int) -> bytes:
        """A span of the unpacked dump; less where it ends.

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
            # none is kept meanwhile: an error ends these chunks, and the next span begins again
            chunks, self._chunks, self._chunk = self._chunks, None, memoryview(b"")
            chunk = next(chunks, None)
            self._chunks = chunks
            if chunk is None:
                break
            self._chunk = chunk
        return bytes(found)


def spans_of(snapshot: Snapshot, ranges: Sequence[Range]) -> Iterator[bytes]:
    """Spans of the unpacked dump, which ascend; see :meth:`DumpReader.read`."""
    with DumpReader(snapshot) as reader:
        for offset, size in ranges:
            yield reader.read(offset, size)
