"""What a call may read: which files, and whether also what objects contain."""

import os
from pathlib import Path
from typing import Any

from memlens.errors import BadRequestError
from memlens.server.tools.folders import Folders
from memlens.server.tools.touching import touched
from memlens.texts import phrase


class Permissions:
    """Anything is allowed: an editor asks its user before each call."""

    def whole(self, path: str) -> str:
        """An absolute path. The file isn't looked at."""
        return os.path.abspath(path)  # noqa: PTH100 - by its text alone

    def check(self, asked: Any) -> None:
        """Raise :class:`BadRequestError` for arguments that may not be answered, before any file is looked for."""

    def check_file(self, path: str) -> None:
        """Raise :class:`BadRequestError` for a file that may not be opened, whether there is one or not."""

    def check_opened(self, path: str, real: str) -> None:
        """Raise :class:`BadRequestError` if a path led to a file, ``real``, that may not be opened."""


class OfFolders(Permissions):
    """Files in some folders, and contents only if they are allowed once and for all.

    ``folders`` may be replaced between calls.
    """

    def __init__(self, folders: Folders, *, values: bool) -> None:
        self.folders = folders
        self._values = values

    def whole(self, path: str) -> str:
        """A relative path made absolute in one of the folders."""
        return self.folders.whole(path)

    def check(self, asked: Any) -> None:
        """Refuse contents that aren't allowed, and any file outside."""
        found = touched(asked, self.whole, self.folders.real)
        if found.contents and not self._values:
            raise BadRequestError(
                phrase("This server doesn't send what objects contain"),
                advice=phrase(
                    "Ask without `values`. Whoever runs the server can allow it by starting `memlens mcp --values`."
                ),
            )
        for path in found.files:
            self.check_file(path)

    def check_file(self, path: str) -> None:
        """Refuse a file outside, in the same words whether there is one or not."""
        self.check_opened(path, path)

    def check_opened(self, path: str, real: str) -> None:
        """Refuse what was opened by a path that led outside meanwhile."""
        if self.folders.real(real) is not None:
            return
        if not self.folders:
            raise BadRequestError(
                phrase("This server may not read any folder"),
                advice=phrase("Whoever runs it can name one by `memlens mcp --root DIR`."),
            )
        raise BadRequestError(
            phrase("{path} is outside of the folders that this server may read", path=path),
            advice=phrase(
                "They are: {folders}. Whoever runs the server can name others by `memlens mcp --root DIR`.",
                folders=", ".join(self.folders.names),
            ),
        )


def started_in() -> Folders:
    """The working folder; none if that is a whole disk, where programs without a folder of their own are started."""
    here = Path.cwd()
    return Folders([] if here == here.parent else [str(here)])
