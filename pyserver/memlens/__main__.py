"""``python -m memlens`` is the ``memlens`` command."""

import signal
import sys


def main() -> int:
    """Run the command and return its exit status. Ctrl+C is a sentence from the first moment to the last."""
    try:
        from memlens.cli import main as command

        status = command()
    except KeyboardInterrupt:
        sys.stderr.write("memlens: Interrupted.\n")
        status = 1
    # what is left is the end of this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return status


if __name__ == "__main__":
    sys.exit(main())
