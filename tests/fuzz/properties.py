"""Hypothesis beside the fuzzer: members of a corpus cut, spliced and repeated, and made small again when they break.

    python tests/fuzz/properties.py TARGET SECONDS

The fuzzer looks for new code byte by byte; here whole parts of a file move, which keeps more of its form. Started by
``run.py``, with the instrumented kernels first on the path. The property is the target's: it answers or refuses, and
raises nothing else.
"""

import gzip
import io
import sys
import time
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import zstandard
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.fuzz.targets import MOST_BYTES, TARGETS

CORPUS = Path(__file__).parent / "corpus"
BATCH = 100
"""Examples between two looks at the clock."""


class Edit(NamedTuple):
    """A part of a file, in thousandths of it, and what becomes of it."""

    what: Literal["cut", "drop", "repeat", "move", "put"]
    at: int
    length: int
    to: int
    put: bytes


EDITS = st.lists(
    st.builds(
        Edit,
        st.sampled_from(["cut", "drop", "repeat", "move", "put"]),
        st.integers(0, 1000),
        st.integers(1, 100),
        st.integers(0, 1000),
        st.binary(min_size=1, max_size=9),
    ),
    max_size=5,
)


def edited(data: bytes, edits: list[Edit]) -> bytes:
    """The data after all edits, one after the other."""
    for what, at, length, to, put in edits:
        start, end = (len(data) * place // 1000 for place in (at, at + length))
        part, rest = data[start:end], data[:start] + data[end:]
        target = len(rest) * to // 1000
        match what:
            case "cut":
                data = data[:start]
            case "drop":
                data = rest
            case "repeat":
                data = data[:end] + part + data[end:]
            case "move":
                data = rest[:target] + part + rest[target:]
            case "put":
                data = data[:start] + put + data[start + len(put) :]
    return data[:MOST_BYTES]


@cache
def members(target: str) -> list[bytes]:
    """The corpus, unpacked where it is packed: what is damaged should reach the reader."""
    return [_plain(path.read_bytes()) for path in sorted((CORPUS / target).iterdir())]


def _plain(data: bytes) -> bytes:
    try:
        if data.startswith(b"\x1f\x8b"):
            return gzip.decompress(data)
        if data.startswith(b"\x28\xb5\x2f\xfd"):
            return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read(MOST_BYTES)
    except (OSError, EOFError, zstandard.ZstdError):
        pass
    return data


def check(target: str, examples: int, begin: int = 0) -> None:
    """Hold a target to its property. Raises what it raised for the smallest file that was found."""
    run = TARGETS[target]
    whole = members(target)

    @seed(begin)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, len(whole) - 1), EDITS)
    def holds(member: int, edits: list[Edit]) -> None:
        run(edited(whole[member], edits))

    holds()


def main() -> None:
    """Check one target for so many seconds, each time from another seed."""
    target, seconds = sys.argv[1], float(sys.argv[2])
    end = time.monotonic() + seconds
    batches = 0
    while batches == 0 or time.monotonic() < end:
        check(target, BATCH, begin=time.time_ns())
        batches += 1
    print(batches * BATCH)


if __name__ == "__main__":
    main()
