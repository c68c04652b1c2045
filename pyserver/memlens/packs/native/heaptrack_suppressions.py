"""Leaks that heaptrack doesn't count by default: its own suppressions, and those of the program.

The program's are the ``S`` records, lines of ``__lsan_default_suppressions``. Patterns follow LeakSanitizer: a text
that contains the pattern matches; ``*`` matches anything, ``^`` and ``$`` the ends.
"""

import re
from collections.abc import Iterable

BUILT_IN = (
    "__nss_module_allocate", "__gconv_read_conf", "__new_exitfn", "tzset_internal", "dl_open_worker",
    "g_main_context_new", "g_thread_self",
)  # fmt: skip
"""Functions of the C library, the dynamic linker and glib whose memory is never freed."""

MOST_PATTERNS = 1_000
_MOST_STARS = 8


def patterns_of(lines: Iterable[str]) -> list[str]:
    """Return the patterns of the lines ``leak:PATTERN``; other lines are comments or for other tools."""
    stripped = (line.strip() for line in lines)
    return [line.removeprefix("leak:") for line in stripped if line.startswith("leak:") and line != "leak:"]


def matcher(patterns: Iterable[str]) -> re.Pattern[str]:
    """Return an expression that searches for any of ``patterns``, without those with more than eight stars."""
    usable = [pattern for pattern in patterns if pattern.count("*") <= _MOST_STARS][:MOST_PATTERNS]
    return re.compile("|".join(map(_expression, usable)) or r"(?!)", re.DOTALL)


def _expression(pattern: str) -> str:
    start, pattern = ("^", pattern[1:]) if pattern.startswith("^") else ("", pattern)
    # anything after the first $ is ignored
    pattern, dollar, _ = pattern.partition("$")
    return start + ".*?".join(map(re.escape, pattern.split("*"))) + (r"\Z" if dollar else "")
