"""What PyTorch allocates for itself: gradients, temporaries of optimizers, workspaces of libraries, buffers of ranks.

The rows are data, ``machinery.toml``, which says what they have.
"""

import tomllib
from importlib import resources
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memlens.packs.api import Machinery
from memlens.texts import Text, phrase


class _Table(Struct, forbid_unknown_fields=True):
    machinery: list[Machinery]


class _Words(NamedTuple):
    """What a kind is called in a sentence, and what PyTorch documents that can be done about it."""

    title: Text
    advice: Text | None = None


WORDS = {
    "gradients": _Words(phrase("AccumulateGrad (gradients)")),
    "optimizer_states": _Words(phrase("states of an optimizer")),
    "foreach": _Words(
        phrase("temporaries of an optimizer that works on all parameters at once"),
        phrase(
            "With foreach=False the optimizer works on one parameter after the other, and with fused=True, where it "
            "has that, without temporaries."
        ),
    ),
    "cudnn_workspace": _Words(
        phrase("workspaces of cuDNN"),
        phrase("The environment variable CUDNN_CONV_WSCAP_DBG limits them, perhaps at the cost of speed."),
    ),
    "cublas_workspace": _Words(
        phrase("workspaces of cuBLAS"),
        phrase("The environment variable CUBLAS_WORKSPACE_CONFIG sets how large they are."),
    ),
    "cublaslt_workspace": _Words(
        phrase("workspaces of cuBLASLt"),
        phrase("The environment variable CUBLASLT_WORKSPACE_SIZE sets how large they are."),
    ),
    "cusolver_workspace": _Words(phrase("workspaces of cuSOLVER")),
    "cub": _Words(phrase("temporaries of CUB, which sorts and scans")),
    "attention_math": _Words(
        phrase("scores of attention without a fused kernel"),
        phrase(
            "Flash and memory-efficient attention hold no such matrices: torch.nn.attention.sdpa_kernel() chooses one, "
            "and warns why if it can't be used."
        ),
    ),
    "flash_attention": _Words(phrase("tensors of flash attention")),
    # only copies of weights are kept, and the backward pass needs them as well: cache_enabled=False saves nothing then
    "autocast": _Words(phrase("copies that autocast converts")),
    "grad_scaler": _Words(phrase("GradScaler's scales")),
    "recomputed": _Words(
        phrase("activations that checkpointing computes again"),
        phrase("A part is computed again as a whole: smaller parts hold less at a time."),
    ),
    "recomputed_reentrant": _Words(
        phrase("activations that checkpointing computes again"),
        phrase("A part is computed again as a whole: smaller parts hold less at a time."),
    ),
    "saved_on_cpu": _Words(phrase("tensors that save_on_cpu brings back for the backward pass")),
    "ddp_buckets": _Words(
        phrase("buckets of DistributedDataParallel"),
        phrase(
            "With gradient_as_bucket_view=True gradients are views of them, and need no memory of their own."
        ),
    ),
    "nccl_lists": _Words(
        phrase("buffers of collectives that take lists of tensors"),
        phrase(
            "all_gather_into_tensor() and reduce_scatter_tensor() take one tensor, and need no such buffer."
        ),
    ),
    "broadcast": _Words(phrase("buffers in which parameters are sent to all ranks")),
    "fsdp_gathered": _Words(
        phrase("parameters that FSDP gathers from all ranks"),
        phrase(
            "The smaller the modules that are wrapped, the less is gathered at a time; FULL_SHARD, or "
            "reshard_after_forward=True, frees them after the forward pass."
        ),
    ),
    "fsdp_reduced": _Words(phrase("gradients that FSDP reduces across ranks")),
    "autotuning": _Words(phrase("buffers with which an autotuner measures kernels")),
}
"""By the names of the rows; without an advice where PyTorch documents none."""


def _kinds() -> tuple[Machinery, ...]:
    text = resources.files("memlens.packs.pytorch").joinpath("machinery.toml").read_text("utf-8")
    rows = msgspec.convert(tomllib.loads(text), _Table).machinery
    owner = phrase("PyTorch's own")
    return tuple(replace(row, owner=owner, **WORDS[row.name]._asdict()) for row in rows)


KINDS = _kinds()
