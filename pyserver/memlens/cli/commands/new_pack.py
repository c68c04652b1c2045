"""Make a package that teaches Memlens a format of your own.

It has a reader, a table of libraries and a test: see [Packs](dev/packs.md).
"""

import argparse
import re
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from memlens.cli.output import say
from memlens.errors import BadRequestError
from memlens.formats import FORMATS
from memlens.packs import registry
from memlens.texts import phrase

_WORD = "newpack"
"""The name in the template's files and folders; the template is a working pack of that name."""
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


EXAMPLES = ("memlens new-pack my_tool",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", help="the format's name, as my_tool")
    command.add_argument("--out", type=Path, metavar="DIR", help="the folder to make (default: memlens-NAME)")


def run(options: argparse.Namespace) -> int:
    """Write the package into a new folder. Raises :class:`BadRequestError` for a name that a pack can't have."""
    name: str = options.name
    if not _NAME.fullmatch(name):
        raise BadRequestError(
            phrase("{name} can't be a pack's name", name=name),
            advice=phrase("A name has lower-case letters, digits and single underscores, as my_tool."),
        )
    if name in (*FORMATS, *(each.name for each in registry.packs())):
        raise BadRequestError(
            phrase("Memlens has a pack or a format {name} itself", name=name),
            advice=phrase("Choose another name."),
        )
    out: Path = options.out or Path(f"memlens-{name}")
    if out.exists():
        raise BadRequestError(
            phrase("{file} exists", file=out), advice=phrase("Choose another folder with --out.")
        )
    _copy(resources.files("memlens.cli").joinpath("pack_template"), out, name)
    say(f"{out}: the README says how to install it and what to change.")
    return 0


def _copy(template: Traversable, out: Path, name: str) -> None:
    out.mkdir(parents=True)
    for each in template.iterdir():
        target = out / each.name.replace(_WORD, name)
        if each.is_file():
            target.write_text(each.read_text("utf-8").replace(_WORD, name), "utf-8")
        elif each.name != "__pycache__":
            _copy(each, target, name)
