"""The header of a memray capture.

Source: ``src/memray/_memray/records.h`` and ``record_writer.cpp`` of memray.
"""

import struct
from typing import NamedTuple

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.texts import phrase

MAGIC = b"memray\0"
VERSIONS = {9: "1.4 to 1.6", 10: "1.7 to 1.10", 11: "1.11 to 1.18", 12: "1.19", 13: "1.20"}
"""The versions of memray that write each version of the header, for people."""

_KIND, _TRACED, _PYTHON, _PATHS = 10, 11, 12, 13
"""The first versions of the header that say whether the capture is aggregated, whether Python's allocations were
recorded, the version of Python, and where it looked for modules."""
_HEAD_BYTES = (1 << 16, 1 << 24)
_ALLOCATORS = {
    1: "pymalloc", 2: "pymalloc debug", 3: "malloc", 4: "other", 5: "mimalloc", 6: "mimalloc debug",
}  # fmt: skip


class Header(NamedTuple):
    """What a capture says before its first record. Times are in milliseconds since 1970."""

    version: int
    native: bool
    aggregated: bool
    allocations: int
    start_ms: int
    end_ms: int
    command: str
    python: int = 0
    """The version of Python, in hexadecimal as CPython writes it; 0 if unknown."""
    main_thread: int = 0
    skipped_frames: int = 0
    """The outermost frames of the main thread that aren't the program's."""
    allocator: str = "other"
    traced: int = -1
    """Whether Python's own allocations were recorded: 1, 0, or -1 if unknown."""
    size_bytes: int = 0

    @property
    def written_by(self) -> str:
        """The versions of memray that write such captures, for people: ``1.7 to 1.10``."""
        return VERSIONS[self.version]


class _TruncatedError(Exception):
    pass


class _Fields:
    """Reads the fields of a header one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = len(MAGIC)

    def number(self, form: str) -> int:
        fixed = struct.Struct(f"<{form}")
        if self.at + fixed.size > len(self.data):
            raise _TruncatedError
        (value,) = fixed.unpack_from(self.data, self.at)
        self.at += fixed.size
        return int(value)

    def text(self) -> str:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise _TruncatedError
        text = self.data[self.at : end].decode("utf-8", "replace")
        self.at = end + 1
        return text


def read_header(source: Source) -> Header:
    """Read the header of a capture. Raises :class:`NotASnapshotError` and :class:`DamagedSnapshotError`."""
    for most in _HEAD_BYTES:
        try:
            return _header(_Fields(source.head(most)))
        except _TruncatedError:
            continue
    raise DamagedSnapshotError(phrase("The capture is truncated within its header"))


def _header(fields: _Fields) -> Header:
    version = fields.number("i")
    if version not in VERSIONS:
        older = version < min(VERSIONS)
        raise NotASnapshotError(
            phrase(
                "The capture has version {version} of memray's format, from memray before 1.4"
                if older
                else "The capture has version {version} of memray's format, which is newer than Memlens knows",
                version=version,
            ),
            advice=phrase(
                "Make a flame graph of it with the memray that recorded it: python -m memray flamegraph FILE."
            )
            if older
            else phrase("Update Memlens; or record with memray 1.20."),
        )
    python = fields.number("i") if version >= _PYTHON else 0
    native = fields.number("B")
    aggregated = fields.number("B") if version >= _KIND else 0
    allocations, _, start_ms, end_ms = (fields.number("q") for _ in range(4))
    command = fields.text()
    fields.number("i")  # the process
    main_thread, skipped = fields.number("Q"), fields.number("Q")
    allocator = _ALLOCATORS.get(fields.number("B"), "other")
    traced = int(fields.number("B") != 0) if version >= _TRACED else -1
    if version >= _PYTHON:
        fields.number("B")  # whether objects were recorded, too
    if version >= _PATHS:
        fields.text()
        for _ in range(2):
            while fields.text():
                pass
    return Header(
        version, bool(native), aggregated == 1, allocations, start_ms, end_ms, command, python, main_thread,
        skipped, allocator, traced, fields.at,
    )  # fmt: skip
