"""What is computed ahead of questions: the list of all artefacts that an archive can have."""

from typing import assert_never

from memlens.model.info import GraphInfo, ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.store.artefacts import Artefact
from memlens.store.tables.fill import TABLES
from memlens.views.findings.ahead import FINDINGS
from memlens.views.flame.graph import FIRST_FLAME
from memlens.views.heap.reachable.from_roots import HELD_DISTANCES
from memlens.views.heap.reachable.shortest_paths import SHORTEST_PATHS
from memlens.views.heap.retained.by_type import TOGETHER
from memlens.views.trace.picture.viewport import pictures_of


def artefacts_of(info: SnapshotInfo) -> list[Artefact]:
    """All artefacts that this snapshot's archive can have."""
    return [*_of_model(info), FINDINGS, FIRST_FLAME, *TABLES.values()]


def _of_model(info: SnapshotInfo) -> list[Artefact]:
    match info:
        case TimelineInfo():
            return pictures_of(info)
        case ProfileInfo():
            return []
        case GraphInfo():
            return [HELD_DISTANCES, TOGETHER, SHORTEST_PATHS]
        case _:
            assert_never(info)
