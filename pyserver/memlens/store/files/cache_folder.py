"""The folder of the archives: where nobody has chosen one, and where it can't be written."""

import contextlib
import os
import stat
import sys
import tempfile
from pathlib import Path

from memlens.errors import MemlensError, reason
from memlens.texts import Text, Value, phrase

CHOOSE_FOLDER = (
    phrase("Choose a folder in the setting memlens.cache.directory (on the command line --cache-dir).")
    if sys.platform == "win32"
    else phrase(
        "Choose a folder in the setting memlens.cache.directory (on the command line --cache-dir), or by the "
        "environment variable XDG_CACHE_HOME."
    )
)


class NoCacheFolderError(MemlensError):
    """Archives can't be written to their folder."""

    code = "system"
    advice = CHOOSE_FOLDER


def default_folder() -> tuple[Path, Text | None]:
    """Return the user's cache folder, or a private one in the temporary folder if that can't be written.

    With the latter comes a warning for people. Only the private folder is made here. Raises
    :class:`NoCacheFolderError`.
    """
    # imported here, because whoever chooses a folder need not wait for it
    import platformdirs

    usual = platformdirs.user_cache_path("memlens", appauthor=False) / "archives"
    # it begins with ~ where the system knows no home
    if usual.is_absolute() and _can_be_made(usual):
        return usual, None
    folder = _private_folder(usual) / "archives"
    warning = phrase(
        "Archives and bookmarks can't be written to {usual}. They are kept in {folder}, which the system may empty. "
        "{advice}",
        usual=usual,
        folder=folder,
        advice=CHOOSE_FOLDER,
    )
    return folder, warning


def not_writable(folder: Path, error: OSError, advice: Text = CHOOSE_FOLDER) -> NoCacheFolderError:
    """Return the error for a folder in which no archive can be made, whoever chose it."""
    return NoCacheFolderError(
        phrase("Archives can't be written to {folder}: {reason}", folder=folder, reason=reason(error)),
        advice=advice,
    )


def exchanged(folder: Path, place: Path) -> NoCacheFolderError:
    """Return the error for a folder in which other users can replace archives."""
    return NoCacheFolderError(
        phrase(
            "Archives can't be kept in {folder}: other users can replace files in {place}",
            folder=folder,
            place=place,
        ),
        advice=phrase(
            "Remove their write permission (chmod o-w,g-w), or set the sticky bit (chmod +t) on a "
            "folder that root owns. {advice}",
            advice=CHOOSE_FOLDER,
        ),
    )


def _can_be_made(folder: Path) -> bool:
    """Whether a folder can be written, or made if there is none, as far as permissions say."""
    for place in (folder, *folder.parents):
        try:
            mode = place.stat().st_mode
        except FileNotFoundError:
            if place.is_symlink():
                return False
            continue
        except OSError:
            # a file in the place of a folder, or a folder that can't be entered
            return False
        return stat.S_ISDIR(mode) and os.access(place, os.W_OK | os.X_OK)
    return False


def _private_folder(usual: Path) -> Path:
    """The user's own folder in the temporary folder, in which others may have put one of that name before."""
    try:
        folder = Path(tempfile.gettempdir()) / _private_name()
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        # a link is refused, because what it points to may be another's
        status = folder.lstat()
    except OSError as error:
        raise _no_folder(usual, reason(error)) from error
    if not _is_private(status) or not os.access(folder, os.W_OK | os.X_OK):
        raise _no_folder(usual, phrase("{folder} is another user's, or open to others", folder=folder))
    return folder


def _private_name() -> str:
    # the temporary folder of Windows is the user's own
    return "memlens" if sys.platform == "win32" else f"memlens-{os.getuid()}"


def _is_private(status: os.stat_result) -> bool:
    if not stat.S_ISDIR(status.st_mode):
        return False
    return sys.platform == "win32" or (status.st_uid == os.getuid() and not status.st_mode & 0o077)


def _no_folder(usual: Path, why: Value) -> NoCacheFolderError:
    return NoCacheFolderError(
        phrase(
            "Archives can be written neither to {usual} nor to the temporary folder ({why})",
            usual=usual,
            why=why,
        )
    )
