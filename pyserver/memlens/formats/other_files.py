"""What a file is that Memlens doesn't read, where its first bytes say so: other profiles of the same tools.

Sources: ``profile/legacy_profile.go`` of google/pprof for its older formats, ``stackcollapse-perf.pl`` of FlameGraph
for folded stacks, ``ms_print`` of valgrind.
"""

import re
import struct

from memlens.formats.errors import NotASnapshotError

_PPROF = "Look at it with go tool pprof, whose -proto also makes a file of it that Memlens opens."
_CPU_WORDS = (0, 3)
"""A count of samples and a count of words that follow it: how gperftools' binary CPU profiles begin."""
_CPU_VERSIONS = (0, 1)
_MOST_PERIOD_US = 10_000_000
_FOLDED = re.compile(rb"[^;\n]+(?:;[^;\n]*)+ \d{1,18}(?:\.\d+)?\r?")

_TEXTS: tuple[tuple[re.Pattern[bytes], str, str], ...] = (
    (re.compile(rb"--- (?:contentionz \d+ ---|contention:|mutex:)"), "it holds times of waiting for locks", _PPROF),
    (re.compile(rb"--- threadz \d+ ---|--- Thread [0-9a-f]+ "), "it holds the stacks of threads", _PPROF),
    (re.compile(rb"(?:goroutine|threadcreate) profile: total \d+"), "it counts goroutines or threads", _PPROF),
    (
        re.compile(rb"-{20,}\r?\nCommand: [^\n]*\nMassif arguments:"), "it is what ms_print made of a massif profile",
        "Open the massif.out file itself.",
    ),
    (re.compile(rb"BZh[1-9]1AY&SY"), "it is packed with bzip2", "Unpack it with bunzip2 and open what it holds."),
    (re.compile(rb"\xfd7zXZ\0"), "it is packed with xz", "Unpack it with unxz and open what it holds."),
)  # fmt: skip


def refusal(head: bytes) -> NotASnapshotError:
    """What to say of a file that no reader takes, by its first bytes."""
    what, advice = _what(head)
    words = "The file is not of a kind that Memlens reads"
    if not what:
        return NotASnapshotError(words)
    return NotASnapshotError(f"{words}: {what}", advice=f"{advice} {NotASnapshotError.advice}")


def _what(head: bytes) -> tuple[str, str]:
    """What the file is, as a clause, and what to do with it; nothing where it isn't known."""
    for pattern, what, advice in _TEXTS:
        if pattern.match(head):
            return what, advice
    if _is_cpu(head):
        return "it holds CPU time in gperftools' binary form, not memory", _PPROF
    first = head.split(b"\n", 1)[0]
    # a stack may be longer than what is looked at
    if _FOLDED.fullmatch(first) or (len(first) == len(head) and first.count(b";") >= 8 and first.isascii()):
        return (
            "it holds folded stacks with a figure each, which say neither what is counted nor where files are",
            "Open the recording that they were made of.",
        )
    return "", ""


def _is_cpu(head: bytes) -> bool:
    """Whether the first five words are such a profile's, in words and an order of bytes of any machine."""
    for words in ("<5Q", ">5Q", "<5I", ">5I"):
        if len(head) >= struct.calcsize(words):
            count, following, version, period_us, padding = struct.unpack_from(words, head)
            if (count, following) == _CPU_WORDS and version in _CPU_VERSIONS and padding == 0:
                return bool(0 < period_us <= _MOST_PERIOD_US)
    return False
