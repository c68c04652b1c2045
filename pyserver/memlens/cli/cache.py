"""The cache of archives that a command uses."""

import argparse

from memlens.cli.output import say
from memlens.formats.tools import Tools
from memlens.store.files.cache import DEFAULT_LIMIT_BYTES, Cache


def tools_of(options: argparse.Namespace) -> Tools:
    """Return what readers may use besides the file, by the arguments and the environment."""
    return Tools.of_environment().with_symbols(getattr(options, "symbols", None) or ())


def cache_of(options: argparse.Namespace) -> Cache:
    """Return the cache that the arguments select; the first time a warning about its folder is printed."""
    cache: Cache | None = getattr(options, "cache", None)
    if cache is None:
        cache = options.cache = Cache(
            options.cache_dir, options.cache_limit or DEFAULT_LIMIT_BYTES, tools=tools_of(options)
        )
        if cache.warning is not None:
            say(f"note: {cache.warning}", error=True)
    return cache
