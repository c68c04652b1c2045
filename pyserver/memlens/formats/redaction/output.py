"""The file into which a dump is written anew, compressed as its name says, and the loop that fills it."""

import contextlib
import gzip
from collections.abc import Iterator
from typing import BinaryIO, Protocol, cast

import zstandard

_BUFFER_BYTES = 4 << 20
_GZIP_LEVEL = 6


class Output(Protocol):
    """What is written from its first byte to its last."""

    def write(self, data: "bytes | memoryview", /) -> int:
        """Append bytes."""


class Filler(Protocol):
    """The interface of kernels that write a part of a file into a buffer, again and again."""

    @property
    def offset(self) -> int:
        """The offset in the file that is read before which nothing is needed any more."""

    needed: int
    """The size of buffer that the next record takes, after a call for which there was too little room; else 0."""

    def fill(self, out: bytearray) -> int:
        """Write what comes next, and return how many bytes that is; 0 at the end, or if there is too little room."""


@contextlib.contextmanager
def compressed(file: BinaryIO, name: str) -> Iterator[Output]:
    """What is written to ``file`` through this is compressed if ``name`` ends in ``.gz`` or ``.zst``."""
    if name.endswith(".gz"):
        # without the name and the time, which say nothing of the dump
        with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as packed:
            yield cast("Output", packed)
    elif name.endswith(".zst"):
        with zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False) as stream:
            yield cast("Output", stream)
    else:
        yield cast("Output", file)


def pour(filler: Filler, output: Output) -> Iterator[int]:
    """Write all that ``filler`` has. Yields the bytes of each part, for progress."""
    buffer = bytearray(_BUFFER_BYTES)
    while True:
        count = filler.fill(buffer)
        if count:
            with memoryview(buffer) as whole, whole[:count] as part:
                output.write(part)
            yield count
        elif filler.needed:
            buffer = bytearray(filler.needed)
        else:
            return
