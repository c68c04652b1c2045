"""The headline and the findings for a snapshot's first view, kept in the archive.

Some rules read all events, which takes a third of a second for eight million; so they run after the first picture, and
their answers are stored.
"""

import logging
from pathlib import Path
from typing import assert_never

import msgspec
from msgspec import Struct

from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.progress import Report
from memlens.store.artefacts import Artefact, content
from memlens.store.kept import kept
from memlens.store.models import heap_dump_of
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


def parts(snapshot: Snapshot, device: int | None) -> list[table.Question]:
    """The steps of the answers, so that other questions wait for one step at most.

    Each keeps its result; there are none if the archive has the answers. Raises :class:`BadRequestError`.
    """
    if _is_first(snapshot, device) and FINDINGS.is_current(snapshot.origin):
        return []
    rules = table.rules_of(snapshot, device)
    if heap_dump_of(snapshot.info) is not None:
        # merging findings of the same bytes measures some retained sizes again
        rules.append(lambda asked: table.ranked(asked, device))
    return rules


def _is_first(snapshot: Snapshot, device: int | None) -> bool:
    """Whether the answers are about the snapshot's first view."""
    match snapshot.info:
        case TimelineInfo(default_device=default):
            return device is None or device == default
        case ProfileInfo() | GraphInfo():
            return True
        case _:
            assert_never(snapshot.info)


def _answers(snapshot: Snapshot, device: int | None) -> _Kept:
    if _is_first(snapshot, device):
        return _read_or_make(snapshot)
    return _make(snapshot, device)


@kept
def _make(snapshot: Snapshot, device: int | None) -> _Kept:
    return _Kept(headlines.headline(snapshot, device), table.findings(snapshot, device, MOST_FINDINGS))


@kept
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


FINDINGS = Artefact("findings.json", version=27, make=_write)
"""Raise its version whenever a rule, a threshold or a sentence changes."""
