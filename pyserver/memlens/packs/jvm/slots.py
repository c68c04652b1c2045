"""Arrays that are mostly empty: those of collections, those of objects, those of numbers."""

from collections.abc import Iterator

import numpy as np

from memlens.model.distinct import distinct
from memlens.packs.jvm.collection_sizes import reference_arrays, usage_of_arrays
from memlens.texts import Text, phrase, plural
from memlens.views.findings.graph.case import (
    GraphCase,
    chosen,
    common_reference,
    figure,
    measured,
    mostly_through,
)  # fmt: skip
from memlens.views.findings.graph.collections import counted, sized
from memlens.views.findings.writing import Ranked, made, percent
from memlens.views.heap.objects.references import references_of_all
from memlens.views.heap.objects.rows import Numbers

_LEAST_SLOTS = 4
_USED_SHARE = 0.25


def oversized_collections(case: GraphCase) -> Iterator[Ranked]:
    """Collections with elements use less than a quarter of the slots of their arrays, and the others are 1% of the
    reachable heap, and 32 KiB.

    Arrays don't refer to what is null. For those of four slots or more.
    """
    known = sized(case)
    title = phrase("Oversized collections")
    yield from _unused(case, known.objects[known.sizes > 0], "oversized_collections", title)


def null_arrays(case: GraphCase) -> Iterator[Ranked]:
    """Arrays that no known collection has are null in over three quarters of their slots: 1% of the reachable heap, and
    32 KiB.

    Of dumps whose values are there: without them it isn't known which collections use their arrays.
    """
    if case.snapshot.fields is None:
        return
    arrays = case.instances(np.flatnonzero(reference_arrays(case.snapshot)).tolist()).astype(np.int64)
    known = sized(case).objects
    own = np.zeros(len(case.snapshot.objects.type), np.bool_)
    own[known] = True
    stored = case.snapshot.references
    held = stored.referrer_start[arrays + 1] > stored.referrer_start[arrays]
    first = np.zeros(len(arrays), np.int64)
    first[held] = stored.referrer[stored.referrer_start[arrays[held]].astype(np.int64)]
    yield from _sparse(case, arrays[~(held & own[first])], "null_arrays", phrase("Arrays of nulls"))


def _unused(case: GraphCase, collections: Numbers, rule: str, title: Text) -> Iterator[Ranked]:
    """What arrays of some collections don't use."""
    if not len(collections):
        return
    stored, objects = case.snapshot.references, case.snapshot.objects
    kinds = reference_arrays(case.snapshot)
    owner = np.zeros(len(objects.type), np.bool_)
    owner[collections] = True
    at, _ = references_of_all(case.snapshot, collections)
    targets = stored.target[at]
    yield from _sparse(case, distinct(targets[kinds[objects.type[targets]]]).astype(np.int64), rule, title)


def _sparse(case: GraphCase, arrays: Numbers, rule: str, title: Text) -> Iterator[Ranked]:
    """What the slots without an element take of those arrays that use less than a quarter of theirs.

    How many they have is inferred in dumps without values.
    """
    if not len(arrays):
        return
    slot = int(case.snapshot.manifest.settings.get("reference_bytes") or case.info.id_bytes)
    slots, used = usage_of_arrays(case.snapshot, arrays)
    chosen_ones = (slots >= _LEAST_SLOTS) & (used < _USED_SHARE * slots)
    unused = int(((slots - used)[chosen_ones]).sum()) * slot
    if unused < case.least:
        return
    members = arrays[chosen_ones]
    shown = figure(unused, "", "shallow")
    through = common_reference(case, members)
    link = chosen(case.of_their_types(members))
    empty = int((used[chosen_ones] == 0).sum())
    sentence = phrase(
        plural(
            len(members),
            "{objects} uses less than a quarter of its slots; the unused ones take {size} ({share} of the reachable "
            "heap).{through}",
            "{objects} use less than a quarter of their slots{empty}; the unused ones take {size} ({share} of the "
            "reachable heap).{through}",
        ),
        objects=counted(case, members), size=measured(shown, link), share=percent(unused, case.whole),
        empty=phrase(" ({n} of them none)", n=empty) if empty else "",
        through=phrase(" Most of them are referred to by {field}.", field=through) if through else "",
    )  # fmt: skip
    yield Ranked(
        unused / case.whole,
        made(rule, title, sentence, shown, None, objects=link, inferred=case.snapshot.fields is None),
        members,
    )


def zero_arrays(case: GraphCase) -> Iterator[Ranked]:
    """Arrays of numbers are zero in over three quarters of their elements, all at the end: 1% of the reachable heap,
    and 32 KiB.

    For arrays of four elements or more; without the characters of strings.
    """
    rows = case.number_arrays()
    rows = rows[(rows["length"] >= _LEAST_SLOTS) & (rows["used"] < _USED_SHARE * rows["length"])]
    unused = int(((rows["length"] - rows["used"]).astype(np.int64) * rows["element_bytes"]).sum())
    if unused < case.least:
        return
    members = rows["object"].astype(np.int64)
    shown = figure(unused, "", "shallow")
    link = chosen(case.of_their_types(members))
    empty = int((rows["used"] == 0).sum())
    if empty == len(members):
        zeros = phrase(
            plural(empty, "{objects} holds only zeros", "{objects} hold only zeros"),
            objects=counted(case, members),
        )
    else:
        zeros = phrase(
            plural(
                len(members),
                "{objects} holds only zeros after its first quarter",
                "{objects} hold only zeros after their first quarter{empty}",
            ),
            objects=counted(case, members),
            empty=phrase(" ({n} of them hold nothing else)", n=empty) if empty else "",
        )
    sentence = phrase(
        "{zeros}, {size} ({share} of the reachable heap){through}. {advice}",
        zeros=zeros, size=measured(shown, link), share=percent(unused, case.whole),
        through=mostly_through(case, members),
        advice=phrase(
            plural(
                len(members),
                "Allocate it when it is filled, and no larger than its contents.",
                "Allocate them when they are filled, and no larger than their contents.",
            )
        ),
    )  # fmt: skip
    title = phrase("Arrays of zeros")
    yield Ranked(
        unused / case.whole, made("zero_arrays", title, sentence, shown, None, objects=link), members
    )
