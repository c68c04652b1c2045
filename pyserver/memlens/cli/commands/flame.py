"""Print where memory was allocated as a call tree, or as folded stacks.

It is what is live at the peak, or with ``--value`` the ``total`` or ``count`` of all allocations or what is
``leaked`` at the end. ``--folded`` prints one line per stack for flamegraph.pl, speedscope and others. ``--diff
OTHER`` compares with another file's tree. For a heap dump without stacks it is the dominator tree in groups; with
``--tree paths`` that of the shortest paths from roots.
"""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import assert_never

import numpy as np

from memlens.cli import dominators
from memlens.cli.ask import ask
from memlens.cli.attribution import (
    add_any_code,
    attribution_of,
    given,
    self_words,
    with_attribution,
    without_stacks,
)
from memlens.cli.columns import Piece, fitted
from memlens.cli.dominators import PrintedTree
from memlens.cli.folded import paths
from memlens.cli.options import add_device, add_file, add_filter, add_libraries, snapshot
from memlens.cli.output import (
    MOST_INDENT,
    MOST_LINES,
    MOST_PRINTED,
    json_line,
    say,
    say_lines,
    terminal_columns,
)
from memlens.cli.parsers import UsageError
from memlens.errors import BadRequestError
from memlens.model.attribution import Attribution
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.units import KIND_WORDS, format_change, format_value, shortened
from memlens.views.compare import difference
from memlens.views.compare.pairing import Pairing
from memlens.views.compare.sides import Side, side_of
from memlens.views.flame.calltree import CallTree, FlameOptions
from memlens.views.flame.graph import FlameValue, tree_of
from memlens.views.flame.tables import FlameFunctionsAnswer, functions
from memlens.views.heap.dominators.trees import Form
from memlens.views.naming.frame_names import FlameName
from memlens.views.selection.profile_sets import At, set_at
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import AMOUNT, sides_of

LEAST_SHARE = 0.01
_NARROWEST_NAME = 24
"""Columns that a deep node's name has at least."""
MOST_FUNCTIONS = 1000
OF_TRACES = ("live", "peak", "total", "count", "leaked")
"""The values of a trace, with the names that profiles use; ``live`` is what was live at the peak."""
_MOMENTS: dict[str, At] = {"total": "all", "count": "all", "leaked": "end"}


EXAMPLES = (
    "memlens flame samples/train.pickle --bottom-up --folded",
    "memlens flame samples/words.pb.gz --value inuse_objects",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    add_device(command)
    command.add_argument(
        "--value", metavar="V",
        help="for a trace: live or peak, the bytes live at the peak (the default); total, the bytes of all "
        "allocations; count, their number; leaked, the bytes live at the end. For a profile: one of its values, by "
        "its name in `memlens info` or as live, peak, total, count, temporary or leaked",
    )  # fmt: skip
    command.add_argument(
        "--bottom-up",
        action="store_true",
        help="start with the functions that allocate, and add their callers",
    )
    command.add_argument("--by-line", action="store_true", help="distinguish the lines of a function")
    command.add_argument(
        "--group", choices=("type", "package", "module"),
        help="for a tree of a heap dump's objects: what to group by (default type)",
    )  # fmt: skip
    command.add_argument(
        "--tree", choices=("dominators", "paths"),
        help="for a heap dump: print the tree of its dominators (the default without stacks) or that of the shortest "
        "paths from roots",
    )  # fmt: skip
    add_any_code(command)
    add_filter(command)
    command.add_argument(
        "--diff", type=snapshot, metavar="OTHER",
        help="compare this file (before) with OTHER (after); frames are paired as in `memlens compare`",
    )  # fmt: skip
    form = command.add_mutually_exclusive_group()
    form.add_argument(
        "--folded", action="store_true",
        help="print a line per stack, `outermost;…;innermost VALUE`, for flamegraph.pl, speedscope and others; with "
        "--diff, `… BEFORE AFTER` as difffolded.pl does; for a profile with negative values, `… LESS MORE`",
    )  # fmt: skip
    form.add_argument("--json", action="store_true", help="print the functions, largest first")
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    if options.diff is not None:
        return _run_difference(options)
    if options.json:

        def answer(snapshot: Snapshot) -> FlameFunctionsAnswer | PrintedTree:
            form = _tree_of_objects(snapshot, options)
            if form is not None:
                return dominators.printed_tree(snapshot, form)
            return largest_functions(flame_tree(snapshot, options), attribution_of(options))

        json_line(with_attribution(options, ask(options, answer)))
        return 0

    def lines(snapshot: Snapshot) -> list[str]:
        form = _tree_of_objects(snapshot, options)
        if form is not None:
            whole = dominators.folded if options.folded else dominators.text
            return list(whole(snapshot, form))
        tree = flame_tree(snapshot, options)
        if options.folded:
            return list(folded(tree, snapshot.info.file_bytes))
        return list(text_tree(tree, options))

    _print(ask(options, lines), options)
    return 0


def _tree_of_objects(snapshot: Snapshot, options: argparse.Namespace) -> Form | None:
    """Return which tree of a heap dump's objects is printed; None for a call tree of allocations.

    Raises LackingError for an option that is about allocations.
    """
    of_allocations = ("--value", "--filter", "--bottom-up", "--by-line", "--any-code", "--device")
    if options.tree is not None:
        graph_of(snapshot.info)
        for name in given(options, *of_allocations):
            raise UsageError(phrase("--tree prints all objects: {option} is for allocations", option=name))
    elif not dominators.is_without_stacks(snapshot.info):
        if options.group is not None:
            raise UsageError(
                phrase("--group is for trees of objects"),
                advice=phrase(
                    "Use --tree dominators or --tree paths with a heap dump that has allocation stacks."
                ),
            )
        return None
    without_stacks(options, *of_allocations)
    return Form(options.group or "type", options.tree or "dominators")


def _print(lines: Iterable[str], options: argparse.Namespace) -> None:
    found = list(lines)
    if options.folded:
        for line in found:
            say(line)
    else:
        say_lines(found)
    if not found:
        say("memlens: no allocation matches, so there is nothing to print", error=True)


def _run_difference(options: argparse.Namespace) -> int:
    tree, file_bytes = difference_tree(options)
    if options.json:
        json_line(with_attribution(options, largest_functions(tree, attribution_of(options))))
    else:
        _print(folded(tree, file_bytes) if options.folded else text_tree(tree, options), options)
    return 0


def difference_tree(options: argparse.Namespace) -> tuple[CallTree, int]:
    """Return the tree of ``options.file`` and ``options.diff``, which is the "after" side, and the files' bytes."""

    def side(path: Path) -> tuple[Side, int]:
        def made(snapshot: Snapshot) -> tuple[Side, int]:
            of, value = selected_set(snapshot, options)
            if value == "count":
                raise UsageError(
                    phrase("Two traces can be compared only in bytes"),
                    advice=phrase("Use --value live, total or leaked."),
                )
            return side_of(snapshot, of), snapshot.info.file_bytes

        return ask(options, made, path)

    (before, before_bytes), (after, after_bytes) = side(options.file), side(options.diff)
    pairing = Pairing(before.places, after.places)
    joined = difference.join(before, after, pairing, "before")
    return difference.tree_of(joined, _tree_options(options)), before_bytes + after_bytes


def _tree_options(options: argparse.Namespace) -> FlameOptions:
    return FlameOptions(
        direction="bottom_up" if options.bottom_up else "top_down",
        merge="line" if options.by_line else "function",
    )


def flame_tree(snapshot: Snapshot, options: argparse.Namespace) -> CallTree:
    """Return the tree that the arguments select."""
    return tree_of(snapshot, *selected_set(snapshot, options), _tree_options(options))


def selected_set(snapshot: Snapshot, options: argparse.Namespace) -> tuple[AllocationSet, FlameValue]:
    """Return the allocations or samples that the arguments select, and the value that is summed.

    Raises :class:`BadRequestError` for a value that the snapshot does not have.
    """
    info = snapshot.info
    match info:
        case TimelineInfo():
            return _selected_allocations(info, options)
        case ProfileInfo() | GraphInfo():
            return set_at(info, "peak", value=options.value, filter_text=options.filter), "bytes"
        case _:
            assert_never(info)


def _selected_allocations(
    info: TimelineInfo, options: argparse.Namespace
) -> tuple[AllocationSet, FlameValue]:
    if options.value not in (None, *OF_TRACES):
        raise BadRequestError(
            phrase("A trace has no value {value}", value=str(options.value)),
            advice=phrase(
                "It has {values} and {last}.", values=", ".join(OF_TRACES[:-1]), last=OF_TRACES[-1]
            ),
        )
    at = _MOMENTS.get(options.value, "peak")
    of = set_at(info, at, options.device, filter_text=options.filter)
    return of, "count" if options.value == "count" else "bytes"


def largest_functions(tree: CallTree, attribution: Attribution) -> FlameFunctionsAnswer:
    """Return the functions of a tree, largest first, for JSON."""
    return functions(tree, "inclusive", 0, MOST_FUNCTIONS, attribution)


def folded(tree: CallTree, file_bytes: int) -> Iterator[str]:
    """Yield a line for each stack: the names joined by semicolons, a space, and the stack's own value.

    The format is that of Brendan Gregg's ``stackcollapse`` scripts, with frames as py-spy writes them. For two files a
    line has both values, as in ``difffolded.pl``; for a profile with negative values, the decrease and the increase.
    """
    sides = sides_of(tree.meaning)
    rows = [tree.by] if sides is None else [sides.before + AMOUNT, sides.after + AMOUNT]
    ends = tree.ends[rows]
    nodes = np.flatnonzero(ends.any(axis=0)).astype(np.uint32)
    nodes = nodes[nodes > 0]
    values = ends[:, nodes].T.tolist()
    whole = paths(tree.parents, tree.name, nodes, _FoldedNames(tree), file_bytes)
    for path, amounts in zip(whole, values, strict=True):
        yield f"{path} {' '.join(map(str, amounts))}"


class _FoldedNames(dict[int, str]):
    """The names of a tree as folded stacks have them, by number, each made on first use."""

    def __init__(self, tree: CallTree) -> None:
        super().__init__()
        self._names = tree.names

    def __missing__(self, number: int) -> str:
        text = self[number] = _folded_name(*self._names.names([number]))
        return text


def _folded_name(name: FlameName) -> str:
    return "".join(_parts(name)).replace(";", ",")  # semicolons separate frames


def _parts(name: FlameName) -> tuple[str, str]:
    """Return what a node is called, and its place in parentheses."""
    place = name.file.replace("\\", "/").rsplit("/", 1)[-1]
    if name.line:
        place = f"{place}:{name.line}"
    return shortened(
        str(name.text), MOST_PRINTED
    ), f" ({shortened(place, MOST_PRINTED)})" if name.file else ""


def text_tree(tree: CallTree, options: argparse.Namespace) -> Iterator[str]:
    """Yield an indented line, with the self value, for each node with at least a hundredth of the total."""
    sides = sides_of(tree.meaning)
    selves, ends = tree.own(attribution_of(options))[tree.by], tree.ends[tree.by]
    if sides is not None:
        # without --diff, the sides are the negative and the positive values of one profile
        heads = ("less", "more", "net") if options.diff is None else ("before", "after", "difference")
        yield " ".join(f"{head:>11}" for head in heads)
    else:
        yield f"{'inclusive':>11} {'self':>11} {'share':>6} ({self_words(options)})"
    unit = tree.meaning.types[tree.by if sides is None else AMOUNT].unit
    todo = [(0, 0)]
    printed = 0
    while todo:
        if printed == MOST_LINES:
            yield f"… and deeper calls: the first {MOST_LINES:,} are printed. --folded and --filter show others."
            return
        printed += 1
        node, indent = todo.pop()
        value, own = int(tree.inclusive[tree.by, node]), int(selves[node])
        name, place, kind = "all", "", ""
        if node:
            (words,) = tree.names.names([int(tree.name[node])])
            name, place = _parts(words)
            kind = KIND_WORDS["library"].text if own and words.kind == "library" else ""
        shown = [f"{format_value(number, unit):>11}" for number in (value, own)]
        shown.append(f"{value / tree.total if tree.total else 0:>6.1%}")
        if sides is not None:
            before, after = (int(tree.inclusive[row + AMOUNT, node]) for row in (sides.before, sides.after))
            shown = [f"{format_value(number, unit):>11}" for number in (before, after)]
            shown.append(f"{format_change(after - before, unit):>11}")
        figures = " ".join(shown) + " " * (indent + 1)
        left = max(terminal_columns() - len(figures), _NARROWEST_NAME)
        yield figures + fitted([Piece(name, "name"), Piece(place), Piece(kind)], left)
        children = tree.children(node).tolist()
        large = [child for child in children if tree.inclusive[tree.by, child] >= LEAST_SHARE * tree.total]
        # a chain of calls is not indented, or deep stacks would be wider than the terminal
        deeper = indent if len(children) == 1 and ends[node] == 0 else min(indent + 1, MOST_INDENT)
        todo += [(child, deeper) for child in reversed(large)]
