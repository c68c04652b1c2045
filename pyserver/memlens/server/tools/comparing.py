"""What answers ``memlens_compare`` and ``memlens_series``: questions about several files of one kind."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from msgspec import structs

from memlens.errors import BadRequestError
from memlens.model.info import ProfileValue
from memlens.server.protocol.compare import (
    CompareHeapFindingsParams,
    CompareHeapsParams,
    CompareHeapTypesParams,
    CompareParams,
    HeapSeriesParams,
)
from memlens.server.sessions.comparisons import Comparisons
from memlens.server.sessions.heap_comparisons import HeapComparisons
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.sessions.registry import Registry
from memlens.server.tools.declared import tool
from memlens.server.tools.moments import refuse_moments, set_of, when
from memlens.server.tools.parameters import CompareArguments, OfSet, SeriesArguments, attribution_of, given
from memlens.server.tools.reading import readable
from memlens.server.tools.summaries import figure_of, finding_of, said
from memlens.server.tools.tops import in_unit, valued
from memlens.store.models import devices_of, has_stacks, heap_dump_of, profile_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.compare.kinds import check_comparable, common_values
from memlens.views.compare.order import out_of_order
from memlens.views.compare.rows import Comparison, Measure
from memlens.views.compare.series import SeriesBy, series_of_places
from memlens.views.compare.sides import CompareBy, Side, side_of
from memlens.views.findings.ahead import MOST_FINDINGS, findings
from memlens.views.findings.compared import ComparedFinding
from memlens.views.selection.sets import AllocationSet


class _Chosen(NamedTuple):
    """A file's allocations or samples, what an answer says of their moment, and the profile's value."""

    of: AllocationSet
    when: dict[str, Any]
    value: ProfileValue | None


class SeveralFiles:
    """Questions about several files, and the results that a server keeps. For the event loop's thread only."""

    def __init__(self, registry: Registry) -> None:
        self._comparisons = Comparisons(registry)
        self._heaps = HeapComparisons(registry)

    @tool(
        "memlens_compare",
        "Difference of Two Snapshots",
        "What differs between two memory snapshots, by line or type",
        "What differs between two snapshots of the same kind, the largest difference first: by line, function, file "
        "or stack, and for heap dumps by type, with the objects that hold what is new and the paths that grew, or by "
        "finding. Lines that moved are paired.",
    )
    async def compare(self, before: OpenSnapshot, after: OpenSnapshot, arguments: CompareArguments) -> Any:
        """The differences between two files, the largest first."""
        check_comparable(before.info, after.info)
        order = out_of_order(before.info, after.info)
        answer = await self._compared(before, after, arguments)
        return answer if order is None else {"order": order.text, **answer}

    async def _compared(self, before: OpenSnapshot, after: OpenSnapshot, arguments: CompareArguments) -> Any:
        of_dumps = heap_dump_of(before.info) is not None
        by: CompareBy | Literal["type", "finding"] = given(arguments.by) or ("type" if of_dumps else "line")
        if by == "type":
            refuse_moments(arguments)
            return await self._heap_types(before, after, arguments)
        if by == "finding":
            refuse_moments(arguments)
            return await self._heap_findings(before, after, arguments)
        if arguments.filter.strip():
            raise BadRequestError(phrase("Only heap dumps can be compared by type with a filter"))
        ats = [given(each) or given(arguments.at) for each in (arguments.before_at, arguments.after_at)]
        chosen = await _chosen((before, after), OfSet(device=arguments.device, value=arguments.value), ats)
        answer = await self._comparisons.compare(
            CompareParams(
                snapshot=before.name,
                other=after.name,
                of=chosen[0].of,
                other_of=chosen[1].of,
                other_first=False,
                by=by,
                measure="inclusive" if arguments.inclusive else "own",
                attribution=attribution_of(any_code=arguments.any_code),
                search=arguments.search,
                limit=arguments.limit,
            )
        )
        head = {"attribution": attribution_of(any_code=arguments.any_code)}
        moments = {
            f"{side}_at": each.when["at"]
            for side, each in zip(("before", "after"), chosen, strict=True)
            if "at" in each.when
        }
        value = chosen[0].value
        return head | moments | (readable(answer) if value is None else in_unit(answer, value))

    @tool(
        "memlens_series",
        "Growth over Several Snapshots",
        "What grew over several snapshots of the same kind, by line or type",
        "What grew over several snapshots of the same kind, the earliest first: the bytes of each line, function or "
        "file, or of each type of heap dumps, in every one of them. What never shrinks and has grown most comes first.",
    )
    async def series(self, opened: Sequence[OpenSnapshot], arguments: SeriesArguments) -> Any:
        """The growth from the first of several files to the last."""
        check_comparable(*(each.info for each in opened))
        of_dumps = heap_dump_of(opened[0].info) is not None
        by: SeriesBy | Literal["type"] = given(arguments.by) or ("type" if of_dumps else "line")
        files = [each.path for each in opened]
        if by == "type":
            refuse_moments(arguments)
            found = await self._heaps.series(
                HeapSeriesParams(
                    snapshot=opened[0].name,
                    dumps=[each.name for each in opened],
                    filter=arguments.filter,
                    search=arguments.search,
                    limit=arguments.limit,
                )
            )
            return {"by": by, "files": files, **readable(found)}
        attribution = attribution_of(any_code=arguments.any_code)
        asked = OfSet(device=arguments.device, value=arguments.value, filter=arguments.filter)
        chosen = await _chosen(opened, asked, [given(arguments.at)] * len(opened))

        async def side(one: OpenSnapshot, of: AllocationSet) -> Side:
            return await one.ask(lambda snapshot: side_of(snapshot, of, attribution))

        sides = [await side(one, each.of) for one, each in zip(opened, chosen, strict=True)]
        pairings = [await self._comparisons.pairing(one, opened[-1]) for one in opened[:-1]]
        places: SeriesBy = by
        measure: Measure = "inclusive" if arguments.inclusive else "own"

        def answer() -> Any:
            every = [
                Comparison(one, sides[-1], pairing, places)
                for one, pairing in zip(sides[:-1], pairings, strict=True)
            ]
            return series_of_places(every, measure, arguments.search, arguments.limit)

        found_rows = await asyncio.to_thread(answer)
        moments = [each.when.get("at") for each in chosen]
        head = {
            "by": by, "files": files, "attribution": attribution,
            **({"at": moments} if any(moments) else {}),
        }  # fmt: skip
        value = chosen[0].value
        return head | (readable(found_rows) if value is None else in_unit(found_rows, value))

    async def _heap_findings(
        self, before: OpenSnapshot, after: OpenSnapshot, arguments: CompareArguments
    ) -> Any:
        answer = await self._heaps.findings(
            CompareHeapFindingsParams(snapshot=before.name, other=after.name, other_first=False)
        )
        # as sent: a search isn't to find out what is left out
        rows = [
            row
            for row in answer.rows
            if _has(f"{row.title} {said([row.shown.sentence], values=arguments.values)}", arguments.search)
        ]
        found = [
            await _compared(before if row.after is None else after, row, values=arguments.values)
            for row in rows[: arguments.limit]
        ]
        return readable(
            {"rows": found, "rows_left_out": max(0, len(rows) - len(found))}, values=arguments.values
        )

    async def _heap_types(
        self, before: OpenSnapshot, after: OpenSnapshot, arguments: CompareArguments
    ) -> Any:
        totals_of = await self._heaps.compare(
            CompareHeapsParams(
                snapshot=before.name, other=after.name, other_first=False, filter=arguments.filter
            )
        )
        types = await self._heaps.types(
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


def _has(text: str, search: str) -> bool:
    return all(word in text.lower() for word in search.lower().split())


async def _chosen(opened: Sequence[OpenSnapshot], asked: OfSet, ats: Sequence[str | None]) -> list[_Chosen]:
    """The set of each file. Of profiles without a moment all have one value. Raises :class:`BadRequestError`."""
    infos = [each.info for each in opened]
    values: list[str | None] = [None] * len(opened)
    if not devices_of(infos[0]) and all(map(has_stacks, infos)) and not any(ats):
        numbers = common_values([profile_of(info) for info in infos], given(asked.value))
        values = [str(number) for number in numbers]

    def question(snapshot: Snapshot, number: int) -> _Chosen:
        mine = asked if values[number] is None else structs.replace(asked, value=values[number])
        of = set_of(snapshot, mine, ats[number])
        value = None if devices_of(snapshot.info) else valued(snapshot, of)
        return _Chosen(of, when(snapshot, of), value)

    found = []
    for number, each in enumerate(opened):
        found.append(await each.ask(lambda snapshot, number=number: question(snapshot, number)))
    return found


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
