"""What is computed ahead of questions: the one list of the artefacts that an archive can have."""

import logging
from contextlib import closing
from pathlib import Path

from memlens.errors import MemlensError
from memlens.model.info import SnapshotInfo
from memlens.store.artefacts import Artefact
from memlens.store.snapshot import Snapshot
from memlens.store.tables import TABLES
from memlens.views.findings.ahead import FINDINGS
from memlens.views.flame.graph import FIRST_FLAME
from memlens.views.trace.picture.viewport import pictures_of

logger = logging.getLogger(__name__)


def artefacts_of(info: SnapshotInfo) -> list[Artefact]:
    """All artefacts that there can be in an archive of this snapshot."""
    return [*pictures_of(info), FINDINGS, FIRST_FLAME, *TABLES.values()]


def compute_ahead(archive: Path) -> None:
    """Make those artefacts that are made with the archive; one that can't be written is left out.

    Raises :class:`memlens.store.manifest.ArchiveError`.
    """
    with closing(Snapshot.open(archive)) as snapshot:
        info = snapshot.info
    for artefact in artefacts_of(info):
        if artefact.at_ingest:
            # one after the other, so that the columns that one needs are let go before the next
            with closing(Snapshot.open(archive)) as snapshot:
                try:
                    artefact.try_to_write(snapshot)
                except MemlensError:
                    raise
                except Exception:
                    # a bug, of which whoever asks for it is told; the archive is whole without
                    logger.exception("%s of %s is not computed ahead", artefact.name, archive.name)
