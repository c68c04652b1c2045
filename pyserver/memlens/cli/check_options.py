"""Limits among the arguments, and in the configuration of the folder that a command is started in.

Both are declared here once: each option is also a key of ``[check]`` in ``memlens.toml`` and of
``[tool.memlens.check]`` in ``pyproject.toml``. A configuration is trusted for limits alone, as it may be a stranger's:
it names no file to read or write, and its queries and filters can only read.
"""

import argparse
import os
import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from memlens.cli.options import positive, snapshot
from memlens.cli.parsers import UsageError, nearest
from memlens.errors import BadRequestError
from memlens.regular_files import content
from memlens.texts import Text, as_text, phrase
from memlens.units import plain, shortened
from memlens.views.check.answers import Limit, LimitName, bound_of
from memlens.views.findings.table import every_rule

_SIZES: dict[LimitName, str] = {
    "max-peak": "the most that may be live at the peak: of a trace on each device, of a profile at its peak or when it "
    "was taken, of a heap dump what is reachable",
    "max-leaked": "the most that may be live at the end of a trace, or that a profile says was never freed",
    "max-growth-per-step": "what the lines that grow from step to step of a trace may add per step, on each device",
}
_OF: dict[LimitName, tuple[str, str]] = {
    "max-retained": (
        "FILTER",
        "the most that the objects of a filter may retain in a heap dump; may be repeated",
    ),
    "max-sql": ("QUERY", "the largest number that a query may have in its last column; may be repeated"),
}
_SIZE = "SIZE"
_MOST_BYTES = 1 << 20
_MOST_LIMITS = 200
_FILES = (("memlens.toml", ("check",)), ("pyproject.toml", ("tool", "memlens", "check")))
"""Where limits may be, the first file that has any; and their table there."""
_KEYS: tuple[LimitName, ...] = (*_SIZES, *_OF, "no-finding")


def add_limits(command: argparse.ArgumentParser) -> None:
    """Add an option for each limit."""
    limits = command.add_argument_group(
        "limits",
        f"{_SIZE} is an amount as 2GiB or 0, or what may be added to BASE as +10MiB or +5%. What isn't given is "
        "taken from memlens.toml or pyproject.toml in the current folder.",
    )
    for name, help_text in _SIZES.items():
        limits.add_argument(f"--{name}", action="append", metavar=_SIZE, help=help_text)
    for name, (metavar, help_text) in _OF.items():
        limits.add_argument(f"--{name}", action="append", nargs=2, metavar=(metavar, _SIZE), help=help_text)
    limits.add_argument(
        "--no-finding", action="append", metavar="RULE", choices=sorted(every_rule()),
        help="no finding of this rule, such as leak or grows_by_step, may be there; may be repeated",
    )  # fmt: skip


def add_lines(command: argparse.ArgumentParser) -> None:
    """Add how many lines are said of a limit."""
    command.add_argument(
        "--top", type=positive, default=5, metavar="N",
        help="say at most N lines of source of each limit that is exceeded (default 5)",
    )  # fmt: skip


def add_against(command: argparse.ArgumentParser) -> None:
    """Add the base."""
    command.add_argument(
        "--against", type=snapshot, metavar="BASE",
        help="compare with this snapshot, or with what memlens baseline wrote of one",
    )  # fmt: skip


def limits_of(options: argparse.Namespace) -> list[Limit]:
    """All limits: those of a name that is among the arguments are not taken from the configuration.

    Raises :class:`UsageError`.
    """
    given = [each for name in _KEYS for each in _given(options, name)]
    names = {each.name for each in given}
    return list(dict.fromkeys([*given, *(each for each in _configured() if each.name not in names)]))


def _given(options: argparse.Namespace, name: LimitName) -> Iterator[Limit]:
    for each in getattr(options, name.replace("-", "_")) or ():
        if name in _SIZES:
            yield _limit(name, "", each, f"--{name}")
        elif name in _OF:
            yield _limit(name, each[0], each[1], f"--{name}")
        else:
            yield Limit(name, of=each)


def _limit(name: LimitName, of: str, bound: str, where: str) -> Limit:
    try:
        return Limit(name, bound_of(bound), of)
    except BadRequestError as error:
        raise UsageError(phrase("{where}: {problem}", where=where, problem=error.message)) from None


def _configured() -> list[Limit]:
    """The limits of the configuration in the current folder. Raises :class:`UsageError`."""
    for name, table in _FILES:
        file = Path(name)
        # what is there and can't be read may have limits
        if not os.path.lexists(file):
            continue
        found = _table(file, table)
        if found is not None:
            limits = list(_in_table(found, name))
            if len(limits) > _MOST_LIMITS:
                raise UsageError(phrase("{file} has more than {n} limits", file=name, n=_MOST_LIMITS))
            return limits
    return []


def _table(file: Path, names: tuple[str, ...]) -> dict[str, Any] | None:
    data = content(file, _MOST_BYTES)
    if data is None:
        raise UsageError(
            phrase("{file} can't be read, or is larger than 1 MiB", file=file),
            advice=phrase("It may have limits, so nothing is checked without it."),
        )
    try:
        found: Any = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(
            phrase("{file} is not TOML: {reason}", file=file, reason=shortened(plain(str(error)), 200)),
            advice=phrase("It may have limits, so nothing is checked without it."),
        ) from None
    if len(names) == 1:
        _check_keys(found, names, file.name)
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    if found is not None and not isinstance(found, dict):
        raise UsageError(phrase("{file}: [{table}] is not a table", file=file, table=".".join(names)))
    return found


def _check_keys(table: dict[str, Any], known: tuple[str, ...], file: str) -> None:
    for key in table:
        if key not in known:
            raise UsageError(
                phrase("{file}: there is no limit {key}", file=file, key=key),
                advice=_meant(key, known, phrase("There are {names}.", names=", ".join(known))),
            )


def _meant(word: str, known: Collection[str], otherwise: Text) -> Text:
    """The known words that are spelt most like a wrong one, as advice."""
    near = nearest(word, known)
    return phrase("Did you mean {names}?", names=" or ".join(near)) if near else otherwise


def _in_table(table: dict[str, Any], file: str) -> Iterator[Limit]:
    _check_keys(table, _KEYS, file)
    for name in _KEYS:
        if name not in table:
            continue
        value, where = table[name], f"{file}: {name}"
        if name in _SIZES:
            for each in value if isinstance(value, list) else [value]:
                yield _limit(name, "", _size(each, where), where)
        elif name in _OF:
            if not isinstance(value, dict):
                raise _wrong(where, f'{{ "{_OF[name][0]}" = "50MiB" }}')
            for of, sizes in value.items():
                for each in sizes if isinstance(sizes, list) else [sizes]:
                    yield _limit(name, of, _size(each, where), where)
        else:
            for each in value if isinstance(value, list) else [value]:
                if not isinstance(each, str):
                    raise _wrong(where, '["leak"]')
                if each not in every_rule():
                    raise UsageError(
                        phrase("{where}: there is no rule {name}", where=where, name=each),
                        advice=_meant(each, every_rule(), phrase("docs/findings.md lists the rules.")),
                    )
                yield Limit(name, of=each)


def _size(value: object, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _wrong(where, '"2GiB"')
    return value if isinstance(value, str) else f"{value:f}" if isinstance(value, float) else str(value)


def _wrong(where: str, example: str) -> UsageError:
    return UsageError(
        phrase("{where} has the wrong form", where=where),
        advice=phrase("Write it as {example}.", example=as_text(example)),
    )
