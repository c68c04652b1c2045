"""The sentences about what retains most: an object, or a group that nothing large holds."""

import numpy as np

from memlens.model.timeline import NEVER
from memlens.texts import Text, phrase
from memlens.views.findings.answers import ObjectsLink, TextPart
from memlens.views.findings.graph.case import (
    GraphCase,
    figure,
    is_class,
    measured,
    mostly_through,
    object_part,
)  # fmt: skip
from memlens.views.findings.graph.grouped import (
    Group,
    chain_groups,
    chain_of,
    chain_words,
    contents_of,
    definition,
    is_mostly,
    link_of,
    own_line,
    parts_of,
    tree_of,
    user_line,
    where_of,
    within,
)  # fmt: skip
from memlens.views.findings.graph.held import and_held, held_by, keeper_of
from memlens.views.findings.graph.owners import (
    POINT_SHARE,
    is_entry,
    is_made_up,
    is_of_the_platform,
    type_of,
)  # fmt: skip
from memlens.views.findings.graph.several import held_by_several
from memlens.views.findings.writing import Ranked, linked, made, percent
from memlens.views.heap.listing.threads import thread_name
from memlens.views.heap.objects.rows import Numbers
from memlens.views.heap.objects.thread_table import table
from memlens.views.heap.paths.to_object import paths

NOTED_SHARE = 1 / 3
"""Findings below this share of the heap are notes, unless about a collection of the program: something is always the
largest."""
LEAST_COLLECTED = 100
"""An object that holds this many objects of one type counts as a collection, whatever its type."""
_LIMIT = phrase(" Remove what is no longer needed from it, or limit its size.")
_CACHE = "functools._lru_cache_wrapper"


def of_object(case: GraphCase, holder: int, above: int, groups: list[Group]) -> Ranked:
    """The finding about an object; ``above`` immediately dominates the groups: itself, or the table of a collection."""
    objects = case.snapshot.objects
    total = int(objects.retained[holder])
    shown = figure(total, f"SELECT retained_bytes FROM objects WHERE object = {holder}")
    link = ObjectsLink("object", holder)
    contents: Text | str = ""
    line = user_line(case, holder)
    chain: Numbers | None = None
    tree = (
        tree_of(case, above) if above != holder and is_entry(type_of(case, above)) else np.zeros(0, np.int64)
    )
    if begins_a_chain(case, above):
        chain = chain_of(case, above)
        contents = _of_chain(case, chain)
    if len(tree) > (1 if chain is None else len(chain)):
        chain = tree
        contents = phrase(", a tree of {objects}", objects=chain_words(case, tree))
    elif chain is None and is_mostly(groups, total):
        contents = phrase(", most of it in {objects}", objects=contents_of(case, above, groups[0]))
        groups_within = (groups[0], *within(case, groups[0]))
        line = line or next(filter(None, (own_line(case, each) for each in groups_within)), None)
    elif chain is None and (parts := parts_of(case, groups, total)):
        contents = phrase(", of it {parts}", parts=parts)
    line = line or case.allocated_at(np.array([holder]))
    thread = _thread(case, holder)
    # a thread that runs is alive by itself, and so is a class as far as a program's code can do anything about it
    held = held_by(case, holder) if thread is None and not is_class(case.row(holder)) else None
    advice = _advice(case, holder, above, chain, groups)
    share = total / max(case.whole, 1)
    sentence = phrase(
        "{object} retains {size}, {share} of the reachable heap{contents}.{holder}{advice}",
        object=thread or object_part(case, holder, begins=True), size=measured(shown, link),
        share=percent(total, case.whole), contents=contents,
        holder=phrase(" Held by {holder}.", holder=held) if held else "",
        advice=advice,
    )  # fmt: skip
    title = phrase("Large retained size")
    subject = (type_of(case, holder), held.text if held else "")
    finding = made(
        "retains_most", title, sentence, shown, None, line, objects=link, subject=subject,
        is_note=not advice and share < NOTED_SHARE,
    )  # fmt: skip
    return Ranked(share, finding, np.array([holder]))


def _thread(case: GraphCase, holder: int) -> TextPart | None:
    """The name of the thread whose object this is, if the thread was running or waiting and has a name."""
    known = table(case.snapshot)
    found = np.flatnonzero(known.object == holder)
    name = thread_name(case.snapshot, int(found[0])) if len(found) else ""
    if not name:
        return None
    return linked(phrase("Thread {name}", name=name), objects=ObjectsLink("thread", int(found[0])))


def _is_joined_text(case: GraphCase, chain: Numbers) -> bool:
    joined = case.known.texts.joined
    return joined is not None and int(case.snapshot.objects.type[chain[0]]) in case.types_of_kind(joined.kind)


def _of_chain(case: GraphCase, chain: Numbers) -> Text:
    if _is_joined_text(case, chain):
        return phrase(", a text that was joined from {n} parts", n=len(chain) + 1)
    return phrase(", a chain of {objects}", objects=chain_words(case, chain))


def _advice(
    case: GraphCase, holder: int, above: int, chain: Numbers | None, groups: list[Group]
) -> Text | str:
    """Advice if the program collects a hundred or more objects of one type in one place."""
    if chain is not None:
        kinds = [
            int(case.snapshot.objects.type[chain[0]]),
            *(each.type for each in chain_groups(case, chain)),
        ]
        is_own = not is_of_the_platform(case, holder, kinds)
        is_list = is_own and len(chain) >= LEAST_COLLECTED and not _is_joined_text(case, chain)
        return _LIMIT if is_list else ""
    if not is_mostly(groups, int(case.snapshot.objects.retained[holder])):
        return ""
    if is_of_the_engine(case, holder, groups[0]):
        return phrase(" It is {platform}'s own.", platform=case.known.platform.name)
    inner = [groups[0], *within(case, groups[0])]
    if max(len(each.members) for each in inner) < LEAST_COLLECTED or is_of_the_platform(
        case, holder, [each.type for each in inner]
    ):
        return ""
    if (several := held_by_several(case, groups[0].members, above)) is not None:
        return phrase(" {holders}", holders=several)
    around = int(case.snapshot.objects.dominator[holder])
    if around != NEVER and type_of(case, around) == _CACHE:
        return phrase(" Give lru_cache a maxsize, or call cache_clear.")
    return _LIMIT


def is_of_the_engine(case: GraphCase, holder: int, group: Group) -> bool:
    """Whether the platform itself keeps a group: its own objects, with nothing of the program in or above them.

    A program may well have many of the platform's buffers.
    """
    own = case.line(int(group.members[0]))
    if own is None or not own.file.startswith(case.known.platform.files):
        return False
    if any(definition(case, each) is not None for each in within(case, group)):
        return False
    return not is_held_by_the_program(case, holder)


def is_held_by_the_program(case: GraphCase, holder: int) -> bool:
    """Whether a short path to an object of the platform passes through the program's functions, classes or globals."""
    for path in paths(case.snapshot, holder, 1, soon=True).paths:
        rows = [path.root, *(step.object for step in path.steps)]
        for row, step in zip(rows, path.steps, strict=False):
            line = case.line(row.object)
            keeper = keeper_of(case, row.object) if line is None else None
            place = line if keeper is None else keeper.line
            if place is not None and not place.file.startswith(case.known.platform.files):
                return True
            if (
                step.kind == "property"
                and step.name not in case.known.platform.global_names
                and case.is_global(row.type)
            ):
                return True
    return False


def is_global(case: GraphCase, number: int) -> bool:
    """Whether an object is a global one, which also holds the engine's and the platform's own objects."""
    return case.is_global(type_of(case, number))


def begins_a_chain(case: GraphCase, holder: int) -> bool:
    """Whether nearly all of what an object retains is in one child of its own type, as in a linked list."""
    objects = case.snapshot.objects
    children = slice(int(objects.dominated_start[holder]), int(objects.dominated_start[holder + 1]))
    first = objects.dominated[children][:1]
    if not len(first) or int(objects.retained[first[0]]) < POINT_SHARE * int(objects.retained[holder]):
        return False
    return int(objects.type[first[0]]) == int(objects.type[holder])


def of_group(case: GraphCase, holder: int | None, group: Group) -> Ranked:
    """The finding about a group; ``holder`` immediately dominates it, None where nothing does."""
    objects = case.snapshot.objects
    where = where_of(case, holder, group, int(objects.retained[group.members].max()))
    names = [number for number, name in enumerate(case.type_names()) if name == case.type_names()[group.type]]
    query = f"SELECT retained(object) FROM objects WHERE {where}"
    total = case.retained(group.members)
    shown = figure(total, query if len(names) == 1 else "")
    link = link_of(case, holder, group)
    held = holder
    if holder is None or is_made_up(case, np.array([holder]))[0] or is_global(case, holder):
        held = None
    how = held_by(case, held) if held is not None and not is_class(case.row(held)) else None
    sentence = phrase(
        "{objects} retain {size}, {share} of the reachable heap{through}{holder}{advice}",
        objects=contents_of(case, holder, group), size=measured(shown, link),
        share=percent(total, case.whole), through=mostly_through(case, group.members),
        holder=_common(case, holder, held, how, group),
        advice=phrase(" Clear timers that are no longer needed.") if _is_of_timers(case, group) else "",
    )  # fmt: skip
    finding = made(
        "group_retains_most",
        phrase("Large group"),
        sentence,
        shown,
        None,
        own_line(case, group),
        objects=link,
        subject=(
            case.type_names()[group.type],
            "" if held is None else type_of(case, held),
            how.text if how else "",
        ),
    )
    return Ranked(total / max(case.whole, 1), finding, group.members)


def _is_of_timers(case: GraphCase, group: Group) -> bool:
    """Whether the runtime's timers hold a group."""
    timers = case.known.platform.timers
    return bool(timers) and any(
        case.type_names()[each.type] in timers for each in (group, *within(case, group))
    )


def _common(case: GraphCase, holder: int | None, held: int | None, how: Text | None, group: Group) -> Text:
    """What has a group in common, as the end of a sentence: collections, an object, or the variables of a function."""
    several = held_by_several(case, group.members, holder, 1)
    if several is not None:
        return phrase(". {holders}", holders=several)
    if held is not None:
        return phrase(
            ". Their nearest common holder is {object}{held}.",
            object=object_part(case, held), held=and_held(how),
        )  # fmt: skip
    keeper = None if holder is None else keeper_of(case, holder)
    if keeper is not None:
        return phrase(". Variables of the function around {closure} hold them all.", closure=keeper)
    return phrase("; no single object holds them all.")
