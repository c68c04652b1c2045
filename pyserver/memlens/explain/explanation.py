"""Explains a text: finds the messages in it that Memlens knows, and asks each one's reader.

The kernel's and the containers' are listed here; those of runtimes are declared by their packs.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from memlens.errors import BadRequestError
from memlens.explain.answers import Explained, Explanation, NotMemory, Recording
from memlens.explain.text import Log
from memlens.packs import registry
from memlens.packs.api import Message, NextTime, Part
from memlens.texts import Text, in_a_row, phrase

MOST_BYTES = 16 << 20
"""The most of a text that is read, its end if it is longer."""
MOST_SHOWN = 20
_MOST_READ = 1_000
"""Messages of a kind that are read in one text."""
_MOST_LINES, _MOST_PASSES = 100_000, 3
"""So many lines may be looked at for a kind, and so many times all lines: real logs need fewer."""

_MOST_BETWEEN = 6
"""Lines between two messages that say the same of one end."""

_HERE = "memlens.explain"

SYSTEM = (
    Message(
        name="kernel",
        title=phrase("lines of the kernel's out-of-memory killer"),
        signs=("Killed process ",),
        read=Part(f"{_HERE}.kernel:killed_by_kernel"),
    ),
    Message(
        name="systemd-oomd",
        title=phrase("lines of systemd-oomd"),
        signs=("due to memory ",),
        read=Part(f"{_HERE}.kernel:killed_by_oomd"),
    ),
    Message(
        name="oom-killed",
        title=phrase("OOMKilled in kubectl describe, a pod's status or docker inspect"),
        signs=("OOMKilled",),
        read=Part(f"{_HERE}.containers:oom_killed"),
    ),
    Message(
        name="evicted",
        title=phrase("a pod's eviction"),
        signs=("The node was low on resource: memory",),
        read=Part(f"{_HERE}.containers:evicted"),
    ),
    Message(
        name="memory-events",
        title=phrase("memory.events of a control group"),
        signs=("oom_kill ",),
        read=Part(f"{_HERE}.containers:events_of_group"),
    ),
    Message(
        name="slurm",
        title=phrase("Slurm's error about an oom_kill event"),
        signs=("oom_kill event", "oom-kill event"),
        read=Part(f"{_HERE}.containers:killed_in_slurm"),
    ),
    Message(
        name="sigkill",
        title=phrase("an exit code of 137, or Killed"),
        signs=(
            "code 137",
            "code: 137",
            "status 137",
            "Exited (137)",
            "Exit Code:    137",
            'xitCode": 137',
            "xitCode: 137",
            "Killed  ",
            "Killed\n",
        ),
        read=Part(f"{_HERE}.containers:ended_by_sigkill"),
    ),
    Message(
        name="smaps",
        title=phrase("/proc/PID/smaps"),
        signs=("KernelPageSize:",),
        read=Part(f"{_HERE}.maps:mappings"),
    ),
    Message(
        name="smaps-rollup",
        title=phrase("/proc/PID/smaps_rollup"),
        signs=("[rollup]",),
        read=Part(f"{_HERE}.maps:rollup"),
    ),
    Message(
        name="status",
        title=phrase("/proc/PID/status"),
        signs=("VmRSS:",),
        read=Part(f"{_HERE}.maps:status"),
    ),
)

ANY_RUNTIME = Recording(
    section="any of them",
    recording="memlens dump PID FILE --every 60 --count 10",
    leaves=phrase(
        "A series of heap dumps while it runs; comparing the last with an earlier one shows what grows."
    ),
)
"""What can be recorded of a process that no pack knows by its name."""


class _Kind(NamedTuple):
    message: Message
    next_time: NextTime | None


def kinds() -> Iterator[_Kind]:
    """All messages that Memlens knows, with what their pack says of the next time."""
    for message in SYSTEM:
        yield _Kind(message, None)
    for message, next_time in registry.messages():
        yield _Kind(message, next_time)


def signs() -> list[str]:
    """All texts of which at least one stands in whatever can be explained."""
    return sorted({sign for each in kinds() for sign in each.message.signs})


def known() -> Text:
    """The list of what can be explained, for a sentence."""
    return in_a_row([each.message.title for each in kinds() if each.message.title.text], "; ")


def explain(text: str, name: Text) -> Explained:
    """Explain a text, called ``name`` in errors. Raises :class:`BadRequestError` if nothing in it is known."""
    if not text.strip():
        raise BadRequestError(phrase("{name} is empty", name=name), advice=_PASTE)
    if "\0" in text:
        raise BadRequestError(
            phrase("{name} is no text", name=name),
            advice=phrase("If it is a snapshot, open it: memlens info FILE says what kind it is."),
        )
    log = Log(text)
    found: list[Explanation] = []
    others: list[NotMemory] = []
    left_out = 0
    for kind in kinds():
        own, more, misread = _of_kind(log, kind)
        found += own
        others += misread
        left_out += more
    if any(each.ended_by not in ("unknown", "nobody") for each in found):
        # what doesn't know who ended the process gives way to what does
        found = [each for each in found if each.ended_by != "unknown"]
    if not found:
        raise _refused(name, others)
    found.sort(key=lambda each: (each.first_line, each.last_line))
    if len(found) > MOST_SHOWN:
        left_out += len(found) - MOST_SHOWN
        found = found[-MOST_SHOWN:]
    notes = [each.title for each in others[:MOST_SHOWN]]
    return Explained(found, left_out, notes)


_PASTE = phrase("Give it the lines around the end of the process.")


def _refused(name: Text, others: list[NotMemory]) -> BadRequestError:
    if others:
        first = others[0]
        return BadRequestError(
            phrase(
                "Line {line} of {name} is about something else. {what}",
                line=first.first_line,
                name=name,
                what=first.title,
            ),
            advice=first.advice,
        )
    return BadRequestError(
        phrase("{name} has no message about memory that Memlens knows", name=name),
        advice=phrase("It knows: {known}.", known=known()),
    )


def _of_kind(log: Log, kind: _Kind) -> tuple[list[Explanation], int, list[NotMemory]]:
    """The last messages of a kind, the number of those before them, and what only looks like one."""
    lines = sorted({line for sign in kind.message.signs for line in log.found(sign)})
    if not lines:
        return [], 0, []
    read = kind.message.read.load()
    kept = deque[Explanation](maxlen=MOST_SHOWN)
    others: list[NotMemory] = []
    count, after = 0, 0
    most = log.looked_at + _MOST_LINES + _MOST_PASSES * len(log)
    for number in lines:
        if number < after:
            continue
        one = read(log, number)
        match one:
            case Explanation():
                after = one.last_line
                one = _completed(one, kind)
                if kept and _is_same(kept[-1], one):
                    kept[-1] = _merged(kept[-1], one)
                    continue
                count += 1
                kept.append(one)
            case NotMemory():
                others.append(one)
            case None:
                pass
        if count + len(others) >= _MOST_READ or log.looked_at > most:
            break
    return list(kept), count - len(kept), others


def _is_same(last: Explanation, one: Explanation) -> bool:
    """Whether a message says once more, some lines below, what the one before it has said."""
    return one.title == last.title and one.first_line - last.last_line <= _MOST_BETWEEN


def _merged(last: Explanation, one: Explanation) -> Explanation:
    fuller = one if len(one.conclusions) >= len(last.conclusions) else last
    return replace(fuller, first_line=last.first_line, last_line=max(last.last_line, one.last_line))


def _completed(found: Explanation, kind: _Kind) -> Explanation:
    """A message with its kind, and with what to record next time."""
    return replace(found, kind=kind.message.name, next_time=found.next_time or _next_time(found, kind))


def _next_time(found: Explanation, kind: _Kind) -> list[Recording]:
    declared = kind.next_time
    if found.program:
        declared = next(
            (each for each in registry.next_times() if each.programs.fullmatch(found.program)), declared
        )
    if declared is None:
        return [ANY_RUNTIME]
    return [Recording(declared.section, declared.recording, declared.leaves)]
