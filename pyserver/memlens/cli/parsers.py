"""The parser of arguments, which reports errors as all commands do."""

import argparse
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

from memlens.cli.output import output_columns, say
from memlens.errors import BadRequestError
from memlens.units import plain

USAGE = 2
"""The exit status after wrong arguments, as other programs have it."""
_NARROWEST = 20


class UsageError(BadRequestError):
    """Arguments that contradict each other or don't apply to this kind of file: exit status 2."""

    code = "usage"


class _Help(argparse.HelpFormatter):
    """Help as wide as the terminal.

    argparse makes a formatter for each argument that is added, and by default imports shutil for the width, which
    imports compressors.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=max(output_columns() - 2, _NARROWEST))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Keep the lines of a text that has several."""
        return text if "\n" in text else super()._fill_text(text, width, indent)


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
            named = [name for each in rest if each[:2] == "--" for name in self._nearest_options(each)]
            hint = f"; did you mean {' or '.join(named)}?" if named else ""
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return options

    def _nearest_options(self, word: str) -> list[str]:
        """The option that is spelt most like a word, if there is one."""
        known = [name for action in self._actions for name in action.option_strings if name[:2] == "--"]
        return nearest(word.partition("=")[0], known)[:1]

    def error(self, message: str) -> NoReturn:
        """Print the error, and exit."""
        end = "" if message.endswith("?") else "."
        self.exit(USAGE, f"memlens: {plain(message)}{end} Try {self.prog} --help.\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Check a value that has to be one of a few: the error lists those that users may give, the nearest first."""
        if action.choices is None or value in action.choices:
            return
        known = [str(each) for each in action.choices]
        near = nearest(str(value), known)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise argparse.ArgumentError(action, f"{value!r} is not one of {', '.join(known)}{hint}")


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Return the words that are spelt most like another, at most 3."""
    # imported here, because few commands have wrong arguments
    from difflib import get_close_matches

    return get_close_matches(word, list(known), 3)


class Version(argparse.Action):
    """Prints the version, which is looked up only for this option: that takes as long as building the parser."""

    def __call__(self, *_: object) -> NoReturn:
        """Print the version, and exit."""
        from memlens.version import own_version

        say(f"memlens {own_version()}")
        sys.stdout.flush()
        raise SystemExit(0)
