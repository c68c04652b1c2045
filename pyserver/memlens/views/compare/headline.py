"""A comparison in two or three sentences: how much in each, and what grew and what shrank most.

The first sentence has both totals and the categories, where the files have any; the second the lines, in the direction
of the total first. Of heap dumps the second says what is new and who holds it, and the third which types differ.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from memlens.model.attribution import Attribution
from memlens.model.info import ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.store.models import graph_of, profile_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, function_name, in_a_row, in_parentheses, phrase, plural
from memlens.units import format_bytes, format_value
from memlens.views.compare.heaps import HeapComparison
from memlens.views.compare.rows import CompareAnswer, ComparedRow, Comparison
from memlens.views.findings.answers import HeadlineAnswer, LineLink, TextPart
from memlens.views.findings.graph.case import GraphCase, object_part, short_type
from memlens.views.findings.graph.held import held_by
from memlens.views.findings.profile.case import ProfileCase
from memlens.views.findings.writing import as_part, base_line, called, linked, short_function
from memlens.views.selection.profile_sets import unit_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.tables.groupings import NO_CATEGORY_NAME

RULE = "comparison"
MOST = 3
MOST_AGAINST = 2
LEAST_SHARE = 0.05
"""What is less than this share of the largest change isn't said."""
LEAST_AGAINST = 0.2
"""The same for what changed in the other direction."""
LEAST_KNOWN = 0.5
"""Categories are said if they are known for this share of what changed."""
MOVED = 1.5
"""If lines differ by so many times as much as their files, code has moved within these, and the files say more."""
WRAPPER_SHARE = 0.8
"""A line with more of the change than this says little by itself: the functions that it called are said as well."""
_MINUS = "\N{MINUS SIGN}"
_NO_FRAME = -1
"""The frame of a line that one of two snapshots has: its number would be that of one."""


class Change(NamedTuple):
    """A row of both sides and its difference."""

    name: Text
    difference: int


def attribution_of(snapshot: Snapshot) -> Attribution:
    """How a headline charges stacks: a profile with hardly any code of the user's by the innermost frames."""
    match snapshot.info:
        case ProfileInfo():
            return ProfileCase(snapshot, snapshot.info).attribution
        case _:
            return "mine"


def compared_headline(
    info: SnapshotInfo,
    of: Sequence[AllocationSet],
    lines: Comparison,
    files: Comparison,
    categories: Comparison | None,
    functions: Comparison | None,
) -> HeadlineAnswer:
    """The headline of two sets, with their rows by line, by category and by innermost function, where there are any."""
    unit = unit_of(info, of[0])
    whole = lines.answer("own", "", "difference", 0, 1)
    before, after = whole.total.before_bytes, whole.total.after_bytes
    named = [] if categories is None else _by_category(categories)
    by_category = listed(named, after - before, unit)
    sentences = [_totals(info, of, before, after, unit, by_category)]
    by_line, by_file = _changes(lines, _line_words), _changes(files, _file_words)
    # of a single file they say nothing
    has_moved = len(by_file) > 1 and _moved(whole) >= MOVED * _moved(
        files.answer("own", "", "difference", 0, 1)
    )
    said = listed(by_file if has_moved else by_line, after - before, unit)
    if said is not None and has_moved:
        sentences.append(phrase("By file: {files}.", files=said))
    elif said is not None:
        sentences.append(phrase("By line: {lines}.", lines=said))
    elif before == after:
        sentences.append(phrase("No line differs."))
    if functions is not None and _is_wrapped(whole, by_line):
        inner = listed(_changes(functions, _function_words), after - before, unit)
        if inner is not None:
            sentences.append(phrase("Allocated in {functions}.", functions=inner))
    return _answer(sentences)


def compared_heaps_headline(own: Snapshot, found: HeapComparison, *, own_first: bool) -> HeadlineAnswer:
    """The headline of two heap dumps. Objects are named as in the view's ``own`` one, which may be the earlier one."""
    before, after = found.before, found.after
    sentences: list[Text] = [
        phrase(
            "{after} reachable instead of {before}{change}.",
            after=format_bytes(after.reachable_bytes),
            before=format_bytes(before.reachable_bytes),
            change=_change(after.reachable_bytes - before.reachable_bytes, "bytes"),
        )
    ]
    if after.only_objects is not None and after.only_bytes is not None:
        sentences.append(_new_objects(own, found, after.only_objects, after.only_bytes, own_first=own_first))
    types = [
        Change(Text(short_type(row.type)), row.after_shallow_bytes - row.before_shallow_bytes)
        for row in found.types
    ]
    said = listed(types, after.shallow_bytes - before.shallow_bytes, "bytes")
    if said is not None:
        sentences.append(phrase("By type: {types}.", types=said))
    return _answer(sentences)


def _new_objects(own: Snapshot, found: HeapComparison, objects: int, size: int, *, own_first: bool) -> Text:
    """What is new, and which objects of both dumps hold it."""
    if not objects:
        return phrase("No object is new.")
    case = GraphCase(own, graph_of(own.info))
    holders = []
    for holder in found.holders[:MOST]:
        if holder.new_bytes < LEAST_AGAINST * size:
            break
        number = holder.before_object if own_first else holder.object.object
        name = held_by(case, number) or object_part(case, number)
        holders.append(phrase("{holder} ({size})", holder=name, size=format_bytes(holder.new_bytes)))
    held = phrase(", held by {holders}", holders=in_a_row(holders, ", ")) if holders else ""
    return phrase(
        plural(objects, "New: {n} object, {size}{held}.", "New: {n} objects, {size}{held}."),
        n=objects, size=format_bytes(size), held=held,
    )  # fmt: skip


def _answer(sentences: Sequence[Text]) -> HeadlineAnswer:
    said = [as_part(sentence) for sentence in sentences]
    return HeadlineAnswer(RULE, said, " ".join(sentence.text for sentence in said), [])


def _totals(
    info: SnapshotInfo, of: Sequence[AllocationSet], before: int, after: int, unit: str, changes: Text | None
) -> Text:
    """Both totals, and the categories that changed most."""
    values = {
        "after": format_value(after, unit),
        "before": format_value(before, unit),
        "change": _change(after - before, unit),
        "changes": "" if changes is None else phrase(": {changes}", changes=changes),
    }
    match info:
        case TimelineInfo():
            is_peak = all(each.kind == "live" and each.from_moment is None for each in of)
            meaning = "peak" if is_peak else "live"
        case _:
            value = profile_of(info).values[
                profile_of(info).default_value if of[0].value is None else of[0].value
            ]
            meaning = value.meaning
            values["value"] = value.title
    match meaning:
        case "peak":
            return phrase("Peak {after} instead of {before}{change}{changes}.", **values)
        case "live":
            return phrase("{after} in use instead of {before}{change}{changes}.", **values)
        case _:
            return phrase("{value}: {after} instead of {before}{change}{changes}.", **values)


def _change(difference: int, unit: str) -> Text:
    size = format_value(abs(difference), unit)
    if not difference:
        return phrase(", no difference")
    return phrase(", {size} more", size=size) if difference > 0 else phrase(", {size} less", size=size)


def listed(changes: Iterable[Change], total: int, unit: str) -> Text | None:
    """The largest changes in the direction of the total, and the largest against it; None if nothing changed."""
    ordered = sorted(changes, key=lambda each: -abs(each.difference))
    grew = [each for each in ordered if each.difference > 0]
    shrank = [each for each in ordered if each.difference < 0]
    first, against = (grew, shrank) if total > 0 or (not total and grew) else (shrank, grew)
    if not first:
        first, against = against, first
    if not first:
        return None
    largest = abs(first[0].difference)
    said = [each for each in first[:MOST] if abs(each.difference) >= LEAST_SHARE * largest]
    said += [each for each in against[:MOST_AGAINST] if abs(each.difference) >= LEAST_AGAINST * largest]
    return in_a_row([_changed(each, unit) for each in said], ", ")


def _changed(change: Change, unit: str) -> Text:
    size = format_value(abs(change.difference), unit)
    return phrase(
        "{name} {change}", name=change.name, change=f"{'+' if change.difference > 0 else _MINUS}{size}"
    )


def _changes(comparison: Comparison, words: Callable[[ComparedRow], Text]) -> list[Change]:
    """The rows that grew most and those that shrank most, by what is recorded, and what is inferred as one of them.

    A guess of one file could otherwise make up for what the other has recorded.
    """
    found = [
        Change(
            words(row),
            row.difference_bytes - (row.after_inferred_bytes - row.before_inferred_bytes),
        )
        for row in comparison.recorded_changes(MOST)
    ]
    inferred = comparison.inferred_difference()
    return [*found, Change(phrase("inferred lines"), inferred)] if inferred else found


def _by_category(comparison: Comparison) -> list[Change]:
    """The categories; none where most of what changed has no category, so that they don't say why."""
    rows = comparison.answer("own", "", "difference", 0, 256).rows
    moved = sum(abs(row.difference_bytes) for row in rows)
    known = sum(abs(row.difference_bytes) for row in rows if _name(row) != NO_CATEGORY_NAME.text)
    if known < LEAST_KNOWN * moved:
        return []
    return [Change(_category_words(row), row.difference_bytes) for row in rows]


def _name(row: ComparedRow) -> str:
    place = row.after or row.before
    return "" if place is None else place.function


def _category_words(row: ComparedRow) -> Text:
    name = _name(row)
    if name == NO_CATEGORY_NAME.text:
        return phrase("no category")
    words = Text(name.replace("_", " "))
    return phrase("{name} (inferred)", name=words) if _is_inferred(row) else words


def _is_inferred(row: ComparedRow) -> bool:
    return row.before_inferred_bytes + row.after_inferred_bytes > 0


def _line_words(row: ComparedRow) -> Text:
    """A row's line with its function, as a link to the line."""
    place = row.after or row.before
    if place is None or not (place.file or place.function):
        return phrase("no stack")
    if not place.file or not place.line:
        return Text(called(short_function(place.function or place.file)))
    link = LineLink(place.file, place.line, place.function, _NO_FRAME, place.source)
    name: TextPart = linked(base_line(link), line=link)
    function = short_function(place.function) if place.function and place.function != "<module>" else ""
    remarks: list[Text] = [function_name(function)] if function and function != name.text else []
    if place.source == "inferred":
        remarks.append(phrase("inferred"))
    return in_a_row([name, in_parentheses(in_a_row(remarks, ", "))], " ") if remarks else name


def _file_words(row: ComparedRow) -> Text:
    place = row.after or row.before
    if place is None or not place.file:
        return phrase("no source file")
    link = LineLink(place.file, 1, "", _NO_FRAME, place.source)
    return linked(base_line(LineLink(place.file, 0, "", _NO_FRAME)), line=link)


def _function_words(row: ComparedRow) -> Text:
    place = row.after or row.before
    if place is None or not place.function:
        return _line_words(row)
    name = called(short_function(place.function))
    if not place.file or not place.line:
        return Text(name)
    return linked(name, line=LineLink(place.file, place.line, place.function, _NO_FRAME, place.source))


def _moved(answer: CompareAnswer) -> int:
    """The sum of all growth and of all shrinkage."""
    parts = (answer.grown, answer.shrunk, answer.only_before, answer.only_after)
    return sum(abs(each.after_bytes - each.before_bytes) for each in parts)


def _is_wrapped(total: CompareAnswer, changes: Sequence[Change]) -> bool:
    """True if one line has nearly all of the change in the direction of the total."""
    difference = total.total.after_bytes - total.total.before_bytes
    moved = (total.grown, total.only_after) if difference > 0 else (total.shrunk, total.only_before)
    whole = abs(sum(each.after_bytes - each.before_bytes for each in moved))
    most = max((each.difference * (1 if difference > 0 else -1) for each in changes), default=0)
    return 0 < WRAPPER_SHARE * whole <= most
