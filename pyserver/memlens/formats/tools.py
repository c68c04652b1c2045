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

    symbol_folders: Sequence[Path] = ()
    """Where binaries and their debug files are looked for first, to name the addresses of native programs."""

    @classmethod
    def of_environment(cls) -> "Tools":
        """Return the programs and folders that environment variables name, and the current folder."""
        named = os.environ.get("MEMLENS_SYMBOLS", "").split(os.pathsep)
        folders = tuple(Path(folder) for folder in named if folder)
        return cls(os.environ.get("MEMLENS_MEMRAY_PYTHON", ""), (Path.cwd(),), folders)
