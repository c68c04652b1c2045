"""Whether the process that left something behind is still at work on it."""

import os


def is_running(pid: int) -> bool:
    """Whether there is a process of that number. Where that can't be asked the answer is yes."""
    if os.name == "nt":
        return True  # signal 0 would end the process there; a later run under another system cleans up
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
