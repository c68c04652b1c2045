"""Looks up the addresses of a profile in the binaries of this machine and of the folders that the user named."""

import contextlib
import logging
import re
import time
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from memlens.formats.containers import Source
from memlens.formats.searched import Searched
from memlens.formats.symbols.dwarf import Debug, Place
from memlens.formats.symbols.elf import Binary
from memlens.formats.symbols.linked import LinkedFiles
from memlens.formats.symbols.names import plain_name
from memlens.formats.symbols.places import Places, checksum, opened
from memlens.model.info import FileWarning
from memlens.model.languages import is_allocator
from memlens.texts import Text, as_text, phrase, plural
from memlens.units import shortened

logger = logging.getLogger(__name__)

MOST_SECONDS = 120.0
"""How long debug information is read in one profile, whose addresses then have the names of symbols alone."""
_MOST_FURTHER_SECONDS = 60.0
"""How long symbols alone are read then. Links give one large file many names, and it may consist of holes."""
_MOST_BINARIES = 512
_MOST_FOLDERS = 64
_MOST_NAMED = 3
_MOST_NAME = 100
_OF_SYSTEM = re.compile(r"/(?:usr/)?lib(?:32|64|x32)?/")
_NO_FILE = re.compile(r"\[|//anon|anon_inode:|/memfd:|/dev/(?!shm/)|\(")
"""How a memory map names what isn't a file: ``[vdso]``, ``[heap]``, ..."""


class Region(NamedTuple):
    """A part of a binary in the recorded process: addresses, and where they are in the file."""

    path: str
    start: int
    end: int
    offset: int
    """The place in the file of what is at ``start``."""
    build_id: str = ""
    is_whole: bool = True
    """Whether this is the whole mapping as the system made it, so that its size says whether a binary matches."""
    bias: int | None = None
    """How far the binary was moved from where it is linked, if that is known; ``offset`` is then a linked address."""
    program_base: int | None = None
    """Where a position-independent program is loaded, if the recorder says nothing of mappings: the rest is then 0."""


Found = dict[tuple[int, Region], list[Place]]
"""The frames of addresses, which several processes of one profile may have in different regions."""


class Symbols:
    """The names of a profile's addresses, looked up, and what is to be said about those that have none."""

    def __init__(self, source: Source) -> None:
        """``source`` has the user's folders; binaries beside it are found, too."""
        tools, profile = source.tools, source.path
        self._source = source
        self._rejected: list[Path] = []
        folders = [folder.absolute() for folder in tools.symbol_folders][:_MOST_FOLDERS]
        self._places = Places(folders, profile.absolute().parent, tools.only_folders)
        self._is_off = not tools.look_up_symbols
        self._written_at = _changed_at(profile)
        self._until = time.monotonic() + MOST_SECONDS
        self._missing: dict[str, int] = {}
        self._other_build: dict[str, int] = {}
        self._without_lines: dict[str, int] = {}
        self._unreadable: dict[str, int] = {}
        self._elsewhere: dict[str, int] = {}
        self._newer: list[str] = []
        self._is_late = False
        self.has_searched = False
        """Whether any binary was to be found."""
        self._unnamed = self._named = 0

    def look_up(
        self, region_of: Iterable[tuple[int, Region | None]], named: Container[tuple[int, Region]] = ()
    ) -> Found:
        """Return the frames of each address in its region, the innermost first, as far as they are known.

        Those of ``named`` have a name in the profile, so that it is their lines that are looked for.
        """
        by_binary: dict[tuple[str, str], list[tuple[int, Region]]] = {}
        for address, region in region_of:
            if region is None or not region.path or _NO_FILE.match(region.path):
                self._unnamed += region is None or (address, region) not in named
                continue
            by_binary.setdefault((region.path.removesuffix(" (deleted)"), region.build_id), []).append(
                (address, region)
            )
        found: Found = {}
        self.has_searched = bool(by_binary) and not self._is_off
        if self._is_off and by_binary:
            self._unnamed += sum(
                sum(each not in named for each in inside)
                for (path, _), inside in by_binary.items()
                if not is_allocator(path)
            )
            by_binary.clear()
            self._source.searched = Searched.of(self._source.tools, ())
        # those with the most addresses first, since the time is limited
        for (path, build_id), inside in sorted(by_binary.items(), key=lambda row: -len(row[1]))[
            :_MOST_BINARIES
        ]:
            here: Found = {}
            try:
                if time.monotonic() > self._until + _MOST_FURTHER_SECONDS:
                    self._is_late = True
                else:
                    here = self._in_binary(path, build_id, inside)
            except MemoryError:
                raise
            except Exception:
                # the library raises what it happens to for a damaged file
                logger.exception("the symbols of %s can't be read", path)
                self._missing[path] = self._missing.get(path, 0) + len(inside)
            found |= here
            self._named += len(here)
            # the allocator's own frames are passed over
            if not is_allocator(path):
                self._unnamed += sum(each not in here and each not in named for each in inside)
        if by_binary:
            self._source.searched = Searched.of(self._source.tools, self._rejected)
        return found

    # ---- a binary ----

    def _in_binary(self, path: str, build_id: str, inside: Sequence[tuple[int, Region]]) -> Found:
        with contextlib.ExitStack() as files:
            binary = self._binary(path, build_id, [region for _, region in inside], files)
            if binary is None:
                return {}
            debug = None if binary.has_lines() else self._debug_file(binary, files)
            moved = debug.base - binary.base if debug is not None and debug.segments else 0
            linked = {
                (address, region): known
                for address, region in inside
                if (known := _linked(binary, address, region)) is not None
            }
            source = debug or binary
            by_lines = self._by_lines(source, [address + moved for address in linked.values()], path)
            found: Found = {}
            for asked, known in linked.items():
                symbol = source.symbol(known + moved) or binary.symbol(known)
                frames = by_lines.get(known + moved, [])
                name = plain_name(symbol)
                if not frames and name:
                    frames = [Place(name, "", 0)]
                elif frames and _is_fuller(name, frames[-1].function):
                    frames = [*frames[:-1], frames[-1]._replace(function=name)]
                if frames:
                    found[asked] = [place._replace(function=place.function or "?") for place in frames]
            without = sum(not frames[0].line for frames in found.values()) + len(inside) - len(found)
            # nobody needs the lines of the C library
            if without and not source.has_lines() and not _OF_SYSTEM.match(path):
                self._without_lines[path] = without
            return found

    def _by_lines(self, source: Binary, addresses: Sequence[int], path: str) -> dict[int, list[Place]]:
        if not source.has_lines() or time.monotonic() > self._until:
            self._is_late = self._is_late or source.has_lines()
            return {}
        try:
            information = source.debug_information(self._until)
        except MemoryError:
            raise
        except Exception:
            logger.exception("the debug information of %s can't be read", path)
            information = None
        if information is None:
            self._unreadable[path] = len(addresses)
            return {}
        linked = LinkedFiles(source, self._places, self._rejected, self._until)
        debug = Debug(information, linked, plain_name)
        found = debug.places(addresses)
        if debug.is_damaged:
            self._unreadable[path] = len(addresses) - len(found)
        self._elsewhere |= linked.missing
        self._is_late = self._is_late or debug.is_late
        return found

    def _binary(
        self, path: str, build_id: str, regions: Sequence[Region], files: contextlib.ExitStack
    ) -> Binary | None:
        """Return the first binary that may be that of the profile, preferably one with lines."""
        is_other = False
        poor: Binary | None = None
        for place in dict.fromkeys(self._places.of_binary(path, build_id)):
            binary = _binary_at(place, files)
            if binary is None:
                self._rejected.append(place)
                continue
            if not _matches(binary, build_id, regions):
                self._rejected.append(place)
                is_other = True
                continue
            if poor is not None and binary.is_debug_file:
                # that of the binary is looked for afterwards
                continue
            if not binary.has_lines() and poor is None:
                # a folder may have one with more
                poor = binary
                continue
            if binary.has_lines():
                poor = binary
                break
        if poor is None and not is_allocator(path):
            kept = self._other_build if is_other else self._missing
            kept[path] = kept.get(path, 0) + len(regions)
        elif (
            poor is not None
            and not build_id
            and self._written_at
            and _changed_at(poor.path) > self._written_at
        ):
            self._newer.append(path)
        return poor

    def _debug_file(self, binary: Binary, files: contextlib.ExitStack) -> Binary | None:
        link, crc = binary.debug_link()
        for place in dict.fromkeys(self._places.of_debug_file(binary.path, binary.build_id, link)):
            self._rejected.append(place)
            debug = _binary_at(place, files)
            if debug is None or not debug.has_lines() or place == binary.path:
                continue
            if binary.build_id and debug.build_id:
                fits = binary.build_id == debug.build_id
            elif link:
                fits = checksum(debug.file) == crc
            else:
                fits = debug.has_layout_of(binary)
            if fits:
                self._rejected.pop()
                return debug
            if not _OF_SYSTEM.match(str(place)):
                self._other_build[str(place)] = 0
        return None

    # ---- what is said ----

    def warnings(self) -> list[FileWarning]:
        """Return one warning about what has no name or no line, with what to do; none if all is known."""
        parts: list[Text] = []
        if self._missing:
            parts.append(
                phrase(
                    "Not found here: {binaries}. Copy them from where the program ran into a folder, and name it in "
                    "memlens.symbols.folders or with --symbols DIR.",
                    binaries=_listed(self._missing),
                )
            )
        if self._other_build:
            parts.append(
                phrase(
                    "Of another build than the one that ran, so not used: {binaries}. Put those that ran into a "
                    "folder, and name it in memlens.symbols.folders or with --symbols DIR.",
                    binaries=_listed(self._other_build),
                )
            )
        if self._without_lines:
            parts.append(
                phrase(
                    'Without lines: {binaries}. Build with -g (in Rust, debug = "line-tables-only"), or put the '
                    "files with their debug information into such a folder.",
                    binaries=_listed(self._without_lines),
                )
            )
        if self._unreadable:
            parts.append(
                phrase(
                    "The debug information of {binaries} can't be read: it is damaged, larger than 1 "
                    "GiB, larger than such a file can be, or compressed in a way that Memlens "
                    "doesn't know (objcopy --decompress-debug-sections unpacks it).",
                    binaries=_listed(self._unreadable),
                )
            )
        if self._elsewhere:
            parts.append(
                phrase(
                    "Debug information is also in files that were not found here, so inlined functions are missing: "
                    "{files}. Put them beside the binary, or into a folder that memlens.symbols.folders or "
                    "--symbols DIR names.",
                    files=_listed(self._elsewhere),
                )
            )
        if self._newer:
            parts.append(
                phrase(
                    "Changed since the profile was written, so lines may be wrong: {binaries}.",
                    binaries=_listed(dict.fromkeys(self._newer, 0)),
                )
            )
        if self._is_late:
            parts.append(
                phrase(
                    "The binaries took longer than {seconds} s to read, so some addresses have no name or no line.",
                    seconds=str(int(MOST_SECONDS)),
                )
            )
        total = self._unnamed + self._named
        # a few of the system's libraries, about which nothing can be done, need no warning
        if self._unnamed and (parts or 2 * self._unnamed >= total):
            said = phrase(
                plural(
                    self._unnamed,
                    "{n} of {all} has no name, only its address.",
                    "{n} of {all} have no name, only their addresses.",
                ),
                n=self._unnamed,
                all=phrase(plural(total, "{n} address", "{n} addresses"), n=total),
            )
            parts.insert(0, said)
        if not parts:
            return []
        message = parts[0]
        for part in parts[1:]:
            message = phrase("{a} {b}", a=message, b=part)
        return [FileWarning("no-symbols", message)]


def _binary_at(place: Path, files: contextlib.ExitStack) -> Binary | None:
    file = opened(place)
    if file is None:
        return None
    files.enter_context(file)
    try:
        return Binary(place, file)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - the library raises what it happens to for a damaged file
        logger.info("%s can't be read as a binary: %s", place, error)
        return None


def _linked(binary: Binary, address: int, region: Region) -> int | None:
    """Return the address that a place in the process has in the binary as linked; None if it isn't code there."""
    if region.bias is not None:
        return address - region.bias
    if region.program_base is not None:
        return binary.address_in_program(address, region.program_base)
    return binary.address_of(region.offset, region.end - region.start, address - region.start)


def _is_fuller(symbol: str, function: str) -> bool:
    """Return whether a symbol has the scopes that debug information of lines alone leaves out, as Rust's does."""
    return (bool(symbol) and symbol.rpartition("::")[2] == function.partition("<")[0]) or not function


def _matches(binary: Binary, build_id: str, regions: Sequence[Region]) -> bool:
    """Return whether a binary may be the one that the process had mapped."""
    if build_id and binary.build_id:
        return build_id == binary.build_id
    if any(region.bias is not None for region in regions):
        segments = {(part.address, part.memory_bytes) for part in binary.segments}
        return all((region.offset, region.end - region.start) in segments for region in set(regions))
    return all(
        binary.has_mapping(region.offset, region.end - region.start)
        for region in set(regions)
        if region.is_whole
    )


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _listed(binaries: dict[str, int]) -> Text:
    names = [
        shortened(path.replace("\\", "/").rsplit("/", 1)[-1], _MOST_NAME)
        for path, _ in sorted(binaries.items(), key=lambda row: -row[1])
    ]
    distinct = list(dict.fromkeys(names))
    shown = ", ".join(distinct[:_MOST_NAMED])
    rest = len(distinct) - _MOST_NAMED
    return phrase("{shown} and {n} more", shown=shown, n=rest) if rest > 0 else as_text(shown)
