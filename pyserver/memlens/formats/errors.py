"""What readers say when a file is not what it seems, whatever the format."""

from memlens.errors import MemlensError


class NotASnapshotError(MemlensError):
    """The file holds something else."""

    code = "not-a-snapshot"
    advice = (
        "Memlens reads memory snapshots of PyTorch, SnapViewer and tracemalloc, recordings of heaptrack and memray, "
        "pprof profiles, what valgrind's massif and DHAT write, and heap profiles in text (Go, gperftools, jemalloc, "
        "Java)."
    )
    retry = False


class DamagedSnapshotError(MemlensError):
    """A snapshot that breaks off or contradicts itself."""

    code = "damaged"
    advice = "Copy or record the file again."
