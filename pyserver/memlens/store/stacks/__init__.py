"""What archives of every model hold: texts, frames, source lines, stacks."""
