"""The columns of a profile."""

import numpy as np

from memlens.model.profile import BLOCK_CHANGE_DTYPE, CHANGE_DTYPE, LABEL_DTYPE
from memlens.store.columns import Columns, Stored, StoredMany, StoredTable


class Samples(Columns):
    """One item per sample."""

    prefix = "sample_"
    stack = Stored(np.uint32, "samples", below="stacks")
    value = StoredMany(np.int64, "samples")
    """Columns by the number of the value."""
    size = Stored(np.int64, "samples")
    """Bytes of one block, 0 if not known; for profiles that have sizes."""
    labels = StoredTable(LABEL_DTYPE, file="labels")
    """A row for each label, sorted by sample."""


class LineValues(Columns):
    """The sums of source lines for each value of a profile: columns by the number of the value."""

    prefix = "line_"
    value = StoredMany(np.int64, "lines")
    """The sum of all samples through the line, each counted once."""
    own = StoredMany(np.int64, "lines")
    """The sum of the samples whose innermost line it is; see :mod:`memlens.model.attribution` for what is charged to a
    line.
    """


class Times(Columns):
    """A profile over time, see :class:`memlens.model.profile.ProfileTimes`; for profiles that have times."""

    prefix = "time."
    edges = Stored(np.int64, "edges")
    peaks = Stored(np.int64, "edges")
    series = StoredMany(np.int64, "edges")
    """Columns by the name of the series."""
    change_offsets = Stored(np.uint64, "change offsets")
    changes = StoredTable(CHANGE_DTYPE, BLOCK_CHANGE_DTYPE)
