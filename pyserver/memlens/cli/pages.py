"""Writes what the docs and the view have from declarations: ``python -m memlens.cli.pages DOCS TERMS``.

The lists of commands in ``command-line.md``, the names of files in ``formats.md``, the table of ``attribution.md``,
the pages ``filter.md`` and ``python-api.md``, and the TypeScript file of the terms that views offer. With ``--check``
it only says whether they are current.
"""

import argparse
import inspect
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from textwrap import wrap

from memlens.cli import api_page
from memlens.cli.command_line import COMMANDS, commands, module_name
from memlens.cli.filter_page import listed, page, typescript
from memlens.cli.output import say
from memlens.packs import registry

_MADE = re.compile(r"(<!-- BEGIN (\w+): .* -->\n).*?(<!-- END \2 -->)", re.DOTALL)


def command_lists() -> dict[str, str]:
    """Return what ``command-line.md`` has between its marks: examples, the table of commands, those with ``--json``."""
    parsers = commands()
    modules = {name: import_module(module_name(COMMANDS, name)) for name in parsers}
    examples = [line for module in modules.values() for line in getattr(module, "EXAMPLES", ())]
    rows = [
        f"| `{name}` | {' '.join(inspect.cleandoc(module.__doc__ or '').split()).replace('``', '`')} |"
        for name, module in modules.items()
    ]
    with_json = [name for name, each in parsers.items() if "--json" in each._option_string_actions]
    return {
        "examples": "\n".join(("```", *examples, "```")),
        "commands": "\n".join(("| command | |", "|---|---|", *rows)),
        "json": "\n".join(wrap(f"{listed(with_json)} take `--json`.", 125, break_on_hyphens=False)),
    }


def name_lists() -> dict[str, str]:
    """Return what ``formats.md`` has between its marks: the names of files that open by themselves."""
    names = [f"`{name}`" for each in registry.formats().values() for name in each.file_names]
    text = f"Files with these names open in Memlens directly: {', '.join(names[:-1])} and {names[-1]}."
    return {"file_names": "\n".join(wrap(text, 125, break_on_hyphens=False))}


def attribution_rows() -> dict[str, str]:
    """Return what ``attribution.md`` has between its marks: the rows that packs have about their formats."""
    head = "| format | what a figure is attributed to | what the file doesn't know, and what is shown then | how sure |"
    folder = Path(registry.__file__).parent
    rows = [_text(folder / pack.name / "attribution.md").rstrip() for pack in registry.packs()]
    return {"attribution": "\n".join((head, "|---|---|---|---|", *rows))}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def with_lists(text: str, lists: Mapping[str, str]) -> str:
    """Return a page with its lists as they should be."""
    return _MADE.sub(lambda match: f"{match[1]}\n{lists[match[2]]}\n\n{match[3]}", text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or with ``--check`` only say whether they are current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("docs", type=Path)
    parser.add_argument("terms", type=Path)
    parser.add_argument("--check", action="store_true", help="only say whether the files are current")
    options = parser.parse_args(arguments)
    docs: Path = options.docs
    stale = 0
    for path, made in (
        *(
            (docs / name, with_lists(_text(docs / name), lists()))
            for name, lists in (
                ("command-line.md", command_lists),
                ("formats.md", name_lists),
                ("attribution.md", attribution_rows),
            )
        ),
        (docs / "filter.md", page()),
        (docs / "python-api.md", api_page.page()),
        (options.terms, typescript()),
    ):
        if not options.check:
            path.write_text(made, encoding="utf-8", newline="\n")
        elif not path.exists() or _text(path) != made:
            say(f"{path} is stale: run `npm run contract`", error=True)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
