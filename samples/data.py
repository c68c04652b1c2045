"""Sentences of a made-up language, endless and always the same for a seed."""

from collections.abc import Iterator

import torch


class Sentences:
    """Token sequences that go round the vocabulary in steps of their own, with a surprise now and then."""

    def __init__(self, vocabulary: int, length: int, seed: int = 0) -> None:
        self.vocabulary = vocabulary
        self.length = length
        self.random = torch.Generator().manual_seed(seed)

    def batches(self, batch_size: int, device: str) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield (tokens, the tokens that follow them), each of shape (batch_size, length), without an end."""
        while True:
            tokens = self.draw(batch_size)
            yield to_device(tokens[:, :-1], device), to_device(tokens[:, 1:], device)

    def draw(self, batch_size: int) -> torch.Tensor:
        """Make a batch of sequences one word longer than `length`."""
        shape = (batch_size, self.length + 1)
        first = torch.randint(self.vocabulary, (batch_size, 1), generator=self.random)
        stride = torch.randint(1, 8, (batch_size, 1), generator=self.random)
        places = torch.arange(self.length + 1)
        orderly = torch.remainder(torch.addcmul(first, stride, places), self.vocabulary)
        noise = torch.randint(self.vocabulary, shape, generator=self.random)
        surprise = torch.rand(shape, generator=self.random).lt(0.05)
        return torch.where(surprise, noise, orderly)


def to_device(tokens: torch.Tensor, device: str) -> torch.Tensor:
    """Move a batch to where the model is."""
    return tokens.contiguous().to(device)
