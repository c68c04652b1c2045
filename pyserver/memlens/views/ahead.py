"""What is computed ahead of questions: the one list of the artefacts that an archive can have."""

from contextlib import closing
from pathlib import Path

from memlens.model.info import SnapshotInfo
from memlens.store.artefacts import Artefact
from memlens.store.snapshot import Snapshot
from memlens.store.tables import TABLES
from memlens.views.flame.graph import FIRST_FLAME
from memlens.views.trace.picture.viewport import pictures_of


def artefacts_of(info: SnapshotInfo) -> list[Artefact]:
    """All artefacts that there can be in an archive of this snapshot."""
    return [*pictures_of(info), FIRST_FLAME, *TABLES.values()]


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
                artefact.try_to_write(snapshot)
