"""What may be wrong with a snapshot that a request names."""

from memlens.errors import MemlensError
from memlens.texts import phrase


class NotOpenError(MemlensError):
    """The request names a snapshot that is not open."""

    code = "closed"
    advice = phrase("Open the file again.")


class DamagedError(MemlensError):
    """The stored copy of a snapshot is damaged on disk, so a question can't be answered from it."""

    code = "damaged"
    advice = phrase("Memlens reads the file again.")
