"""Modules are named by the classes that the workspace's sources have; without them no class is guessed."""

import asyncio
import json
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import event, frame

from memlens.model.own_libraries import Libraries
from memlens.packs.pytorch.module_classes import TorchClasses
from memlens.server.protocol.settings import Settings
from memlens.server.sessions.registry import Registry
from memlens.server.settings import Configuration
from memlens.sources.finder import Finder
from memlens.store.snapshot import Snapshot

if TYPE_CHECKING:
    from memlens.model.inferred import Place

SOURCE = """import torch
from torch import nn


class Norm(nn.Module):
    def forward(self, x):
        y = x * x
        return x / y


class Attention(nn.Module):
    def __init__(self):
        self.conv = nn.Conv2d(3, 3, 1)
        self.bn = torch.nn.BatchNorm2d(3)

    def forward(self, x):
        return self.bn(
            self.conv(x))

    def other(self, x):
        return x


class Block(nn.Module):
    def forward(self, x):
        return self.attn(self.ln1(x))
"""
TORCH = "/v/lib/python3.12/site-packages/torch/nn/modules/"
CALL = frame(f"{TORCH}module.py", 1790, "_call_impl")


def line(text: str) -> int:
    return next(number for number, each in enumerate(SOURCE.split("\n"), 1) if text in each)


def written(path: Path, file: str) -> Path:
    """A block calls attention with its norm's result at one line, and attention two modules of PyTorch's."""

    def forward(text: str) -> dict[str, Any]:
        return frame(file, line(text), "forward")

    block = [forward("self.attn("), CALL, frame("/p/train.py", 9, "main")]
    attention = [forward("self.conv(x)"), CALL, *block]
    stacks = [
        (1 << 20, [forward("y = x"), CALL, *block]),
        (2 << 20, [forward("return x / y"), CALL, *block]),
        (8 << 20, attention),
        (4 << 20, [frame(f"{TORCH}conv.py", 554, "forward"), CALL, *attention]),
    ]
    trace = [event("alloc", 4096 + (n << 24), size, *frames) for n, (size, frames) in enumerate(stacks)]
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
    return path


@pytest.mark.parametrize("recorded", ["/somewhere/else/net/model.py", "model.py"])
def test_classes_of_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: str) -> None:
    file = written(tmp_path / "s.pickle", recorded)
    monkeypatch.chdir(tmp_path)

    def modules() -> dict[str, int]:
        answer = json.loads(memlens("lines", file, "--by", "module", "--json").stdout)
        return {row["name"]: row["self_live_at_peak_bytes"] >> 20 for row in answer["rows"]}

    block = f"forward (model.py:{line('self.attn(')})"
    norm = f"{block} / forward (model.py:{line('y = x')}-{line('self.conv(x)')})"
    # no stack has an __init__ between the two functions, which are called at one line
    assert modules() == {norm: 11, f"{norm} / nn.conv": 4}
    (tmp_path / "model.py").write_text(SOURCE)
    by_class = {"Block / Norm": 3, "Block / Attention": 8, "Block / Attention / nn.Conv2d": 4}
    assert modules() == by_class
    found = json.loads(memlens("findings", file, "--json").stdout)["findings"]
    (text,) = [each["text"] for each in found if each["rule"] == "dominant_module"]
    assert text.startswith("Modules of class Attention hold 8 MiB, 53% of the peak")
    filtered = json.loads(memlens("lines", file, "--filter", "module:Norm", "--json").stdout)
    assert filtered["total"]["total_bytes"] >> 20 == 3
    # of a source whose lines are in other functions nothing is taken
    (tmp_path / "model.py").write_text(SOURCE.replace("def forward", "def former"))
    assert set(modules()) == {norm, f"{norm} / nn.conv"}


def test_classes_of_the_workspace(tmp_path: Path) -> None:
    """Where a recording of another machine is opened in an editor; what may not be looked at isn't."""
    file = written(tmp_path / "s.pickle", "/somewhere/else/net/model.py")
    workspace = tmp_path / "code"
    (workspace / "net").mkdir(parents=True)
    (workspace / "net" / "model.py").write_text(SOURCE)
    configuration, finder = Configuration(), Finder()
    configuration.replace(Settings(cache_directory=str(tmp_path / "cache")))
    finder.folders = [workspace]

    async def modules(readable: list[str] | None) -> set[str]:
        registry = Registry(configuration, finder)
        registry.readable = None if readable is None else lambda: readable
        opened = await registry.open(str(file), "view", lambda _stage, _fraction: None)
        try:
            return {path for _, _, path in await opened.ask(Snapshot.modules)}
        finally:
            await registry.close(opened.name, "view")

    assert "Block / Attention / nn.Conv2d" in asyncio.run(modules(None))
    assert not any("Block" in path for path in asyncio.run(modules([str(tmp_path / "other")])))


def test_what_no_source_says(tmp_path: Path) -> None:
    """Several of PyTorch's at one line that fit, base classes, files that aren't Python: no class is said."""
    file = tmp_path / "net.py"
    text = SOURCE.replace("torch.nn.BatchNorm2d(3)", "nn.Conv1d(3)").replace(
        "(\n            self.conv", "(self.conv"
    )
    file.write_text(text.replace("class Norm", "class _Norm"))
    line_of = {each.strip(): number for number, each in enumerate(file.read_text().split("\n"), 1)}
    places: list[Place] = [
        ("", "net.py", line_of["y = x * x"]),
        ("nn.conv", "net.py", line_of["return self.bn(self.conv(x))"]),
        ("", "net.py", line_of["return self.attn(self.ln1(x))"]),
    ]
    assert TorchClasses().classes_at({"net.py": places}, lambda _: str(file)) == {places[2]: "Block"}
    file.write_text("class Broken(:")
    assert TorchClasses().classes_at({"net.py": places}, lambda _: str(file)) == {}
    assert TorchClasses().classes_at({"net.py": places}, lambda _: None) == {}


def test_classes_go_with_the_patterns() -> None:
    """So that each process that opens an archive names modules alike, whatever signs a path has."""
    classes: dict[Place, str] = {("", "C:/a:b/net.py", 3): "Block", ("nn.conv", "/p/net.py", 7): "nn.Conv2d"}
    patterns = Libraries(["vendor"]).with_classes(classes)
    again = Libraries(patterns.patterns)
    assert again.classes == classes
    assert again.key != Libraries(["vendor"]).key
    assert again.is_users("/p/net.py", "forward") is None
    assert Libraries(["class:", "class:A", "class:A::x:f", "class:A::3:"]).classes == {}
