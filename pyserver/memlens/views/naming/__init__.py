"""The names of frames, files, modules, operators and pools, and whose code a stack is charged to."""
