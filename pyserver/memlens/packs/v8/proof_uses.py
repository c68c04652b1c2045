"""The uses of a heap snapshot's strings by its rows, for readers of redacted copies."""

import re
from collections.abc import Iterator

from memlens.proof import json_stream
from memlens.proof.items import Reason
from memlens.proof.stream import Stream

OF_NODES: dict[str, Reason] = {
    "hidden": "engine", "array": "engine", "object": "types", "code": "functions", "closure": "functions",
    "native": "types", "synthetic": "engine", "symbol": "symbols", "object shape": "types", "wasm object": "types",
}  # fmt: skip
OF_EDGES: dict[str, Reason] = {
    "context": "variables", "property": "properties", "internal": "engine", "shortcut": "properties", "weak": "engine",
}  # fmt: skip
NUMBERS = ("number", "bigint")
CONTENT, CLASS, DECLARED, NUMBER, UNDECLARED = 1, 2, 4, 8, 16
REASONS: tuple[Reason, ...] = (
    "types", "functions", "variables", "properties", "symbols", "files", "engine", "other",
)  # fmt: skip
FIRST_REASON = 5
REMOVED = re.compile(r"(?:Detached )?(?:<[\w-]+ )?removed(?: \d+>?)?|unknown \d+")
REMOVED_BEGINS = ("removed", "Detached ", "<", "unknown ")
PATH = re.compile(r"(?:file|https?|node|webpack)[:]|(?:^|[\s(])(?:/|[A-Za-z]:[\\/])[\w.@-]")


def bit_of(reason: Reason) -> int:
    """The bit of a string that says it is a name for that reason."""
    return 1 << (FIRST_REASON + REASONS.index(reason))


EVERY_REASON = sum(map(bit_of, REASONS))
WITH_PATHS = ("engine", "functions", "types")
ONLY = {bit_of(reason): reason for reason in REASONS if reason not in WITH_PATHS}
"""Names for one reason alone, except paths."""


def sections(stream: Stream) -> Iterator[str]:
    """The names of the file's sections, each of which the caller reads."""
    json_stream.expect(stream, b"{")
    while json_stream.next_byte(stream) == b'"':
        name = json_stream.text(stream)
        json_stream.expect(stream, b":")
        yield name
        if json_stream.next_byte(stream) == b",":
            stream.read(1)
    json_stream.expect(stream, b"}")


def words_of(types: object) -> list[str]:
    """The names of the types in the header's list."""
    first = types[0] if isinstance(types, list) and types else []
    return [str(each) for each in first] if isinstance(first, list) else []
