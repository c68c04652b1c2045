"""What is inferred about a snapshot of PyTorch."""

import numpy as np

from memlens.arrays import U32
from memlens.model.inferred import Inference, Module
from memlens.model.timeline import NEVER, DeviceTimeline, Timeline
from memlens.packs.pytorch.categories import callers_of, has_early, infer_categories
from memlens.packs.pytorch.forward import infer_forward, operators_of
from memlens.packs.pytorch.module_sizes import infer_modules
from memlens.packs.pytorch.modules import first_of_paths, modules_of


class TorchInference(Inference):
    """Categories and modules of what is from before the trace, modules of stacks, and lines of the backward pass."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(timeline)
        self._frames, self._callers = timeline.frames, None
        self._first = np.zeros(1, np.uint32)
        self._roles, self._operators = operators_of(timeline.frames)
        if not self.categories and not timeline.frees_repeat and any(map(has_early, timeline.devices)):
            self._callers = callers_of(timeline.frames)
            self.categories = infer_categories(self._callers, timeline.devices)
            self.has_early_modules = True

    def modules(self, parents: U32, node_frames: U32, nodes: U32) -> tuple[U32, list[Module]]:
        """Return the ``torch.nn`` modules of stacks."""
        of_stacks, modules = modules_of(self._frames, parents, node_frames, nodes)
        self._first = first_of_paths(modules)
        return of_stacks, modules

    def lines(self, device: DeviceTimeline, labels: U32) -> U32 | None:
        """Return the lines of the forward pass."""
        if not self._roles.any():
            return None
        stacks, starts = device.allocations["stack"], device.allocations["start"]
        # allocations from before the trace are not in the order in which they were made
        early = int(np.count_nonzero(starts == 0))
        inferred = np.full(len(stacks), NEVER, np.uint32)
        inferred[early:] = infer_forward(stacks[early:], self._roles, self._operators, labels)
        return inferred

    def early_modules(self, device: DeviceTimeline, modules: U32) -> U32:
        """Return the modules that gradients lead to."""
        if self._callers is None:
            return super().early_modules(device, modules)
        return infer_modules(device, self._callers, self._roles, self._operators, self._first[modules])
