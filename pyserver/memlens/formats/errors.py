"""What readers say when a file is not what it seems, whatever the format."""

from memlens.errors import MemlensError


class NotASnapshotError(MemlensError):
    """The file holds something else."""

    code = "not-a-snapshot"
    advice = "Open it as text, or make a snapshot with torch.cuda.memory._dump_snapshot()."
    retry = False


class DamagedSnapshotError(MemlensError):
    """A snapshot that breaks off or contradicts itself."""

    code = "damaged"
    advice = "Copy or record the file again."
