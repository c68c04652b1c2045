"""Which allocations or samples a question is about: sets, filters, and their stacks with values."""
