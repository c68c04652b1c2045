"""What readers may use besides the file: folders of sources and binaries, from the user's settings."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Tools(NamedTuple):
    """Folders, and where else to look."""

    source_folders: Sequence[Path] = ()
    """Where scripts and their source maps may be, if not where they ran."""

    only_folders: bool = False
    """Whether scripts, binaries and debug files are looked for nowhere else, except beside the file itself."""

    symbol_folders: Sequence[Path] = ()
    """Where binaries and their debug files are looked for first, to name the addresses of native programs."""

    look_up_symbols: bool = True
    """Whether they are looked for at all."""

    def with_symbols(self, folders: Sequence[Path]) -> "Tools":
        """Return these with folders of binaries that were named; without any, those of the environment stay."""
        return self._replace(symbol_folders=tuple(folders), look_up_symbols=True) if folders else self

    @classmethod
    def of_environment(cls) -> "Tools":
        """Return the folders that environment variables name, and the current folder."""
        named = os.environ.get("MEMLENS_SYMBOLS", "")
        is_off = named == "off"
        folders = () if is_off else tuple(Path(folder) for folder in named.split(os.pathsep) if folder)
        return cls(
            (Path.cwd(),),
            symbol_folders=folders,
            look_up_symbols=not is_off,
        )
