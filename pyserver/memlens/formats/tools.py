"""What readers may use besides the file: third-party programs and folders of sources, from the user's settings."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Tools(NamedTuple):
    """Paths; empty if not set."""

    memray_python: str = ""
    """A Python interpreter that has memray, whose format only memray itself can read."""

    source_folders: Sequence[Path] = ()
    """Where scripts and their source maps may be, if not where they ran."""

    only_folders: bool = False
    """Whether they are looked for nowhere else."""

    @classmethod
    def of_environment(cls) -> "Tools":
        """Return the programs that environment variables name, and the current folder, for the command line."""
        return cls(os.environ.get("MEMLENS_MEMRAY_PYTHON", ""), (Path.cwd(),))
