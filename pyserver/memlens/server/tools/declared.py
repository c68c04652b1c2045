"""The declaration of a tool for language models: a function with what a model reads of it.

The struct of its arguments is its JSON Schema. Nothing of a snapshot ever stands here.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar, get_type_hints

import msgspec
from msgspec import Struct

F = TypeVar("F", bound=Callable[..., Awaitable[Any]])


class Tool(NamedTuple):
    """A tool: its title, the texts for people and for models, the struct of its arguments, and its function."""

    title: str
    about: str
    """For people, in a line."""
    description: str
    arguments: type[Struct]
    answer: Callable[..., Awaitable[Any]]

    def schema(self, *, needs_path: bool = True) -> dict[str, Any]:
        """JSON Schema of the arguments; without ``needs_path`` the file may be left out, for an editor's."""
        _, parts = msgspec.json.schema_components([self.arguments])
        made: dict[str, Any] = dict(parts[self.arguments.__name__])
        for each in made["properties"].values():
            if "enum" in each:
                # some models' schemas need a type for each
                each["type"] = "string"
        paths = [name for name in ("path", "before", "after") if name in made["properties"]]
        required = [*(paths if needs_path else paths[:-1]), *made.get("required", [])]
        return {
            "type": "object",
            "properties": made["properties"],
            **({"required": list(dict.fromkeys(required))} if required else {}),
            "additionalProperties": False,
        }


DECLARED: dict[str, Tool] = {}
"""By their names, in the order in which their modules were imported; see :data:`memlens.server.tools.table.TOOLS`."""


def tool(name: str, title: str, about: str, description: str) -> Callable[[F], F]:
    """Declare the function as the answer to ``name``, which takes its arguments as ``arguments``."""

    def declare(answer: F) -> F:
        if name in DECLARED:
            raise TypeError(f"{name} is declared twice")
        DECLARED[name] = Tool(title, about, description, get_type_hints(answer)["arguments"], answer)
        return answer

    return declare
