"""Why a process's heap can't be written, in sentences."""

from memlens.errors import MemlensError, reason
from memlens.texts import Text, phrase


class DumpError(MemlensError):
    """The process can't be reached, or can't write its heap."""

    code = "dump"


def ended(process_id: int) -> DumpError:
    """The error for a process that ended meanwhile."""
    return DumpError(
        phrase("Process {pid} ended before its heap was written", pid=str(process_id)),
        advice=phrase("Try another process."),
    )


def no_answer(process_id: int, timeout_s: float, advice: Text) -> DumpError:
    """The error for a process that doesn't begin to write its heap."""
    message = phrase(
        "Process {pid} did not answer within {seconds} s", pid=str(process_id), seconds=f"{timeout_s:g}"
    )
    return DumpError(message, advice=advice)


def out_of_reach(process_id: int, error: OSError) -> DumpError:
    """The error for a process whose files this user can't look at."""
    return DumpError(
        phrase("Process {pid} can't be reached: {reason}", pid=str(process_id), reason=reason(error)),
        advice=phrase(
            "It runs in a container or as another user; run `memlens dump` as root, or inside the container."
        ),
    )
