"""What answers each tool: the questions that the command line's ``--json`` and the views ask."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, assert_never

from msgspec import structs

from memlens.errors import BadRequestError
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.server.protocol.compare import (
    CompareHeapFindingsParams,
    CompareHeapsParams,
    CompareHeapTypesParams,
    CompareParams,
)
from memlens.server.sessions.comparisons import Comparisons
from memlens.server.sessions.heap_comparisons import HeapComparisons
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.tools import tops
from memlens.server.tools.parameters import (
    CompareArguments,
    ObjectArguments,
    PathsArguments,
    SqlArguments,
    StackArguments,
    StepsArguments,
    SummaryArguments,
    TopArguments,
    attribution_of,
    given,
)
from memlens.server.tools.reading import readable
from memlens.server.tools.summaries import figure_of, finding_of, summary_of, waste_of
from memlens.store.models import devices_of, graph_of, has_stacks, heap_dump_of, profile_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.units import object_id
from memlens.views.compare.kinds import check_comparable, common_values
from memlens.views.filtering import complete_filters
from memlens.views.findings.ahead import MOST_FINDINGS, findings
from memlens.views.findings.compared import ComparedFinding
from memlens.views.graph.merged_paths import largest_branches
from memlens.views.graph.objects import describe, number_of
from memlens.views.graph.paths import paths as paths_to
from memlens.views.graph.thread_stacks import thread_with_stack
from memlens.views.lines.stack import stack as stack_of
from memlens.views.lines.stack import stack_frames, totals
from memlens.views.selection.profile_sets import set_at
from memlens.views.sql.schema import schema_of
from memlens.views.trace.steps.whole import steps_and_growth

if TYPE_CHECKING:
    from memlens.views.compare.rows import CompareBy

_MOST_VARIABLES = 5
"""Of a frame."""

SQL_SECONDS = 60.0
"""A model's query is ended after so long; a person can cancel one."""

complete_filters()


async def summary(opened: OpenSnapshot, arguments: SummaryArguments) -> Any:
    """The figures of a file, its headline and its findings, and what it can't say; or what a part of it wastes."""
    device, values, of = given(arguments.device), arguments.values, arguments.of
    if of.strip():
        return await opened.ask_aside(lambda snapshot: waste_of(snapshot, of, values=values))
    return await opened.ask_aside(lambda snapshot: summary_of(snapshot, device, values=values))


async def top(opened: OpenSnapshot, arguments: TopArguments) -> Any:
    """What there is most of."""
    return await opened.ask_aside(lambda snapshot: tops.top(snapshot, arguments))


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
            return readable(stack_of(snapshot, allocation))
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


async def steps(opened: OpenSnapshot, arguments: StepsArguments) -> Any:
    """A run's steps, and the lines that grow."""
    device = given(arguments.device)
    return readable(
        await opened.ask_aside(
            lambda snapshot: steps_and_growth(snapshot, device, arguments.limit, arguments.filter)
        )
    )


def chosen_number(snapshot: Snapshot, arguments: ObjectArguments | PathsArguments) -> int:
    """The number of the object that is asked about. Raises :class:`BadRequestError`."""
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


async def heap_object(opened: OpenSnapshot, arguments: ObjectArguments) -> Any:
    """An object, what it refers to and what refers to it."""

    def question(snapshot: Snapshot) -> Any:
        return describe(snapshot, chosen_number(snapshot, arguments), arguments.limit)

    return readable(await opened.ask_aside(question), values=arguments.values)


async def paths(opened: OpenSnapshot, arguments: PathsArguments) -> Any:
    """Why an object is alive, or all that fit a filter."""

    def question(snapshot: Snapshot) -> Any:
        graph_of(snapshot.info)
        if arguments.filter.strip():
            return largest_branches(snapshot, arguments.filter, None, arguments.limit, arguments.through)[0]
        return paths_to(
            snapshot, chosen_number(snapshot, arguments), min(arguments.limit, 20), arguments.through
        )

    return readable(await opened.ask_aside(question), values=arguments.values)


async def sql(opened: OpenSnapshot, arguments: SqlArguments) -> Any:
    """Rows of a query, or what a query may name."""
    if not arguments.query.strip():
        found = await opened.ask_aside(schema_of)
        return {
            "tables": [
                {
                    "name": f"{table.name}({', '.join(table.arguments)})" if table.arguments else table.name,
                    "about": table.description,
                    "columns": ", ".join(
                        f"{column.name} {column.type}"
                        + (f" ({column.description})" if column.description else "")
                        for column in table.columns
                    ),
                }
                for table in found.tables
            ],
            "examples": [f"-- {example.title}\n{example.query}" for example in found.examples],
        }
    answer = await opened.sql.ask(arguments.query, 0, arguments.limit, None, most_s=SQL_SECONDS)
    return readable(answer)


async def _compared(opened: OpenSnapshot, row: ComparedFinding, *, values: bool) -> dict[str, Any]:
    """A finding of two dumps, as the one of them that is ``opened`` has it."""
    link = row.shown.objects

    def question(snapshot: Snapshot) -> dict[str, Any]:
        said = findings(snapshot, None, MOST_FINDINGS).findings
        found = finding_of(snapshot, row.shown, values=values)
        if link is not None and link.kind in ("query", "images") and row.shown not in said:
            # the filter for findings has only those of the dump alone
            found.pop("see")
        return found

    shown = await opened.ask_aside(question)
    if "see" in shown:
        shown["see"]["arguments"]["path"] = opened.path
    figures = {"before": row.before_figure, "after": row.after_figure}
    return {
        "rule": row.rule,
        "title": row.title,
        "change": row.change,
        **{name: figure_of(figure) for name, figure in figures.items() if figure is not None},
        "difference": row.difference,
        **{name: each for name, each in shown.items() if name not in ("rule", "title", "figure")},
    }


def _values_of(before: OpenSnapshot, after: OpenSnapshot, name: str | None) -> tuple[str | None, str | None]:
    """The value of each that is compared, by its number; the name as it is for traces, which have none."""
    if not (has_stacks(before.info) and has_stacks(after.info)) or devices_of(before.info):
        return name, name
    first, second = common_values([profile_of(before.info), profile_of(after.info)], name)
    return str(first), str(second)


Compare = Callable[[OpenSnapshot, OpenSnapshot, CompareArguments], Awaitable[Any]]


def comparing(comparisons: Comparisons, heaps: HeapComparisons) -> Compare:
    """What answers comparisons, with what a server keeps of them."""

    async def compare(before: OpenSnapshot, after: OpenSnapshot, arguments: CompareArguments) -> Any:
        """The differences between two files, the largest first."""
        check_comparable(before.info, after.info)
        are_dumps = heap_dump_of(before.info) is not None
        by: CompareBy | Literal["type", "finding"] = given(arguments.by) or ("type" if are_dumps else "line")
        if by == "type":
            return await compare_heaps(before, after, arguments)
        if by == "finding":
            return await compare_findings(before, after, arguments)
        if arguments.filter.strip():
            raise BadRequestError(phrase("Only heap dumps can be compared by type with a filter"))
        device = given(arguments.device)
        value, other_value = _values_of(before, after, given(arguments.value))
        answer = await comparisons.compare(
            CompareParams(
                snapshot=before.name,
                other=after.name,
                of=set_at(before.info, arguments.at, device, value),
                other_of=set_at(after.info, arguments.at, device, other_value),
                other_first=False,
                by=by,
                measure="inclusive" if arguments.inclusive else "own",
                attribution=attribution_of(any_code=arguments.any_code),
                search=arguments.search,
                limit=arguments.limit,
            )
        )
        attribution = {"attribution": attribution_of(any_code=arguments.any_code)}
        match before.info:
            case TimelineInfo():
                return attribution | readable(answer)
            case ProfileInfo() | GraphInfo():
                values = profile_of(before.info).values
                number = set_at(before.info, arguments.at, device, value).value or 0
                return attribution | tops.in_unit(answer, values[number])
            case _:
                assert_never(before.info)

    async def compare_findings(before: OpenSnapshot, after: OpenSnapshot, arguments: CompareArguments) -> Any:
        answer = await heaps.findings(
            CompareHeapFindingsParams(snapshot=before.name, other=after.name, other_first=False)
        )
        rows = [row for row in answer.rows if row.has(arguments.search)]
        found = [
            await _compared(before if row.after is None else after, row, values=arguments.values)
            for row in rows[: arguments.limit]
        ]
        return readable(
            {"rows": found, "rows_left_out": max(0, len(rows) - len(found))}, values=arguments.values
        )

    async def compare_heaps(before: OpenSnapshot, after: OpenSnapshot, arguments: CompareArguments) -> Any:
        totals_of = await heaps.compare(
            CompareHeapsParams(
                snapshot=before.name, other=after.name, other_first=False, filter=arguments.filter
            )
        )
        types = await heaps.types(
            CompareHeapTypesParams(
                snapshot=before.name,
                other=after.name,
                other_first=False,
                filter=arguments.filter,
                search=arguments.search,
                order="retained",
                reverse=False,
                offset=0,
                limit=arguments.limit,
            )
        )
        most = arguments.limit
        found = structs.asdict(totals_of) | {
            "types": types.rows,
            "types_total": types.total,
            "holders": totals_of.holders[:most],
            "holders_left_out": max(0, len(totals_of.holders) - most),
            "paths": totals_of.paths[:most],
            "paths_left_out": max(0, len(totals_of.paths) - most),
        }
        return readable(found, values=arguments.values)

    return compare
