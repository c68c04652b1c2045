"""How a program is started: which of the packs' ways, and the environment and command line of it."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from memlens.errors import BadRequestError
from memlens.packs import registry
from memlens.packs.api import Launch
from memlens.record import VARIABLE, Settings
from memlens.texts import as_text, phrase

SITE = Path(__file__).with_name("site")
"""The folder of the module that Python imports when it starts."""


class Start(NamedTuple):
    """A command line and the environment for it."""

    arguments: list[str]
    environment: dict[str, str]
    way: Launch


def way_of(name: str | None, program: str) -> Launch:
    """The way of that name, else the first for a program. Raises :class:`BadRequestError`."""
    ways = list(registry.launches())
    base = re.sub(r"(?i)\.(exe|cmd|bat)$", "", PurePath(program).name)
    for each in ways:
        if each.name == name if name else each.is_chosen and each.programs.fullmatch(base):
            return each
    raise BadRequestError(
        phrase("Memlens doesn't know what {program} runs on", program=as_text(program)),
        advice=phrase("Choose how it is recorded: {ways}.", ways=" ".join(f"--{each.name}" for each in ways)),
    )


def start_of(
    name: str | None, command: Sequence[str], settings: Settings, environment: Mapping[str, str]
) -> Start:
    """What to run; the folder of ``settings`` is absolute. Raises :class:`BadRequestError`."""
    way = way_of(name, command[0])
    folder = Path(settings.folder)
    arguments = list(command)
    if way.arguments is not None:
        arguments = way.arguments.load()(command, folder)
    changed = dict(environment)
    if way.variables is not None:
        changed |= way.variables.load()(environment, settings)
    if way.recorder:
        settings.by = way.name if name else ""
        paths = [str(SITE), *filter(None, [environment.get("PYTHONPATH")])]
        changed |= {VARIABLE: json.dumps(vars(settings)), "PYTHONPATH": os.pathsep.join(paths)}
    else:
        for option, value, is_known in (
            ("--at", settings.at_bytes, way.has_limit), ("--every", settings.every, False),
        ):  # fmt: skip
            if value is not None and not is_known:
                raise BadRequestError(
                    phrase("{option} doesn't apply to {way}", option=option, way=f"--{way.name}")
                )
    return Start(arguments, changed, way)
