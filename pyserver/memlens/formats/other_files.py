"""Recognises files that Memlens doesn't read, mostly other profiles of the same tools, for a better error message.

Sources: ``profile/legacy_profile.go`` of google/pprof for its older formats, ``stackcollapse-perf.pl`` of FlameGraph
for folded stacks, ``ms_print`` of valgrind.
"""

import re
import struct

from memlens.formats.errors import NotASnapshotError
from memlens.texts import Text, in_a_row, phrase

_PPROF = phrase("Open it with go tool pprof, whose -proto also converts it to a file that Memlens opens.")
_CPU_WORDS = (0, 3)
"""The first two words of gperftools' binary CPU profiles: a count of samples, and of the header's further words."""
_CPU_VERSIONS = (0, 1)
_MOST_PERIOD_US = 10_000_000
_FOLDED = re.compile(rb"[^;\n]+(?:;[^;\n]*)+ \d{1,18}(?:\.\d+)?\r?")

_TEXTS: tuple[tuple[re.Pattern[bytes], Text, Text], ...] = (
    (
        re.compile(rb"--- (?:contentionz \d+ ---|contention:|mutex:)"),
        phrase("it is a profile of lock contention"),
        _PPROF,
    ),
    (
        re.compile(rb"--- threadz \d+ ---|--- Thread [0-9a-f]+ "),
        phrase("it contains the stacks of threads"),
        _PPROF,
    ),
    (
        re.compile(rb"(?:goroutine|threadcreate) profile: total \d+"),
        phrase("it counts goroutines or threads"),
        _PPROF,
    ),
    (
        re.compile(rb"-{20,}\r?\nCommand: [^\n]*\nMassif arguments:"),
        phrase("it is the output of ms_print"),
        phrase("Open the massif.out file instead."),
    ),
    (
        re.compile(rb"BZh[1-9]1AY&SY"),
        phrase("it is compressed with bzip2"),
        phrase("Decompress it with bunzip2, and open the result."),
    ),
    (
        re.compile(rb"\xfd7zXZ\0"),
        phrase("it is compressed with xz"),
        phrase("Decompress it with unxz, and open the result."),
    ),
)


def refusal(head: bytes) -> NotASnapshotError:
    """Return the error for a file that no reader recognises, by its first bytes."""
    description, advice = _described(head)
    if description is None:
        return NotASnapshotError(phrase("The file is not of a format that Memlens reads"))
    return NotASnapshotError(
        phrase("The file is not of a format that Memlens reads: {description}", description=description),
        advice=in_a_row([advice, NotASnapshotError.advice], " "),
    )


def _described(head: bytes) -> tuple[Text | None, Text]:
    """Return a clause that describes the file, and advice; None and no advice if the file is unknown."""
    for pattern, description, advice in _TEXTS:
        if pattern.match(head):
            return description, advice
    if _is_cpu(head):
        return phrase("it is a CPU profile in gperftools' binary format, not a memory profile"), _PPROF
    first = head.split(b"\n", 1)[0]
    # the first stack may be longer than the head
    if _FOLDED.fullmatch(first) or (len(first) == len(head) and first.count(b";") >= 8 and first.isascii()):
        return (
            phrase(
                "it contains folded stacks, which have neither the unit of their values nor the paths of files"
            ),
            phrase("Open the recording from which they were made."),
        )
    return None, Text("")


def _is_cpu(head: bytes) -> bool:
    """Whether the first five words are those of a CPU profile, in any word size and byte order."""
    for words in ("<5Q", ">5Q", "<5I", ">5I"):
        if len(head) >= struct.calcsize(words):
            count, following, version, period_us, padding = struct.unpack_from(words, head)
            if (count, following) == _CPU_WORDS and version in _CPU_VERSIONS and padding == 0:
                return bool(0 < period_us <= _MOST_PERIOD_US)
    return False
