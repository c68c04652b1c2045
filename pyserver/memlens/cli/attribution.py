"""``--any-code``: which frame the bytes of a stack are charged to, in commands that print lines or functions.

And what commands say where there are no stacks.
"""

import argparse
from typing import Any

from memlens.json_text import in_english
from memlens.model.attribution import MEANINGS, NAMES, Attribution
from memlens.store.models import LackingError
from memlens.texts import as_text


def attribution_of(options: argparse.Namespace) -> Attribution:
    """Return the attribution from the arguments."""
    return "any" if options.any_code else "mine"


def self_words(options: argparse.Namespace) -> str:
    """Return which "self" the header of a table is about; what that means is in the help of ``--any-code``."""
    return f"self by {NAMES[attribution_of(options)]}"


def with_attribution(options: argparse.Namespace, answer: Any) -> dict[str, Any]:
    """Return an answer for JSON, with the rule by which its figures are charged."""
    return {"attribution": attribution_of(options), **in_english(answer)}


def without_stacks(options: argparse.Namespace, *names: str) -> None:
    """Raise :class:`LackingError` if any of these options is given: a heap dump without stacks can't answer them."""
    for name in given(options, *names):
        raise LackingError("graph", "allocation stacks", as_text(name))


def given(options: argparse.Namespace, *names: str) -> list[str]:
    """Return those of the named options that were given."""
    values = {name: getattr(options, name.removeprefix("--").replace("-", "_")) for name in names}
    return [
        name for name, value in values.items() if value is not None and value is not False and value != ""
    ]


def add_any_code(command: argparse.ArgumentParser) -> None:
    """Add ``--any-code`` to a command."""
    command.add_argument(
        "--any-code", action="store_true",
        help=f"self is what is {MEANINGS['any']}; without it, what is {MEANINGS['mine']}",
    )  # fmt: skip
