"""``python -m memlens`` is the ``memlens`` command."""

import gc
import signal
import sys


def main() -> int:
    """Run the command and return its exit status. At any moment, Ctrl+C ends it with a message, not a traceback."""
    # what imports create is permanent: memlens.cli turns collection on when it has imported the command
    gc.disable()
    try:
        from memlens.cli import main as command

        status = command()
    except KeyboardInterrupt:
        sys.stderr.write("memlens: Interrupted.\n")
        status = 1
    # only the end of this process is left
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return status


if __name__ == "__main__":
    sys.exit(main())
