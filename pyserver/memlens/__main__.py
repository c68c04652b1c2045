"""``python -m memlens`` is the ``memlens`` command."""

import sys

from memlens.cli import main

if __name__ == "__main__":
    sys.exit(main())
