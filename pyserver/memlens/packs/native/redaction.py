"""Writes profiles in lines of text anew without the names of people and machines."""

import re
from collections.abc import Iterator

from memlens.formats.containers import Source
from memlens.formats.redaction.people import People, without_arguments

_OPTION = re.compile(
    r"--(?:heap|heap-admin|stacks|depth|threshold|peak-inaccuracy|time-unit|detailed-freq|max-snapshots|pages-as-heap)"
    r"=(?:\d+(?:\.\d+)?|yes|no|i|ms|B)(?= |$)"
)
"""massif's own options, by which its figures are understood."""


def without_people(source: Source, people: People, *, keeps_time: bool) -> Iterator[tuple[int, bytes]]:  # noqa: ARG001
    """The lines with other texts; of the command only its program stays, of options massif's own. None has a time."""
    at, data = 0, source.data
    while at < source.length:
        end = data.find(b"\n", at)
        end = source.length if end < 0 else end + 1
        line = bytes(data[at:end]).decode("utf-8", "surrogateescape")
        if line.startswith("cmd:"):
            line = f"cmd: {without_arguments(line[4:])}\n"
        elif line.startswith("desc:"):
            options = " ".join(_OPTION.findall(line))
            line = f"desc: {options or '(none)'}\n"
        yield end, people.replaced(line).encode("utf-8", "surrogateescape")
        at = end
