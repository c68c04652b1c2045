"""The language server: the only part of Memlens that speaks LSP."""
