"""Fixtures and marks of tests/python for the tests of packs, which lie beside their code."""

import pytest
from tests.python import conftest as shared
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


def pytest_configure(config: pytest.Config) -> None:
    """Have tests marked, and loops that look at nothing reported, also where no test of tests/python is run."""
    if not config.pluginmanager.is_registered(shared):
        config.pluginmanager.register(shared)
