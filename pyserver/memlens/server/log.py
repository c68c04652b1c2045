"""Logging to stderr, which editors show as the server's output."""

import logging
import os

LEVEL_VARIABLE = "MEMLENS_LOG"


def configure_logging() -> None:
    """Log at INFO, or at the level that ``MEMLENS_LOG`` names."""
    level = logging.getLevelNamesMapping().get(os.environ.get(LEVEL_VARIABLE, "").upper(), logging.INFO)
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s", force=True)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
