"""Starts Python programs under memray, whose file is complete up to the moment when the process is killed."""

from collections.abc import Sequence
from pathlib import Path

from memlens.errors import BadRequestError
from memlens.texts import phrase


def by_memray(command: Sequence[str], folder: Path) -> list[str]:
    """Return the command that runs the same program under memray. Raises :class:`BadRequestError`."""
    rest = list(command[1:])
    if not rest or (rest[0].startswith("-") and rest[0] not in ("-m", "-c")):
        raise BadRequestError(
            phrase("memray runs a script, -m MODULE or -c CODE, without options of Python before it"),
        )
    return [command[0], "-m", "memray", "run", "-o", str(folder / "run.bin"), *rest]
