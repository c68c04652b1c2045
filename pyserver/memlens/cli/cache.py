"""The cache of archives that a command uses."""

import argparse

from memlens.store.files.cache import DEFAULT_LIMIT_BYTES, Cache


def cache_of(options: argparse.Namespace) -> Cache:
    """Return the cache that the arguments select."""
    return Cache(options.cache_dir, options.cache_limit or DEFAULT_LIMIT_BYTES)
