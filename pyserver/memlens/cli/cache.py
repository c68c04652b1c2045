"""The cache of archives that a command uses."""

import argparse

from memlens.cli.output import say
from memlens.store.files.cache import DEFAULT_LIMIT_BYTES, Cache


def cache_of(options: argparse.Namespace) -> Cache:
    """Return the cache that the arguments select; the first time a warning about its folder is printed."""
    cache: Cache | None = getattr(options, "cache", None)
    if cache is None:
        cache = options.cache = Cache(options.cache_dir, options.cache_limit or DEFAULT_LIMIT_BYTES)
        if cache.warning is not None:
            say(f"note: {cache.warning}", error=True)
    return cache
