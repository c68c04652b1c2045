"""Independent readers of every format: slow, simple, and written only from the formats' descriptions.

Nothing in this package imports memlens. Each module reads a file and says what was allocated, by which stack, what was
live at the peak and at the end; :mod:`tests.python.replays.stacks` adds that up by stack and by line.
``tests/python/test_replays.py`` holds memlens' archives, command line and SQL to it.
"""
