"""``memlens compare`` for a series: more than two traces or profiles in their order, place by place."""

import argparse
from collections.abc import Sequence
from typing import get_args

from memlens.api.comparisons import Compared, compared_in_a_row
from memlens.cli.attribution import self_words, with_attribution
from memlens.cli.columns import Piece, Row, say_tables
from memlens.cli.output import json_line
from memlens.cli.parsers import UsageError
from memlens.cli.place_words import place_pieces
from memlens.texts import phrase
from memlens.units import KIND_WORDS, SOURCE_WORDS, format_change, format_value
from memlens.views.compare.series import PlaceSeries, SeriesBy, SeriesPlace


def check(options: argparse.Namespace) -> None:
    """Raise :class:`UsageError` for what a series can't answer."""
    if options.by not in (None, *get_args(SeriesBy)):
        raise UsageError(
            phrase("A series of these files has no rows by {by}", by=options.by),
            advice=phrase("It has them by line, function or file."),
        )
    if options.other_device is not None:
        raise UsageError(
            phrase("--other-device is for two files"), advice=phrase("A series is of one device: --device.")
        )


def run(options: argparse.Namespace, compared: Sequence[Compared]) -> None:
    """Print the series."""
    answer = compared_in_a_row(
        [each.side for each in compared],
        options.by or "line",
        "inclusive" if options.inclusive else "own",
        options.search,
        options.top,
    )
    if options.json:
        json_line(with_attribution(options, answer))
    else:
        _print(answer, self_words(options), compared[-1].unit)


def _print(answer: PlaceSeries, self_meaning: str, unit: str) -> None:
    def cells(amounts: Sequence[int]) -> list[str]:
        values = [format_value(amount, unit) for amount in amounts]
        return [*values, format_change(amounts[-1] - amounts[0], unit)]

    numbers = [str(number) for number in range(1, len(answer.total_bytes) + 1)]
    table = [Row((*numbers, "difference"), f"place ({self_meaning})")]
    table.extend(Row(cells(row.bytes), _label(row)) for row in answer.rows)
    table.append(Row(cells(answer.total_bytes), "total"))
    say_tables(table)


def _label(row: SeriesPlace) -> list[Piece]:
    kind = KIND_WORDS[row.place.kind] if row.place.line else ""
    grows = ", grows throughout" if row.grows else ""
    return [*place_pieces(row.place), Piece(f"{kind}{SOURCE_WORDS[row.place.source]}{grows}")]
