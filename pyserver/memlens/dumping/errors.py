"""Why a program's heap can't be written, in sentences."""

from memlens.errors import MemlensError, reason
from memlens.texts import Text, phrase


class DumpError(MemlensError):
    """The program can't be reached, or can't write its heap."""

    code = "dump"


def process_of(process_id: int) -> Text:
    """A process's name at the beginning of a sentence."""
    return phrase("Process {pid}", pid=str(process_id))


def ended(program: Text) -> DumpError:
    """The error for a program that ended meanwhile."""
    return DumpError(
        phrase("{program} ended before its heap was written", program=program),
        advice=phrase("Try another process."),
    )


def no_answer(program: Text, timeout_s: float, advice: Text) -> DumpError:
    """The error for a program that doesn't begin to write its heap."""
    message = phrase("{program} did not answer within {seconds} s", program=program, seconds=f"{timeout_s:g}")
    return DumpError(message, advice=advice)


def out_of_reach(process_id: int, error: OSError) -> DumpError:
    """The error for a process whose files this user can't look at."""
    return DumpError(
        phrase("Process {pid} can't be reached: {reason}", pid=str(process_id), reason=reason(error)),
        advice=phrase(
            "It runs in a container or as another user; run `memlens dump` as root, or inside the container."
        ),
    )
