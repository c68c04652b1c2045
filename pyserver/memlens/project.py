"""Where the project is and what it runs on, for those who report a bug."""

import os
import sys

from memlens.texts import Text, phrase

REPOSITORY = "https://repository.invalid/memlens/memlens"
"""Written by ``npm run contract``, from ``repository`` in package.json."""
ISSUES = f"{REPOSITORY}/issues"


def bug_advice() -> Text:
    """What to do about an internal error on the command line."""
    return phrase(
        "This is a bug. Please report it at {address} with this message, what was printed before it, and what "
        "`memlens diagnostics` prints.",
        address=ISSUES,
    )


def system() -> str:
    """The system and the kind of machine. ``platform.platform`` would start ``uname`` for that."""
    if sys.platform == "win32":
        version = sys.getwindowsversion()
        kind = os.environ.get("PROCESSOR_ARCHITECTURE", "")
        return f"Windows-{version.major}.{version.minor}.{version.build}-{kind}"
    found = os.uname()
    return f"{found.sysname}-{found.release}-{found.machine}"
