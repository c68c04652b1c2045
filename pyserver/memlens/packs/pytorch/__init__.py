"""The world of PyTorch: snapshots of its allocators, and what other tools make of them."""

import re

from memlens.packs.api import Format, Launch, Message, MeterKind, NextTime, Pack, Part, Rule, Writer
from memlens.texts import phrase

_HERE = "memlens.packs.pytorch"

_RECORDING = """\
import os

import torch


def save(*_):
    torch.cuda.memory._dump_snapshot(f"oom-{os.getpid()}.pickle")


torch.cuda.memory._record_memory_history(max_entries=1_000_000, stacks="python")
torch._C._cuda_attach_out_of_memory_observer(save)"""

PACK = Pack(
    name="pytorch",
    title="PyTorch",
    libraries=("pytorch",),
    machinery=Part(f"{_HERE}.machinery:KINDS"),
    operators=Part(f"{_HERE}.operators"),
    ooms=Part(f"{_HERE}.ooms"),
    # as the CPU profiler writes paths
    cut_folders=("torch",),
    zip_files=(("/data.pkl", phrase("it was written by torch.save")),),
    namespaces=("at", "c10", "torch"),
    lineless=Part(f"{_HERE}.backward:left_by_backward"),
    formats=(
        Format(
            name="torch",
            title="PyTorch memory snapshot",
            file_names=("*.pickle", "*.pkl"),
            shared=("*.pickle", "*.pkl"),
            endings=("json", "html", "snapshot", "bin", "dat"),
            kind="pytorch-snapshot",
            inference=Part(f"{_HERE}.inference:TorchInference"),
            module_classes=Part(f"{_HERE}.module_classes:TorchClasses"),
            several=phrase("PyTorch memory snapshots"),
            reader=Part(f"{_HERE}.snapshot"),
            json=Part(f"{_HERE}.snapshot:JSON"),
            only_json=False,
            looks_like=Part(f"{_HERE}.snapshot:looks_like"),
            replay=Part(f"{_HERE}.replay:Trace"),
        ),
        Format(
            name="snapviewer",
            title="SnapViewer archive",
            endings=("zip",),
            several=phrase("SnapViewer's archives"),
            kind="snapviewer-archive",
            inference=Part(f"{_HERE}.inference:TorchInference"),
            module_classes=Part(f"{_HERE}.module_classes:TorchClasses"),
            reader=Part(f"{_HERE}.snapviewer"),
            trace_writer=Writer(
                file="OUT.zip",
                help="the trace for SnapViewer, which opens the unzipped folder",
                write=Part(f"{_HERE}.export:snapviewer"),
            ),
            not_redacted=(
                phrase(
                    "SnapViewer's archives have paths of source files, in a format that Memlens can't redact"
                ),
                phrase("Redact the snapshot of PyTorch that it was made from."),
            ),
            without_ooms=(
                "SnapViewer's archives don't keep out-of-memory events: ask the snapshot that it was made from."
            ),
        ),
    ),
    rules=(
        Rule(findings=("before_recording",), find=Part(f"{_HERE}.before:before_recording"), model="timeline"),
        Rule(findings=("no_history",), find=Part(f"{_HERE}.before:no_history"), model="timeline"),
        Rule(findings=("fragmentation",), find=Part(f"{_HERE}.reserved:fragmentation"), model="timeline"),
        Rule(findings=("idle_segments",), find=Part(f"{_HERE}.reserved:idle_segments"), model="timeline"),
    ),
    meters=(MeterKind(name="torch", meter=Part(f"{_HERE}.meters:Torch")),),
    launches=(
        Launch(
            name="torch",
            records=phrase("PyTorch on a GPU: each allocation and free, of each process"),
            programs=re.compile(r"torchrun|accelerate|deepspeed"),
            recorder=True,
        ),
    ),
    messages=(
        Message(
            name="cuda-out-of-memory",
            title=phrase("CUDA out of memory, of PyTorch"),
            signs=(
                "out of memory. Tried to allocate",
                "CUDA error: out of memory",
                "HIP error: out of memory",
                "cudaErrorMemoryAllocation",
            ),
            read=Part(f"{_HERE}.messages:out_of_memory"),
        ),
        Message(
            name="pytorch-cpu",
            title=phrase("the error of PyTorch's DefaultCPUAllocator"),
            signs=("DefaultCPUAllocator: ",),
            read=Part(f"{_HERE}.messages:cpu_allocator"),
        ),
        Message(
            name="pytorch-worker",
            title=phrase("a worker of PyTorch's DataLoader that a signal ended"),
            signs=("DataLoader worker (pid", "insufficient shared memory (shm)"),
            read=Part(f"{_HERE}.messages:worker"),
        ),
        Message(
            name="mps-out-of-memory",
            title=phrase("MPS backend out of memory"),
            signs=("MPS backend out of memory",),
            read=Part(f"{_HERE}.messages:mps"),
        ),
    ),
    # what the kernel kills is about the machine's memory: Python's
    next_time=NextTime(
        programs=re.compile(r"(?!)"),
        section="PyTorch",
        recording=_RECORDING,
        leaves=phrase(
            "The observer writes oom-PID.pickle when the request has failed and before anything is "
            "freed: it has the line of each allocation that was live."
        ),
    ),
)
