"""Writes the tools into ``package.json``, where VS Code reads what it offers to language models.

``python -m memlens.server.tools.manifest FILE`` writes them; with ``--check`` it only says whether FILE is current.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from memlens.server.tools.table import TOOLS


def contributed() -> list[dict[str, Any]]:
    """``contributes.languageModelTools``. What people read of them is in ``package.nls.json``."""
    return [
        {
            "name": name,
            "tags": ["memory", "profiling"],
            "toolReferenceName": name.replace("_", "-"),
            "displayName": f"%tool.{name.removeprefix('memlens_')}.title%",
            "userDescription": f"%tool.{name.removeprefix('memlens_')}.description%",
            "modelDescription": tool.description
            + (
                " Without a path it is about the snapshot in the active editor."
                if {"path", "after"} & {*tool.schema()["properties"]}
                else ""
            ),
            "canBeReferencedInPrompt": True,
            "icon": "$(graph)",
            "inputSchema": tool.schema(needs_path=False),
        }
        for name, tool in TOOLS.items()
    ]


def main(arguments: list[str] | None = None) -> int:
    """Write the file, or with ``--check`` only say whether it is current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--check", action="store_true", help="only say whether FILE is current")
    options = parser.parse_args(arguments)
    manifest = json.loads(options.file.read_text(encoding="utf-8"))
    tools = contributed()
    if options.check:
        if manifest["contributes"].get("languageModelTools") == tools:
            return 0
        print(f"the tools in {options.file} are stale: run `npm run contract`", file=sys.stderr)
        return 1
    manifest["contributes"]["languageModelTools"] = tools
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    options.file.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
