"""Commands that answer about each of several files, one after the other."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from memlens.cli.columns import say_paragraph
from memlens.cli.failures import failed, say_problem
from memlens.cli.output import json_line, say
from memlens.json_text import in_english
from memlens.units import plain

T = TypeVar("T")


def answer_each(
    options: argparse.Namespace,
    answer: Callable[[Path], T],
    lines: Callable[[T], Iterable[str]],
    heading: Callable[[str], Iterable[str]] = lambda _name: (),
) -> int:
    """Print what ``lines`` makes of the answer about each file, or with ``--json`` the answers; return the exit status.

    Of several files a text has a ``heading`` for each. In JSON they are a list, each answer with the ``file``; what
    can't be answered has a ``problem`` instead. The status is the worst.
    """
    # lines of Markdown are not to be ended elsewhere
    shown = say if getattr(options, "markdown", False) else say_paragraph
    files: list[Path] = options.files
    if len(files) == 1:
        found = answer(files[0])
        if options.json:
            json_line(found)
        else:
            for line in lines(found):
                shown(line)
        return 0
    status = 0
    rows: list[dict[str, Any]] = []
    for number, file in enumerate(files):
        name = shown_name(options, file)
        try:
            found = answer(file)
        except Exception as error:  # noqa: BLE001 - the other files are answered nevertheless
            problem = failed(options, error)
            say_problem(problem)
            rows.append({"file": plain(name), "problem": problem})
            status = 1
            continue
        if options.json:
            rows.append({"file": plain(name), **in_english(found)})
            continue
        for line in (*([""] if number else []), *heading(name), *lines(found)):
            shown(line)
    if options.json:
        json_line(rows)
    return status


def shown_name(options: argparse.Namespace, file: Path | str) -> str:
    """The user's name for a file that is a copy of stdin or of a URL."""
    names: dict[str, str] = getattr(options, "names", {})
    return names.get(str(file), str(file))
