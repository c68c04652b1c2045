"""The errors that Memlens shows to users: what happened, where in the file, and what to do about it."""

from msgspec import Struct


class Problem(Struct, frozen=True):
    """An error for users: what happened, where in the file, what to do."""

    code: str
    message: str
    advice: str
    offset: int | None = None
    """Byte offset in the (decompressed) file, if the error has one."""
    retry: bool = True
    """Whether trying again can help."""


class MemlensError(Exception):
    """An error with a message that a user can act on.

    ``code`` is stable (tests and clients compare it). ``offset`` is a byte offset in the decompressed file.
    """

    code = "error"
    advice = ""
    retry = True

    def __init__(self, message: str, *, offset: int | None = None, advice: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        if advice is not None:
            self.advice = advice

    def problem(self) -> Problem:
        """Return the error as data, for the wire."""
        return Problem(self.code, self.message, self.advice, self.offset, self.retry)

    def __str__(self) -> str:
        where = "" if self.offset is None else f" (at byte {self.offset:,})"
        sentence = f"{self.message}{where}."
        return f"{sentence} {self.advice}" if self.advice else sentence


class BadRequestError(MemlensError):
    """A request for something that the snapshot doesn't have, or that makes no sense."""

    code = "bad-request"
    retry = False


class OutOfMemoryError(MemlensError):
    """Reading needs more memory than the limit allows."""

    code = "out-of-memory"
    advice = "Raise the setting memlens.memory.limit, or open the file on a machine with more memory."
