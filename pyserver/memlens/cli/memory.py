"""A command's memory limit, and the error when it is exceeded."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from memlens import limits
from memlens.errors import OutOfMemoryError
from memlens.texts import Text, phrase
from memlens.units import format_bytes


@contextlib.contextmanager
def within_memory(file: Path, limit_bytes: int, advice: Text = OutOfMemoryError.advice) -> Iterator[None]:
    """Limit the memory of this process, and read a file within it.

    Raises :class:`OutOfMemoryError` where the limit isn't enough.
    """
    limited = limits.limit(limit_bytes)
    try:
        yield
    except (MemoryError, ImportError, OSError, RuntimeError, SystemError) as error:
        if not (limited and limits.is_reached(error)):
            raise
        message = phrase(
            "Reading {file} needs more than the allowed {limit}", file=file, limit=format_bytes(limit_bytes)
        )
        raise OutOfMemoryError(message, advice=advice) from error
