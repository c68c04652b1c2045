"""The reader for a file."""

from collections.abc import Iterable
from pathlib import Path

from memlens.errors import BadRequestError
from memlens.packs import registry
from memlens.packs.api import Format
from memlens.proof.items import Keeps, Reader
from memlens.proof.profiles import ProfileReader
from memlens.proof.stream import Stream
from memlens.texts import in_a_row, phrase


def reader_of(path: Path, keeps: Keeps) -> Reader:
    """The reader of a heap dump, by its first bytes. Raises :class:`BadRequestError` for another file."""
    reader = _kind_of(path, [each for each in registry.formats().values() if each.objects is not None])
    if reader is None:
        raise BadRequestError(
            phrase("{file} is not a heap dump that can be verified", file=path.name),
            advice=phrase(
                "Heap dumps of {others} can be.",
                others=in_a_row(registry.heap_worlds(proved=True), ", "),
            ),
        )
    return reader(path, keeps)


def texts_of(path: Path) -> Reader:
    """The reader of a heap dump or a profile, for its texts."""
    # a profile may be recognised by what it isn't
    formats = sorted(registry.formats().values(), key=lambda each: each.objects is None)
    return (_kind_of(path, formats) or ProfileReader)(path, Keeps())


def _kind_of(path: Path, formats: Iterable[Format]) -> type[Reader] | None:
    with Stream.of(path) as stream:
        head = stream.peek(4096)
    words = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    for known in (each.proof for each in formats):
        if known is not None and known.recognises.load()(words):
            return known.reader.load()
    return None
