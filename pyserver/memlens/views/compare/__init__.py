"""Two sets of allocations or samples side by side."""
