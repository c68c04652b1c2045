"""Leaks that heaptrack doesn't count by default: its own list, and what the program itself asked for.

The program's are the ``S`` records, lines of ``__lsan_default_suppressions``. Patterns follow LeakSanitizer: a text
that contains the pattern matches; ``*`` stands for anything, ``^`` and ``$`` for the ends.
"""

import re
from collections.abc import Iterable

BUILT_IN = (
    "__nss_module_allocate", "__gconv_read_conf", "__new_exitfn", "tzset_internal", "dl_open_worker",
    "g_main_context_new", "g_thread_self",
)  # fmt: skip
"""Functions of the C library, the dynamic linker and glib that keep memory for as long as the program runs."""

MOST_PATTERNS = 1_000
_MOST_STARS = 8


def patterns_of(lines: Iterable[str]) -> list[str]:
    """The patterns in lines of suppressions: ``leak:PATTERN``; other lines are comments or of other tools."""
    found = (line.strip() for line in lines)
    return [line.removeprefix("leak:") for line in found if line.startswith("leak:") and line != "leak:"]


def matcher(patterns: Iterable[str]) -> re.Pattern[str]:
    """Finds any of ``patterns`` in a text by ``search``. One with more than eight stars is no real one."""
    usable = [pattern for pattern in patterns if pattern.count("*") <= _MOST_STARS][:MOST_PATTERNS]
    return re.compile("|".join(map(_expression, usable)) or r"(?!)", re.DOTALL)


def _expression(pattern: str) -> str:
    start, pattern = ("^", pattern[1:]) if pattern.startswith("^") else ("", pattern)
    # nothing behind the first $ is looked at
    pattern, dollar, _ = pattern.partition("$")
    return start + ".*?".join(map(re.escape, pattern.split("*"))) + (r"\Z" if dollar else "")
