"""Third-party programs that readers may run, from the user's settings."""

import os
from typing import NamedTuple


class Tools(NamedTuple):
    """Paths of programs; empty if not set."""

    memray_python: str = ""
    """A Python interpreter that has memray, whose format only memray itself can read."""

    @classmethod
    def of_environment(cls) -> "Tools":
        """Return the programs that environment variables name, for the command line."""
        return cls(os.environ.get("MEMLENS_MEMRAY_PYTHON", ""))
