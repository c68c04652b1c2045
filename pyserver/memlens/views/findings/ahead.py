"""The headline and the findings of what a snapshot shows first, kept in the archive.

Some rules look at all events, which takes a third of a second for eight million; so they are answered when the first
picture is there, and are read the next time.
"""

import logging
from pathlib import Path

import msgspec
from msgspec import Struct

from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.progress import Report
from memlens.store.artefacts import Artefact, content
from memlens.store.snapshot import Snapshot
from memlens.views.findings import headline as headlines
from memlens.views.findings import table
from memlens.views.findings.answers import FindingsAnswer, HeadlineAnswer

logger = logging.getLogger(__name__)

MOST_FINDINGS = 100


class _Kept(Struct, frozen=True):
    headline: HeadlineAnswer
    findings: FindingsAnswer


def headline(snapshot: Snapshot, device: int | None) -> HeadlineAnswer:
    """The headline. ``device`` None means the one to show first. Raises :class:`BadRequestError`."""
    return _answers(snapshot, device).headline


def findings(snapshot: Snapshot, device: int | None, limit: int) -> FindingsAnswer:
    """At most ``limit`` findings. ``device`` None means the one to show first. Raises :class:`BadRequestError`."""
    return FindingsAnswer(_answers(snapshot, device).findings.findings[:limit])


def _answers(snapshot: Snapshot, device: int | None) -> _Kept:
    match snapshot.info:
        case TimelineInfo(default_device=default):
            number = default if device is None else device
            if number != default:
                return snapshot.keep(f"{number}.findings", lambda: _make(snapshot, number))
        case ProfileInfo() | GraphInfo():
            pass
    return snapshot.keep("findings", lambda: _read_or_make(snapshot))


def _make(snapshot: Snapshot, device: int | None) -> _Kept:
    return _Kept(headlines.headline(snapshot, device), table.findings(snapshot, device, MOST_FINDINGS))


def _read_or_make(snapshot: Snapshot) -> _Kept:
    path = FINDINGS.find(snapshot.origin)
    if path is not None:
        try:
            return msgspec.json.decode(content(path), type=_Kept)
        except (OSError, msgspec.DecodeError):
            logger.warning("the findings of %s are made again", snapshot.archive.name, exc_info=True)
            FINDINGS.drop(snapshot.archive)
    made = _make(snapshot, None)
    snapshot.background.append(lambda: FINDINGS.try_to_write(snapshot))
    return made


def _write(snapshot: Snapshot, path: Path, _report: Report) -> None:
    path.write_bytes(msgspec.json.encode(_answers(snapshot, None)))


FINDINGS = Artefact("findings.json", version=2, make=_write)
"""Its version is raised whenever a rule, a threshold or a sentence changes."""
