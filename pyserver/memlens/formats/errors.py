"""The errors that are common to readers of all formats."""

from memlens.errors import MemlensError
from memlens.packs import registry
from memlens.texts import in_a_row, phrase


class NotASnapshotError(MemlensError):
    """The file is not of a format that Memlens reads."""

    code = "not-a-snapshot"
    advice = phrase(
        "Memlens reads {profiles}, and heap dumps of {others}.",
        profiles=in_a_row(registry.profiles(), ", "),
        others=in_a_row(registry.heap_worlds(), ", "),
    )
    retry = False


class PackError(MemlensError):
    """Another package's pack failed; neither the file nor Memlens is at fault."""

    code = "pack"
    advice = phrase("Report it to the authors of that package; the log has the details.")


class DamagedSnapshotError(MemlensError):
    """The snapshot is truncated or inconsistent."""

    code = "damaged"
    advice = phrase("Copy or record the file again.")
