"""Print the source lines that hold the most themselves at the peak.

``--by`` groups by something else than lines; ``--at``, ``--device`` and ``--filter`` narrow it to a part. For a heap
dump without stacks, the lines that define what retains most: classes and functions; of some classes the files.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import assert_never, get_args

from msgspec import Struct

from memlens.api.lines import Definitions, LinesAnswer, LinesOfProfile, LinesOfTrace, answer_rows, lines
from memlens.cli.ask import ask
from memlens.cli.attribution import add_any_code, attribution_of, given, with_attribution
from memlens.cli.columns import Piece, Row, say_tables, say_wrapped
from memlens.cli.options import (
    PROFILE_VALUE,
    add_device,
    add_file,
    add_filter,
    add_json,
    add_libraries,
    positive,
)
from memlens.cli.output import MOST_LINES, json_line, say, within_bounds
from memlens.cli.source_lines import source_line
from memlens.errors import BadRequestError
from memlens.json_text import in_english
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo, device_phrase
from memlens.store.models import has_stacks, profile_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.units import KIND_WORDS, SOURCE_WORDS, counted, format_bytes, format_time, format_value
from memlens.views.answers import SourceLine
from memlens.views.lines.charged import (
    ChargedTo,
)
from memlens.views.lines.totals import ProfileLine
from memlens.views.tables.groupings import GroupKind
from memlens.views.tables.held import (
    HeldOfProfile,
    HeldOfTrace,
    Named,
    Part,
)

_HEADINGS = {
    "live_at_peak_bytes": "at peak", "live_at_moment_bytes": "then", "live_at_end_bytes": "at end",
    "total_bytes": "in all", "count": "count", "freed_bytes": "freed",
}  # fmt: skip
_FIGURE_AT = {"peak": "live_at_peak_bytes", "end": "live_at_end_bytes", "all": "total_bytes"}
_PLURALS = {"line": "lines", "function": "functions", "file": "files"}


EXAMPLES = (
    "memlens lines samples/train.pickle --top 5",
    "memlens lines samples/words.pb.gz --any-code --top 5",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    command.add_argument(
        "--by", choices=get_args(GroupKind), default="line",
        help="what a row is (default line); for a profile also package, thread and label; for a trace "
        "also module, freed (the line that freed), category, stream and pool",
    )  # fmt: skip
    command.add_argument(
        "--at", metavar="MOMENT",
        help="when: peak (the default for a trace), end, all (whatever was allocated), a time since "
        "the first event as '300 ms', or '11712 events'; for a profile over time also '12 bins'",
    )  # fmt: skip
    add_device(command, "only this device (default: all of them)")
    add_filter(command)
    command.add_argument("--value", metavar="V", help=PROFILE_VALUE)
    add_any_code(command)
    command.add_argument(
        "--top", type=positive, metavar="N", help="print only the first N rows (default 10,000)"
    )
    command.add_argument(
        "--sort", choices=("self", "peak", "end", "total", "count", "freed"),
        help="the order: what a row holds itself at the peak or the MOMENT (self, the default), or with what it calls "
        "at the peak, at the end, or in all, how many allocations, or what the line freed; of a profile self or total",
    )  # fmt: skip
    command.add_argument("--csv", action="store_true", help="print CSV, with whole paths and exact bytes")
    add_json(command)
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    answer, notes = ask(options, lambda snapshot: (_answer(snapshot, options), _notes(snapshot)))
    if options.top is None and len(answer_rows(answer)) == MOST_LINES:
        say(f"note: only the first {MOST_LINES:,} rows are printed; --top prints another number.", error=True)
    if options.json:
        _print_json(options, answer)
    elif options.csv:
        _print_csv(answer)
    else:
        match answer:
            case Definitions():
                _print_definitions(answer)
            case LinesOfTrace() | HeldOfTrace():
                _print_trace(options, answer)
            case LinesOfProfile() | HeldOfProfile():
                _print_profile(options, answer)
                for note in notes:
                    say_wrapped(f"note: {note}")
            case _:
                assert_never(answer)
    return 0


def _answer(snapshot: Snapshot, options: argparse.Namespace) -> LinesAnswer:
    if not has_stacks(snapshot.info):
        _check_definitions(options)
    part = Part(options.at, options.device, options.value, options.filter)
    return lines(
        snapshot, options.by, part, attribution_of(options), options.sort or "self", options.top or MOST_LINES
    )


def _check_definitions(options: argparse.Namespace) -> None:
    """Refuse what a heap dump without stacks can't answer."""
    asked = given(options, "--value", "--any-code", "--sort", "--at", "--filter")
    if options.by != "line":
        asked.append(f"--by {options.by}")
    for option in asked:
        raise BadRequestError(
            phrase("This heap dump has no allocation stacks, which are needed for {option}", option=option),
            advice=phrase(
                "memlens types lists its objects by type, all or those of a filter; memlens flame "
                "--group groups them by package or module."
            ),
        )


def _notes(snapshot: Snapshot) -> list[str]:
    """Notes about lines of a profile that needed a new pool: they only seem to keep the memory."""
    match snapshot.info:
        case TimelineInfo() | GraphInfo(allocations=None):
            return []
        case ProfileInfo() | GraphInfo():
            return [each.message for each in profile_of(snapshot.info).warnings if each.code == "pools"]
        case _:
            assert_never(snapshot.info)


def _print_json(options: argparse.Namespace, answer: LinesAnswer) -> None:
    found = with_attribution(options, answer)
    if "rows" in found and options.by == "line":
        found["lines"] = found.pop("rows")
    json_line(found)


def _print_csv(answer: LinesAnswer) -> None:
    # imported here, because it needs all of SQL
    from memlens.cli.query_rows import print_rows

    rows = answer_rows(answer)
    names = list(rows[0].__struct_fields__) if rows else []
    table = within_bounds([tuple(in_english(getattr(row, name)) for name in names) for row in rows])
    print_rows(names, iter(table), "csv", None)


def _print_definitions(answer: Definitions) -> None:
    if not answer.lines:
        say(
            "The heap dump has neither allocation stacks nor lines at which its types and functions are defined."
        )
        return
    table = [Row(("retained", "shallow", "count"), "defined at")]
    for row in answer.lines:
        cells = (format_bytes(row.retained_bytes), format_bytes(row.shallow_bytes), f"{row.count:,}")
        line = "" if row.line is None else f":{row.line}"
        # a class loader may be longer than the name of its class
        name, loader, rest = row.name.partition(" (")
        pieces = [
            Piece(row.file, "path"),
            Piece(f"{line} "),
            Piece(name, "name"),
            Piece(loader + rest, "more"),
        ]
        table.append(Row(cells, pieces))
    say_tables(table)


def _label(row: SourceLine | ProfileLine | Named, by: str) -> list[Piece]:
    """The name of a group for people."""
    if isinstance(row, Named) and row.kind is None:
        return [Piece(row.name.text, "name"), Piece(f", {row.detail}" if row.detail.text else "", "name")]
    source = "recorded" if isinstance(row, ProfileLine) else row.source
    words = Piece(f"{KIND_WORDS[row.kind or 'user']}{SOURCE_WORDS[source or 'recorded']}")
    file = Piece(row.file or "", "path")
    if by == "function":
        place = [Piece(" ("), file, Piece(")")] if file.text else []
        return [Piece(row.function or "", "name"), *place, words]
    if by == "file":
        return [file, words]
    return [*source_line(row.file or "", row.line or 0, row.function or ""), words]


def _print_trace(options: argparse.Namespace, answer: LinesOfTrace | HeldOfTrace) -> None:
    at = options.at or "peak"
    chosen = _FIGURE_AT.get(at, "live_at_moment_bytes")
    ordered = ["live_at_peak_bytes"] if options.sort == "peak" else []
    columns = list(dict.fromkeys([chosen, *ordered, "live_at_end_bytes", "total_bytes", "count"]))
    own = [f"self_{chosen}"] if options.by in _PLURALS else []
    if options.sort == "freed":
        own.insert(0, "freed_bytes")

    def cells(figures: Struct, names: Sequence[str]) -> list[str]:
        amounts = [getattr(figures, name) for name in names]
        return [
            f"{amount:,}" if name == "count" else format_bytes(amount)
            for name, amount in zip(names, amounts, strict=True)
        ]

    headings = [_HEADINGS[name] for name in columns]
    rows = [Row([*(_HEADINGS.get(name, "self") for name in own), *headings], options.by)]
    rows += [Row(cells(row, [*own, *columns]), _label(row, options.by)) for row in answer_rows(answer)]
    blank = ["" for _ in own]
    total = Row([*blank, *cells(answer.total, columns)], "in total")
    if own:
        charged = [
            Row(
                [*blank, *cells(each, columns)], _words(options, each.to, "no Python frame with a known line")
            )
            for each in answer.charged
        ]
        say_tables(rows, [Row([*blank, *headings], "charged to"), *charged, total])
    else:
        say_tables(rows, [total])
    if isinstance(answer, HeldOfTrace):
        for note in _when(options, answer):
            say_wrapped(note)


def _when(options: argparse.Namespace, answer: HeldOfTrace) -> Iterator[str]:
    """Yield what the columns refer to, unless that is the peak of everything."""
    if answer.moment is not None:
        time = "" if answer.moment.time_us is None else f" ({format_time(answer.moment.time_us)})"
        device = device_phrase(answer.devices[0])
        yield f"then: what was live on {device} after {counted(answer.moment.moment, 'event')}{time}"
    elif options.filter and options.at in (None, "peak"):
        yield "at peak: when what matches the filter held the most"


def _words(options: argparse.Namespace, to: ChargedTo, no_line: str) -> str:
    places = _PLURALS[options.by]
    instead = "" if options.any_code else ", as no frame is your own code"
    words: dict[ChargedTo, str] = {
        "user": f"{places} of your own code",
        "library": f"{places} of libraries{instead}",
        "native": f"{places} of native code{instead}",
        "no_line": f"no line: {no_line}",
        "no_function": "no function: no frame with a known name",
        "no_file": "no file: no frame with a known file",
        "no_stack": f"no {options.by}: no stack recorded",
        "before_recording": f"no {options.by}: allocated before recording, without a stack",
    }
    return words[to]


def _print_profile(options: argparse.Namespace, answer: LinesOfProfile | HeldOfProfile) -> None:
    is_place = options.by in _PLURALS
    title = f"{answer.title} ({answer.value}), by {options.by}"

    def shown(amount: int) -> str:
        return format_value(amount, answer.unit)

    rows = [Row(("self", "total") if is_place else ("total",), title)]
    for row in answer_rows(answer):
        cells = (shown(row.itself), shown(row.total)) if is_place else (shown(row.total),)
        rows.append(Row(cells, _label(row, options.by)))
    total = Row((shown(answer.total), "") if is_place else (shown(answer.total),), "in total")
    if is_place:
        charged = [
            Row((shown(each.amount), ""), _words(options, each.to, "no frame with a known line"))
            for each in answer.charged
        ]
        say_tables(rows, [Row(("self", ""), "charged to"), *charged, total])
    else:
        say_tables(rows, [total])
