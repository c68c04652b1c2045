"""The errors that Memlens shows to users: what happened, where in the file, and what to do about it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from memlens.texts import Text, phrase

T = TypeVar("T")


class Problem(Struct, frozen=True):
    """An error as data: what happened, where in the file, what to do."""

    code: str
    message: Text
    advice: Text
    offset: int | None = None
    """Byte offset in the (decompressed) file, if the error has one."""
    retry: bool = True
    """Whether trying again can help."""

    @property
    def sentence(self) -> str:
        """All of it in English, for a terminal or a script."""
        where = ""
        if self.offset is not None:
            # users count characters from 1
            is_query = self.code == "sql"
            where = f" (at character {self.offset + 1:,})" if is_query else f" (at byte {self.offset:,})"
        return f"{self.message}{where}. {self.advice}".strip()


class MemlensError(Exception):
    """An error with a message that a user can act on.

    ``code`` is stable (tests and clients compare it). ``offset`` is a byte offset in the decompressed file.
    """

    code = "error"
    advice = Text("")
    retry = True

    def __init__(self, message: Text, *, offset: int | None = None, advice: Text | None = None) -> None:
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
        return f"{self.message}{where}. {self.advice}".rstrip()


class BadRequestError(MemlensError):
    """A request for something that the snapshot doesn't have, or that makes no sense."""

    code = "bad-request"
    retry = False


class CancelledError(MemlensError):
    """The result is no longer wanted."""

    code = "cancelled"


class FileError(MemlensError):
    """The file can't be read at all."""

    code = "file"
    advice = phrase("Check that the file exists and that you may read it.")


class OutOfMemoryError(MemlensError):
    """Reading needs more memory than the limit allows."""

    code = "out-of-memory"
    advice = phrase("Raise the setting memlens.memory.limit, or open the file on a machine with more memory.")


def reason(error: OSError) -> str:
    """The system's message."""
    return error.strerror or str(error)


def stopped() -> CancelledError:
    """The error of a question that was stopped before it had an answer."""
    return CancelledError(phrase("The request was cancelled"))


def finished(found: T | None) -> T:
    """What a kernel found. Raises :class:`CancelledError` where it was stopped, and has nothing."""
    if found is None:
        raise stopped()
    return found


@contextlib.contextmanager
def naming(file: Path) -> Iterator[None]:
    """Put the file's name before the messages of the block's errors."""
    try:
        yield
    except MemlensError as error:
        named(error, file)
        raise


def named(error: MemlensError, file: Path) -> MemlensError:
    """Put the file's name before an error's message, unless that has it."""
    if file.name not in error.message.text:
        error.message = phrase("{file}: {problem}", file=file, problem=error.message)
    return error
