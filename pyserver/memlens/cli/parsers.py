"""Parsers of arguments: one that reports errors as all commands do, and one that does nothing."""

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from memlens.cli.output import output_columns, say
from memlens.errors import BadRequestError
from memlens.units import plain

USAGE = 2
"""The exit status after wrong arguments, as other programs have it."""
INTERNAL = ("tables", "examine", "queries")
"""Commands that Memlens runs itself. They have a ``--help``, but no list names them."""

_NARROWEST = 20
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


STDIN = "-"
"""What stands for stdin among the arguments."""


class UsageError(BadRequestError):
    """Arguments that make no sense together, or none for this kind of file: exit status 2."""

    code = "usage"


class Elsewhere(str):
    """A snapshot among the arguments that is no file here: ``-`` or a URL."""

    __slots__ = ()


def snapshot(text: str) -> Path | Elsewhere:
    """Parse the argument that names a snapshot."""
    return Elsewhere(text) if text == STDIN or _URL.match(text) else Path(text)


def not_here(options: argparse.Namespace) -> list[Elsewhere]:
    """Return the snapshots among the options that are no files here."""
    values = [
        each for value in vars(options).values() for each in (value if isinstance(value, list) else [value])
    ]
    return [each for each in values if isinstance(each, Elsewhere)]


class _Help(argparse.HelpFormatter):
    """Help as wide as the terminal.

    argparse makes a formatter for each argument that is added, and by default imports shutil for the width, which
    imports compressors.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=max(output_columns() - 2, _NARROWEST))


class Parser(argparse.ArgumentParser):
    """A parser that reports wrong arguments in one line, like all other errors."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_Help, **options)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; a query may follow options."""
        options, rest = self.parse_known_args(args, namespace)
        # Python 3.11 treats an optional argument as missing if an option precedes it
        if (
            getattr(options, "query", "") is None
            and len(rest) == 1
            and (rest[0] == "-" or rest[0][:1] != "-")
        ):
            options.query = rest.pop()
        if rest:
            self._fail(f"unrecognized arguments: {' '.join(rest)}", f"{self.prog} {options.command}")
        return options

    def error(self, message: str) -> NoReturn:
        """Print the error, and exit."""
        self._fail(message, self.prog)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Check a value that has to be one of a few: the error lists those that users may give, the nearest first."""
        if action.choices is None or value in action.choices:
            return
        known = [str(each) for each in action.choices if each not in INTERNAL]
        near = nearest(str(value), known)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise argparse.ArgumentError(action, f"{value!r} is not one of {', '.join(known)}{hint}")

    def _fail(self, message: str, command: str) -> NoReturn:
        end = "" if message.endswith("?") else "."
        self.exit(USAGE, f"memlens: {plain(message)}{end} Try {command} --help.\n")


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Return the words that are spelt most like another, at most 3."""
    # imported here, because few commands have wrong arguments
    from difflib import get_close_matches

    return get_close_matches(word, list(known), 3)


class _AsWritten(_Help):
    """Help whose epilog keeps its lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.count("\n") else super()._fill_text(text, width, indent)


def with_language(command: argparse.ArgumentParser) -> None:
    """Let the help of a command end with the language of filters."""
    # imported here, because only that command needs the table
    from memlens.cli.filter_page import text

    command.formatter_class = _AsWritten
    command.epilog = text(output_columns())


class LeftOut(argparse.ArgumentParser):
    """A parser that ignores all arguments, for the commands that aren't run: it costs nothing."""

    def __init__(self) -> None:
        """Skip the initialisation of a parser."""

    def add_argument(self, *_: Any, **__: Any) -> Any:
        """Add nothing."""

    def add_mutually_exclusive_group(self, **_: Any) -> Any:
        """Return this parser, which adds nothing."""
        return self

    def add_subparsers(self, **_: Any) -> Any:
        """Return this parser, which adds nothing."""
        return self

    def add_parser(self, *_: Any, **__: Any) -> argparse.ArgumentParser:
        """Return this parser, which adds nothing."""
        return self


class Version(argparse.Action):
    """Prints the version, which is looked up only for this option: that takes as long as building the parser."""

    def __call__(self, *_: object) -> NoReturn:
        """Print the version, and exit."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            say(f"memlens {version('memlens')}")
        except PackageNotFoundError:
            say("memlens (not installed)")
        sys.stdout.flush()
        raise SystemExit(0)
