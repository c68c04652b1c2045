"""The prompts of the MCP server: the skill that the extension brings as a file as well."""

from importlib import resources
from typing import Any

SKILL = "memory-snapshots"
_PATH = "path"


def listed() -> list[dict[str, Any]]:
    """The answer to ``prompts/list``."""
    path = {"name": _PATH, "description": "The snapshot, or the first of several", "required": False}
    title = "Find what filled the memory"
    return [{"name": SKILL, "title": title, "description": _about(), "arguments": [path]}]


def prompt(name: object, arguments: object) -> dict[str, Any] | None:
    """The answer to ``prompts/get``; None if there is no such prompt."""
    if name != SKILL:
        return None
    text = _text().partition("\n---\n")[2].lstrip()
    path = arguments.get(_PATH) if isinstance(arguments, dict) else None
    if isinstance(path, str) and path:
        text += f"\nThe snapshot: {path}\n"
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": _about(), "messages": [message]}


def _about() -> str:
    """The description in the skill's front matter."""
    lines = _text().partition("\n---\n")[0].splitlines()
    return next(line.partition(": ")[2] for line in lines if line.startswith("description: "))


def _text() -> str:
    return (resources.files("memlens.server") / "skills" / SKILL / "SKILL.md").read_text("utf-8")
