"""Readable names of the ``torch.nn`` modules in an FX node's ``nn_module_stack``.

``node.meta["nn_module_stack"]`` has one of two forms:

* ``{"L__self___fc1": ("L['self'].fc1", "torch.nn.modules.linear.Linear")}``, a path and a type for each module, the
  outermost first: ``torch/_dynamo/symbolic_convert.py``, and ``torch/fx/_symbolic_trace.py`` with plain paths;
* ``"L__self__,,my.Net;L__self___fc1,fc1,torch.nn.modules.linear.Linear"``, as ``torch/_export/serde/serialize.py``
  writes it: key, path and type.
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


def module_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names such as ``("Net", "fc1 (nn.Linear)")``, outermost first.

    ``names`` has the path and the type of each module in turn, or one text with all of them.
    """
    pairs = _pairs_of_text(names[0]) if len(names) == 1 else list(zip(names[::2], names[1::2], strict=False))
    shown: list[str] = []
    outer = ""
    for path, kind in pairs[:_MOST_DEEP]:
        plain = _plain_path(path[:_MOST_TEXT])
        relative = plain[len(outer) :].lstrip(".") if plain.startswith(f"{outer}.") or not outer else plain
        class_name = _class_name(kind[:_MOST_TEXT])
        name = f"{relative} ({class_name})" if relative and class_name else relative or class_name
        # a module that calls one of its own methods is repeated
        if name and not (shown and plain == outer):
            shown.append(name if len(name) <= _MOST_NAME else f"{name[: _MOST_NAME - 1]}…")
        outer = plain
    return tuple(shown)


def _pairs_of_text(text: str) -> list[tuple[str, str]]:
    parts = [entry.split(",") for entry in text[:_MOST_TEXT].split(";")]
    # a path may contain commas; a text of another form is ignored
    return [(",".join(part[1:-1]), part[-1]) for part in parts] if all(len(p) >= 3 for p in parts) else []


def _plain_path(path: str) -> str:
    """Return a module's path relative to the compiled module, whose own is empty."""
    path = _CALL_NUMBER.sub("", _ATTRIBUTE.sub(r".\1", path))
    for root in _ROOTS:
        if path == root:
            return ""
        if path.startswith(f"{root}."):
            return path[len(root) + 1 :]
    return path


def _class_name(kind: str) -> str:
    """Return a type's name, with ``nn.`` before PyTorch's own."""
    quoted = _REPR.match(kind)
    full = quoted[1] if quoted else kind
    name = full.rpartition(".")[2]
    return f"nn.{name}" if name and full.startswith("torch.nn.modules.") else name
