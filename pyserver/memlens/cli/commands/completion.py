"""Print what a shell needs to complete commands, options and files."""

import argparse
import re
from pathlib import Path

import shtab

from memlens.cli.command_line import whole_parser
from memlens.cli.options import snapshot
from memlens.cli.output import say
from memlens.units import shortened

_FOLDERS = ("DIR", "FOLDER")
"""The names of folder arguments in the help."""
_CLAUSE = re.compile(r"[.:;]\s|\s\(default|, (?:as|such as|by) ")
_SEVERAL = re.compile(r'^(\s*)"\(\*\):{1,2}', re.MULTILINE)
_MOST_WORDS = 70
"""The most characters of a description, which stands beside what a shell offers."""


EXAMPLES = ("memlens completion bash",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=("bash", "zsh", "fish"), help="whose script to print")


def run(options: argparse.Namespace) -> int:
    root = whole_parser()
    _describe(root)
    script: str = shtab.complete(root, shell=options.shell)
    if options.shell == "zsh":
        # with what shtab writes, zsh completes only the first of several files
        script = _SEVERAL.sub(r'\1"*:', script)
    for line in script.splitlines():
        say(line)
    return 0


def _describe(command: argparse.ArgumentParser) -> None:
    """Mark arguments that name files and folders, and shorten descriptions, in subcommands as well."""
    # argparse has no other way to list them
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                choice.help = _brief(choice.help)
            for below in action.choices.values():
                below.description = _brief(below.description)
                _describe(below)
            continue
        action.help = _brief(action.help)
        if action.metavar in _FOLDERS or action.dest == "cache_dir":
            action.complete = shtab.DIRECTORY  # pyrefly: ignore[missing-attribute]
        elif action.type in (Path, snapshot):
            action.complete = shtab.FILE  # pyrefly: ignore[missing-attribute]


def _brief(text: str | None) -> str:
    return shortened(_CLAUSE.split(text or "", maxsplit=1)[0].removesuffix("."), _MOST_WORDS)
