"""The largest groups, by line, by type or by what else a model has: ``memlens_top``."""

from typing import Any, assert_never, get_args

from msgspec.structs import replace

from memlens.errors import BadRequestError
from memlens.model.info import GraphInfo, ProfileInfo, ProfileValue, TimelineInfo
from memlens.server.tools.moments import refuse_moments, set_of, when
from memlens.server.tools.parameters import CallsArguments, TopArguments, attribution_of, given
from memlens.server.tools.reading import readable
from memlens.store.models import devices_of, graph_of
from memlens.store.snapshot import Snapshot
from memlens.texts import as_text, phrase
from memlens.views.flame.calls import CalledPlace
from memlens.views.flame.calls import calls as called
from memlens.views.flame.calltree import FlameOptions
from memlens.views.flame.graph import tree_of
from memlens.views.flame.tables import functions
from memlens.views.heap.listing.lists import heap_packages, heap_types, objects
from memlens.views.heap.listing.threads import threads
from memlens.views.heap.objects.lines import largest_lines
from memlens.views.selection.profile_sets import value_of
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
            refuse_moments(arguments)
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
    refuse_moments(arguments)
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
    found = {"by": by, "attribution": attribution, **when(snapshot, of)}
    match snapshot.info:
        case TimelineInfo():
            return {**found, **readable(answer)}
        case ProfileInfo() | GraphInfo():
            return found | in_unit(answer, valued(snapshot, of))
        case _:
            assert_never(snapshot.info)


def calls(snapshot: Snapshot, arguments: CallsArguments) -> Any:
    """The callers or callees of a place. Raises :class:`BadRequestError`."""
    place = CalledPlace(arguments.function, arguments.file, given(arguments.line) or 0)
    if not place.function and not place.file:
        raise BadRequestError(
            phrase("The arguments name no function and no line"),
            advice=phrase("Give `function`, or `file` and `line`; memlens_top has their names."),
        )
    of = set_of(snapshot, arguments)
    found = {"of": arguments.of, **when(snapshot, of)}
    answer = called(snapshot, of, arguments.of, place, arguments.levels, arguments.limit)
    return found | (readable(answer) if devices_of(snapshot.info) else in_unit(answer, valued(snapshot, of)))


def valued(snapshot: Snapshot, of: AllocationSet) -> ProfileValue:
    """The value that figures measure; for a moment or a range of the run it isn't one of the profile's own."""
    value = value_of(snapshot, of)
    if of.from_moment is None and of.to_moment is None:
        return value
    kind = of.kind if of.to_moment is not None else "live"
    return replace(value, name=kind, title=as_text(kind))


def in_unit(answer: Any, value: ProfileValue) -> dict[str, Any]:
    """Figures of a profile's value, under names that say what they measure."""
    return {"value": value.name, "unit": value.unit, **readable(answer, unit=value.unit)}
