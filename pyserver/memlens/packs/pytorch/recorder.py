"""Records the history of the GPU's memory inside of a program that uses PyTorch: see ``memlens/record.py``.

Sources: ``torch/cuda/memory.py`` and ``torch/cuda/__init__.py`` (``_lazy_call``) of PyTorch.
"""

import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memlens.record import Recording

_MOST_EVENTS = 1_000_000


class Recorder:
    """PyTorch's history, from when CUDA is initialised."""

    name = "torch"
    ending = ".pickle"
    limits_process = False

    def __init__(self, recording: "Recording") -> None:
        self._recording = recording
        self._torch: Any = None
        self._steps = 0
        self._every = recording.settings.every or 0
        self._optimizer: object = None

    def prepare(self) -> bool:
        """Wait until PyTorch uses a GPU, if it is installed."""
        spec = importlib.util.find_spec("torch")
        if spec is None:
            return False
        self._recording.when_imported("torch", self._imported)
        return True

    def _imported(self, torch: Any) -> None:
        self._torch = torch
        if torch.version.cuda is None and torch.version.hip is None:
            self._recording.begin_next()
            return
        # the first use of the GPU initialises it: here that would break programs that fork before
        self._torch.cuda._lazy_call(self._begin)

    def _begin(self) -> None:
        """Record from now on. The device isn't in use yet, so that all of it is recorded."""
        memory = self._torch.cuda.memory
        memory._record_memory_history(max_entries=_MOST_EVENTS, stacks="python")
        self._torch._C._cuda_attach_out_of_memory_observer(lambda *_: self._recording.write("oom"))
        if self._every:
            self._torch.optim.optimizer.register_optimizer_step_post_hook(self._stepped)
        self._recording.begin(self)

    def _stepped(self, optimizer: object, *_: object) -> None:
        """A step is one of the first optimizer's."""
        if self._optimizer is None:
            self._optimizer = optimizer
        if optimizer is not self._optimizer:
            return
        self._steps += 1
        if self._steps % self._every == 0:
            self._recording.write("step")

    def write(self, path: str) -> None:
        """Write the history and all that is live."""
        self._torch.cuda.memory._dump_snapshot(path)

    def writing_bytes(self) -> int:
        """Nothing of the GPU's memory."""
        return 0

    def used_bytes(self) -> int:
        """What is reserved on the device that has the most."""
        cuda = self._torch.cuda
        return max((int(cuda.memory_reserved(device)) for device in range(cuda.device_count())), default=0)
