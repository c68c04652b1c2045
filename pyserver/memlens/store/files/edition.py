"""Which edition of another package's pack has read the file of an archive: ``edition.txt``."""

from pathlib import Path

from memlens.packs import registry

FILE_NAME = "edition.txt"


def write_edition(folder: Path, kind: str) -> None:
    """Write the file into an archive's folder, unless Memlens itself has read the file."""
    if edition := registry.edition(kind):
        (folder / FILE_NAME).write_text(edition, "utf-8")


def is_of_this_edition(archive: Path, kind: str) -> bool:
    """Whether the installed pack, or Memlens itself, is the edition that read the file."""
    try:
        edition = (archive / FILE_NAME).read_text("utf-8")
    except OSError:
        return True
    return edition == registry.edition(kind)
