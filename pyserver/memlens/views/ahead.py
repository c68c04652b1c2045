"""What is computed ahead of questions: the one list of the artefacts that an archive can have."""

from memlens.model.info import GraphInfo, SnapshotInfo
from memlens.store.artefacts import Artefact
from memlens.store.tables.fill import TABLES
from memlens.views.findings.ahead import FINDINGS
from memlens.views.flame.graph import FIRST_FLAME
from memlens.views.graph.reach import HELD_DISTANCES
from memlens.views.trace.picture.viewport import pictures_of


def artefacts_of(info: SnapshotInfo) -> list[Artefact]:
    """All artefacts that there can be in an archive of this snapshot."""
    of_heaps = [HELD_DISTANCES] if isinstance(info, GraphInfo) else []
    return [*pictures_of(info), FINDINGS, FIRST_FLAME, *of_heaps, *TABLES.values()]
