"""Fixtures of tests/python for the tests of packs, which lie beside their code."""

from tests.python.conftest import (
    cache,
    looked_at,
    on_disk,
    opened,
    own_cache,
    real_archives,
    sample,
    with_oracle,
)

__all__ = [
    "cache",
    "looked_at",
    "on_disk",
    "opened",
    "own_cache",
    "real_archives",
    "sample",
    "with_oracle",
]
