"""Sets up the process of a server on stdin and stdout."""

import logging
import os
import signal
import sys
from typing import BinaryIO

from memlens import limits
from memlens.server.sessions.children import abandon_all

LEVEL_VARIABLE = "MEMLENS_LOG"


def begin_serving(*signals: str) -> BinaryIO:
    """Prepare the process, and return the stream for messages.

    From now on all other output goes to stderr, so that it can't garble them. SIGTERM, SIGHUP and the other
    ``signals`` end the process.
    """
    level = logging.getLevelNamesMapping().get(os.environ.get(LEVEL_VARIABLE, "").upper(), logging.INFO)
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s", force=True)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    limits.share_one_heap()
    for name in ("SIGTERM", "SIGHUP", *signals):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _leave_at_once)
    stream = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return stream


def _leave_at_once(number: int, _frame: object) -> None:
    """End without waiting for the thread that reads stdin; child processes are ended first."""
    abandon_all()
    os._exit(128 + number)
