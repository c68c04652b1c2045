"""The archives that commands make and use."""

import argparse

from memlens.store.cache import DEFAULT_LIMIT_BYTES, Cache


def cache_of(options: argparse.Namespace) -> Cache:
    """Where the arguments say that archives are kept."""
    return Cache(options.cache_dir, options.cache_limit or DEFAULT_LIMIT_BYTES)
