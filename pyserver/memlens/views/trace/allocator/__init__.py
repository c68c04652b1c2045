"""The allocator's segments and blocks at a moment."""
