"""What a server that speaks on stdin and stdout does with its process."""

import os
import signal
import sys
from typing import BinaryIO

from memlens import limits
from memlens.server.log import configure_logging
from memlens.server.sessions.children import abandon_all


def begin_serving(*signals: str) -> BinaryIO:
    """Prepare the process, and return the stream for messages.

    From now on everything else that prints uses stderr and can't garble them. SIGTERM, SIGHUP and the other ``signals``
    end the process.
    """
    configure_logging()
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
