"""The ``torch.nn`` module that an allocation was made in, where frames tell it (see :mod:`memlens.model.modules`)."""

import numpy as np
import numpy.typing as npt

from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot


def modules_of_stacks(snapshot: Snapshot) -> tuple[npt.NDArray[np.uint32], list[str]]:
    """For each stack the number of its innermost module, NEVER for none; and the modules' paths.

    A path is ``model.py:42 / model.py:17 / nn.Linear``, the outermost module first.
    """
    modules = snapshot.modules()
    # number 0 is "in no module"
    names = [path for number, (_, _, path) in sorted(modules.items()) if number]
    of_stacks = snapshot.column("stack_module")
    numbers = np.where(of_stacks == 0, np.uint32(NEVER), of_stacks - np.uint32(1)).astype(np.uint32)
    return numbers, names
