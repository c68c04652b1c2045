"""The hot loops, in Cython. They know C arrays and buffers, and nothing of the rest of the project."""
