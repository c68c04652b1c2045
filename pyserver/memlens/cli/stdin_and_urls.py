"""Snapshots among the arguments that aren't files here: ``-`` for stdin, and URLs.

While the command runs, each is a file in a private temporary folder, which takes at most nine tenths of what is free
there. Only arguments are looked at, never a name in a file.
"""

import argparse
import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from memlens.cli.cache import cache_of
from memlens.cli.options import STDIN, Elsewhere, not_here
from memlens.cli.parsers import UsageError
from memlens.cli.progress import reporter
from memlens.errors import FileError
from memlens.remote_files import fetch, file_at
from memlens.store.files.disk import FullDiskError, room_in
from memlens.texts import phrase

_CHUNK_BYTES = 1 << 20
_SHARE = 0.9
_ADVICE = phrase("Free some space there, or name another folder in TMPDIR.")


@contextlib.contextmanager
def local_files(options: argparse.Namespace) -> Iterator[None]:
    """Replace what isn't here among the options by local files, and remove these and their archives at the end.

    Raises :class:`UsageError`, :class:`memlens.remote_files.StoreError`, :class:`FileError`, :class:`FullDiskError` and
    OSError.
    """
    found = not_here(options)
    _check(found, options)
    with tempfile.TemporaryDirectory(prefix="memlens-") as folder:
        files: dict[Elsewhere, Path] = {}
        names: dict[Elsewhere, str] = {}
        for number, each in enumerate(dict.fromkeys(found)):
            own = Path(folder) / str(number)
            own.mkdir()
            files[each], names[each] = _copied(each, own)
        for option, value in vars(options).items():
            if isinstance(value, Elsewhere):
                setattr(options, option, files[value])
            elif isinstance(value, list):
                setattr(
                    options, option, [files[each] if isinstance(each, Elsewhere) else each for each in value]
                )
        options.names = {str(files[each].absolute()): names[each] for each in files}
        try:
            yield
        finally:
            if options.command != "ingest" and hasattr(options, "cache_dir"):
                _forget(options, [path for path in files.values() if path.is_relative_to(folder)])


def _check(found: list[Elsewhere], options: argparse.Namespace) -> None:
    if found.count(Elsewhere(STDIN)) + (getattr(options, "query", None) == STDIN) > 1:
        raise UsageError(phrase("stdin can be read only once: more than one argument is -"))


def _copied(source: Elsewhere, folder: Path) -> tuple[Path, str]:
    """Copy what an argument names into a folder; return the copy, and the name to show."""
    limit = int(shutil.disk_usage(folder).free * _SHARE)
    report = reporter("auto")

    def check(count: int) -> None:
        report("fetching", None)
        if count > limit:
            raise FullDiskError(
                phrase("The disk of {folder} has no room for {what}", folder=folder.parent, what=named),
                advice=_ADVICE,
            )

    named: str
    with room_in(folder.parent, source, advice=_ADVICE):
        if source == STDIN:
            named = "stdin"
            path = folder / named
            if sys.stdin is None:
                raise FileError(phrase("stdin is closed"))
            with path.open("wb") as file:
                while piece := sys.stdin.buffer.read(_CHUNK_BYTES):
                    file.write(piece)
                    check(file.tell())
        else:
            place = file_at(source)
            named = place.named
            path, _ = fetch(place, folder, check)
    report("done", 1.0)
    return path, named


def _forget(options: argparse.Namespace, copies: list[Path]) -> None:
    """Remove the archives of copies, which nobody can ask for again."""
    for copy in copies:
        with contextlib.suppress(OSError):
            archive = cache_of(options).find(copy)
            if archive is not None:
                shutil.rmtree(archive, ignore_errors=True)
