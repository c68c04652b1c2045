"""Memory outside of the heap: what objects own, such as direct buffers and the pixels of images, and samples of it."""

import numpy as np

from memlens.texts import Text, phrase
from memlens.units import format_bytes, format_value
from memlens.views.findings.answers import ObjectsLink
from memlens.views.findings.graph.case import GraphCase, chosen, of_types
from memlens.views.findings.graph.several import holder_of_all
from memlens.views.findings.profile.case import ProfileCase
from memlens.views.findings.writing import linked, percent
from memlens.views.heap.objects.native_memory import own_native

_LEAST_SHARE = 0.5
"""The least share of the reachable heap for a headline to name such memory."""


def outside_of_heap(case: GraphCase) -> Text | None:
    """The bytes that objects own outside the heap, and the owners' most frequent type; None if it is little."""
    if case.info.native_bytes < max(1, int(_LEAST_SHARE * case.whole)):
        return None
    owned = case.reached(np.flatnonzero(own_native(case.snapshot)))
    if not len(owned):
        return None
    amounts = own_native(case.snapshot)[owned].astype(np.int64)
    kinds = case.snapshot.objects.type[owned]
    sums = np.bincount(kinds, amounts)
    kind = int(np.argmax(sums))
    members = owned[kinds == kind]
    whole, most = int(amounts.sum()), int(amounts[kinds == kind].sum())
    held = holder_of_all(case, members) if len(members) > 1 else None
    return phrase(
        "{size} more is outside of the heap, {share} of it owned by {objects}{held}.",
        size=format_bytes(whole), share=percent(most, whole),
        objects=linked(
            f"{len(members):,} {case.type_name(kind)}", objects=chosen(of_types([case.type_names()[kind]]))
        ) if len(members) > 1 else linked(case.type_name(kind), objects=ObjectsLink("object", int(members[0]))),
        held=phrase(", held by {holder}", holder=held) if held is not None else "",
    )  # fmt: skip


def sampled_outside(case: GraphCase) -> Text | None:
    """The sum of samples of memory outside the heap, and the line with the most; None without samples."""
    if not case.info.outside or case.info.allocations is None:
        return None
    profile = ProfileCase(case.snapshot, case.info.allocations)
    number, main = profile.info.default_value, profile.main
    found = profile.by_line(number, "value")
    if main.total <= 0 or not found.groups:
        return None
    most = found.groups[0]
    return phrase(
        "{value} outside of the heap: {whole}, {share} of it by {line}.",
        value=main.title, whole=linked(format_value(main.total, main.unit), figure=profile.whole(number, "value")),
        share=percent(most.amount, main.total), line=linked(most.title, line=most.line),
    )  # fmt: skip
