"""Writes a model into an archive folder: one flat file a column, ``manifest.json`` last."""

from pathlib import Path

from memlens.model.profile import Profile
from memlens.model.timeline import Timeline
from memlens.progress import Report
from memlens.store.manifest import SourceFile
from memlens.store.samples.writer import write_profile
from memlens.store.trace.writer import write_timeline


def write_archive(model: Timeline | Profile, source: SourceFile, folder: Path, report: Report) -> None:
    """Write ``model`` into the existing empty ``folder``. A timeline's devices are gone afterwards."""
    if isinstance(model, Profile):
        write_profile(model, source, folder, report)
    else:
        write_timeline(model, source, folder, report)
