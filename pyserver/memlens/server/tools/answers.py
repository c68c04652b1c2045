"""What answers each tool: the questions that the command line's ``--json`` and the views ask."""

from typing import Any, assert_never

from memlens.errors import BadRequestError
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.packs import registry as packs
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.tools import tops
from memlens.server.tools.declared import tool
from memlens.server.tools.parameters import (
    CallsArguments,
    ObjectArguments,
    PathsArguments,
    StackArguments,
    StepsArguments,
    SummaryArguments,
    TopArguments,
    WhatIfArguments,
    given,
)
from memlens.server.tools.reading import readable
from memlens.server.tools.summaries import summary_of, waste_of
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.units import object_id
from memlens.views.heap.listing.one_object import describe
from memlens.views.heap.listing.thread_stacks import thread_with_stack
from memlens.views.heap.objects.rows import number_of
from memlens.views.heap.paths.with_cut import paths_to_object, paths_to_objects
from memlens.views.lines.stack import stack_frames, totals
from memlens.views.selection.changes import Changes
from memlens.views.trace.details import details
from memlens.views.trace.how_large import asked_in, at_least, how_large
from memlens.views.trace.steps.whole import steps_and_growth
from memlens.views.trace.what_if import what_if

_MOST_VARIABLES = 5
"""Of a frame."""


@tool(
    "memlens_summary",
    "Summary of a Memory Snapshot",
    "What fills a memory snapshot and by whose lines, or why memory ran out, with findings",
    "Begin here. Says what fills a memory snapshot and by whose lines (or why memory ran out), the findings with "
    "their bytes and lines, what the file can't say, and the figures of its devices, values or heap. Reads "
    f"{', '.join(each.text for each in packs.profiles())} and heap dumps ("
    f"{', '.join(packs.heap_worlds())}). `see` of a finding is the question that shows its evidence. Large "
    "files take up to minutes the first time.",
)
async def summary(opened: OpenSnapshot, arguments: SummaryArguments) -> Any:
    """The figures of a file, its headline and its findings, and what it can't say; or what a part of it wastes."""
    device, values, of = given(arguments.device), arguments.values, arguments.of
    if of.strip():
        return await opened.ask_aside(lambda snapshot: waste_of(snapshot, of, values=values))
    return await opened.ask_aside(lambda snapshot: summary_of(snapshot, device, values=values))


@tool(
    "memlens_top",
    "Largest by Line, Function, Type …",
    "What holds the most memory in a snapshot, grouped and filtered",
    "What holds the most memory in a snapshot, grouped by source line, function, file, module, category, size, "
    "stack, or for heap dumps by type, package, thread or single object; with a filter, at the peak, the end or "
    "any moment. Rows of one grouping don't overlap and add up to the whole, unless `inclusive`; retained bytes of "
    "heap dumps overlap.",
)
async def top(opened: OpenSnapshot, arguments: TopArguments) -> Any:
    """The groups with the most memory."""
    return await opened.ask_aside(lambda snapshot: tops.top(snapshot, arguments))


@tool(
    "memlens_calls",
    "Callers and Callees",
    "What calls a function or a line, and what it calls, with the bytes allocated that way",
    "What calls a function or a source line of a trace or a profile, or what it calls, with the bytes that were "
    "allocated that way; several levels at once. Bytes of the rows and `ends_bytes` add up to the place's own.",
)
async def calls(opened: OpenSnapshot, arguments: CallsArguments) -> Any:
    """The callers of a function or a line, or its callees."""
    return await opened.ask_aside(lambda snapshot: tops.calls(snapshot, arguments))


@tool(
    "memlens_stack",
    "An Allocation and Its Stack",
    "The call stack of an allocation, with its size and lifetime",
    "The call stack of one allocation of a trace, innermost frame first, with its size and lifetime, where "
    "it was freed and what else has the same stack; the frames of a stack of any snapshot by its number; or a "
    "thread of a heap dump, with what the variables of each frame retain.",
)
async def stack(opened: OpenSnapshot, arguments: StackArguments) -> Any:
    """An allocation with its stack, the frames of a stack, or a thread of a heap dump with its variables."""
    allocation, number, thread = (
        given(each) for each in (arguments.allocation, arguments.stack, arguments.thread)
    )

    def question(snapshot: Snapshot) -> Any:
        if thread is not None:
            graph_of(snapshot.info)
            return readable(thread_with_stack(snapshot, thread, _MOST_VARIABLES), values=arguments.values)
        if allocation is not None:
            return readable(details(snapshot, allocation))
        if number is None:
            raise BadRequestError(phrase("The arguments name no allocation, stack or thread"))
        if number >= len(snapshot.stacks.node):
            raise BadRequestError(phrase("The snapshot has no stack {number}", number=str(number)))
        found = {"stack": number, "frames": stack_frames(snapshot, number)}
        match snapshot.info:
            case TimelineInfo():
                return readable(found | {"same_stack": totals(snapshot, [number])})
            case ProfileInfo() | GraphInfo():
                return readable(found)
            case _:
                assert_never(snapshot.info)

    return await opened.ask_aside(question)


@tool(
    "memlens_steps",
    "Steps of a Run, and What Grows",
    "The steps of a training run, and the lines that keep more after each",
    "Traces only: the steps of a training run with the peak of each and what it keeps, and the source "
    "lines whose live bytes grow from step to step, which is how a leak looks.",
)
async def steps(opened: OpenSnapshot, arguments: StepsArguments) -> Any:
    """A run's steps, and the lines that grow."""
    device = given(arguments.device)
    return readable(
        await opened.ask_aside(
            lambda snapshot: steps_and_growth(snapshot, device, arguments.limit, arguments.filter)
        )
    )


@tool(
    "memlens_what_if",
    "What Would Have Helped",
    "What other settings of the allocator, or fewer allocations, would have come to",
    "Traces only: replays the allocator with other settings, on a smaller device, or with some allocations left out, "
    "halved, freed at once or computed again. "
    "`calibration` says how exactly the replay reproduces the trace; with a `reason` nothing else is known. "
    "Each row has what was live and reserved at the peak, and the first request that fails; the first row is what "
    "was recorded. With `sizes` it says instead how large a batch or a sequence may be, by the trace alone or `beside` "
    "one of a smaller size.",
)
async def replayed(
    opened: OpenSnapshot, arguments: WhatIfArguments, beside: OpenSnapshot | None = None
) -> Any:
    """The outcome of other allocator settings, fewer allocations or other sizes."""
    if arguments.sizes:
        return await _sized(opened, arguments, beside)
    return readable(
        await opened.ask_aside(
            lambda snapshot: what_if(
                snapshot,
                given(arguments.device),
                settings=arguments.settings,
                changes=Changes(
                    without=(*arguments.without,),
                    halve=(*arguments.halve,),
                    free_at_once=(*arguments.free_at_once,),
                    recompute=(*arguments.recompute,),
                ),
                capacity_bytes=given(arguments.capacity_bytes),
            )
        )
    )


async def _sized(opened: OpenSnapshot, arguments: WhatIfArguments, beside: OpenSnapshot | None) -> Any:
    sizes, device, capacity = arguments.sizes, given(arguments.device), given(arguments.capacity_bytes)
    if (beside is None) != (len(sizes) == 1):
        raise BadRequestError(
            phrase(
                "`sizes` takes the trace's size alone, or with `beside` the sizes of both traces and "
                "those to predict"
            )
        )
    if beside is None:
        return readable(
            await opened.ask_aside(lambda snapshot: at_least(snapshot, device, sizes[0], capacity))
        )
    smaller = await beside.ask_aside(lambda snapshot: asked_in(snapshot, device))
    return readable(
        await opened.ask_aside(
            lambda snapshot: how_large(snapshot, device, smaller, (sizes[0], sizes[1]), sizes[2:], capacity)
        )
    )


def chosen_number(snapshot: Snapshot, arguments: ObjectArguments | PathsArguments) -> int:
    """The number of the object in question. Raises :class:`BadRequestError`."""
    graph_of(snapshot.info)
    number, text = given(arguments.number), given(arguments.id)
    if number is not None:
        return number
    if text is None:
        raise BadRequestError(phrase("The arguments name no object"), advice=phrase("Give `id` or `number`."))
    own_id = object_id(text)
    if own_id is None:
        raise BadRequestError(phrase("{text} is not the id or the address of an object", text=text))
    return number_of(snapshot, own_id)


@tool(
    "memlens_object",
    "An Object of a Heap Dump",
    "An object of a heap dump, what it refers to and what refers to it",
    "One object of a heap dump: its type, shallow and retained bytes, fields, what it refers to and what refers "
    "to it, what it dominates, and where it is defined or was allocated.",
)
async def heap_object(opened: OpenSnapshot, arguments: ObjectArguments) -> Any:
    """An object, what it refers to and what refers to it."""

    def question(snapshot: Snapshot) -> Any:
        return describe(snapshot, chosen_number(snapshot, arguments), arguments.limit)

    return readable(await opened.ask_aside(question), values=arguments.values)


@tool(
    "memlens_paths",
    "Why Objects Are Alive",
    "The chains of references that keep objects of a heap dump alive",
    "Why objects of a heap dump are alive: the shortest chains of named references from a root to one object, with "
    "what cutting each reference would free; or with a filter the paths to many objects, merged into a tree.",
)
async def paths(opened: OpenSnapshot, arguments: PathsArguments) -> Any:
    """The reasons why an object, or all that match a filter, are alive."""

    def question(snapshot: Snapshot) -> Any:
        graph_of(snapshot.info)
        if arguments.filter.strip():
            return paths_to_objects(snapshot, arguments.filter, arguments.limit, arguments.through)
        number = chosen_number(snapshot, arguments)
        return paths_to_object(snapshot, number, min(arguments.limit, 20), arguments.through)

    return readable(await opened.ask_aside(question), values=arguments.values)
