"""The samples of a profile, as the formats of profiles have them."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from memlens.arrays import I64, U32
from memlens.export.samples import Label, Recording, Samples
from memlens.store.models import profile_of
from memlens.store.snapshot import Snapshot
from memlens.views.naming.frame_names import frame_names
from memlens.views.selection.items import stack_tree
from memlens.views.selection.profile_filters import matching
from memlens.views.selection.stacks import OneSide, ValuedStacks, ValueName

MOST_SAMPLES = 500_000
"""In larger profiles, such as recordings of every allocation, the samples of a stack are written as one."""


def of_profile(snapshot: Snapshot, filter_text: str, *, merged: bool) -> Samples:
    """All values of a profile at once: every sample with its labels, one of which is the size of its blocks.

    With ``merged``, or for more than :data:`MOST_SAMPLES` samples, the samples of a stack are added up and have no
    labels. Raises BadRequestError for an invalid filter.
    """
    info = profile_of(snapshot.info)
    rows = np.arange(info.samples, dtype=np.uint32)
    if filter_text:
        rows = rows[matching(snapshot, filter_text)]
    values = [snapshot.samples.value[number][rows] for number in range(len(info.values))]
    stacks = ValuedStacks(
        stack_tree(snapshot),
        snapshot.samples.stack[rows],
        np.array(values, np.int64).reshape(len(values), -1),
        OneSide(tuple(ValueName(value.name, value.unit) for value in info.values)),
        rows,
        rows,
    )
    labels: list[Label] = []
    if merged or len(rows) > MOST_SAMPLES:
        stacks = stacks.summed()
    else:
        labels = list(_labels(snapshot, rows))
        if info.has_sizes and "bytes" not in info.labels:
            labels += _sizes(snapshot.samples.size[rows])
    names = frame_names(snapshot)
    return Samples(stacks, names, info.default_value, labels, _recording(snapshot.manifest.settings))


def _labels(snapshot: Snapshot, rows: U32) -> Iterator[Label]:
    """The labels of some samples, which are numbered by their positions in ``rows``."""
    labels = snapshot.samples.labels
    places = np.searchsorted(rows, labels["sample"])
    known = places < len(rows)
    known[known] = rows[places[known]] == labels["sample"][known]
    strings = snapshot.strings.some(np.concatenate([labels[field] for field in ("key", "text", "unit")]))
    for place, (_, key, text, number, unit) in zip(
        places[known].tolist(), labels[known].tolist(), strict=True
    ):
        yield Label(place, strings[key], strings[text], number, strings[unit])


def _sizes(sizes: I64) -> Iterator[Label]:
    """The sizes of blocks as labels, for the samples for which they are known."""
    for sample in np.flatnonzero(sizes > 0).tolist():
        yield Label(sample, "bytes", "", int(sizes[sample]), "bytes")


def _recording(settings: Mapping[str, Any]) -> Recording:
    """How a profile was recorded, as its reader stored it in the archive."""

    def number(name: str) -> int:
        found = settings.get(name, 0)
        return found if isinstance(found, int) and abs(found) < 2**63 else 0

    def text(name: str) -> str:
        found = settings.get(name, "")
        return found if isinstance(found, str) else ""

    comments = settings.get("comments", [])
    return Recording(
        number("time_unix_ns"), number("duration_ns"), number("period"), text("period_type"), text("period_unit"),
        tuple(str(comment) for comment in comments) if isinstance(comments, list) else (), text("doc_url"),
    )  # fmt: skip
