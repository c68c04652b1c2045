"""``--any-code``: what the commands that name lines and functions charge to each itself."""

import argparse
from typing import Any

import msgspec

from memlens.model.attribution import MEANINGS, NAMES, Attribution


def attribution_of(options: argparse.Namespace) -> Attribution:
    """What the arguments ask for."""
    return "any" if options.any_code else "mine"


def self_words(options: argparse.Namespace) -> str:
    """What "self" is, as it stands in the head of a table."""
    attribution = attribution_of(options)
    return f"self by {NAMES[attribution]}: {MEANINGS[attribution]}"


def with_attribution(options: argparse.Namespace, answer: Any) -> dict[str, Any]:
    """An answer for JSON, which names the rule by which it is charged."""
    return {"attribution": attribution_of(options), **msgspec.to_builtins(answer)}


def add_any_code(command: argparse.ArgumentParser) -> None:
    """Let a command take ``--any-code``."""
    command.add_argument(
        "--any-code", action="store_true",
        help=f"what is a place's own: {MEANINGS['any']}. Without it: {MEANINGS['mine']}",
    )  # fmt: skip
