"""Where the project is, for those who report a bug."""

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
