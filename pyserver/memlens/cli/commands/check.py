"""Fail where a snapshot exceeds limits on its memory, with the lines of source that did it.

The exit status is 0 if all limits are kept, 1 if any is exceeded, and else 2 if any can't be checked, as where the file
doesn't have what it is about. Limits are options, or those of ``memlens.toml`` or ``pyproject.toml``. See
[check](check.md).
"""

import argparse
from pathlib import Path

from memlens.cli.ask import ask
from memlens.cli.check_options import add_against, add_limits, add_lines, limits_of
from memlens.cli.check_queries import rows_of
from memlens.cli.columns import Row, say_tables, say_wrapped
from memlens.cli.each_file import shown_name
from memlens.cli.failures import failed
from memlens.cli.options import add_files, add_force, add_json, add_libraries
from memlens.cli.output import json_line, say
from memlens.cli.parsers import UsageError
from memlens.cli.source_lines import source_line
from memlens.errors import BadRequestError, FileError
from memlens.export.check.junit import junit
from memlens.export.check.markdown import limits_markdown, outcome
from memlens.export.check.sarif import sarif
from memlens.regular_files import content
from memlens.store.files.output import Output
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.version import own_version
from memlens.views.check.answers import CheckedFile, Limit, LimitResult, worst
from memlens.views.check.baseline import (
    BASELINE_LINES,
    MOST_BYTES,
    Baseline,
    baseline_of,
    decoded,
    figures_of_queries,
    with_figures,
)
from memlens.views.check.judging import judged, of_query_rows, unchecked
from memlens.views.check.lines import MOST_LINES
from memlens.views.check.measuring import of_query
from memlens.views.sql.pages import SqlError

EXAMPLES = (
    "memlens check samples/train.pickle --max-peak 100MiB --max-leaked 1GiB",
    "memlens check samples/train.pickle --against samples/train.pickle --max-peak +5%",
)

_EXCEEDED, _UNCHECKED = 1, 2
_STATUSES = {"kept": 0, "exceeded": _EXCEEDED, "unchecked": _UNCHECKED}


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_files(command)
    add_against(command)
    add_limits(command)
    add_lines(command)
    add_json(command)
    command.add_argument(
        "--sarif", type=Path, metavar="OUT", help="also write SARIF 2.1.0, as GitHub reads it"
    )
    command.add_argument(
        "--junit", type=Path, metavar="OUT", help="also write JUnit's XML, as GitLab reads it"
    )
    command.add_argument("--markdown", type=Path, metavar="OUT", help="also write Markdown, for a comment")
    add_force(command, "overwrite these files if they exist, unless one is what is read or a snapshot")
    add_libraries(command)
    # any failure means that nothing was checked
    command.set_defaults(failed=_UNCHECKED)


def run(options: argparse.Namespace) -> int:
    limits = limits_of(options)
    if not limits:
        raise UsageError(
            phrase("There is no limit to check"),
            advice=phrase(
                "Give one, as --max-peak 2GiB, or write them into [check] of memlens.toml, or [tool.memlens.check] of "
                "pyproject.toml, in this folder."
            ),
        )
    if options.against is None:
        for each in limits:
            if each.bound.relative:
                raise UsageError(
                    phrase("{limit} needs a base to compare with", limit=each.written),
                    advice=phrase("Name a snapshot or a baseline: --against BASE."),
                )
    outputs = _outputs(options)
    for output in outputs.values():
        output.check()
    base = None if options.against is None else _base(options, limits)
    files = [_checked(options, path, limits, base) for path in options.files]
    written = {
        "sarif": lambda: sarif(files, Path.cwd(), own_version()),
        "junit": lambda: junit(files),
        "markdown": lambda: "\n".join((*limits_markdown(files), "")).encode(),
    }
    for name, output in outputs.items():
        output.write(written[name]())
    if options.json:
        json_line(files if len(files) > 1 else files[0])
    else:
        _say(files)
    return _STATUSES[worst([file.status for file in files])]


def _outputs(options: argparse.Namespace) -> dict[str, Output]:
    paths = {name: getattr(options, name) for name in ("sarif", "junit", "markdown")}
    paths = {name: path for name, path in paths.items() if path is not None}
    read = tuple(path for path in (*options.files, options.against) if path is not None)
    return {
        name: Output(
            path, read, options.force, others=tuple(each for each in paths.values() if each is not path)
        )
        for name, path in paths.items()
    }


def _base(options: argparse.Namespace, limits: list[Limit]) -> Baseline:
    """What the base has, which may be a baseline or a snapshot."""
    if not options.against.exists():
        raise FileError(
            phrase("There is no base {file}", file=options.against),
            advice=phrase("Make it from a run that is as it should be: memlens baseline FILE -o BASE."),
        )
    data = content(options.against, MOST_BYTES)
    baseline = None if data is None else decoded(data)
    return baseline if baseline is not None else measured_base(options, options.against, limits, MOST_LINES)


def measured_base(
    options: argparse.Namespace, path: Path, limits: list[Limit], most_lines: int = BASELINE_LINES
) -> Baseline:
    """What a snapshot has of what limits are about, queries included."""

    def question(snapshot: Snapshot) -> Baseline:
        return baseline_of(snapshot, limits, most_lines)

    found = []
    for limit in figures_of_queries(limits):
        try:
            found.append((limit, of_query(rows_of(options, limit, path))[0]))
        except (BadRequestError, SqlError):
            # the same query is asked to the file, and then it is said what is wrong with it
            continue
    return with_figures(ask(options, question, path), found)


def _checked(
    options: argparse.Namespace, path: Path, limits: list[Limit], base: Baseline | None
) -> CheckedFile:
    name = shown_name(options, path)
    try:
        results, notes = ask(
            options,
            lambda snapshot: (
                judged(snapshot, [each for each in limits if each.name != "max-sql"], base, options.top),
                [each.said for each in snapshot.info.warnings],
            ),
            path,
        )
        results += [_of_query(options, path, limit, base) for limit in figures_of_queries(limits)]
    except Exception as error:  # noqa: BLE001 - the other files are checked nevertheless
        problem = failed(options, error)
        return CheckedFile(name, "unchecked", [], [], Text(problem.sentence))
    return CheckedFile(name, worst([each.status for each in results]), results, notes)


def _of_query(options: argparse.Namespace, path: Path, limit: Limit, base: Baseline | None) -> LimitResult:
    try:
        return of_query_rows(limit, rows_of(options, limit, path), base, options.top)
    except SqlError as error:
        return unchecked(limit, error)


def _say(files: list[CheckedFile]) -> None:
    for number, file in enumerate(files):
        if number:
            say("")
        say_wrapped(f"{file.file}: {outcome(file)}")
        if file.problem is not None:
            say_wrapped(file.problem.text)
        for each in sorted(file.results, key=lambda result: result.status != "exceeded"):
            say_wrapped(f"{_WORDS[each.status]}: {each.written}. {each.text}")
            if each.lines:
                say_tables(
                    [
                        Row((f"  {line.shown}",), source_line(line.file, line.line, line.function))
                        for line in each.lines
                    ]
                )
        if file.status != "kept":
            for note in file.notes:
                say_wrapped(f"note: {note}")


_WORDS = {"exceeded": "EXCEEDED", "unchecked": "NOT CHECKED", "kept": "kept"}
