"""The ``torch.nn`` modules that an FX node's ``nn_module_stack`` tells, as a person would name them.

The forms that are written (``node.meta["nn_module_stack"]``):

* ``{"L__self___fc1": ("L['self'].fc1", "torch.nn.modules.linear.Linear")}``, a path and a type for each module, the
  outermost first: ``torch/_dynamo/symbolic_convert.py``, and ``torch/fx/_symbolic_trace.py`` with plain paths;
* ``"L__self__,,my.Net;L__self___fc1,fc1,torch.nn.modules.linear.Linear"``, as ``torch/_export/serde/serialize.py``
  saves it: key, path and type.
"""

import re
from collections.abc import Sequence

_MOST_NAME = 200
_MOST_DEEP = 64
_MOST_TEXT = 1 << 16
_ROOTS = ("L['self']", "L__self__", "self")
_ATTRIBUTE = re.compile(r"""\._modules\[['"]([^'"\]]+)['"]\]""")
_REPR = re.compile(r"^<class '([^']+)'>$")
# torch.export adds "@1" where one module is called more than once
_CALL_NUMBER = re.compile(r"@\d+$")


def told_modules(names: Sequence[str]) -> tuple[str, ...]:
    """Names such as ``("Net", "fc1 (nn.Linear)")``, outermost first.

    ``names`` holds path and type of each module in turn, or one text of all of them.
    """
    pairs = _pairs_of_text(names[0]) if len(names) == 1 else list(zip(names[::2], names[1::2], strict=False))
    found: list[str] = []
    outer = ""
    for path, kind in pairs[:_MOST_DEEP]:
        plain = _plain_path(path[:_MOST_TEXT])
        relative = plain[len(outer) :].lstrip(".") if plain.startswith(f"{outer}.") or not outer else plain
        name = _class_name(kind[:_MOST_TEXT])
        shown = f"{relative} ({name})" if relative and name else relative or name
        # the same module again: a call of a method of its own
        if shown and not (found and plain == outer):
            found.append(shown if len(shown) <= _MOST_NAME else f"{shown[: _MOST_NAME - 1]}…")
        outer = plain
    return tuple(found)


def _pairs_of_text(text: str) -> list[tuple[str, str]]:
    parts = [entry.split(",") for entry in text[:_MOST_TEXT].split(";")]
    # a path may hold commas itself; a text of another form tells nothing
    return [(",".join(part[1:-1]), part[-1]) for part in parts] if all(len(p) >= 3 for p in parts) else []


def _plain_path(path: str) -> str:
    """A module's path from the compiled module on, which is itself empty."""
    path = _CALL_NUMBER.sub("", _ATTRIBUTE.sub(r".\1", path))
    for root in _ROOTS:
        if path == root:
            return ""
        if path.startswith(f"{root}."):
            return path[len(root) + 1 :]
    return path


def _class_name(kind: str) -> str:
    """A type's name, with ``nn.`` before PyTorch's own."""
    found = _REPR.match(kind)
    full = found[1] if found else kind
    name = full.rpartition(".")[2]
    return f"nn.{name}" if name and full.startswith("torch.nn.modules.") else name
