"""What a terminal was sent, for tests of commands that look whether they write to one."""

import os


def all_of(main: int) -> str:
    """What was written to a pseudo-terminal whose other end is closed. It comes in parts; closes ``main``."""
    parts: list[bytes] = []
    try:
        while part := os.read(main, 100_000):
            parts.append(part)
    except OSError:  # how Linux says that nobody writes to it any more
        pass
    finally:
        os.close(main)
    return b"".join(parts).decode()
