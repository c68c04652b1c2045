"""Logging to stderr, which editors show as the server's output."""

import logging
import os

from pygls.exceptions import JsonRpcException

LEVEL_VARIABLE = "MEMLENS_LOG"


def configure_logging() -> None:
    """Log at INFO, or at the level that ``MEMLENS_LOG`` names."""
    level = logging.getLevelNamesMapping().get(os.environ.get(LEVEL_VARIABLE, "").upper(), logging.INFO)
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s", force=True)
    # At INFO pygls logs whole messages, including geometry.
    for name in ("pygls", "pygls.protocol", "pygls.protocol.json_rpc"):
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_without_answered_errors)
    logging.getLogger("asyncio").setLevel(logging.WARNING)


def _without_answered_errors(record: logging.LogRecord) -> bool:
    """Drop errors that were sent as answers: the client shows them to the user, and a traceback wouldn't help."""
    answered = record.exc_info and isinstance(record.exc_info[1], JsonRpcException)
    return not answered and not str(record.msg).startswith("Unable to deserialize message")
