"""Writes profiles in lines of text anew without the names of people and machines."""

from collections.abc import Iterator

from memlens.formats.containers import Source
from memlens.formats.redaction.people import People, without_arguments


def without_people(source: Source, people: People, *, keeps_time: bool) -> Iterator[tuple[int, bytes]]:  # noqa: ARG001
    """The lines with other texts, and without the command's arguments; none has a time."""
    at, data = 0, source.data
    while at < source.length:
        end = data.find(b"\n", at)
        end = source.length if end < 0 else end + 1
        line = bytes(data[at:end]).decode("utf-8", "surrogateescape")
        if line.startswith("cmd:"):
            line = f"cmd: {without_arguments(line[4:])}\n"
        yield end, people.replaced(line).encode("utf-8", "surrogateescape")
        at = end
