"""What frames, files, modules, operators and pools are called, and whose code a stack is charged to."""
