"""Archives of source: ``*-sources.jar`` of Maven, Gradle and Coursier, and the ``src.zip`` of a JDK."""

import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

from memlens.errors import BadRequestError
from memlens.packs.jvm.places import likeness
from memlens.sources import zips
from memlens.sources.archives import DAMAGED, Archived, Holding, SourceArchiveError
from memlens.sources.declarations import TEXT_LIMIT, TypeName, all_suffixes, file_names, line_of
from memlens.texts import phrase

_SOURCE_ARCHIVE = re.compile(r"(?:.+-)?(?:sources|src)\.(?:jar|zip)")

_MOST_MEMBERS = 20
"""How many files of one archive are read for one type."""


def text_of(archive: Path, member: str) -> str:
    """The text of a source file in an archive.

    Raises :class:`SourceArchiveError`, and BadRequestError for any other file.
    """
    if archive.suffix.lower() not in (".jar", ".zip") or not member.endswith(all_suffixes()):
        raise BadRequestError(
            phrase("{member} of {archive} is not a source file in an archive", member=member, archive=archive)
        )
    try:
        with zips.opened(archive) as opened:
            return _text(opened, opened.getinfo(member))
    except KeyError as error:
        raise SourceArchiveError(
            phrase("{archive} has no file {member}", archive=archive, member=member)
        ) from error
    except DAMAGED as error:
        raise SourceArchiveError(
            phrase(
                "{member} of {archive} can't be read ({reason})",
                member=member,
                archive=archive,
                reason=str(error),
            )
        ) from error


def _archives_among(folder: Path, files: Iterable[str]) -> list[Path]:
    return [folder / name for name in files if _SOURCE_ARCHIVE.fullmatch(name)]


def _members_of(archive: Path) -> list[str]:
    suffixes = all_suffixes()
    with zips.opened(archive) as opened:
        return [name for name in opened.namelist() if name.endswith(suffixes)]


def _declared_in(archive: Path, names: set[str], wanted: TypeName) -> list[Archived]:
    """The file that declares a type, preferably one in the folders of its package; none or one."""
    folder = f"/{wanted.package.replace('.', '/')}/"
    with zips.opened(archive) as opened:
        members = [each for each in opened.infolist() if each.filename.rpartition("/")[2].lower() in names]
        members.sort(key=lambda each: folder not in f"/{each.filename}")
        for member in members[:_MOST_MEMBERS]:
            line = line_of(_text(opened, member), wanted)
            if line:
                return [Archived(archive, member.filename, line, (member.CRC, member.file_size))]
    return []


def _text(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    # whatever size the archive claims, no more is unpacked
    with archive.open(member) as file:
        return file.read(TEXT_LIMIT).decode("utf-8", "replace")


SOURCES = Holding(
    "source", _archives_among, file_names, _members_of, _declared_in, likeness, "*-sources.jar, src.zip"
)
