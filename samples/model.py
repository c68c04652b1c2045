"""A small decoder-only transformer, written out so that every allocation has a line of its own."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class Attention(nn.Module):
    """Causal self-attention that forms the whole matrix of scores: memory grows with the length squared."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project_in = nn.Linear(width, 3 * width)
        self.project_out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.project_in(x).chunk(3, dim=-1)
        q, k, v = (self.split_heads(part) for part in (q, k, v))

        scores = torch.matmul(q, k.transpose(-2, -1))
        scores = scores.mul((width // self.heads) ** -0.5)
        future = torch.ones(length, length, dtype=torch.bool, device=x.device)
        future = future.triu(1)
        scores = scores.masked_fill(future, float("-inf"))
        weights = scores.softmax(dim=-1)

        mixed = torch.matmul(weights, v)
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        return self.project_out(mixed)

    def split_heads(self, x: Tensor) -> Tensor:
        """(batch, length, width) to (batch, heads, length, width of a head)."""
        batch, length, width = x.shape
        return x.view(batch, length, self.heads, width // self.heads).transpose(1, 2)


class FeedForward(nn.Module):
    """Two linear layers with a GELU between them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.widen = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.widen(x)
        hidden = functional.gelu(hidden)
        return self.narrow(hidden)


class Block(nn.Module):
    """Attention and a feed-forward layer, each normalised before and added to what came in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm_feed_forward = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.add(x, self.attention(self.norm_attention(x)))
        return torch.add(x, self.feed_forward(self.norm_feed_forward(x)))


class Transformer(nn.Module):
    """Tokens in, a score for every word of the vocabulary at every position out."""

    def __init__(self, vocabulary: int, length: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def embed(self, tokens: Tensor) -> Tensor:
        """Add what a word is to where it stands."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return torch.add(self.words(tokens), self.positions(places))
