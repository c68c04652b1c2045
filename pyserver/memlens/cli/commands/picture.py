"""Draw a snapshot's timeline, flame graph or dominators as SVG.

``--of flame`` draws the flame graph, with ``--diff AFTER`` the difference. A heap dump's dominators (or with ``--tree
paths`` the shortest paths from roots) are drawn as boxes, with ``--of sunburst`` as rings; with ``--of flame`` where it
was allocated, if the dump has stacks. The picture goes to stdout, or with ``-o`` to a file.
"""

import argparse
from pathlib import Path
from typing import assert_never

from memlens.cli.ask import ask, check_filter
from memlens.cli.commands.flame import difference_tree, flame_tree
from memlens.cli.options import add_file, add_filter, add_libraries, add_out, snapshot
from memlens.cli.output_file import check_out, write_or_say
from memlens.cli.parsers import UsageError
from memlens.export.pictures.flame import flame
from memlens.export.pictures.sunburst import sunburst
from memlens.export.pictures.svg import Svg
from memlens.export.pictures.timeline import Part, timeline
from memlens.model.info import GraphInfo, ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.store.models import graph_of, profile_of, timeline_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.heap.dominators.flame import drawn_tree, tree_title
from memlens.views.heap.dominators.trees import Form
from memlens.views.selection.profile_sets import value_named
from memlens.views.trace.picture.areas import GroupedBy

EXAMPLES = (
    "memlens picture samples/train.pickle --by category -o train.svg",
    "memlens picture samples/words.pb.gz --diff samples/words.pb.gz -o words.svg",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    add_out(command)
    command.add_argument("--of", choices=("timeline", "flame", "dominators", "sunburst"),
                         help="what to draw (default: a trace's timeline, a profile's flame graph, a heap dump's "
                         "dominators)")  # fmt: skip
    command.add_argument("--tree", choices=("dominators", "paths"), default="dominators",
                         help="for dominators and sunburst: the tree to draw (default dominators)")  # fmt: skip
    command.add_argument("--by", choices=("line", "function", "module", "category", "file", "size"), default="line",
                         help="what the timeline's areas show (default line)")  # fmt: skip
    command.add_argument("--value", metavar="V", help="for a flame graph: as in `memlens flame`")
    command.add_argument(
        "--diff", type=snapshot, metavar="AFTER",
        help="draw the difference flame graph of FILE (before) and this one (after)",
    )  # fmt: skip
    command.add_argument("--bottom-up", action="store_true", help="for a flame graph: as in `memlens flame`")
    command.add_argument("--by-line", action="store_true", help="for a flame graph: as in `memlens flame`")
    add_filter(command)
    command.add_argument("--theme", choices=("light", "dark", "both"), default="both",
                         help="both (the default) follows what the reader's system prefers")  # fmt: skip
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    check_out(options)
    picture = (
        ask(options, lambda snapshot: _picture(snapshot, options))
        if options.diff is None
        else _difference(options)
    )
    write_or_say(options, picture.document(options.theme))
    return 0


def _difference(options: argparse.Namespace) -> Svg:
    if options.of == "timeline":
        raise UsageError(phrase("Two snapshots are drawn as one flame graph: --diff is for --of flame"))
    title = f"Difference flame graph: {options.file.name} → {options.diff.name}"
    return flame(difference_tree(options)[0], title, scale="absolute")


def _picture(snapshot: Snapshot, options: argparse.Namespace) -> Svg:
    info = snapshot.info
    of = options.of or _default(info, options)
    if of == "timeline":
        trace = timeline_of(info, "events", phrase("a picture over time"))
        if options.value is not None:
            raise UsageError(phrase("A timeline shows live bytes: --value is for flame graphs"))
        device = trace.default_device if options.device is None else options.device
        return timeline(snapshot, Part(device, filter=options.filter, by=GroupedBy(options.by)))
    if of in ("dominators", "sunburst"):
        return _dominators(snapshot, options, of)
    tree = flame_tree(snapshot, options)
    # an empty flame graph is refused, but a reader wants to know why it is
    check_filter(snapshot, options)
    narrowed = f", of what matches {options.filter}" if options.filter else ""
    return flame(tree, f"Flame graph: {_value(info, options)}{narrowed}")


def _default(info: SnapshotInfo, options: argparse.Namespace) -> str:
    """Return the default picture of a model: the one with which its view opens."""
    match info:
        case TimelineInfo():
            return "timeline"
        case ProfileInfo():
            return "flame"
        case GraphInfo():
            # a value can be chosen only for stacks of allocations
            return "dominators" if options.value is None else "flame"
        case _:
            assert_never(info)


def _dominators(snapshot: Snapshot, options: argparse.Namespace, of: str) -> Svg:
    """Draw a tree of a heap dump's objects, grouped by type. Raises :class:`UsageError` and ``LackingError``."""
    graph_of(snapshot.info)
    if options.filter or options.value is not None or options.bottom_up or options.by_line:
        raise UsageError(
            phrase(
                "Dominators are drawn unfiltered, by retained size: --filter, --value, --bottom-up and "
                "--by-line are for other pictures"
            ),
            advice=phrase("Use --of flame to draw the allocations of a heap dump that has stacks."),
        )
    draw = flame if of == "dominators" else sunburst
    form = Form("type", options.tree)
    return draw(drawn_tree(snapshot, form), f"{Path(snapshot.info.path).name}: {tree_title(form)}")


def _value(info: SnapshotInfo, options: argparse.Namespace) -> str:
    match info:
        case TimelineInfo():
            words = {
                "total": "all allocations",
                "count": "number of allocations",
                "leaked": "live at the end",
            }
            return words.get(options.value, "live at the peak")
        case ProfileInfo() | GraphInfo():
            profile = profile_of(info)
            return profile.values[value_named(profile, options.value)].title.text
        case _:
            assert_never(info)
