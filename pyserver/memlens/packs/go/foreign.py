"""Other profiles of the same tools, in whose older formats pprof has no memory.

Source: ``profile/legacy_profile.go`` of google/pprof.
"""

import re
import struct

from memlens.packs.api import Foreign
from memlens.texts import phrase

_ADVICE = phrase("Open it with go tool pprof, whose -proto also converts it to a file that Memlens opens.")
_CPU_WORDS = (0, 3)
"""The first two words of gperftools' binary CPU profiles: a count of samples, and of the header's further words."""
_CPU_VERSIONS = (0, 1)
_MOST_PERIOD_US = 10_000_000


def _is_cpu(head: bytes) -> bool:
    """Whether the first five words are those of a CPU profile, in any word size and byte order."""
    for words in ("<5Q", ">5Q", "<5I", ">5I"):
        if len(head) >= struct.calcsize(words):
            count, following, version, period_us, padding = struct.unpack_from(words, head)
            if (count, following) == _CPU_WORDS and version in _CPU_VERSIONS and padding == 0:
                return bool(0 < period_us <= _MOST_PERIOD_US)
    return False


FILES = (
    Foreign(
        recognises=re.compile(rb"--- (?:contentionz \d+ ---|contention:|mutex:)").match,
        description=phrase("it is a profile of lock contention"),
        advice=_ADVICE,
    ),
    Foreign(
        recognises=re.compile(rb"--- threadz \d+ ---|--- Thread [0-9a-f]+ ").match,
        description=phrase("it contains the stacks of threads"),
        advice=_ADVICE,
    ),
    Foreign(
        recognises=re.compile(rb"(?:goroutine|threadcreate) profile: total \d+").match,
        description=phrase("it counts goroutines or threads"),
        advice=_ADVICE,
    ),
    Foreign(
        recognises=_is_cpu,
        description=phrase("it is a CPU profile in gperftools' binary format, not a memory profile"),
        advice=_ADVICE,
    ),
)
