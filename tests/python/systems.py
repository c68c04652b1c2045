"""What only some systems have, for the tests that need it."""

import sys

import pytest

needs_posix = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no pseudo-terminals, named pipes, forks, limits and signals"
)
