"""The ``torch.nn`` module that an allocation was made in, where frames tell it.

PyTorch's profiler writes a frame ``nn.Module: Linear_0`` for each module that is called. Other snapshots tell only
that ``torch/nn/modules/module.py`` called something from ``_call_impl``: the ``forward`` of a module, named here by
its file and function, as the class is not in the file.
"""

import re

import numpy as np
import numpy.typing as npt

from memlens.kernels import timeline as kernel
from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot

_NAMED = re.compile(r"nn\.Module: (?P<name>.+)", re.DOTALL)
_CALLER = "_call_impl"
_CALLER_FILE = "torch/nn/modules/module.py"


def modules_of_stacks(snapshot: Snapshot) -> tuple[npt.NDArray[np.uint32], list[str]]:
    """For each stack the number of its innermost module, NEVER for none; and the modules' names."""
    rows = snapshot.text.execute(
        "SELECT id, file, function FROM frames WHERE function LIKE 'nn.Module: %' OR function = ?", (_CALLER,)
    )
    named: dict[int, str] = {}
    callers: list[int] = []
    for row, file, function in rows:
        found = _NAMED.fullmatch(function)
        if found:
            named[row] = found["name"]
        elif file.replace("\\", "/").endswith(_CALLER_FILE):
            callers.append(row)
    parents, frames = snapshot.column("node_parent"), snapshot.column("node_frame")
    module_frame = np.full(len(parents), NEVER, np.uint32)
    if named:
        tells = np.isin(frames, np.fromiter(named, np.uint32, len(named)))
    else:
        called = np.zeros(len(parents), bool)
        called[1:] = np.isin(frames[parents[1:]], np.asarray(callers, np.uint32))
        tells = called & ~np.isin(frames, np.asarray(callers, np.uint32))
    module_frame[tells] = frames[tells]
    nearest = np.empty(len(parents), np.uint32)
    kernel.nearest_above(parents, module_frame, nearest)
    of_stacks = nearest[snapshot.column("stack_node")]
    ids, numbers = np.unique(of_stacks, return_inverse=True)
    names = dict(named)
    if not named:
        for row, (file, _, function, _) in snapshot.frames(ids[ids != NEVER].tolist()).items():
            names[row] = f"{_stem(file)}.{function}"
    # modules of one name are one
    texts: dict[str, int] = {}
    table = np.full(len(ids), NEVER, np.uint32)
    for place, row in enumerate(ids.tolist()):
        if row != NEVER:
            table[place] = texts.setdefault(names[row], len(texts))
    return table[numbers], list(texts)


def _stem(file: str) -> str:
    return file.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".py")
