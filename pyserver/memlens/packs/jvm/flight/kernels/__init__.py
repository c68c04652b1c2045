"""The kernels of this folder."""
