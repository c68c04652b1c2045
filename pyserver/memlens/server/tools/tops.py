"""What there is most of, by line, type or whatever a model has: ``memlens_top``."""

from typing import Any, assert_never, get_args

from msgspec.structs import replace

from memlens.errors import BadRequestError
from memlens.model.info import GraphInfo, ProfileInfo, ProfileValue, TimelineInfo
from memlens.server.tools.parameters import TopArguments, attribution_of, given
from memlens.server.tools.reading import readable
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.flame.calltree import FlameOptions
from memlens.views.flame.graph import tree_of
from memlens.views.flame.tables import functions
from memlens.views.graph.lines import largest_lines
from memlens.views.graph.listing import heap_packages, heap_types, objects
from memlens.views.graph.threads import threads
from memlens.views.selection.profile_sets import set_at, value_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.tables.groupings import GroupKind
from memlens.views.tables.groups import Branch, groups


def top(snapshot: Snapshot, arguments: TopArguments) -> Any:
    """The first rows. Raises :class:`BadRequestError`."""
    by = given(arguments.by)
    match snapshot.info:
        case GraphInfo() if by not in get_args(GroupKind) or by in ("package", "thread"):
            return _of_heap(snapshot, by or "type", arguments)
        case GraphInfo(allocations=None) if by == "line":
            if arguments.filter.strip():
                raise BadRequestError(
                    phrase("Lines at which a heap dump's types are defined can't be filtered"),
                    advice=phrase("Filter types instead: their rows have these lines."),
                )
            return readable({"by": by, "rows": largest_lines(snapshot, arguments.limit)})
        case GraphInfo(allocations=None):
            raise BadRequestError(
                phrase("This heap dump has no allocation stacks, so it can't be grouped by {by}", by=str(by)),
                advice=phrase("Group it by type, package, kind, object, thread or line."),
            )
        case TimelineInfo() | ProfileInfo() | GraphInfo():
            return _of_stacks(snapshot, by or "line", arguments)
        case _:
            assert_never(snapshot.info)


def _of_heap(snapshot: Snapshot, by: str, arguments: TopArguments) -> dict[str, Any]:
    graph_of(snapshot.info)
    answer: Any
    match by:
        case "type":
            answer = heap_types(
                snapshot, arguments.filter, "retained", None, "package", 0, arguments.limit, reverse=False
            )
        case "package" | "kind":
            answer = heap_packages(
                snapshot, arguments.filter, "retained", by, 0, arguments.limit, reverse=False
            )
        case "thread":
            answer = threads(snapshot, arguments.filter, 0, arguments.limit)
        case _:
            answer = objects(snapshot, arguments.filter, None, given(arguments.group), limit=arguments.limit)
    return {"by": by, **readable(answer, values=arguments.values)}


def set_of(snapshot: Snapshot, arguments: TopArguments) -> AllocationSet:
    """The allocations or samples that are asked about. Raises :class:`BadRequestError`."""
    moment, end = given(arguments.moment), given(arguments.to_moment)
    of = set_at(
        snapshot.info, arguments.at, given(arguments.device), given(arguments.value), arguments.filter
    )
    if moment is None and end is None:
        return of
    return replace(of, kind=arguments.kind, from_moment=moment or 0, to_moment=end)


def _of_stacks(snapshot: Snapshot, by: Any, arguments: TopArguments) -> dict[str, Any]:
    attribution = attribution_of(any_code=arguments.any_code)
    if by not in get_args(GroupKind):
        # what only heap dumps have
        graph_of(snapshot.info)
    of = set_of(snapshot, arguments)
    if arguments.inclusive:
        if by not in ("line", "function"):
            raise BadRequestError(phrase("Callees are shown only for lines and functions"))
        tree = tree_of(snapshot, of, "bytes", FlameOptions(merge=by))
        answer: Any = functions(tree, "inclusive", 0, arguments.limit, attribution)
    else:
        branch = Branch(of, [by], attribution=attribution)
        answer = groups(snapshot, branch, "bytes", 0, arguments.limit, descending=True)
    found = {"by": by, "attribution": attribution}
    match snapshot.info:
        case TimelineInfo():
            return {**found, **readable(answer)}
        case ProfileInfo() | GraphInfo():
            return found | in_unit(answer, value_of(snapshot, of))
        case _:
            assert_never(snapshot.info)


def in_unit(answer: Any, value: ProfileValue) -> dict[str, Any]:
    """Figures of a profile's value, under names that say what they are of."""
    return {"value": value.name, "unit": value.unit, **readable(answer, unit=value.unit)}
