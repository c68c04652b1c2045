"""The parts of archives that every model has: texts, frames, source lines, stacks."""
