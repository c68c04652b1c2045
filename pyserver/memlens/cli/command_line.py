"""The words of the command line: which command they name, and its options.

A command is a module in ``commands/``, a folder there has commands below another. Its docstring is its help, the
first line what lists say of it. It has ``add_arguments``, ``run``, and ``EXAMPLES`` for the help and the docs,
command lines that work in the project's folder. Only the module of the command that runs is imported: all of them
take far longer than most commands. Those in ``internal/`` are for Memlens itself, and no list has them.
"""

import argparse
import gc
import re
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from memlens.cli.parsers import Parser, Version

COMMANDS = "memlens.cli.commands"
INTERNAL = "memlens.cli.internal"

FILTERS = ("--filter", "--of", "--without")
"""The options that may be filters."""

_NAME = re.compile(r"[a-z][a-z-]*")
_SHORT_OPTIONS = ("-h", "-o")
_REFERENCE = re.compile(r"\s*\bSee \[[^]]+\]\([^)]+\)\.")
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line: ``command`` is the name of the command, ``run`` runs it."""
    rest = list(words)
    folder, names = COMMANDS, list[str]()
    found: ModuleType | None = None
    while rest and (below := _module_of(folder, rest[0])) is not None:
        names.append(rest.pop(0))
        found, folder = below, below.__name__
        if not _has_commands(below):
            break
        if rest and rest[0] not in ("-h", "--help") and _module_of(folder, rest[0]) is None:
            rest.insert(0, below.DEFAULT)
    if found is None or _has_commands(found):
        # prints the list of commands, or an error
        parser = Parser(prog=" ".join(("memlens", *names)), description=_description(found))
        _add_commands(parser, folder, is_whole=False)
        parser.parse_args(rest or ["--help"])
        parser.error("the command has to stand first")
    parser = Parser(
        prog=" ".join(("memlens", *names)), description=_description(found), epilog=_epilog(found)
    )
    found.add_arguments(parser)
    words = rest if getattr(found, "OF_A_PROGRAM", False) else _with_filters(rest)
    options: argparse.Namespace = parser.parse_args(words)
    options.command = " ".join(names)
    options.run = found.run
    return options


def whole_parser() -> argparse.ArgumentParser:
    """Return a parser for all commands, whose modules are imported for that."""
    parser = Parser(prog="memlens")
    _add_commands(parser, COMMANDS, is_whole=True)
    return parser


def commands(parser: argparse.ArgumentParser | None = None) -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command, or of each below another's ``parser``."""
    # argparse has no other way to list them
    actions = (whole_parser() if parser is None else parser)._actions
    return next(dict(each.choices) for each in actions if isinstance(each.choices, dict))


def names_in(folder: str) -> list[str]:
    """Return the names of the commands in a folder, sorted."""
    # imported here, because few commands need the list
    from pkgutil import iter_modules

    return sorted(each.name.replace("_", "-") for each in iter_modules(import_module(folder).__path__))


def module_name(folder: str, name: str) -> str:
    """Return the name of a command's module."""
    return f"{folder}.{name.replace('-', '_')}"


def summary(module: str) -> str:
    """Return the first line of a command's docstring, which is read from the compiled module without running it."""
    # imported here, because few commands need the list
    from importlib.machinery import SourceFileLoader

    spec = find_spec(module)
    # not by the module's own loader, which is pytest's in a test
    code = SourceFileLoader(module, spec.origin).get_code(module) if spec and spec.origin else None
    text = code.co_consts[0] if code is not None else None
    return as_help(text.partition("\n")[0]) if isinstance(text, str) else ""


def as_help(text: str) -> str:
    """Return a docstring as help text: without links to pages, on one line."""
    return _LINK.sub(r"\1", _REFERENCE.sub("", " ".join(text.split()))).replace("``", "`")


def _module_of(folder: str, name: str) -> ModuleType | None:
    """Import the module of a command, without garbage collection: the objects that imports create are permanent."""
    if _NAME.fullmatch(name) is None:
        return None
    places = [module_name(each, name) for each in ((folder, INTERNAL) if folder == COMMANDS else (folder,))]
    found = next((each for each in places if find_spec(each) is not None), None)
    if found is None:
        return None
    is_first = not gc.isenabled()
    gc.disable()
    try:
        return import_module(found)
    finally:
        if is_first:
            # so far this process has done nothing but import, and a collection would go through all of that
            gc.freeze()
        gc.enable()


def _has_commands(module: ModuleType) -> bool:
    return hasattr(module, "__path__")


def _description(module: ModuleType | None) -> str:
    return "Reads memory snapshots." if module is None else as_help(module.__doc__ or "")


def _epilog(module: ModuleType) -> str:
    examples = getattr(module, "EXAMPLES", ())
    return "\n  ".join(("examples:", *examples)) if examples else ""


def _add_commands(parser: argparse.ArgumentParser, folder: str, *, is_whole: bool) -> None:
    """Add the commands of a folder: their names and summaries, or if ``is_whole`` also their arguments."""
    if folder == COMMANDS:
        parser.add_argument("--version", action=Version, nargs=0, help="print the version and exit")
    metavar = getattr(import_module(folder), "METAVAR", "COMMAND")
    commands = parser.add_subparsers(required=True, dest="command", metavar=metavar)
    for name in names_in(folder):
        path = module_name(folder, name)
        if not is_whole:
            commands.add_parser(name, help=summary(path))
            continue
        module = import_module(path)
        below = commands.add_parser(
            name, help=summary(path), description=_description(module), epilog=_epilog(module)
        )
        if _has_commands(module):
            _add_commands(below, path, is_whole=True)
        else:
            module.add_arguments(below)


def _with_filters(words: Sequence[str]) -> list[str]:
    """The words of a command line, filters that begin with a minus joined to their options.

    argparse would take ``-unreachable`` after ``--filter`` for another option.
    """
    joined: list[str] = []
    for word in words:
        is_negated = word[:1] == "-" and word[1:2] not in ("", "-") and word not in _SHORT_OPTIONS
        if is_negated and joined and joined[-1] in FILTERS:
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined
