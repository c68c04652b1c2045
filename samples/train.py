"""Trains a small transformer for some steps; `--snapshot FILE` also records its memory, line by line."""

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from data import Sentences
from model import Transformer
from snapshot import recording

VOCABULARY = 512
LENGTH = 96
BATCH_SIZE = 16


class Trainer:
    """A model, its optimizer, and what came of the steps so far."""

    def __init__(self, model: nn.Module, learning_rate: float) -> None:
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
        self.losses: list[float] = []
        self.predictions: list[Tensor] = []

    def step(self, tokens: Tensor, targets: Tensor) -> float:
        """Forward, backward, update."""
        self.optimizer.zero_grad(set_to_none=True)
        scores = self.model(tokens)
        loss = self.loss(scores, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.remember(loss, scores)
        return self.losses[-1]

    def loss(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Cross entropy over all positions."""
        return functional.cross_entropy(scores.flatten(0, 1), targets.flatten())

    def remember(self, loss: Tensor, scores: Tensor) -> None:
        """Keep what the report at the end needs."""
        self.losses.append(loss.item())
        self.predictions.append(scores.detach().softmax(dim=-1))

    def confidence(self) -> float:
        """Mean probability of the likeliest word, over all steps."""
        return torch.stack([step.amax(dim=-1).mean() for step in self.predictions]).mean().item()


def build(device: str) -> Trainer:
    """Make a trainer with fresh weights."""
    torch.manual_seed(0)
    model = Transformer(VOCABULARY, LENGTH, width=128, heads=4, layers=3).to(device)
    return Trainer(model, learning_rate=3e-3)


def train(device: str, steps: int) -> Trainer:
    """Train for so many steps and say how it goes."""
    trainer = build(device)
    batches = Sentences(VOCABULARY, LENGTH).batches(BATCH_SIZE, device)
    for number in range(steps):
        tokens, targets = next(batches)
        loss = trainer.step(tokens, targets)
        print(f"step {number + 1}: loss {loss:.3f}")
    print(f"confidence {trainer.confidence():.3f}")
    return trainer


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--snapshot", type=Path, metavar="FILE")
    options = parser.parse_args()

    if options.snapshot is None:
        train(options.device, options.steps)
        return
    with recording(options.device, options.snapshot):
        trainer = train(options.device, options.steps)  # held, so that the snapshot ends with it alive
    del trainer


if __name__ == "__main__":
    main()
