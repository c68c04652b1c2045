"""What fills the memory of a snapshot, and what is worth a look."""

from msgspec import Struct

from memlens.store.snapshot import Snapshot
from memlens.views.findings.ahead import findings, headline
from memlens.views.findings.answers import HeadlineAnswer, SnapshotFinding
from memlens.views.findings.contents import finding_without_contents, headline_without_contents


class Report(Struct, frozen=True):
    """The headline and the findings of one file."""

    headline: HeadlineAnswer
    findings: list[SnapshotFinding]


def report(snapshot: Snapshot, device: int | None, top: int, *, values: bool) -> Report:
    """The headline and the first ``top`` findings; without ``values`` they quote no string of the program."""
    first, found = headline(snapshot, device), findings(snapshot, device, top).findings
    if values:
        return Report(first, found)
    return Report(headline_without_contents(first), [finding_without_contents(each) for each in found])
