"""Duplicate strings, arrays and images."""

import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from memlens.arrays import I64, U8, U32, U64, Mask
from memlens.kernels.graph.alike import first_alike
from memlens.model.distinct import among, first_equal
from memlens.packs.api import JoinedTexts
from memlens.store.manifest import InconsistentError
from memlens.store.stacks.strings import Strings
from memlens.texts import Text, in_a_row, phrase
from memlens.units import dimensions, plain_name, shortened
from memlens.views.findings.answers import ObjectsLink
from memlens.views.findings.graph.case import (
    GraphCase,
    chosen,
    figure,
    measured,
    mostly_through,
    of_types,
)  # fmt: skip
from memlens.views.findings.writing import Ranked, made, percent, text_in_sql
from memlens.views.heap.images.images import groups_of, images_of
from memlens.views.heap.objects.reference_kinds import string_types
from memlens.views.heap.objects.rows import Numbers

_UNSURE_SHARE = 0.1
"""The share of the bytes of copies below which the sentence doesn't mention partly known texts."""
_MOST_BYTES_OF_A_CHARACTER = 4
QUOTED = "“{text}” {n} times"
"""The template of a part that quotes a string's text."""
_MOST_SHOWN, _MOST_LOOKED_AT = 3, 50
_MOST_TEXT = 40
_MOST_HEAD = 100
_ARRAY_KINDS = ("array",)


def strings(case: GraphCase) -> Iterator[Ranked]:
    """Copies of strings would free 1% of the reachable heap, and 32 KiB, if there were one of each.

    Strings are equal that have one text and one size of their own. Of long ones the dump has a part alone, or Memlens
    keeps one: those are probably equal, and the sentence says so. What one copy retains stays, the largest.
    Strings that an engine keeps as two others are equal if their whole text is known and the same. Each is counted
    without its parts, which are strings themselves.
    """
    names = case.type_names()
    of_two = case.known.texts.joined
    joined = [] if of_two is None else case.types_of_kind(of_two.kind)
    strings = string_types(case.snapshot)
    kinds = sorted({*joined, *case.types_of_kind("string"), *case.types_where(strings.__contains__)})
    members = case.instances(kinds).astype(np.int64)
    objects = case.snapshot.objects
    members = members[objects.name[members] > 0]
    stored = case.snapshot.strings
    ends = stored.end
    is_joined = among(objects.type[members], np.array(joined, np.int64))
    if of_two is not None and is_joined.any():
        kept = ~is_joined
        kept[is_joined] = _are_whole(of_two, stored, objects.name[members[is_joined]])
        members, is_joined = members[kept], is_joined[kept]
    if len(members) < 2:
        return
    # with tables over all strings, because sorting millions of numbers takes longer
    is_used = np.zeros(len(ends), np.bool_)
    is_used[objects.name[members]] = True
    used = np.flatnonzero(is_used)
    text_of = np.zeros(len(ends), np.uint64)
    text_of[used] = _first_alike(stored.utf8, ends[used - 1], ends[used])
    keys = (text_of[objects.name[members]], objects.shallow[members], is_joined.astype(np.uint64))
    groups = first_equal(np.stack(keys, axis=1))
    freed, copies = _without_one(
        np.where(is_joined, objects.shallow[members], objects.retained[members]), groups
    )
    total = int(freed.sum())
    if total < case.least:
        return
    where = of_types([names[kind] for kind in kinds])
    query = (
        "SELECT coalesce(sum(bytes), 0) FROM (SELECT sum(o.retained_bytes) - max(o.retained_bytes) AS bytes "
        "FROM objects AS o JOIN strings AS s ON s.string = o.name_string "
        f"WHERE o.{where} AND o.name_string > 0 AND o.distance IS NOT NULL GROUP BY s.text, o.shallow_bytes)"
    )
    if of_two is not None and joined:
        own = f"o.{of_types([names[kind] for kind in joined])}"
        size = f"CASE WHEN {own} THEN o.shallow_bytes ELSE o.retained_bytes END"
        query = (
            f"SELECT coalesce(sum(bytes), 0) FROM (SELECT sum({size}) - max({size}) AS bytes "
            "FROM objects AS o JOIN strings AS s ON s.string = o.name_string "
            f"WHERE o.{where} AND o.name_string > 0 AND o.distance IS NOT NULL AND (NOT {own} "
            f"OR octet_length(s.text) < {of_two.most_bytes} AND instr(s.text, {text_in_sql(of_two.unknown_part)}) = 0) "
            f"GROUP BY s.text, o.shallow_bytes, {own})"
        )
    shown = figure(total, query)
    extra = int((copies - 1)[copies > 1].sum())
    # the first of each group stands for it
    begins = np.zeros(len(copies), np.int64)
    begins[groups[::-1]] = objects.name[members[::-1]]
    in_part = _in_part(case, begins) & (copies > 1)
    probable = int((copies - 1)[in_part].sum())
    texts: dict[str, Text] = {}
    for group in np.argsort(-freed, kind="stable")[:_MOST_LOOKED_AT].tolist():
        if not freed[group] or len(texts) == _MOST_SHOWN:
            break
        text = _quoted(stored.head(int(begins[group]), _MOST_HEAD))
        # strings that differ only after the quoted beginning would look like a repetition
        texts.setdefault(text, phrase("“{text}” {n} times", text=text, n=int(copies[group])))
    unsure = int(freed[in_part].sum())
    probable = probable if unsure >= _UNSURE_SHARE * total else 0
    values = {
        "n": extra, "size": measured(shown, chosen(where)), "share": percent(total, case.whole),
        "texts": in_a_row(list(texts.values()), ", "),
    }  # fmt: skip
    sentence = _said(values, probable, mostly=2 * unsure > total)
    title, inferred = phrase("Duplicate strings"), probable > 0
    yield Ranked(
        (total - unsure // 2) / case.whole,
        made("duplicate_strings", title, sentence, shown, None, inferred=inferred, objects=chosen(where)),
        members[copies[groups] > 1],
    )


def _quoted(text: str) -> str:
    """The beginning of a text on one line, without its line breaks and indents."""
    return plain_name(shortened(re.sub(r"\s+", " ", text), _MOST_TEXT))


def arrays(case: GraphCase) -> Iterator[Ranked]:
    """Arrays with the same elements in the same order as another would free 1% of the reachable heap, and 32 KiB.

    Of dumps that mark arrays as such: those that refer to the same objects, and those with the
    same numbers, by a hash of 64 bits. Neither those of zeros alone, nor those that hold the characters of strings or
    the pixels of images.
    """
    if case.known.has_internal_parts:
        # parts of objects, not arrays of the program
        return
    objects = case.snapshot.objects
    parts = [_of_references(case), _of_numbers(case)]
    members = np.concatenate([part[0] for part in parts])
    if len(members) < 2:
        return
    keys = np.stack(
        (
            np.concatenate([part[1] for part in parts]),
            objects.type[members].astype(np.uint64),
            objects.shallow[members],
        ),
        axis=1,
    )
    groups = first_equal(keys)
    freed, copies = _without_one(objects.shallow[members], groups)
    total = int(freed.sum())
    if total < case.least:
        return
    shown = figure(total, "", "shallow")
    extra = copies[groups] > 1
    where = case.of_their_types(members[extra])
    sentence = phrase(
        "{n} arrays have the same elements as another, {size} ({share} of the reachable heap){through}.",
        n=int((copies - 1)[copies > 1].sum()), size=measured(shown, chosen(where)),
        share=percent(total, case.whole), through=mostly_through(case, members[extra]),
    )  # fmt: skip
    title = phrase("Duplicate arrays")
    found = made("duplicate_arrays", title, sentence, shown, None, objects=chosen(where))
    yield Ranked(total / case.whole, found, members[extra])


def images(case: GraphCase) -> Iterator[Ranked]:
    """One image in place of those with the same size and pixels would free 1% of the reachable heap, and 32 KiB.

    By a hash of 64 bits: the arrays of the pixels, each counted once, and the memory
    outside of the heap that the images own. The largest of each stays.
    """
    found = images_of(case.snapshot)
    chosen_ones = np.flatnonzero(case.counts(found.rows["object"]))
    if len(chosen_ones) < 2:
        return
    groups = groups_of(found, chosen_ones)
    total = int(groups.freed.sum())
    if total < case.least:
        return
    shown = figure(total, "", "shallow")
    most = np.argsort(-groups.freed, kind="stable")[:_MOST_SHOWN]
    shown_rows = found.rows[groups.shown[most]]
    texts = [
        phrase("{image} {n} times", image=dimensions(int(row["width"]), int(row["height"])), n=int(count))
        for row, count, freed in zip(shown_rows, groups.count[most], groups.freed[most], strict=True)
        if freed
    ]
    has_native = bool(groups.native.any())
    whole = case.whole + (case.info.native_bytes if has_native else 0)
    several = np.isin(found.alike[chosen_ones], found.alike[groups.shown[groups.freed > 0]])
    link = ObjectsLink("images")
    sentence = phrase(
        "{n} images have the same pixels as another, {size} ({share} of {whole}): {images}.",
        whole=phrase("the reachable heap and the native memory") if has_native else phrase("the reachable heap"),
        n=int((groups.count - 1)[groups.freed > 0].sum()), size=measured(shown, link),
        share=percent(total, whole), images=in_a_row(texts, ", "),
    )  # fmt: skip
    yield Ranked(
        total / whole,
        made("equal_images", phrase("Equal images"), sentence, shown, None, objects=link),
        found.rows["object"][chosen_ones[several]].astype(np.int64),
    )


def _of_references(case: GraphCase) -> tuple[I64, U64]:
    """Arrays that refer to objects, and a number that is the same for those that refer to the same ones."""
    stored = case.snapshot.references
    members = case.instances(case.types_of_kind(*_ARRAY_KINDS)).astype(np.int64)
    start = stored.start
    is_index = case.kinds(lambda name: name in ("element", "reference"))
    members = members[start[members + 1] > start[members]]
    members = members[is_index[stored.kind[(start[members + 1] - 1).astype(np.int64)]]]
    width = np.uint64(stored.target.itemsize)
    same = _first_alike(
        np.ascontiguousarray(stored.target).view(np.uint8), start[members] * width, start[members + 1] * width
    )
    return members, same.astype(np.uint64)


def _of_numbers(case: GraphCase) -> tuple[I64, U64]:
    """Arrays of numbers that aren't all zero, and hashes of their elements."""
    rows = case.number_arrays()
    rows = rows[(rows["used"] > 0) & ~np.isin(rows["object"], case.snapshot.objects.images["elements"])]
    return rows["object"].astype(np.int64), rows["contents"].astype(np.uint64)


def _first_alike(data: U8, begin: U64, end: U64) -> U32:
    """The number of the first span of bytes that is equal to each. Raises :class:`InconsistentError`."""
    begin, end = np.ascontiguousarray(begin, np.uint64), np.ascontiguousarray(end, np.uint64)
    if not bool(((begin <= end) & (end <= len(data))).all()):
        raise InconsistentError("A string ends before it begins, or after the last one")
    first = np.empty(len(begin), np.uint32)
    first_alike(data, begin, end, int.from_bytes(os.urandom(8), "little"), first)
    return first


def _are_whole(of_two: JoinedTexts, stored: Strings, numbers: Numbers) -> Mask:
    """A mask of the joined texts that are completely known."""
    ends = stored.end
    begin, end = ends[numbers - 1], ends[numbers]
    is_whole: Mask = end - begin < of_two.most_bytes
    first, last = int(begin.min()), int(end.max())
    part = of_two.unknown_part.encode()
    data = np.ascontiguousarray(stored.utf8[first:last])
    found = np.array([first + each.start() for each in re.finditer(re.escape(part), data.data)], np.uint64)
    if len(found):
        # the first after the text's beginning is in it
        at = np.searchsorted(found, begin)
        next_one = np.append(found, np.uint64(last))[at]
        is_whole &= next_one + np.uint64(len(part)) > end
    return is_whole


def _said(values: dict[str, Any], probable: int, *, mostly: bool) -> Text:
    """The sentence about copies of strings: how many are only probable, and whether these are most of the bytes."""
    if mostly:
        said = phrase(
            "{n} strings are probably copies of others, {size} ({share} of the reachable heap): {texts}.",
            **values,
        )
    else:
        said = phrase(
            "{n} strings are copies of others, {size} ({share} of the reachable heap): {texts}.", **values
        )
    if not probable:
        return said
    doubt = phrase(
        "Of {n} of them only a part of the text is known; that and their size are equal.", n=probable
    )
    return in_a_row([said, doubt], " ")


def _in_part(case: GraphCase, numbers: Numbers) -> Mask:
    """A mask of the texts of which only a part may be known."""
    stored, most = case.snapshot.strings, case.known.texts.most_bytes
    if most is None:
        return np.zeros(len(numbers), np.bool_)
    ends = stored.end
    found: Mask = ends[numbers] - ends[numbers - 1] > most - _MOST_BYTES_OF_A_CHARACTER
    return found


def _without_one(sizes: Numbers, groups: Numbers) -> tuple[I64, I64]:
    """The sum of sizes minus the largest, and the count, of each group."""
    count = int(groups.max()) + 1
    largest, sums = np.zeros(count, np.int64), np.zeros(count, np.int64)
    np.maximum.at(largest, groups, sizes.astype(np.int64))
    np.add.at(sums, groups, sizes.astype(np.int64))
    return sums - largest, np.bincount(groups, minlength=count)
