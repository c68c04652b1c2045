"""What PyTorch allocates for itself at the peak: what it is called, and what can be done about it."""

from collections.abc import Iterator
from typing import NamedTuple

from memlens.model.torch_machinery import machinery
from memlens.texts import Text, phrase
from memlens.units import MIB
from memlens.views.findings.answers import Evidence, Figure
from memlens.views.findings.groups import top_groups
from memlens.views.findings.trace.case import TraceCase
from memlens.views.findings.writing import Ranked, amount, made, percent, text_in_sql
from memlens.views.selection.machinery import machinery_stacks

LEAST_SHARE = 0.05


class Known(NamedTuple):
    """A kind in words: what it is called in a sentence, and what PyTorch documents that can be done about it."""

    title: Text
    advice: Text | None = None


KNOWN = {
    "gradients": Known(phrase("AccumulateGrad (gradients)")),
    "optimizer_states": Known(phrase("states of an optimizer")),
    "foreach": Known(
        phrase("temporaries of an optimizer that works on all parameters at once"),
        phrase(
            "With foreach=False the optimizer works on one parameter after the other, and with fused=True, where it "
            "has that, without temporaries."
        ),
    ),
    "cudnn_workspace": Known(
        phrase("workspaces of cuDNN"),
        phrase("The environment variable CUDNN_CONV_WSCAP_DBG limits them, perhaps at the cost of speed."),
    ),
    "cublas_workspace": Known(
        phrase("workspaces of cuBLAS"),
        phrase("The environment variable CUBLAS_WORKSPACE_CONFIG sets how large they are."),
    ),
    "cublaslt_workspace": Known(
        phrase("workspaces of cuBLASLt"),
        phrase("The environment variable CUBLASLT_WORKSPACE_SIZE sets how large they are."),
    ),
    "cusolver_workspace": Known(phrase("workspaces of cuSOLVER")),
    "cub": Known(phrase("temporaries of CUB, which sorts and scans")),
    "attention_math": Known(
        phrase("scores of attention without a fused kernel"),
        phrase(
            "Flash and memory-efficient attention hold no such matrices: torch.nn.attention.sdpa_kernel() chooses one, "
            "and warns why if it can't be used."
        ),
    ),
    "flash_attention": Known(phrase("tensors of flash attention")),
    # only copies of weights are kept, and the backward pass needs them as well: cache_enabled=False saves nothing then
    "autocast": Known(phrase("copies that autocast converts")),
    "grad_scaler": Known(phrase("GradScaler's scales")),
    "recomputed": Known(
        phrase("activations that checkpointing computes again"),
        phrase("A part is computed again as a whole: smaller parts hold less at a time."),
    ),
    "saved_on_cpu": Known(phrase("tensors that save_on_cpu brings back for the backward pass")),
    "ddp_buckets": Known(
        phrase("buckets of DistributedDataParallel"),
        phrase(
            "With gradient_as_bucket_view=True gradients are views of them, and need no memory of their own."
        ),
    ),
    "nccl_lists": Known(
        phrase("buffers of collectives that take lists of tensors"),
        phrase(
            "all_gather_into_tensor() and reduce_scatter_tensor() take one tensor, and need no such buffer."
        ),
    ),
    "broadcast": Known(phrase("buffers in which parameters are sent to all ranks")),
    "fsdp_gathered": Known(
        phrase("parameters that FSDP gathers from all ranks"),
        phrase(
            "The smaller the modules that are wrapped, the less is gathered at a time; FULL_SHARD, or "
            "reshard_after_forward=True, frees them after the forward pass."
        ),
    ),
    "fsdp_reduced": Known(phrase("gradients that FSDP reduces across ranks")),
    "autotuning": Known(phrase("buffers with which an autotuner measures kernels")),
}
"""By the names of ``model/torch_machinery.toml``; without an advice where PyTorch documents none."""


def own_machinery(case: TraceCase) -> Iterator[Ranked]:
    """Temporaries of optimizers, workspaces and copies that PyTorch makes, of at least 5% of the peak and 1 MiB.

    Only those for which there is an advice; the line is the one with the most of them.
    """
    peak = case.info.peak_bytes
    present = machinery_stacks(case.snapshot)
    for kind in machinery():
        known = KNOWN[kind.name]
        if known.advice is None or kind.name not in present:
            continue
        lines = top_groups(case.snapshot, case.peak, "line", 1, "live", kind.term)
        if not lines.groups or lines.total < max(LEAST_SHARE * peak, MIB):
            continue
        evidence = Evidence("liveSet", case.at(case.info.peak_moment, kind.term), "line")
        query = f"SELECT sum(size_bytes) FROM live_at({case.number}, {case.info.peak_moment}, {text_in_sql(kind.term)})"
        figure = Figure(lines.total, "bytes", "live", query)
        most = lines.groups[0]
        sentence = phrase(
            "{size} ({share} of the peak) are {kind}, by {line}. {advice}",
            size=amount(figure, evidence), share=percent(lines.total, peak), kind=known.title,
            line=most.named(), advice=known.advice,
        )  # fmt: skip
        finding = made(
            "machinery",
            phrase("PyTorch's own"),
            sentence,
            figure,
            evidence,
            most.line,
            inferred=most.inferred,
        )
        yield Ranked(1.3 * lines.total / peak, finding)
