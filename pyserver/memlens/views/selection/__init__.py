"""Which allocations or samples a question is about: sets, filters, and the stacks that they come to."""
