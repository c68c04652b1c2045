"""Writes a model into an archive folder: a file for each column, then ``manifest.json``."""

from pathlib import Path
from typing import assert_never

from memlens.model.graph import Graph
from memlens.model.profile import Profile
from memlens.model.timeline import Timeline
from memlens.progress import Report
from memlens.store.manifest import SourceFile


def write_archive(
    model: Timeline | Profile | Graph, source: SourceFile, folder: Path, report: Report
) -> None:
    """Write ``model`` into the existing empty ``folder``. A timeline's devices are released."""
    # imported here, because a file has one model and need not wait for the imports of the others
    match model:
        case Timeline():
            from memlens.store.trace.writer import write_timeline

            write_timeline(model, source, folder, report)
        case Profile():
            from memlens.store.samples.writer import write_profile

            write_profile(model, source, folder, report)
        case Graph():
            from memlens.store.objects.writer import write_graph

            write_graph(model, source, folder, report)
        case _:
            assert_never(model)
